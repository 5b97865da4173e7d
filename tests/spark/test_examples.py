"""The programs in ``examples``: their job files read their input to its end, and alert when they should."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pages
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

pytestmark = pytest.mark.spark


def results(name: str, where: Path, command: Callable[..., tuple[int, str, str]]) -> list[dict[str, Any]]:
    """What the example's job writes over its whole input."""
    shutil.copytree(EXAMPLES, where, ignore=shutil.ignore_patterns("in", "out", "state"))
    subprocess.run([sys.executable, str(where / name / "feed.py")], check=True)
    status, _, said = command("run", str(where / name / "job.toml"), "--finish")
    assert status == 0, said
    files = sorted((where / name / "out").glob("batch=*/part-*"))
    lines = [line for path in files for line in path.read_text().splitlines()]
    assert set(shown(name)) <= set(lines), "what the page shows is there"
    return [json.loads(line) for line in lines]


def shown(name: str) -> list[str]:
    """Rows that the page of the programs shows of one."""
    blocks = pages.blocks((pages.DOCS / "programs.md").read_text())
    at = next(i for i, b in enumerate(blocks) if f'"{name}/feed.py"' in b.info)
    assert blocks[at + 1].info == "text"
    return blocks[at + 1].body.splitlines()


def test_alerts_go_by_the_threshold_of_their_time(command: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    rows = results("alerts", tmp_path / "examples", command)
    assert {r["threshold"] for r in rows} == {60, 75}
    assert all(r["mean"] > r["threshold"] for r in rows)


@pytest.mark.slow
def test_a_card_in_three_towns(command: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    rows = [r for r in results("fraud", tmp_path / "examples", command) if r["op"] == "+"]
    assert {(r["card"], r["towns"]) for r in rows} == {(7, 3)}
    # The third payment in the third town, a fourth, and ten minutes later without the first, which was in the fourth's.
    assert [r["amount"] for r in rows] == [2700.0, 3600.0, 2700.0]


@pytest.mark.slow
def test_every_fifth_order_is_unpaid(command: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    rows = results("unpaid", tmp_path / "examples", command)
    assert {r["id"] for r in rows} == {*range(0, 120, 5), 116, 117, 118, 119}, "the input ends before the last are paid"
