"""The product's frequent items over sub-windows of items: one second of event time is one sub-window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from muntin.research.product import bound, catalog, local

Answer = dict[str, Any]


def answers(call: str, sub_windows: Sequence[Sequence[int]], length: int) -> dict[int, Answer]:
    """The answer at each instant (number of the sub-window that it ends, from 1) over windows of ``length``
    sub-windows; ``call``: of items x, as in FREQUENT_LISTS(x, 3)."""
    rows = {"S": [{"ts": at, "x": x} for at, items in enumerate(sub_windows, 1) for x in items]}
    query = bound(f"SELECT {call} AS f FROM S [RANGE {length} SECONDS SLIDE 1 SECONDS]", catalog(S="x"))
    found = local(query, rows, until=len(sub_windows))
    return {r.ts: r.values[0] for r in found if r.values[0] is not None}  # type: ignore[misc]


def counts(answer: Answer | None) -> dict[int, int]:
    """Item to count."""
    return {i["item"]: i["count"] for i in (answer or {"items": ()})["items"]}
