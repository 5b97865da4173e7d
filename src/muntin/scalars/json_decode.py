"""``from_json``: texts as values of a schema, column by column over one tape (Spark's ``JacksonParser``, PERMISSIVE).

A value of another kind than its field is NULL; one inside of an array or a map makes all of that NULL. Of a name that
stands twice in an object the last value counts that can be read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from muntin.core.zones import Zone
from muntin.kernels.json_paths import children, named
from muntin.kernels.json_tape import (
    ARRAY,
    FALSE,
    FLOAT,
    INFINITY,
    INT,
    MALFORMED,
    MINUS_INFINITY,
    MISSING,
    NAN,
    NON_NUMBERS,
    NULL,
    OBJECT,
    ODD,
    STRING,
    TRUE,
    Bytes,
    Ints,
    Tape,
    tape,
)
from muntin.kernels.json_text import strings, values
from muntin.scalars.cast_rules import by_value
from muntin.scalars.cast_text import decimal_of, from_text

Bools = NDArray[np.bool_]
Doubles = Callable[[pa.Array], pa.Array]
Read = tuple[pa.Array, Bools]
"""Values, and which are NULL since what stands there is of another kind."""

_ZONED = r":[0-9]+:[0-9]+(\.[0-9]*)?[ ]*[^\x00-\x20.0-9]"
_NAMED = {"NaN": np.nan, "Infinity": np.inf, "+Infinity": np.inf, "+INF": np.inf, "-Infinity": -np.inf, "-INF": -np.inf}
_BARE = {NAN: np.nan, INFINITY: np.inf, MINUS_INFINITY: -np.inf}


def decoded(texts: pa.Array, kind: pa.DataType, clock: Zone, doubles: Doubles) -> pa.Array:
    """The texts as ``kind``, a struct, an array or a map; NULL for NULL and blank texts. A text that is no JSON of the
    schema is a struct of NULLs, or NULL. ``clock``: of timestamps that name no zone."""
    t = tape(texts, NON_NUMBERS)
    reader = Reader(t, clock, doubles)
    if pa.types.is_struct(kind):
        return reader.struct(t.roots, kind, t.roots == MISSING)[0]
    return reader.read(t.roots, kind, root=True)[0]


@dataclass(frozen=True)
class Reader:
    """Reads values of one tape."""

    tape: Tape
    clock: Zone
    doubles: Doubles

    def read(self, nodes: Ints, kind: pa.DataType, root: bool = False) -> Read:
        """The values at the nodes (below 0: nothing there)."""
        if pa.types.is_struct(kind):
            kinds = self.tape.kinds_at(nodes)
            return self.struct(nodes, kind, kinds != OBJECT)
        if pa.types.is_list(kind):
            return self.list(nodes, kind, root)
        return self.map(nodes, kind) if pa.types.is_map(kind) else self.leaf(nodes, kind)

    def struct(self, nodes: Ints, kind: pa.DataType, missing: Bools) -> Read:
        """Structs, NULL where ``missing``; what is no object has no fields."""
        kinds = self.tape.kinds_at(nodes)
        objects = np.where(kinds == OBJECT, nodes, MALFORMED)
        names = [f.name for f in kind]
        places = named(self.tape, objects, names)
        columns = [self._field(objects, names, places, i, f.type) for i, f in enumerate(kind)]
        made = pa.StructArray.from_arrays(columns, fields=list(kind), mask=pa.array(missing))
        return made, (kinds != OBJECT) & (kinds != NULL)

    def _field(self, objects: Ints, names: list[str], places: Ints, i: int, kind: pa.DataType) -> pa.Array:
        found, bad = self.read(np.ascontiguousarray(places[:, i]), kind)
        while bad.any():  # an earlier value of the name may be one
            rows = np.flatnonzero(bad)
            before = named(self.tape, objects[rows], [names[i]], places[rows, i : i + 1])
            rows, before = rows[before[:, 0] >= 0], before[before[:, 0] >= 0]
            if not len(rows):
                break
            places = places.copy()
            places[rows, i] = before[:, 0]
            more, still = self.read(np.ascontiguousarray(before[:, 0]), kind)
            at = np.arange(len(found))
            at[rows] = len(found) + np.arange(len(rows))
            found = pa.concat_arrays([found, more]).take(pa.array(at))
            bad = np.zeros(len(found), np.bool_)
            bad[rows] = still
        return found

    def list(self, nodes: Ints, kind: pa.DataType, root: bool) -> Read:
        """Arrays. At the root an object is an array of it, where it has structs."""
        kinds = self.tape.kinds_at(nodes)
        single = (kinds == OBJECT) if root and pa.types.is_struct(kind.value_type) else np.zeros(len(nodes), np.bool_)
        good = (kinds == ARRAY) | single
        while True:
            offsets, items, _ = children(self.tape, np.where(good & ~single, nodes, MALFORMED), ARRAY)
            sizes = np.diff(offsets) + (single & good)
            if single.any():
                offsets, items = _with_own(nodes, single & good, offsets, items)
            found, bad = self.read(items, kind.value_type)
            rows = np.repeat(np.arange(len(nodes)), sizes)[bad]
            if not len(rows):
                break
            good[rows] = False
        places = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32(), mask=np.append(~good, False))
        return pa.ListArray.from_arrays(places, found, type=kind), ~good & (kinds != NULL)

    def map(self, nodes: Ints, kind: pa.DataType) -> Read:
        """Maps, with a key twice if it stands there twice."""
        kinds = self.tape.kinds_at(nodes)
        good = kinds == OBJECT
        while True:
            offsets, keys, items = children(self.tape, np.where(good, nodes, MALFORMED), OBJECT)
            found, bad = self.read(items, kind.item_type)
            rows = np.repeat(np.arange(len(nodes)), np.diff(offsets))[bad]
            if not len(rows):
                break
            good[rows] = False
        places = pa.array(offsets, pa.int32(), mask=np.append(~good, False))
        made = pa.MapArray.from_arrays(places, strings(self.tape, keys), found)
        return made.cast(kind), ~good & (kinds != NULL)

    def leaf(self, nodes: Ints, kind: pa.DataType) -> Read:
        """Plain values."""
        kinds, is_type = self.tape.kinds_at(nodes), pa.types
        there = (nodes >= 0) & (kinds != NULL)
        if is_type.is_string(kind):
            return self._texts(nodes, kinds, there), np.zeros(len(nodes), np.bool_)
        if is_type.is_boolean(kind):
            found = pa.array(kinds == TRUE, mask=(kinds != TRUE) & (kinds != FALSE))
        elif is_type.is_integer(kind):
            found = self._whole(nodes, kinds, kind)
        elif is_type.is_floating(kind):
            found = self._floats(nodes, kinds, kind)
        elif is_type.is_decimal(kind):
            found = self._decimals(nodes, kinds, kind)
        elif is_type.is_date(kind):
            found = _dates(self._strings(nodes, kinds), kind, self.clock)
        else:
            found = self._timestamps(nodes, kinds, kind)
        return found, there & found.is_null().to_numpy(zero_copy_only=False)

    def _strings(self, nodes: Ints, kinds: Bytes) -> pa.Array:
        return strings(self.tape, np.where((kinds == STRING) | (kinds == ODD), nodes, MALFORMED))

    def _texts(self, nodes: Ints, kinds: Bytes, there: Bools) -> pa.Array:
        plain = self._strings(nodes, kinds)
        others = there & ~((kinds == STRING) | (kinds == ODD))
        if not others.any():
            return plain
        return pc.coalesce(plain, values(self.tape, np.where(others, nodes, MALFORMED), self.doubles))

    def _numbers(self, nodes: Ints, kinds: Bytes) -> pa.Array:
        return strings(self.tape, np.where((kinds == INT) | (kinds == FLOAT), nodes, MALFORMED))

    def _whole(self, nodes: Ints, kinds: Bytes, kind: pa.DataType) -> pa.Array:
        """Numbers without fraction that fit; of a TINYINT Java's bytes without sign too, as what they are with one."""
        texts = strings(self.tape, np.where(kinds == INT, nodes, MALFORMED))
        short = pc.less_equal(pc.binary_length(texts), 18)
        whole = pc.cast(pc.if_else(short, texts, pa.scalar(None, pa.string())), pa.int64())
        if pc.any(pc.invert(short)).as_py():
            long = pc.if_else(short, pa.scalar(None, pa.string()), texts)
            whole = pc.coalesce(whole, from_text(long, pa.int64(), self.clock))
        info = np.iinfo(kind.to_pandas_dtype())
        high = 255 if kind == pa.int8() else info.max
        numbers = whole.fill_null(0).to_numpy()
        fits = (numbers >= info.min) & (numbers <= high) & whole.is_valid().to_numpy(zero_copy_only=False)
        return pa.array(numbers.astype(kind.to_pandas_dtype()), kind, mask=~fits)

    def _floats(self, nodes: Ints, kinds: Bytes, kind: pa.DataType) -> pa.Array:
        found = pc.cast(self._numbers(nodes, kinds), kind)
        minus_zero = pc.equal(found, pa.scalar(0, kind)).fill_null(False).to_numpy(zero_copy_only=False)
        found = pc.if_else(pa.array(minus_zero & (kinds == INT)), pa.scalar(0, kind), found)
        for bare, value in _BARE.items():
            found = pc.if_else(pa.array(kinds == bare), pa.scalar(value, kind), found)
        texts = self._strings(nodes, kinds)
        if texts.null_count == len(texts):
            return found
        for text, value in _NAMED.items():
            found = pc.if_else(pc.equal(texts, text).fill_null(False), pa.scalar(value, kind), found)
        return found

    def _decimals(self, nodes: Ints, kinds: Bytes, kind: pa.DataType) -> pa.Array:
        texts = self._strings(nodes, kinds)
        plain = pc.if_else(pc.match_substring_regex(texts, r"^[^\x00-\x20\x7f]+$"), texts, pa.scalar(None, pa.string()))
        given = pc.coalesce(self._numbers(nodes, kinds), pc.replace_substring(plain, ",", ""))
        return by_value(given, kind, lambda s: decimal_of(s, kind))

    def _timestamps(self, nodes: Ints, kinds: Bytes, kind: pa.DataType) -> pa.Array:
        """Texts; numbers are seconds since the epoch, except of a timestamp without zone, which takes no text with one
        either."""
        texts = self._strings(nodes, kinds)
        found = from_text(texts, kind, self.clock)
        if kind.tz is None:
            return pc.if_else(pc.match_substring_regex(texts, _ZONED), pa.scalar(None, kind), found)
        seconds = self._whole(nodes, kinds, pa.int64())
        if seconds.null_count == len(seconds):
            return found
        with np.errstate(over="ignore"):  # Java's 64 bits
            micros = seconds.fill_null(0).to_numpy() * np.int64(1_000_000)
        mask = seconds.is_null().to_numpy(zero_copy_only=False)
        return pc.coalesce(found, pa.array(micros, pa.int64(), mask=mask).cast(kind))


def _dates(texts: pa.Array, kind: pa.DataType, clock: Zone) -> pa.Array:
    """Dates; a whole number that is no year counts days since the epoch."""
    found = from_text(texts, kind, clock)
    counts = pc.match_substring_regex(texts, r"^[+-]?[0-9]+$")
    days = from_text(pc.if_else(counts, texts, pa.scalar(None, pa.string())), pa.int32(), clock)
    return pc.coalesce(found, days.cast(kind))


def _with_own(nodes: Ints, single: Bools, offsets: Ints, items: Ints) -> tuple[Ints, Ints]:
    """Beside the elements of arrays the objects that are their own."""
    sizes = np.diff(offsets)
    made = np.concatenate([[0], np.cumsum(sizes + single)])
    found = np.empty(made[-1], np.int64)
    found[made[:-1][single]] = nodes[single]
    row = np.repeat(np.arange(len(nodes)), sizes)
    found[np.arange(len(items)) - offsets[:-1][row] + made[:-1][row]] = items
    return made, found
