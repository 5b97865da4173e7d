"""What the README shows of queries in process runs as it stands there."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).resolve().parents[2] / "README.md"


def example(section: str) -> str:
    text = README.read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return str(code)


def test_without_spark(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of flights that never left
        exec(compile(example("Without Spark"), "README.md", "exec"), names)
    assert len(names["answer"]) > 100
    assert "origin" in capsys.readouterr().out


def test_testing_a_query() -> None:
    names: dict[str, Any] = {}
    exec(compile(example("Testing a query"), "README.md", "exec"), names)
    names["test_clicks_are_counted_by_user"]()
