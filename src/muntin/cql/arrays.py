"""Arrays and maps made and compared, under Spark's names: computed by ``scalars`` everywhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from muntin.cql import nested
from muntin.cql.coerce import coerce, common_type
from muntin.cql.nested import is_array
from muntin.cql.operators import TypeClash, describe, unify
from muntin.cql.regexes import regex
from muntin.cql.takes import plain_text, string, whole
from muntin.cql.types import family
from muntin.plan.exprs import Call, Column, Expr, Literal

Builder = Callable[[Sequence[Expr]], Expr]
_STRING, _INT, _BIGINT, _BOOL = pa.string(), pa.int32(), pa.int64(), pa.bool_()


def _list(name: str, e: Expr, plain: bool = False) -> Expr:
    """An array; ``plain``: whose elements have an order."""
    if not is_array(e.type):
        raise TypeClash(f"{name} takes an array, not {describe(e)}")
    if plain:
        _ordered(name, "elements", e.type.value_type, e)
    return e


def _ordered(name: str, what: str, kind: pa.DataType, e: Expr) -> None:
    if family(kind) in ("nested", "duration"):
        raise TypeClash(f"{name} compares {what}, which those of {describe(e)} do not: take a field of theirs first")


def _same_lists(name: str, args: Sequence[Expr]) -> list[Expr]:
    """Arrays of one type of elements."""
    for e in args:
        _list(name, e)
    first = args[0]
    for e in args[1:]:
        if e.type.value_type != first.type.value_type:
            raise TypeClash(
                f"{name} takes arrays of one type, not {describe(first)} and {describe(e)}: CAST the elements of one"
            )
    return list(args)


def _element(name: str, e: Expr, value: Expr) -> Expr:
    """A value as an element of an array."""
    inside = e.type.value_type
    if isinstance(value, Literal) and value.value is None:
        return Literal(None, inside)
    if value.type != inside and (family(inside) == "nested" or common_type(value.type, inside) != inside):
        raise TypeClash(f"the elements of {describe(e)} are not of the type of {describe(value)}: CAST it")
    return value if value.type == inside else coerce(value, inside)


def _array(args: Sequence[Expr]) -> Expr:
    nested_ = [a for a in args if family(a.type) == "nested"]
    if nested_:
        args = [Literal(None, nested_[0].type) if a == Literal(None, pa.null()) else a for a in args]
    if nested_ and any(a.type != nested_[0].type for a in args):
        raise TypeClash(f"ARRAY needs values of one type, but has {describe(args[0])} and {describe(args[-1])}")
    values = list(args) if nested_ else unify("ARRAY", args)
    return Call("array", tuple(values), pa.list_(values[0].type))


def concat(args: Sequence[Expr]) -> Expr:
    """The elements of arrays, one array after the other; NULL where one is."""
    lists = _same_lists("CONCAT", args)
    return Call("array_concat", tuple(lists), pa.list_(lists[0].type.value_type))


def reverse(e: Expr) -> Expr:
    """An array from its end."""
    return Call("array_reverse", (_list("REVERSE", e),), pa.list_(e.type.value_type))


def _of_list(fn: str, plain: bool = True) -> Builder:
    def build(args: Sequence[Expr]) -> Expr:
        e = _list(fn.upper(), args[0], plain)
        return Call(fn, (e,), pa.list_(e.type.value_type))

    return build


def _extreme(fn: str) -> Builder:
    def build(args: Sequence[Expr]) -> Expr:
        e = _list(fn.upper(), args[0], plain=True)
        return Call(fn, (e,), e.type.value_type)

    return build


def _of_two(fn: str, result: pa.DataType | None = None) -> Builder:
    def build(args: Sequence[Expr]) -> Expr:
        a, b = _same_lists(fn.upper(), args)
        _list(fn.upper(), a, plain=True)
        return Call(fn, (a, b), result or pa.list_(a.type.value_type))

    return build


def _union(args: Sequence[Expr]) -> Expr:
    return _of_list("array_distinct")([concat(_same_lists("ARRAY_UNION", args))])


def _added(name: str, last: bool) -> Builder:
    def build(args: Sequence[Expr]) -> Expr:
        e = _list(name, args[0])
        one = Call("array", (_element(name, e, args[1]),), pa.list_(e.type.value_type))
        return concat([e, one] if last else [one, e])

    return build


def _with_element(fn: str, result: pa.DataType | None = None) -> Builder:
    def build(args: Sequence[Expr]) -> Expr:
        e = _list(fn.upper(), args[0], plain=True)
        return Call(fn, (e, _element(fn.upper(), e, args[1])), result or pa.list_(e.type.value_type))

    return build


def _sort_array(args: Sequence[Expr]) -> Expr:
    """sort_array(x[, upward]): NULLs come first upward, last downward."""
    up = args[1] if len(args) > 1 else Literal(True, _BOOL)
    if not (isinstance(up, Literal) and isinstance(up.value, bool)):
        raise TypeClash(f"SORT_ARRAY takes TRUE (upward) or FALSE, not {describe(up)}")
    return _sorted("SORT_ARRAY", args[0], up.value, nulls_first=up.value)


def _array_sort(args: Sequence[Expr]) -> Expr:
    return _sorted("ARRAY_SORT", args[0], up=True, nulls_first=False)


def _sorted(name: str, value: Expr, up: bool, nulls_first: bool) -> Expr:
    e = _list(name, value, plain=True)
    flags = Literal(up, _BOOL), Literal(nulls_first, _BOOL)
    return Call("sort_array", (e, *flags), pa.list_(e.type.value_type))


def _slice(args: Sequence[Expr]) -> Expr:
    e = _list("SLICE", args[0])
    return Call("slice", (e, *(whole("SLICE", a, _INT) for a in args[1:])), pa.list_(e.type.value_type))


def _flatten(args: Sequence[Expr]) -> Expr:
    e = _list("FLATTEN", args[0])
    if not is_array(e.type.value_type):
        raise TypeClash(f"FLATTEN takes an array of arrays, not {describe(e)}")
    return Call("flatten", (e,), pa.list_(e.type.value_type.value_type))


def _sequence(args: Sequence[Expr]) -> Expr:
    if any(family(a.type) not in ("number", "null") for a in args):
        raise TypeClash("SEQUENCE is of whole numbers here: write DATE_ADD(d, n) for days")
    values = [whole("SEQUENCE", a, a.type if pa.types.is_integer(a.type) else _INT) for a in args]
    same = unify("SEQUENCE", values)
    return Call("sequence", tuple(same), pa.list_(same[0].type))


def _repeat(args: Sequence[Expr]) -> Expr:
    return Call("array_repeat", (args[0], whole("ARRAY_REPEAT", args[1], _INT)), pa.list_(args[0].type))


def _find_in_set(args: Sequence[Expr]) -> Expr:
    """find_in_set(s, 'a,b,c'): the place of a text, from 1; 0 where it is not there."""
    text, listed = (string("FIND_IN_SET", a) for a in args)
    parts = Call("split", (listed, Literal(",", _STRING)), pa.list_(_STRING))
    place = Call("array_position", (parts, text), _BIGINT)
    return coerce(place, _INT)


def _elt(args: Sequence[Expr]) -> Expr:
    """elt(n, a, b, ...): the n-th of texts, from 1."""
    n, *texts = args
    listed = texts[0] if len(texts) == 1 and is_array(texts[0].type) else _array([string("ELT", t) for t in texts])
    return Call("elt", (whole("ELT", n, _INT), listed), listed.type.value_type)


def _map(args: Sequence[Expr]) -> Expr:
    """map(k1, v1, k2, v2, ...)."""
    if len(args) % 2:
        raise TypeClash("MAP takes keys and values by turns, as in MAP('a', x, 'b', y)")
    return _from_arrays("MAP", _array(args[::2]), _array(args[1::2]))


def _map_from_arrays(args: Sequence[Expr]) -> Expr:
    return _from_arrays("MAP_FROM_ARRAYS", *(_list("MAP_FROM_ARRAYS", a) for a in args))


def _from_arrays(name: str, keys: Expr, items: Expr) -> Expr:
    _list(name, keys, plain=True)
    return Call("map_from_arrays", (keys, items), pa.map_(keys.type.value_type, items.type.value_type))


def _map_concat(args: Sequence[Expr]) -> Expr:
    for e in args:
        if not pa.types.is_map(e.type) or e.type != args[0].type:
            raise TypeClash(f"MAP_CONCAT takes maps of one type, not {describe(e)}")
    keys, items = (concat([of([e]) for e in args]) for of in (nested.map_keys, nested.map_values))
    return _from_arrays("MAP_CONCAT", keys, items)


def _map_entries(args: Sequence[Expr]) -> Expr:
    e = args[0]
    if not pa.types.is_map(e.type):
        raise TypeClash(f"MAP_ENTRIES takes a map, not {describe(e)}")
    pair = pa.struct([("key", e.type.key_type), ("value", e.type.item_type)])
    return Call("map_entries", (e,), pa.list_(pair))


def _map_from_entries(args: Sequence[Expr]) -> Expr:
    """map_from_entries(pairs): of an array of structs of two fields, the key and the value."""
    e = _list("MAP_FROM_ENTRIES", args[0])
    pair = e.type.value_type
    if not (pa.types.is_struct(pair) and pair.num_fields == 2):
        raise TypeClash(f"MAP_FROM_ENTRIES takes an array of structs of a key and a value, not {describe(e)}")
    key, item = (pair.field(i).type for i in range(2))
    _ordered("MAP_FROM_ENTRIES", "keys", key, e)
    return Call("map_from_entries", (e,), pa.map_(key, item))


def _str_to_map(args: Sequence[Expr]) -> Expr:
    """str_to_map(s[, between pairs[, between key and value]]): ``,`` and ``:`` unless given."""
    name, given = "STR_TO_MAP", [Literal(",", _STRING), Literal(":", _STRING)]
    given[: len(args) - 1] = args[1:]  # type: ignore[assignment]
    made = [regex(plain_text(name, a, "a plain regular expression")) for a in given]
    if any(m.empty for m in made):
        raise TypeClash(f"{name} takes patterns that no empty text fits, as 'a+' for 'a*'")
    texts = (Literal(m.text, _STRING) for m in made)
    return Call("str_to_map", (string(name, args[0]), *texts), pa.map_(_STRING, _STRING))


def _insert(args: Sequence[Expr]) -> Expr:
    """array_insert(x, place, value): from 1, from the end where negative."""
    e = _list("ARRAY_INSERT", args[0])
    kind = pa.list_(e.type.value_type)
    place = whole("ARRAY_INSERT", args[1], _INT)
    if isinstance(place, Literal) and place.value == 0:
        raise TypeClash("ARRAY_INSERT counts from 1, and -1 is behind the last: 0 is no place")
    return Call("array_insert", (e, place, Call("array", (_element("ARRAY_INSERT", e, args[2]),), kind)), kind)


def _zip(args: Sequence[Expr]) -> Expr:
    """arrays_zip(a, b, ...): structs of the elements at the same place, NULL behind the end of a shorter array."""
    names = [_field_name(_list("ARRAYS_ZIP", e), i) for i, e in enumerate(args)]
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise TypeClash(f"ARRAYS_ZIP has field {twice!r} twice: take one from a sub-query that names it otherwise")
    fields = [pa.field(n, e.type.value_type) for n, e in zip(names, args, strict=True)]
    return Call("arrays_zip", tuple(args), pa.list_(pa.struct(fields)))


def _field_name(e: Expr, place: int) -> str:
    """As Spark has it: the name of a column or a field, of what has none its place from 0."""
    match e:
        case Column(name) if "." in name:
            return name.split(".", 1)[1]
        case Call("field", (_, Literal(str(name)))):
            return name
        case _:
            return str(place)


def array_join(args: Sequence[Expr]) -> Expr:
    """array_join(texts, between[, for NULL]): without the third, NULLs are left out."""
    e = args[0]
    plain = [Literal(plain_text("ARRAY_JOIN", a), _STRING) for a in args[1:]]
    if not (is_array(e.type) and family(e.type.value_type) == "string"):
        raise TypeClash(f"ARRAY_JOIN takes an array of STRINGs, not {describe(e)}")
    return Call("array_join", (e, *plain), _STRING)


TABLE: dict[str, tuple[int, int, Builder]] = {
    "array": (1, 1_000, _array),
    "array_append": (2, 2, _added("ARRAY_APPEND", last=True)),
    "array_prepend": (2, 2, _added("ARRAY_PREPEND", last=False)),
    "array_compact": (1, 1, _of_list("array_compact", plain=False)),
    "array_distinct": (1, 1, _of_list("array_distinct")),
    "array_except": (2, 2, _of_two("array_except")),
    "array_intersect": (2, 2, _of_two("array_intersect")),
    "array_union": (2, 2, _union),
    "arrays_overlap": (2, 2, _of_two("arrays_overlap", _BOOL)),
    "array_max": (1, 1, _extreme("array_max")),
    "array_min": (1, 1, _extreme("array_min")),
    "array_position": (2, 2, _with_element("array_position", _BIGINT)),
    "array_remove": (2, 2, _with_element("array_remove")),
    "array_repeat": (2, 2, _repeat),
    "array_sort": (1, 1, _array_sort),
    "sort_array": (1, 2, _sort_array),
    "array_join": (2, 3, array_join),
    "slice": (3, 3, _slice),
    "flatten": (1, 1, _flatten),
    "sequence": (2, 3, _sequence),
    "elt": (2, 1_000, _elt),
    "find_in_set": (2, 2, _find_in_set),
    "map": (2, 1_000, _map),
    "map_from_arrays": (2, 2, _map_from_arrays),
    "map_concat": (1, 1_000, _map_concat),
    "map_entries": (1, 1, _map_entries),
    "map_from_entries": (1, 1, _map_from_entries),
    "str_to_map": (1, 3, _str_to_map),
    "array_insert": (3, 3, _insert),
    "arrays_zip": (1, 1_000, _zip),
}
"""By name: the least and the most arguments, and the builder."""
