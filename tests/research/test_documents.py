"""The table of what of the documents is done names places that are there."""

from __future__ import annotations

import re
from pathlib import Path

from muntin.research.registry import known

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "DOCUMENTS.md").read_text()
ROWS = [[c.strip() for c in line.strip("|").split(" | ")] for line in TEXT.splitlines() if re.match(r"\| \d", line)]


def paths(cell: str) -> list[str]:
    return re.findall(r"`([\w/.]+(?:/|\.py))`", cell)


def test_every_topic_has_code_and_a_test_that_are_there() -> None:
    assert len(ROWS) > 50
    for row in ROWS:
        *_, code, test = row
        assert len(row) == 5 and paths(code) and paths(test), row
        assert all((ROOT / "src" / "muntin" / p).exists() for p in paths(code)), code
        assert all((ROOT / "tests" / p).exists() for p in paths(test)), test


def test_every_entry_that_it_names_can_be_run() -> None:
    named = set(re.findall(r"\b([AGHJT]\d+)\b", TEXT))
    assert named and named <= set(known()), named - set(known())
