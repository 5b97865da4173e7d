"""Parts of nested values: fields of structs, elements of arrays and maps, sizes, membership.

What is not there is NULL: a subscript beyond the end of an array, a key that a map does not have (Spark's ``get`` and
``try_element_at``; its own subscript of an array stops the query).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from muntin.cql.coerce import coerce, common_type
from muntin.cql.operators import BOOL, TypeClash, choose, describe
from muntin.cql.scopes import did_you_mean, listing
from muntin.cql.types import family
from muntin.plan.exprs import Call, Expr, Literal

_INT = pa.int32()


def is_array(t: pa.DataType) -> bool:
    """Whether values of the type are arrays."""
    return bool(pa.types.is_list(t) or pa.types.is_large_list(t) or pa.types.is_fixed_size_list(t))


def field_of(e: Expr, name: str) -> Expr:
    """``e.name``: a field of a struct; letter case does not matter where it leaves one."""
    if not pa.types.is_struct(e.type):
        hint = ": write an element first, as in x[0].a" if is_array(e.type) else ""
        raise TypeClash(f"{describe(e)} is no struct and has no field {name!r}{hint}")
    names = [e.type.field(i).name for i in range(e.type.num_fields)]
    found = [n for n in names if n == name] or [n for n in names if n.lower() == name.lower()]
    if len(found) != 1:
        what = "is ambiguous" if found else "is not there"
        raise TypeClash(f"field {name!r} of {describe(e)} {what}.{did_you_mean(name, names)} Fields: {listing(names)}")
    kept = e.type.field(found[0])
    if isinstance(e, Call) and e.fn == "from_json":
        e = replace(e, type=pa.struct([kept]))  # fields that nobody asks for are not read
    return Call("field", (e, Literal(found[0], pa.string())), kept.type)


def subscript(e: Expr, at: Expr) -> Expr:
    """``e[at]``: of an array, counted from 0, or of a map by its key."""
    if pa.types.is_map(e.type):
        if common_type(at.type, e.type.key_type) != e.type.key_type:
            raise TypeClash(f"the keys of {describe(e)} are no {describe(at)}")
        return Call("element", (e, coerce(at, e.type.key_type)), e.type.item_type)
    if not is_array(e.type):
        hint = "; of a string write SUBSTRING(s, 1, 1)" if family(e.type) == "string" else ""
        raise TypeClash(f"{describe(e)} has no elements: subscripts are of arrays and maps{hint}")
    return Call("element", (e, _whole(at)), e.type.value_type)


def element_at(args: Sequence[Expr]) -> Expr:
    """``element_at(x, n)``: of an array, counted from 1, from its end where ``n`` is negative; of a map by its key."""
    e, at = args
    if not is_array(e.type):
        return subscript(e, at)
    if isinstance(at, Literal) and at.value == 0:
        raise TypeClash("element_at counts from 1, and -1 is the last: 0 is no element")
    n = _whole(at)
    beyond = Call("size", (e,), _INT)
    if isinstance(n, Literal) and isinstance(n.value, int):
        return subscript(e, Literal(n.value - 1, _INT) if n.value > 0 else Call("add", (beyond, n), _INT))
    one, zero = Literal(1, _INT), Literal(0, _INT)
    place = choose(
        [
            (Call("gt", (n, zero), BOOL), Call("sub", (n, one), _INT)),
            (Call("lt", (n, zero), BOOL), Call("add", (beyond, n), _INT)),
        ],
        Literal(None, _INT),
    )
    return subscript(e, place)


def get(args: Sequence[Expr]) -> Expr:
    """``get(x, n)``: of an array, counted from 0."""
    if not is_array(args[0].type):
        raise TypeClash(f"GET takes an array, not {describe(args[0])}")
    return subscript(*args)


def size(args: Sequence[Expr]) -> Expr:
    """How many elements; NULL for NULL."""
    (e,) = args
    if not (is_array(e.type) or pa.types.is_map(e.type)):
        raise TypeClash(f"SIZE takes an array or a map, not {describe(e)}")
    return Call("size", (e,), _INT)


def array_contains(args: Sequence[Expr]) -> Expr:
    """Whether an array has a value: NULL where either is NULL, and where it may be one of the array's NULLs."""
    e, value = args
    if not is_array(e.type):
        raise TypeClash(f"ARRAY_CONTAINS takes an array, not {describe(e)}")
    inside = e.type.value_type
    if family(inside) == "nested" or common_type(value.type, inside) != inside:
        raise TypeClash(f"the elements of {describe(e)} are not compared with {describe(value)}: CAST it")
    return Call("array_contains", (e, coerce(value, inside)), BOOL)


def map_contains_key(args: Sequence[Expr]) -> Expr:
    """Whether a map has a key; NULL for NULL."""
    e, key = args
    if not pa.types.is_map(e.type):
        raise TypeClash(f"MAP_CONTAINS_KEY takes a map, not {describe(e)}")
    return array_contains([map_keys([e]), key])


def map_keys(args: Sequence[Expr]) -> Expr:
    """The keys of a map, as an array."""
    (e,) = args
    if not pa.types.is_map(e.type):
        raise TypeClash(f"MAP_KEYS takes a map, not {describe(e)}")
    return Call("map_keys", (e,), pa.list_(e.type.key_type))


def map_values(args: Sequence[Expr]) -> Expr:
    """The values of a map, as an array."""
    (e,) = args
    if not pa.types.is_map(e.type):
        raise TypeClash(f"MAP_VALUES takes a map, not {describe(e)}")
    return Call("map_values", (e,), pa.list_(e.type.item_type))


def _whole(e: Expr) -> Expr:
    if not (pa.types.is_integer(e.type) or family(e.type) == "null"):
        raise TypeClash(f"a subscript is a whole number, not {describe(e)}")
    if pa.types.is_integer(e.type) and e.type.bit_width > 32 and not isinstance(e, Literal):
        raise TypeClash(f"a subscript is an INT, not {describe(e)}: CAST it")
    return coerce(e, _INT)
