"""What EXPLAIN ANALYZE says of a join: what was measured of its inputs, the orders in use, and why they changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Statistics = Mapping[str, Any]
"""A join's statistics on one shard (``operators.joins.join_statistics.estimates_of``)."""


def join_lines(statistics: Statistics, names: Sequence[str]) -> tuple[str, ...]:
    """Lines for people: inputs (by ``names``), the order that new rows of each visit the others in, revisions of it."""
    return (*_inputs(statistics, names), *_orders(statistics, names), *_changes(statistics, names))


def _inputs(statistics: Statistics, names: Sequence[str]) -> Iterator[str]:
    for i, name in enumerate(names):
        life = statistics["lives"][i]
        lifetime = "without end" if life is None else f"for {life:,.4g} s"
        values = [f"{v:,.0f} values of key {c}" for c, v in statistics["distinct"].get(i, {}).items()]
        yield ", ".join([f"{name}: {statistics['rates'][i]:,.4g} rows/s, valid {lifetime}", *values])


def _orders(statistics: Statistics, names: Sequence[str]) -> Iterator[str]:
    if statistics["orders"] and len(names) > 2:
        shown = (f"{names[i]} -> {', '.join(names[j] for j in o)}" for i, o in enumerate(statistics["orders"]))
        yield "orders: " + "; ".join(shown)


def _changes(statistics: Statistics, names: Sequence[str]) -> Iterator[str]:
    for c in statistics["changes"]:
        old, new = (", ".join(names[j] for j in c[k]) for k in ("old", "new"))
        gain = f"{c['cost_old']:,.4g} -> {c['cost_new']:,.4g} steps/s"
        yield f"revised at {c['at']} us: {names[c['origin']]} visited {old}, now {new} (predicted {gain})"
