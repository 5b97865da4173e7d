"""Which slices of a join its readers need, where it is done slice by slice."""

from __future__ import annotations

from muntin.operators.joins.counted_join import CountedJoin
from muntin.operators.joins.narrow import Narrow
from muntin.operators.reader import Reader


def looks_back(join: object, reader: object) -> int | None:
    """How far apart the parts of those of a join's results are that a reader takes: by fewer microseconds or rows than
    this; None where that may be as far as the join goes."""
    match join, reader:
        case _, Narrow(apart=apart):
            return apart
        case CountedJoin(windows=windows), Reader(window=window):
            return max(windows[window])
    return None
