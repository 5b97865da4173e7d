"""Streams of the documents' examples, for the cost model and for generated input."""

from __future__ import annotations

from muntin.optimizer.multiway.streams import JoinStream

Streams = tuple[JoinStream, ...]


def streams(*parameters: tuple[float, float, float]) -> Streams:
    """From (rate, span, distinct values) of each."""
    return tuple(JoinStream(*p) for p in parameters)


def equal(n: int) -> Streams:
    """Golab & Ozsu 4.2: n windows of 100, one tuple per unit time, 50 values."""
    return streams(*[(1, 100, 50)] * n)


TABLE_5 = streams((10, 100, 500), (1, 100, 50), (1, 200, 40), (3, 100, 5))
"""Golab & Ozsu Table 5; thesis Table 5.3."""
TABLE_6 = streams((100, 100, 200), (1, 100, 200), (1, 100, 20), (3, 100, 2))
TABLE_7 = streams((11, 100, 200), (10, 100, 100), (1, 100, 65), (1, 100, 20))
"""Golab & Ozsu Table 7; thesis Table 5.6."""
TABLE_5_5 = streams((10, 100, 40), (1, 100, 100), (1, 100, 8), (1, 100, 5))
"""Thesis Table 5.5 with the rate of stream 1 to which its costs belong."""
TABLE_5_5_PRINTED = streams((100, 100, 40), (1, 100, 100), (1, 100, 8), (1, 100, 5))
ONE_FAST = streams(*[(1, 100, 50)] * 3, (10, 100, 50))
"""Golab & Ozsu Figure 3(b)."""
FAST_BY_50 = streams(*[(1, 100, 50)] * 3, (50, 100, 50))
"""Golab & Ozsu 6.5."""
