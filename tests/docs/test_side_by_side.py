"""What pages show of the language is read by it: the texts beside those of other engines, and windows."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pages
import pytest

import muntin
from muntin.cql.parse import parse

ROW = {"ts": datetime(2024, 1, 1, 12, tzinfo=UTC), "id": 1, "k": "a", "x": 1, "card": "c", "word": "w", "price": 2.0}
CODE = re.compile(r"`([^`\n]*)`")
WINDOW = re.compile(r"\[(?:INTERNAL|RANGE|ROWS|NOW|UNBOUNDED|PARTITION BY)\b[^\]]*\]")
PATTERN = re.compile(r"(?<!BY )\b([a-z]+|[A-Z])\b|\.\.\.")


def texts() -> list[str]:
    """Code of the right column, where it is a whole query."""
    lines = (pages.DOCS / "coming-from.md").read_text().splitlines()
    rows = [line.split("|") for line in lines if line.startswith("|")]
    codes = [code for row in rows for code in CODE.findall(row[2])]
    return [code for code in codes if re.match(r"(I|R|D)?STREAM\(|SELECT", code)]


def windows() -> list[str]:
    """Every window in the prose of the pages, but for patterns such as ``[ROWS n]`` and ``[RANGE ...]``."""
    code = [c for page in pages.pages() for c in CODE.findall(pages.FENCE.sub("", page.read_text()))]
    return sorted({w for c in code for w in WINDOW.findall(c) if not PATTERN.search(w)})


def test_there_are_texts() -> None:
    assert len(texts()) > 10
    assert len(windows()) > 20


@pytest.mark.parametrize("window", windows())
def test_a_window_is_one(window: str) -> None:
    assert parse(f"SELECT k FROM s {window}")


@pytest.mark.parametrize("text", texts())
def test_it_runs(text: str) -> None:
    names = {"words", "a", "b", "df", "bid", "s", "payments", "orders", "shipments"}
    streams = {name: [ROW] for name in names if re.search(rf"(FROM|,) {name}\b", text)}
    assert streams
    muntin.query(text, streams=streams)
