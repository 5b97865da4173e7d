"""Streams of the worked examples, and random ones."""

from __future__ import annotations

from hypothesis import strategies as st

from muntin.optimizer.multiway.streams import JoinStream


def streams(*parameters: tuple[float, float, float]) -> tuple[JoinStream, ...]:
    return tuple(JoinStream(*p) for p in parameters)


TABLE_5 = streams((10, 100, 500), (1, 100, 50), (1, 200, 40), (3, 100, 5))
"""Golab & Ozsu Table 5, thesis Table 5.3."""
TABLE_6 = streams((100, 100, 200), (1, 100, 200), (1, 100, 20), (3, 100, 2))
TABLE_7 = streams((11, 100, 200), (10, 100, 100), (1, 100, 65), (1, 100, 20))
"""Golab & Ozsu Table 7, thesis Table 5.6."""
TABLE_5_5 = streams((10, 100, 40), (1, 100, 100), (1, 100, 8), (1, 100, 5))
"""Thesis Table 5.5, with the rate of stream 1 that gives its costs."""
TABLE_5_5_PRINTED = streams((100, 100, 40), (1, 100, 100), (1, 100, 8), (1, 100, 5))
EQUAL = streams(*[(1, 100, 50)] * 4)
ONE_FAST = streams(*[(1, 100, 50)] * 3, (10, 100, 50))


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
