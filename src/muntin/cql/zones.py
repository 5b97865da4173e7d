"""The zone of a query, written into its expressions, so that they mean the same wherever they are computed.

Bound expressions are in UTC (``plan.exprs``). Where a query is in another zone, every part that depends on it is
rewritten here, once, after binding: the planner may then put an expression wherever it likes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, TypeVar, get_args

import pyarrow as pa

from muntin.cql.time_patterns import time_pattern
from muntin.cql.types import TIMESTAMP_NTZ, family
from muntin.plan.exprs import Agg, Call, Column, Expr, Literal
from muntin.plan.nodes import Node

_N = TypeVar("_N")
_WITH_EXPRESSIONS = (*get_args(Node), Agg)


def in_zone(root: _N, zone: str | None) -> _N:
    """The plan with its expressions in the zone (None: UTC, the plan as it is)."""
    if zone is None:
        return root
    name = Literal(zone, pa.string())
    found: _N = _mapped(root, lambda e: _in_zone(e, name))
    return found


def at_time_zone(e: Expr, zone: Literal) -> Call:
    """What the zone's clock shows at an instant; or, of a timestamp without zone, the instant at which it shows it."""
    kind = pa.timestamp("us", "UTC") if e.type.tz is None else TIMESTAMP_NTZ
    return Call("at_time_zone", (e, zone), kind)


def _mapped(value: Any, f: Callable[[Expr], Expr]) -> Any:
    """The value with ``f`` of every expression in it; itself where nothing changes."""
    match value:
        case Column() | Literal() | Call():
            return f(value)
        case tuple():
            items = tuple(_mapped(v, f) for v in value)
            return value if all(a is b for a, b in zip(items, value, strict=True)) else items
    if type(value) not in _WITH_EXPRESSIONS:
        return value
    held: dict[str, Any] = {n.name: getattr(value, n.name) for n in fields(value) if n.init}
    changed = {n: new for n, v in held.items() if (new := _mapped(v, f)) is not v}
    return type(value)(**{**held, **changed}) if changed else value


def _in_zone(e: Expr, zone: Literal) -> Expr:
    if not isinstance(e, Call):
        return e
    args = tuple(_in_zone(a, zone) for a in e.args)
    call = e if all(a is b for a, b in zip(args, e.args, strict=True)) else replace(e, args=args)
    match call:
        case Call("cast", (x,), kind):
            return _cast(call, x, kind, zone)
        case Call("hour" | "minute" | "second", (x,)) if _zoned(x.type):
            return replace(call, args=(at_time_zone(x, zone),))
        case Call("date_trunc", (unit, x)) if _zoned(x.type):
            return replace(call, args=(unit, x, zone))
        case Call("add_months", (x, months)) if _zoned(x.type):
            return replace(call, args=(x, months, zone))
        case Call("parse_time", (x, Literal(str(pattern)) as by), kind) if _zoned(kind):
            return call if time_pattern("", pattern).zoned else replace(call, args=(x, by, zone))
        case Call("from_json", (x,), kind) if _has_zoned(kind):
            return replace(call, args=(x, zone))
        case Call("to_json", (x,)) if _has_zoned(x.type):
            return replace(call, args=(x, zone))
        case _:
            return call


def _cast(call: Call, x: Expr, kind: pa.DataType, zone: Literal) -> Expr:
    match family(x.type), family(kind):
        case "timestamp", "timestamp" if _zoned(x.type) != _zoned(kind):
            shown = at_time_zone(x, zone)
            return shown if shown.type == kind else Call("cast", (shown,), kind)
        case "timestamp", "date" | "string" if _zoned(x.type):
            return replace(call, args=(at_time_zone(x, zone),))
        case "date", "timestamp" if _zoned(kind):
            return at_time_zone(Call("cast", (x,), TIMESTAMP_NTZ), zone)
        case "string", "timestamp" if _zoned(kind):
            return replace(call, args=(x, zone))
        case _:
            return call


def _has_zoned(kind: pa.DataType) -> bool:
    """Whether a timestamp stands somewhere in a nested type."""
    if pa.types.is_map(kind):
        return _has_zoned(kind.key_type) or _has_zoned(kind.item_type)
    inside = [kind.field(i).type for i in range(kind.num_fields)]
    return any(map(_has_zoned, inside)) if inside else _zoned(kind)


def _zoned(kind: pa.DataType) -> bool:
    return family(kind) == "timestamp" and kind.tz is not None
