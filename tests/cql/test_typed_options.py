"""Options and names as type checkers, completion and ``dir`` see them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

import muntin
from muntin.cql.options import CHOICES, OPTIONS, Options
from muntin.plan.windows import QueryOptions, Skew, Strategy

CODE = """
from muntin.session import Session

def right(session: Session) -> None:
    session.sql("...", name="q", strategy="nt", granule="1 second", memory="1 GB").explain("svg")

def wrong(session: Session) -> None:
    session.sql("...", stratgy="nt")
    session.sql("...", strategy="ntt")
    session.explain("...", skew=3)
    session.explain("...", form="png")
"""


def test_options_are_those_of_the_planner() -> None:
    assert set(OPTIONS) == set(get_type_hints(Options)) == set(QueryOptions.__dataclass_fields__) - {"session_zone"}
    assert CHOICES["strategy"] == get_args(Strategy) and CHOICES["skew"] == get_args(Skew)


def test_dir_shows_what_users_call() -> None:
    assert {"Session", "Query", "Run", "query", "QueryError", "ConfigError", "MuntinError"} <= set(dir(muntin))
    assert all(getattr(muntin, name) is not None for name in muntin.__all__)
    assert issubclass(muntin.UnsupportedError, muntin.QueryError)


@pytest.mark.slow
def test_mypy_catches_wrong_options(tmp_path: Path) -> None:
    code = tmp_path / "code.py"
    code.write_text(CODE)
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-m", "mypy", "--config-file", str(root / "pyproject.toml"), str(code)]
    told = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout
    faults = [line.split(":")[1] for line in told.splitlines() if "error:" in line]
    assert faults == ["8", "9", "10", "11"], told
