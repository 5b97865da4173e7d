"""A synopsis of panes: partial aggregates by pane, signature and group, which many windows read (Golab 2006, 2.3.4).

A pane is known by its end (microseconds); it holds the rows after the end of the one before, up to its own. Chunks are
ordered by pane; chunks of like size are merged, so a row is rewritten a logarithmic number of times, and leave when no
window needs any of their panes. What panes of a chunk tell apart is its *layout*; what readers ask later may differ,
and is then answered from such chunks as tell enough (``Layout``).

Columns of a chunk: ``pane`` (its end, from the chunk's ``base`` in units of the layout's grid), ``sig`` (number of a
signature of the layout), ``n`` (rows), the groups, and for an argument ``a``: ``a.n`` (values that are not NULL),
``a.low`` and ``a.high`` (words of the 128-bit sum), ``a.l<k>`` and ``a.odd<k>`` (limbs of a sum of doubles, numbers of
NaN, +Inf and -Inf), ``a.min`` and ``a.max`` (keys; greatest wins); ``a:s.l<k>`` and ``a:s.odd<k>`` of the sum of a
series ``s`` of ``a``. Columns that others tell are left out: see ``_default``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import concat_rows, no_columns
from muntin.kernels.hashing import as_int64
from muntin.kernels.keys import key_ids
from muntin.kernels.panes import fold_int128
from muntin.kernels.synopses import LEAST, fold_key, fold_sum
from muntin.state.shard_state import Chunk, ShardState

PANES, LAYOUTS, SIGNATURES = "panes", "layouts", "signatures."
"""Structures: signatures are kept by layout."""

TIER = 8
"""Chunks of one size that become one of the next."""

_NONE: NDArray[np.bool_] = np.empty(0, np.bool_)

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Layout:
    """What panes tell: their ends are ``base`` and multiples of ``grid`` from there; rows fulfil or do not fulfil
    ``predicates`` (bit p of their signature), by name; of arguments there are ``parts``, such as ``a.sum``. ``hours``
    (0: none): panes of so long for windows of hours in a zone, of which some long ago are cut finer, by ``grid``."""

    grid: int
    base: int
    predicates: tuple[str, ...]
    parts: tuple[str, ...]
    hours: int = 0

    def to_text(self) -> str:
        """As a head of the state keeps it."""
        hours = [self.hours] if self.hours else []
        return json.dumps([self.grid, self.base, list(self.predicates), list(self.parts), *hours])

    @staticmethod
    def of_text(text: str) -> Layout:
        """The layout that ``to_text`` wrote."""
        grid, base, predicates, parts, *hours = json.loads(text)
        return Layout(grid, base, tuple(predicates), tuple(parts), *hours)


@dataclass(frozen=True)
class Partials:
    """Partials, all columns there: ends of panes, numbers of signatures, groups, rows, and other columns by name."""

    pane: Ints
    sig: Ints
    groups: pa.RecordBatch
    n: Ints
    columns: Mapping[str, Ints] = field(default_factory=dict)

    def folded(self) -> Partials:
        """Those of one pane, signature and group as one; in order of panes. Cost: one hash access a row."""
        ids, count, first = key_ids([pa.array(self.pane), pa.array(self.sig), *self.groups.columns], len(self.pane))
        order = np.argsort(self.pane[first], kind="stable")
        place = np.empty(count, np.int64)
        place[order] = np.arange(count)
        ids, first = place[ids], first[order]
        columns: dict[str, Ints] = {}
        for name, values in self.columns.items():
            argument, _, part = name.rpartition(".")
            if part == "low":
                words = fold_int128(ids, count, _NONE, values, self.columns[f"{argument}.high"])
                columns[name], columns[f"{argument}.high"] = words[0], words[1]
            elif part in ("min", "max"):
                columns[name] = fold_key(ids, count, _NONE, values)
            elif part != "high":
                columns[name] = fold_sum(ids, count, _NONE, values)
        groups = self.groups.take(pa.array(first)) if self.groups.num_columns else no_columns(count)
        return Partials(self.pane[first], self.sig[first], groups, fold_sum(ids, count, _NONE, self.n), columns)

    def after(self, pane: int) -> Partials:
        """Those of later panes."""
        kept = np.flatnonzero(self.pane > pane)
        return self if len(kept) == len(self.pane) else self.where(kept)

    def with_groups(self, groups: pa.RecordBatch) -> Partials:
        """The same with other groups."""
        return replace(self, groups=groups)

    def where(self, kept: Ints) -> Partials:
        """Some rows."""
        groups = self.groups.take(pa.array(kept)) if self.groups.num_columns else no_columns(len(kept))
        columns = {n: c[kept] for n, c in self.columns.items()}
        return Partials(self.pane[kept], self.sig[kept], groups, self.n[kept], columns)


def _same(partials: Partials) -> Partials:
    return partials


class PaneStore:
    """A synopsis in a vertex's state, or frequency counts beside it (another ``structure``, whose ``groups`` have a
    value as their last column); layouts and signatures are those of all."""

    def __init__(
        self, state: ShardState, groups: pa.Schema, structure: str = PANES, made: Callable[[Partials], Partials] = _same
    ) -> None:
        """``made``: what becomes of partials before they are kept, alone or merged."""
        self._state, self.groups, self._structure, self._kept = state, groups, structure, made

    @property
    def layouts(self) -> dict[int, Layout]:
        """All that chunks may have, by number; the newest last."""
        found = ((c.meta["number"], c.load().column("text")[0].as_py()) for c in self._state.list(LAYOUTS))
        return {number: Layout.of_text(text) for number, text in found}

    @property
    def ends(self) -> tuple[int, int]:
        """The first and the last pane of all chunks; (0, 0) where there are none."""
        chunks = self._state.list(self._structure)
        return min((c.meta["base"] for c in chunks), default=0), max((c.meta["last"] for c in chunks), default=0)

    def number_of(self, layout: Layout) -> int:
        """The number of a layout, entered as the newest one if the newest is another."""
        known = self.layouts
        newest = max(known, default=-1)
        if known.get(newest) == layout:
            return newest
        text = pa.RecordBatch.from_arrays([pa.array([layout.to_text()])], names=["text"])
        self._state.append(LAYOUTS, text, number=newest + 1)
        return newest + 1

    def signatures(self, layout: int) -> list[bytes]:
        """The signatures of a layout, packed as ``np.packbits`` does."""
        chunks = self._state.list(f"{SIGNATURES}{layout}")
        return [s for c in chunks for s in c.load().column("bits").to_pylist()]

    def numbered(self, layout: int, signatures: Sequence[bytes]) -> Ints:
        """The numbers of signatures, those that are new entered."""
        known = {s: i for i, s in enumerate(self.signatures(layout))}
        before = len(known)
        numbers = np.array([known.setdefault(s, len(known)) for s in signatures], np.int64)
        if len(known) > before:
            new = pa.array(list(known)[before:], pa.binary())
            self._state.append(f"{SIGNATURES}{layout}", pa.RecordBatch.from_arrays([new], names=["bits"]))
        return numbers

    def append(self, partials: Partials, layout: int, grid: int) -> None:
        """Keep partials in order of panes as a chunk."""
        if len(partials.pane):
            partials = self._kept(partials)
            base, last = int(partials.pane[0]), int(partials.pane[-1])
            rows = _rows(partials, base, grid)
            self._state.append(self._structure, rows, layout=layout, base=base, last=last, tier=0)

    def chunks(self, after: int, wanted: Mapping[int, NDArray[np.bool_]]) -> Iterator[tuple[int, Partials]]:
        """What is wanted of each chunk, with the number of its layout: panes after ``after``, of the signatures that
        are ``wanted`` (by layout and number). Cost: a look at pane and signature of each partial in chunks that reach
        so far."""
        layouts = self.layouts
        for chunk in self._state.list(self._structure):
            if chunk.meta["last"] <= after:
                continue
            self._state.looked += chunk.meta["n"]
            number, base, rows = chunk.meta["layout"], chunk.meta["base"], chunk.load()
            grid, kept = layouts[number].grid, wanted[number][as_int64(rows.column("sig"))]
            if base <= after:
                kept &= as_int64(rows.column("pane")) * grid + base > after
            if kept.any():
                yield number, self._made([rows if kept.all() else rows.filter(pa.array(kept))], [base], grid)

    def looked_at(self, count: int) -> None:
        """Count what was gone through for answers once the partials were there."""
        self._state.looked += count

    def take(self, until: int) -> Iterator[tuple[int, Partials]]:
        """Take out the panes that end before ``until``: those of each layout, folded, with its number. Cost: the chunks
        that begin before."""
        due = [c for c in self._state.list(self._structure) if c.meta["base"] < until]
        gone = {id(c) for c in due}
        self._state.keep(self._structure, lambda c: id(c) not in gone)
        for number, layout in self.layouts.items() if due else ():
            own = [c for c in due if c.meta["layout"] == number]
            if own:
                partials = self._partials(own, layout.grid).folded()
                self.append(partials.after(until - 1), number, layout.grid)
                yield number, partials.where(np.flatnonzero(partials.pane < until))

    def merge(self, until: int, reach: int) -> None:
        """Merge what is due, without panes that are not after ``until``; no chunk comes to reach over more than so many
        microseconds."""
        while due := self._due(reach):
            grid = self.layouts[due[0].meta["layout"]].grid
            partials = self._kept(self._partials(due, grid).after(until).folded())
            self._state.looked += sum(c.meta["n"] for c in due)
            if len(partials.pane) == 0:
                self._state.replace(self._structure, due, None)
                continue
            base, last = int(partials.pane[0]), int(partials.pane[-1])
            meta = {"layout": due[0].meta["layout"], "base": base, "last": last, "tier": due[0].meta["tier"] + 1}
            self._state.replace(self._structure, due, _rows(partials, base, grid), **meta)

    def _due(self, reach: int) -> list[Chunk]:
        """The newest neighbours of one tier and layout, if there are enough of them and they reach not too far."""
        chunks = self._state.list(self._structure)
        for end in range(len(chunks), TIER - 1, -1):
            own = chunks[end - TIER : end]
            alike = len({(c.meta["layout"], c.meta["tier"]) for c in own}) == 1
            low, high = min(c.meta["base"] for c in own), max(c.meta["last"] for c in own)
            if alike and high - low <= reach:
                return own
        return []

    def _partials(self, chunks: Sequence[Chunk], grid: int) -> Partials:
        return self._made([c.load() for c in chunks], [c.meta["base"] for c in chunks], grid)

    def _made(self, parts: Sequence[pa.RecordBatch], bases: Sequence[int], grid: int) -> Partials:
        names = sorted({n for p in parts for n in p.schema.names if "." in n})
        every = sorted({m for n in names for m in _told_with(n)} | set(names))
        pane = [as_int64(p.column("pane")) * grid + base for p, base in zip(parts, bases, strict=True)]
        columns = {n: np.concatenate([_column(p, n) for p in parts]) for n in every}
        groups = [p.select(self.groups.names) for p in parts]
        whole = concat_rows(groups) if self.groups.names else no_columns(sum(p.num_rows for p in parts))
        sig, n = (np.concatenate([as_int64(p.column(c)) for p in parts]) for c in ("sig", "n"))
        return Partials(np.concatenate(pane), sig, whole, n, columns)


def layouts_of(states: Iterable[ShardState]) -> list[Layout]:
    """What the panes of a synopsis may tell that are held on some shards."""
    texts = (c.load().column("text")[0].as_py() for s in states for c in s.list(LAYOUTS))
    return [Layout.of_text(text) for text in dict.fromkeys(texts)]


def expire(state: ShardState, structure: str, until: int) -> None:
    """Drop the chunks of a structure of which no pane is after ``until``. Cost: by chunk."""
    state.keep(structure, lambda c: c.meta["last"] > until)


def forget_layouts(state: ShardState, structures: Iterable[str]) -> None:
    """Drop the layouts, but the newest, that no chunk of the structures has."""
    used = {c.meta["layout"] for s in structures for c in state.list(s)}
    numbers = [c.meta["number"] for c in state.list(LAYOUTS)]
    for gone in (n for n in numbers[:-1] if n not in used):
        state.keep(LAYOUTS, lambda c, gone=gone: c.meta["number"] != gone)  # type: ignore[misc]
        state.chunks.pop(f"{SIGNATURES}{gone}", None)


def _told_with(name: str) -> list[str]:
    """The columns that belong to one which is there."""
    argument, _, part = name.rpartition(".")
    values = argument.partition(":")[0]
    return [f"{values}.n", *([f"{argument}.high"] if part == "low" else [])]


def _column(rows: pa.RecordBatch, name: str) -> Ints:
    found = rows.schema.get_field_index(name)
    return _default(rows, name) if found < 0 else as_int64(rows.column(found))


def _default(rows: pa.RecordBatch, name: str) -> Ints:
    """A column that is left out: no value is NULL, the sum fits into one word, there is no such limb or value."""
    argument, _, part = name.rpartition(".")
    if part == "n":
        return as_int64(rows.column("n"))
    if part == "high" and f"{argument}.low" in rows.schema.names:
        return as_int64(rows.column(f"{argument}.low")) >> 63
    return np.full(rows.num_rows, LEAST if part in ("min", "max") else 0, np.int64)


def _rows(partials: Partials, base: int, grid: int) -> pa.RecordBatch:
    """Partials as they are kept."""
    columns = {
        "pane": _narrow((partials.pane - base) // grid),
        "sig": _narrow(partials.sig),
        "n": _narrow(partials.n),
        **dict(zip(partials.groups.schema.names, partials.groups.columns, strict=True)),
    }
    for name, values in partials.columns.items():
        argument, _, part = name.rpartition(".")
        told = part == "n" and bool((values == partials.n).all())
        told |= part == "high" and bool((values == partials.columns[f"{argument}.low"] >> 63).all())
        told |= part.startswith(("odd", "error", "cut", "l")) and part != "low" and not values.any()
        if not told:
            columns[name] = _narrow(values) if part == "n" else pa.array(values)
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _narrow(values: Ints) -> pa.Array:
    """The numbers in the narrowest of 8, 16, 32 and 64 bits that holds them."""
    low, high = int(values.min()), int(values.max())
    fitting = (t for t in (np.int8, np.int16, np.int32) if np.iinfo(t).min <= low and high <= np.iinfo(t).max)
    return pa.array(values.astype(next(fitting, np.int64)))
