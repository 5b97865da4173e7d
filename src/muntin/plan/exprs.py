"""Bound scalar expressions: three frozen kinds and one vocabulary of functions.

Every expression carries its Arrow type. The same tree is rendered to Spark SQL (``cql.unparse``), evaluated over Arrow
columns (``scalars.evaluate``) and, row by row, by ``reference``; ``FUNCTIONS`` lists what all three must know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

OURS: frozenset[str] = frozenset(
    # parse_time(text, pattern), which may name a zone as its last argument, as ``cast`` does; make_date(year, month,
    # day); make_timestamp(year, month, day, hour, minute, seconds)
    ["parse_time", "make_date", "make_timestamp"]
    # texts of JSON: get_json_object(text, path); from_json(text) as a value of the call's type and to_json(value),
    # which may name a zone as their last argument, as ``cast`` does
    + ["get_json_object", "json_array_length", "json_object_keys", "from_json", "to_json"]
    # hashes; sha2(x, bits); hash and xxhash64 of several values, NULL too
    + ["md5", "sha1", "sha2", "crc32", "hash", "xxhash64"]
    # bytes and whole numbers in letters: a text stands for its bytes in UTF-8; conv(digits, base, base)
    + ["hex", "bin", "unhex", "base64", "unbase64", "encode", "decode", "url_encode", "url_decode", "conv"]
    + ["parse_url"]
    # characters: translate(s, from, to), mask(s, upper, lower, digit, other), substring_index(s, delimiter, n)
    + ["initcap", "translate", "mask", "substring_index", "levenshtein", "soundex", "ascii", "chr", "luhn_check"]
    # regexp_...(s, pattern), patterns in the form of ``cql.regexes``; regexp_extract_all(s, pattern, group)
    + ["regexp_count", "regexp_substr", "regexp_instr", "regexp_extract_all"]
    # numbers as texts: format_number(x, digits) with commas; format_string(format, x, ...), NULL too
    + ["format_number", "format_string"]
    # to_number(s, format in capitals)
    + ["to_number"]
    # bits: shifts take the lowest bits of their second argument; bit_get(x, place)
    + ["shiftleft", "shiftright", "shiftrightunsigned", "bit_count", "bit_get"]
    # numbers: bround rounds half to even; width_bucket(x, low, high, n)
    # arrays: array(x, ...); sort_array(x, upward, NULLs first); slice(x, start, length); sequence(start, stop[, step]);
    # map_from_arrays(keys, values); elt(n, array): from 1, no value beyond it; array_insert(x, place, array of one);
    # str_to_map(s, pattern between pairs, pattern between key and value)
    + ["array", "array_concat", "array_distinct", "array_except", "array_intersect", "arrays_overlap", "array_max"]
    + ["array_min", "sort_array", "array_position", "array_remove", "array_compact", "array_reverse", "slice"]
    + ["flatten", "sequence", "array_repeat", "map_from_arrays", "map_entries", "elt"]
    + ["map_from_entries", "str_to_map", "array_insert", "arrays_zip"]
    + ["bround", "factorial", "width_bucket", "asinh", "acosh", "atanh", "cot", "sec", "csc"]
)
"""Functions that Spark SQL never computes for us, though it has them: what it answers differs between its releases and
those of Java, or between its modes; ``scalars`` has one answer."""

FUNCTIONS: frozenset[str] = OURS | frozenset(
    # arithmetic: Spark's ANSI rules: int / int is double; overflow and zero divisors are errors (``plan.failing``)
    ["add", "sub", "mul", "div", "intdiv", "mod", "neg", "abs", "round", "floor", "ceil", "sqrt", "power", "sign"]
    # comparison (NaN = NaN, NaN above every number, -0.0 = 0.0) and three-valued logic
    + ["eq", "ne", "lt", "le", "gt", "ge", "eq_null_safe", "and", "or", "not", "is_null", "is_not_null"]
    # choice: case(c1, v1, ..., else), in(x, v1, ...)
    + ["case", "coalesce", "nullif", "greatest", "least", "in", "cast"]
    # try(f(x, ...)): the call inside, NULL where it fails (not where an argument does)
    + ["try"]
    # pair(key, value) as one sortable value: the argument of aggregates of values in the order of another one, or of
    # event time
    + ["pair"]
    # row(x, y, ...): values as one, NULL if one of them is; the argument of COUNT(DISTINCT x, y)
    + ["row"]
    # only(c, v): v where c is true, else NULL; as an aggregate's argument, its FILTER
    + ["only"]
    # strings
    + ["lower", "upper", "length", "concat", "substring", "trim", "ltrim", "rtrim", "replace", "like"]
    # concat_ws(between, x, ...) without NULLs; rlike(s, pattern), regexp_extract(s, pattern, group), regexp_replace(s,
    # pattern, by): patterns in the form of ``cql.regexes``; instr: the place of a part from 1, 0 for none
    + ["concat_ws", "rlike", "regexp_extract", "regexp_replace", "reverse", "repeat", "lpad", "rpad", "instr"]
    # split(s, pattern): the texts between matches; array_join(texts, between[, for NULL]); octet_length: bytes
    + ["split", "array_join", "octet_length"]
    # doubles; ln and log10 are NULL of what is not above 0, log1p of what is not above -1
    + ["log1p", "expm1", "sinh", "cosh", "tanh", "cbrt", "rint", "hypot"]
    + ["ln", "log10", "exp", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "bit_and", "bit_or", "bit_xor"]
    # add_days(d, n), date_diff(end, start) in days; unix_micros(t), timestamp_micros(n)
    + ["add_days", "date_diff", "unix_micros", "timestamp_micros"]
    # parts of a date (weeks are ISO 8601's; day 1 of a week is Sunday) and of the clock; date_trunc(unit, t)
    + ["year", "quarter", "month", "day", "dayofweek", "dayofyear", "weekofyear", "hour", "minute", "second"]
    + ["date_trunc"]
    # add_months(t, n): the same day of the month and time of day, or the last day of a shorter month
    + ["add_months"]
    # at_time_zone(t, zone): what the clock of a zone shows at an instant (a timestamp without zone), or the instant at
    # which it shows that. Whatever else depends on a zone is in UTC: a cast between a timestamp and a date, a string or
    # a timestamp without zone, a part of the clock, date_trunc, add_months; but cast(text, zone), date_trunc(unit, t,
    # zone) and add_months(t, n, zone) name another as their last argument, as ``cql.zones`` puts it there
    + ["at_time_zone"]
    # parts of nested values, NULL where they are not there: field(struct, name), element(array, place from 0),
    # element(map, key)
    + ["field", "element", "size", "array_contains", "map_keys", "map_values"]
    # struct(x, y, ...): a struct of values, which may be NULL
    + ["struct"]
)

USER = "udf:"
"""How ``fn`` of a call of a user's function begins; its name follows."""


def _no_code() -> Any:
    return None


@dataclass(frozen=True)
class Column:
    """A column of the node's input, by name."""

    name: str
    type: pa.DataType


@dataclass(frozen=True)
class Literal:
    """A constant; ``value`` is a plain Python value (timestamps: int microseconds), None for NULL."""

    value: Any
    type: pa.DataType


@dataclass(frozen=True)
class Call:
    """A function of ``FUNCTIONS`` over arguments. ``cast`` converts its argument to ``type``.

    ``udf:name``: a user's function. What it is is its name and ``version``, in a stored plan too; ``code`` (a
    ``plan.user_functions.ScalarFunction``) is what runs, and no part of it (None in a plan as it was read back).
    """

    fn: str
    args: tuple[Expr, ...]
    type: pa.DataType
    version: str = ""
    code: Any = field(default_factory=_no_code, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.fn not in FUNCTIONS and not self.fn.startswith(USER):
            raise ValueError(f"unknown function {self.fn!r}")


Expr = Column | Literal | Call

TRUE = Literal(True, pa.bool_())


@dataclass(frozen=True)
class Agg:
    """One aggregate; ``arg`` is None only for COUNT(*).

    ``fn`` names a function of ``aggregates.registry``, whose description says what it takes, gives and keeps, or is
    ``udaf:name`` for the catalog's function of that name (``inverse``: it can take values away). ``_distinct`` after
    it: each value counts once. ``param``: a constant after the argument, ``share``: one after that.

    FILTER (WHERE c) is the argument ``only(c, x)``: where NULL counts as a value the rows where c is true are all there
    are, for the others the NULLs that it makes are skipped.
    """

    fn: str
    arg: Expr | None
    type: pa.DataType
    param: float | None = None
    inverse: bool = False
    share: float | None = None

    @property
    def base(self) -> str:
        """``fn`` without ``_distinct``."""
        return self.fn if self.fn.startswith("udaf:") else self.fn.removesuffix("_distinct")

    @property
    def distinct(self) -> bool:
        """Whether each value counts once."""
        return self.base != self.fn


def pair(key: Expr, value: Expr) -> Expr:
    """What orders a row, and its value, as one sortable value."""
    return Call("pair", (key, value), pa.struct([("at", key.type), ("value", value.type)]))


def conjuncts(e: Expr) -> list[Expr]:
    """The parts of a conjunction, flattened; a TRUE literal has none."""
    match e:
        case Call("and", args):
            return [c for a in args for c in conjuncts(a)]
        case Literal(True, _):
            return []
        case _:
            return [e]


def conjunction(parts: list[Expr]) -> Expr:
    """AND of the parts (nested to the left); TRUE for none."""
    if not parts:
        return TRUE
    whole = parts[0]
    for part in parts[1:]:
        whole = Call("and", (whole, part), pa.bool_())
    return whole


def columns_of(e: Expr) -> Iterator[Column]:
    """Every column reference in the expression, in text order, with repeats."""
    match e:
        case Column():
            yield e
        case Call(_, args):
            for a in args:
                yield from columns_of(a)
        case Literal():
            return


def computed_here(e: Expr) -> bool:
    """Whether ``scalars`` computes a part of the expression wherever it runs: a user's function, or one of ``OURS``."""
    own = isinstance(e, Call) and (e.fn.startswith(USER) or e.fn in OURS)
    return own or (isinstance(e, Call) and any(map(computed_here, e.args)))


def calls_user_code(e: Expr) -> bool:
    """Whether a user's function is called in the expression."""
    return isinstance(e, Call) and (e.fn.startswith(USER) or any(map(calls_user_code, e.args)))


def map_columns(e: Expr, f: Callable[[Column], Expr]) -> Expr:
    """The expression with every column replaced by ``f`` of it."""
    match e:
        case Column():
            return f(e)
        case Call(_, args):
            return replace(e, args=tuple(map_columns(a, f) for a in args))
        case Literal():
            return e
