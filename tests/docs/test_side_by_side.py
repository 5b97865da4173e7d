"""The texts that stand beside those of other engines are queries that run."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pages
import pytest

import muntin

ROW = {"ts": datetime(2024, 1, 1, 12, tzinfo=UTC), "id": 1, "k": "a", "x": 1, "card": "c", "word": "w", "price": 2.0}
CODE = re.compile(r"`([^`]*)`")


def texts() -> list[str]:
    """Code of the right column, where it is a whole query."""
    lines = (pages.DOCS / "coming-from.md").read_text().splitlines()
    rows = [line.split("|") for line in lines if line.startswith("|")]
    codes = [code for row in rows for code in CODE.findall(row[2])]
    return [code for code in codes if re.match(r"(I|R|D)?STREAM\(|SELECT", code)]


def test_there_are_texts() -> None:
    assert len(texts()) > 10


@pytest.mark.parametrize("text", texts())
def test_it_runs(text: str) -> None:
    names = {"words", "a", "b", "df", "bid", "s", "payments", "orders", "shipments"}
    streams = {name: [ROW] for name in names if re.search(rf"(FROM|,) {name}\b", text)}
    assert streams
    muntin.query(text, streams=streams)
