"""Streams of the worked examples, and random ones."""

from __future__ import annotations

from hypothesis import strategies as st

from muntin.optimizer.multiway.streams import JoinStream
from muntin.research.joins.parameters import (
    ONE_FAST,
    TABLE_5,
    TABLE_5_5,
    TABLE_5_5_PRINTED,
    TABLE_6,
    TABLE_7,
    equal,
    streams,
)

__all__ = [
    "EQUAL",
    "ONE_FAST",
    "TABLE_5",
    "TABLE_5_5",
    "TABLE_5_5_PRINTED",
    "TABLE_6",
    "TABLE_7",
    "some_streams",
    "streams",
]

EQUAL = equal(4)


@st.composite
def some_streams(draw: st.DrawFn, low: int = 2, high: int = 5, equal: bool = False) -> tuple[JoinStream, ...]:
    """``equal``: all have the same number of values."""
    n = draw(st.integers(low, high))
    values = draw(st.integers(1, 500))
    return tuple(
        JoinStream(
            draw(st.integers(1, 50)),
            draw(st.integers(1, 300)),
            values if equal else draw(st.integers(1, 500)),
            draw(st.integers(1, 20)),
        )
        for _ in range(n)
    )
