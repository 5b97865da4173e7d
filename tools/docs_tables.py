"""A hook of mkdocs: tables of the language reference come from the code (``<!-- table: NAME -->`` stands for one)."""

from __future__ import annotations

import re
from typing import Any

from muntin.aggregates.registry import AGGREGATES
from muntin.cql.functions import NAMES
from muntin.cql.options import CHOICES, OPTIONS

PLACE = re.compile(r"<!-- table: (\w+) -->")
MEANING = {
    "bounds": "which ends belong to a window: the later one, both, or the earlier one",
    "origin": "where the multiples of `SLIDE` begin",
    "granule": "the smallest step of event time: what `closed` windows and `[NOW]` add to their last instant",
    "zone": "the clock of the query: literals, casts, functions, windows of days and months",
    "exp": "adds a column `exp`: when a row will leave the answer, where that is known",
    "strategy": "how expiry is handled; the answer is the same",
    "skew": "`split`: all shards share the join of a key that would fill one of them",
    "memory": 'bytes that a query may hold on one shard of a level, as `"512 MB"`',
    "priority": "which of several queries are answered first where a run has a budget: the higher number",
    "shed": "what a live run may leave out under overload: `drop` rows, or `harvest`, parts of the windows of joins",
    "quality": "the least share of its rows, or of its joins' work, that a query then keeps",
    "periods": "`flexible`: a query under a budget may answer early or at longer intervals",
}


def table(name: str) -> str:
    """The table as Markdown. Raises KeyError for another name."""
    return {"aggregates": _aggregates, "functions": _functions, "options": _options}[name]()


def on_page_markdown(markdown: str, **_: Any) -> str:
    """mkdocs calls this for each page."""
    return PLACE.sub(lambda place: table(place[1]), markdown)


def _aggregates() -> str:
    """One row a function, with all names that it goes by."""
    rows = ["| " + ", ".join(f"`{name.upper()}`" for name in a.names) + " |" for a in AGGREGATES if a.names]
    return "\n".join(["| aggregate, and its other names |", "|---|", *rows])


def _functions() -> str:
    return ", ".join(f"`{name}`" for name in NAMES)


def _options() -> str:
    rows = [f"| `{name}` | {_values(name)} | {MEANING[name]} |" for name in OPTIONS]
    return "\n".join(["| option | values | meaning |", "|---|---|---|", *rows])


def _values(name: str) -> str:
    return ", ".join(f"`{value}`" for value in CHOICES.get(name, ()))
