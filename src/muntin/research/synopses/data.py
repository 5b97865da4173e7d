"""What an interval of a synopsis stores (Golab 2006, section 2.3.4): values that merge, some of which subtract."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Data:
    """A kind of data: that of no tuples, that of some values, of two disjoint parts together, and of a whole without a
    part (None: it cannot be taken out). ``sensitive``: a tuple that is in both parts counts twice."""

    name: str
    nothing: Callable[[], Any]
    of: Callable[[Iterable[Any]], Any]
    merge: Callable[[Any, Any], Any]
    subtract: Callable[[Any, Any], Any] | None = None
    sensitive: bool = True

    def together(self, parts: Iterable[Any]) -> Any:
        """Several disjoint parts."""
        found = self.nothing()
        for part in parts:
            found = self.merge(found, part)
        return found


def _best(choose: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: b if a is None else a if b is None else choose(a, b)


SUM = Data("SUM", int, sum, lambda a, b: a + b, lambda a, b: a - b)
COUNT = Data("COUNT", int, lambda values: len(list(values)), lambda a, b: a + b, lambda a, b: a - b)
MAX = Data("MAX", lambda: None, lambda values: max(values, default=None), _best(max), sensitive=False)
MIN = Data("MIN", lambda: None, lambda values: min(values, default=None), _best(min), sensitive=False)
FREQUENCIES = Data("frequency counts", Counter, Counter, lambda a, b: a + b, lambda a, b: a - b)
"""How often each value occurs: COUNT DISTINCT, QUANTILE and TOP k are read from it."""

EVERY = (SUM, COUNT, MAX, MIN, FREQUENCIES)


def count_distinct(counts: Counter[Any]) -> int:
    """Values that occur."""
    return sum(n > 0 for n in counts.values())


def quantile(counts: Counter[Any], q: float) -> Any:
    """The least value that at least ``q`` of all are not above; None of nothing."""
    wanted, seen = q * sum(counts.values()), 0
    for value in sorted(counts):
        seen += counts[value]
        if seen >= wanted and counts[value]:
            return value
    return None


def top_k(counts: Counter[Any], k: int) -> list[tuple[Any, int]]:
    """The ``k`` most frequent values with their counts; of equal counts the least values."""
    return sorted(((v, n) for v, n in counts.items() if n), key=lambda x: (-x[1], x[0]))[:k]
