"""Which aggregates can be kept as partials of panes."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from muntin.plan.exprs import Agg
from muntin.plan.windows import Ticks


def folds(aggs: Sequence[tuple[str, Agg]], ticks: Ticks | None) -> bool:
    """Whether an aggregate of unsigned rows keeps pane partials: its rows' validity is moved to evaluation instants,
    and the rows of a pane can be told by a count, an exact sum, a least and a greatest value, or a user's state."""
    return ticks is not None and all(_foldable(a) for _, a in aggs)


def _foldable(agg: Agg) -> bool:
    match agg.fn:
        case "count" | "min" | "max":
            return True
        case "sum" | "avg":
            return agg.arg is not None and not pa.types.is_floating(agg.arg.type)
        case fn:
            return fn.startswith("udaf:") and not agg.inverse  # taking values away costs less than merging panes
