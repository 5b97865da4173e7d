"""Frequency counts in a synopsis: each value of an argument with its count by pane, group and signature, beside the
partials (Golab 2006, sections 2.3.4f and 8.3), and what windows read of them.

What COUNT(DISTINCT x), order statistics and the most frequent values of x need is one structure, whichever queries ask
for which of them. Values are kept as they are; where windows are answered they are numbered in their order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.aggregates.order import order_keys
from muntin.core.batch import concat_rows
from muntin.kernels import frequencies, synopses
from muntin.kernels.hashing import validity_of
from muntin.kernels.keys import key_ids
from muntin.operators.synopsis_held import Signatures, cells_of, in_order, joined
from muntin.state.pane_partials import PaneStore, Partials

if TYPE_CHECKING:
    from muntin.operators.synopsis_answers import Answers

Ints = NDArray[np.int64]

VALUE = "value"
"""The column of values, behind the groups."""


def fold_values(values: pa.Array, pane: Ints, sig: Ints, groups: pa.RecordBatch) -> Partials:
    """Values with the ends of their panes, the numbers of their signatures and their groups to their counts; a NULL is
    no value. Cost: one hash access a row."""
    valid = validity_of(values)
    names = [*groups.schema.names, VALUE]
    kept = pa.RecordBatch.from_arrays([*groups.columns, values], names=names)
    if len(valid):
        kept, pane, sig = kept.filter(pa.array(valid)), pane[valid], sig[valid]
    return Partials(pane, sig, kept, np.ones(len(pane), np.int64)).folded()


@dataclass(frozen=True)
class View:
    """The counts of one predicate in order of groups and panes: ``begin`` by group; ``rows``: of ``Values``."""

    begin: Ints
    pane: Ints
    rows: Ints


@dataclass(frozen=True)
class Values:
    """Counts of an argument's values, in order of groups and panes. ``codes``: places of their values among ``order``,
    all values in their order; ``sig``: numbers of signatures over all layouts."""

    signatures: Signatures
    order: pa.Array
    codes: Ints
    count: Ints
    pane: Ints
    group: Ints
    sig: Ints
    groups: int
    more: dict[str, Ints]
    views: dict[tuple[int, int], View] = field(default_factory=dict)
    touched: list[int] = field(default_factory=list)
    """How many counts and values were gone through for answers, by what asked."""

    @staticmethod
    def of(store: PaneStore, signatures: Signatures, rows: Answers, predicates: Ints, after: int) -> Values:
        """Those of panes after ``after`` that fulfil one of some predicates; groups are numbered as in ``rows``."""
        found = list(store.chunks(after, signatures.of_predicates(predicates)))
        parts = [p for _, p in found]
        pane = joined([p.pane for p in parts])
        group, groups = _groups(rows, parts)
        codes, order = coded([p.groups.column(VALUE) for p in parts], store.groups.field(VALUE).type)
        _, place = in_order(group, groups, pane)
        sig = joined([p.sig + signatures.first[n] for n, p in found])
        names = {n for p in parts for n in p.columns}
        none = [np.zeros(len(p.n), np.int64) for p in parts]
        more = {n: joined([p.columns.get(n, z) for p, z in zip(parts, none, strict=True)])[place] for n in names}
        count = joined([p.n for p in parts])
        return Values(
            signatures, order, codes[place], count[place], pane[place], group[place], sig[place], groups, more
        )

    def added(self, column: str) -> Ints:
        """A further column, by row; zeros where no chunk has it."""
        return self.more.get(column, np.zeros(len(self.codes), np.int64))

    def view(self, predicate: int, window: int) -> View:
        """The counts that a window reads."""
        first = int(np.argmax(np.append(self.signatures.usable[window], True)))
        if (predicate, first) not in self.views:
            signatures = self.signatures.holds[:, predicate] & (self.signatures.layout >= first)
            rows = np.flatnonzero(signatures[self.sig])
            begin = np.searchsorted(self.group[rows], np.arange(self.groups + 1))
            self.views[predicate, first] = View(begin.astype(np.int64), self.pane[rows], rows)
        return self.views[predicate, first]

    def spans(self, asked: Ints) -> tuple[Ints, Ints, Ints]:
        """(the order of rows by cell, where the spans of each answer begin, its spans of rows in that order).
        ``asked``: rows of (window, predicate, group, instant, length)."""
        cell, cells, cell_row = cells_of(self.group, self.groups, self.sig, self.signatures.count)
        begin, rows = synopses.by_cell(cell, cells)
        cell_sig = self.sig[cell_row]
        starts, spans = frequencies.cell_spans(
            np.ascontiguousarray(asked), *synopses.cells_of(self.signatures.holds, cell_sig), self.group[cell_row],
            self.signatures.layout[cell_sig], self.signatures.usable, begin, self.pane[rows],
        )  # fmt: skip
        return rows, starts, spans


def _groups(rows: Answers, parts: list[Partials]) -> tuple[Ints, int]:
    """(the number of each part's rows' groups as the answers number them, how many there are)."""
    known = rows.held_groups
    count = sum(len(p.pane) for p in parts)
    if known.num_columns == 0:
        return np.zeros(count, np.int64), 1
    whole = concat_rows([known, *(p.groups.select(known.schema.names) for p in parts)])
    ids, groups, _ = key_ids(whole.columns, whole.num_rows)
    return ids[known.num_rows :], groups


def coded(columns: list[pa.Array], type: pa.DataType) -> tuple[Ints, pa.Array]:
    """(places of values in the order of all, those)."""
    values = pa.concat_arrays(columns) if columns else pa.array([], type)
    ids, kinds, first = key_ids([values], len(values))
    distinct = values.take(pa.array(first))
    order = np.argsort(order_keys(distinct, "max"))  # no two are equal
    place = np.empty(kinds, np.int64)
    place[order] = np.arange(kinds)
    return place[ids], distinct.take(pa.array(order))
