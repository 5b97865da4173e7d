"""What scalar functions take: arguments of a family, cast to its type, and plain constants. ``name``: for messages."""

from __future__ import annotations

import pyarrow as pa

from muntin.cql.coerce import coerce
from muntin.cql.operators import TypeClash, describe
from muntin.cql.types import family
from muntin.plan.exprs import Expr, Literal


def number(name: str, e: Expr) -> Expr:
    """A number of any type; a bare NULL is a DOUBLE."""
    if family(e.type) not in ("number", "null"):
        raise TypeClash(f"{name} takes a number, not {describe(e)}")
    return coerce(e, pa.float64()) if family(e.type) == "null" else e


def double(name: str, e: Expr) -> Expr:
    """A number as a DOUBLE."""
    return coerce(number(name, e), pa.float64())


def string(name: str, e: Expr) -> Expr:
    """A STRING."""
    if family(e.type) not in ("string", "null"):
        raise TypeClash(f"{name} takes a string, not {describe(e)}; write CAST(... AS STRING)")
    return coerce(e, pa.string())


def whole(name: str, e: Expr, kind: pa.DataType) -> Expr:
    """An integer as one of ``kind``."""
    if not (pa.types.is_integer(e.type) or family(e.type) == "null"):
        raise TypeClash(f"{name} takes a whole number here, not {describe(e)}")
    return coerce(e, kind)


def plain_text(name: str, e: Expr, what: str = "a plain text") -> str:
    """A text that the query says (``what`` it is, for the message)."""
    if not (isinstance(e, Literal) and isinstance(e.value, str)):
        raise TypeClash(f"{name} takes {what} here, not {describe(e)}")
    return e.value


def plain_count(name: str, e: Expr, low: int, high: int) -> int:
    """A number from ``low`` to ``high`` that the query says."""
    if not (isinstance(e, Literal) and isinstance(e.value, int) and low <= e.value <= high):
        raise TypeClash(f"{name} takes a plain number from {low} to {high} here, not {describe(e)}")
    return e.value
