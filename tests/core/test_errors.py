"""Errors of queries, as a terminal and a notebook show them."""

from __future__ import annotations

import pyarrow as pa
import pytest

import muntin
from muntin.core.errors import QueryError, UnsupportedError, excerpt

TEXT = "SELECT *\n\tFROM fligths f [RANGE 1 HOUR]\nWHERE x = 1"


def test_carets_stand_below_the_token() -> None:
    error = QueryError("unknown stream", line=2, column=7, token="fligths")
    assert excerpt(TEXT, error) == "   2 | \tFROM fligths f [RANGE 1 HOUR]\n     | \t     ^^^^^^^"


def test_token_cut_or_over_the_line_end() -> None:
    error = QueryError("m", line=3, column=11, token="1 and a very long tail ...")
    assert excerpt(TEXT, error).splitlines()[1] == "     |           ^"
    assert excerpt(TEXT, QueryError("m", line=9, column=1)) == ""


def shown(text: str) -> list[str]:
    """What IPython prints of a query's error (``InteractiveShell.showtraceback``)."""
    with pytest.raises(QueryError) as caught:
        muntin.query(text, f=pa.table({"ts": pa.array([0], pa.timestamp("us")), "k": [1]}))
    return caught.value._render_traceback_()


def test_a_notebook_shows_the_message_and_the_place() -> None:
    said = shown("SELECT k,\n  missing\nFROM f [RANGE 1 HOUR]")
    assert said[0].startswith("QueryError: line 2, column 3 near 'missing': ")
    assert said[1:] == ["   2 |   missing", "     |   ^^^^^^^"]
    assert shown("SELECT k\nFORM f [RANGE 1 HOUR]")[1:] == ["   2 | FORM f [RANGE 1 HOUR]", "     |      ^"]


def test_a_notebook_shows_what_has_no_place() -> None:
    assert UnsupportedError("not in this version")._render_traceback_() == ["UnsupportedError: not in this version"]
