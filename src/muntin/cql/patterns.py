"""LIKE and ILIKE: patterns, and what ESCAPE makes of them."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from muntin.cql.coerce import coerce
from muntin.cql.operators import BOOL, TypeClash, describe
from muntin.cql.types import family
from muntin.plan.exprs import Call, Expr, Literal

_STRING = pa.string()


def like(x: Expr, pattern: Expr, any_case: bool, escape: Expr | None = None) -> Expr:
    """``x [I]LIKE pattern [ESCAPE escape]``.

    Raises:
        TypeClash: not strings; ESCAPE beside a pattern that is no constant, or that escapes a plain character.
    """
    for e in (x, pattern):
        if family(e.type) not in ("string", "null"):
            raise TypeClash(f"LIKE takes strings, not {describe(e)}; write CAST(... AS STRING)")
    x, pattern = coerce(x, _STRING), coerce(pattern, _STRING)
    if escape is not None:
        pattern = _escaped(pattern, escape)
    args = tuple(Call("lower", (a,), _STRING) for a in (x, pattern)) if any_case else (x, pattern)
    return Call("like", args, BOOL)


def _escaped(pattern: Expr, escape: Expr) -> Expr:
    """The pattern with a backslash for its escape character: plain LIKE's."""
    if not (isinstance(escape, Literal) and isinstance(escape.value, str) and len(escape.value) == 1):
        raise TypeClash("ESCAPE takes one character, as in LIKE '10/%' ESCAPE '/'")
    if not isinstance(pattern, Literal):
        raise TypeClash("ESCAPE goes with a pattern that is a plain text; in other patterns a backslash escapes")
    if pattern.value is None:
        return pattern
    parts, rest = [], iter(pattern.value)
    for c in rest:
        if c != escape.value:
            parts.append("\\\\" if c == "\\" else c)
            continue
        taken = next(rest, "")
        if taken not in ("%", "_", escape.value) or not taken:
            what = f"before {taken!r}" if taken else "at the end"
            raise TypeClash(
                f"the pattern {pattern.value!r} has its escape character {what}: it goes before %, _ or itself"
            )
        parts.append("\\" + taken if taken in "%_\\" else taken)  # a backslash goes before nothing else in Spark
    return Literal("".join(parts), _STRING)


def unnested_list(quantified: exp.Expr) -> list[exp.Expr] | None:
    """The patterns of LIKE ANY (...) and LIKE ALL (...); None for anything but a list."""
    inner = quantified.this
    if isinstance(inner, exp.Tuple):
        return list(inner.expressions)
    return [inner.this] if isinstance(inner, exp.Paren) and not isinstance(inner.this, exp.Query) else None
