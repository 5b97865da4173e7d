"""Values of a query's options: each of the wrong ones is told, with what would do."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from muntin.cql.options import CHOICES, check_option
from muntin.plan.windows import Bounds, QueryOptions


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("bounds", "open", "none of half_open, closed, start"),
        ("strategy", "x", "none of upa, nt, direct, auto"),
        ("skew", "both", "none of keep, split"),
        ("exp", "yes", "neither True nor False"),
        ("granule", 0, "longer than nothing"),
        ("zone", "Mars/Olympus", "no time zone 'Mars/Olympus'"),
        ("zone", 3, "no time zone 3"),
    ],
)
def test_wrong_values(key: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_option(key, value)


def test_right_values() -> None:
    assert CHOICES["bounds"] == get_args(Bounds)
    defaults = QueryOptions()
    for key in (*CHOICES, "exp", "granule", "origin"):
        check_option(key, getattr(defaults, key))
    for key, values in CHOICES.items():
        for value in values:
            check_option(key, value)
    check_option("zone", "Europe/Rome")
