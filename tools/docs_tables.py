"""A hook of mkdocs: tables of the language reference come from the code (``<!-- table: NAME -->`` stands for one)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sqlglot import exp

from muntin.aggregates.registry import AGGREGATES
from muntin.core.errors import QueryError
from muntin.cql.arguments import READ
from muntin.cql.functions import NAMES
from muntin.cql.instead import for_function
from muntin.cql.options import CHOICES, OPTIONS
from muntin.cql.parse import parse

_OPERATORS = {
    "!", "!=", "%", "&", "*", "+", "-", "/", "<", "<<", "<=", "<=>", "<>", "=", "==", ">", ">=", ">>", "^", "|", "||",
    ">>>", "~",
}  # fmt: skip
_OTHERS = {"bit_and", "bit_or", "bit_xor", "any", "exists"}
"""Names that mean something else in Spark: aggregates, and a function of functions."""
_WORDS = {"and", "or", "not", "in", "like", "ilike", "between", "case", "when", "div", "cast", "date_part", "datepart"}
WINDOWS = {"window", "session_window", "row_number", "rank", "dense_rank"}
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
    "periods": "`flexible`: of the instants of one batch a live run reports the newest alone, and counts the others",
}


def table(name: str) -> str:
    """The table as Markdown. Raises KeyError for another name."""
    made = {"aggregates": _aggregates, "functions": _functions, "options": _options, "spark": _spark}
    return made[name]()


def on_page_markdown(markdown: str, **_: Any) -> str:
    """mkdocs calls this for each page."""
    return PLACE.sub(lambda place: table(place[1]), markdown)


def _aggregates() -> str:
    """One row a function, with all names that it goes by."""
    rows = ["| " + ", ".join(f"`{name.upper()}`" for name in a.names) + " |" for a in AGGREGATES if a.names]
    return "\n".join(["| aggregate, and its other names |", "|---|", *rows])


def _functions() -> str:
    return ", ".join(f"`{name}`" for name in NAMES)


def sparks() -> tuple[str, ...]:
    """The functions of Spark 4.3, as SHOW SYSTEM FUNCTIONS lists them."""
    return tuple((Path(__file__).parent / "spark_functions.txt").read_text(encoding="utf-8").split())


def is_here(name: str) -> bool:
    """Whether queries may call a function of Spark's by its name: the call's node is one that binding knows."""
    if not name.isidentifier():
        return name in _OPERATORS
    if name in _WORDS or name in WINDOWS:
        return True
    if name in _OTHERS:
        return False
    for arguments in ("x", "x, y", "x, y, z", ""):
        try:
            node = parse(f"SELECT {name}({arguments}) AS c FROM s").find(exp.Alias).this  # type: ignore[union-attr]
        except QueryError:
            continue
        called = {n.lower() for a in AGGREGATES for n in a.names} | {*NAMES}
        known = str(node.this).lower() in called if isinstance(node, exp.Anonymous) else type(node) in READ
        if known and not isinstance(node, exp.Column | exp.Literal | exp.Window | exp.Paren):
            return True
    return False


def _spark() -> str:
    """Spark's functions that are here, those that have another spelling here, and the others."""
    here = [n for n in sparks() if is_here(n)]
    other = [n for n in sparks() if n not in here and for_function(n) is not None]
    assert len(here) + len(other) == len(sparks()), "a function of Spark's is not here, and cql.refused has no reason"
    reasons: dict[str, list[str]] = {}
    for name in other:
        reasons.setdefault(str(for_function(name)), []).append(name)
    rows = [(_listed(names), words.replace("|", "\\|")) for words, names in reasons.items()]
    spelled = "\n".join(f"| {names} | {words} |" for names, words in rows)
    return (
        f"{len(here)} of the {len(sparks())} functions of Spark 4.3 are here under their names:\n\n{_listed(here)}.\n\n"
        f"The other {len(other)} are refused, with these words:\n\n"
        f"| of Spark | what to write instead |\n|---|---|\n{spelled}"
    )


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _options() -> str:
    rows = [f"| `{name}` | {_values(name)} | {MEANING[name]} |" for name in OPTIONS]
    return "\n".join(["| option | values | meaning |", "|---|---|---|", *rows])


def _values(name: str) -> str:
    return ", ".join(f"`{value}`" for value in CHOICES.get(name, ()))
