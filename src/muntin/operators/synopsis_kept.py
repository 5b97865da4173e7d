"""What a synopsis keeps of the values of an argument: each with its count, or a sketch of them, by pane."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import no_columns
from muntin.operators.synopsis_held import EXACT
from muntin.operators.synopsis_sketches import hashes_of, ranks, registered, tops
from muntin.operators.synopsis_values import VALUE, fold_values
from muntin.state.pane_partials import PaneStore, Partials
from muntin.state.shard_state import ShardState

Ints = NDArray[np.int64]

WAITING = "waiting."
"""Before the names of structures of panes that are not whole."""

_SKETCH = re.compile(r"(?:waiting\.)?(hashes|ranks|tops)(\d+)")


def is_of_values(name: str) -> bool:
    """Whether a part, or a structure, is one of values."""
    return name.partition(".")[0] == EXACT or _SKETCH.match(name) is not None


def words_of(argument: str, part: str) -> str:
    """What is kept of an argument, for people."""
    kind, size = _kind(part)
    match kind:
        case "hashes":
            return f"HyperLogLog sketches of {argument} ({1 << size:,} registers)"
        case "ranks":
            return f"values of {argument} at ranks (wrong by at most 1 / {size:,} of the values)"
        case "tops":
            return f"the {size:,} most frequent values of {argument}"
        case _:
            return f"counts of {argument} by value"


def _kind(part: str) -> tuple[str, int]:
    found = _SKETCH.match(part)
    return (part, 0) if found is None else (found[1], int(found[2]))


def group_columns(rows: pa.RecordBatch, groups: dict[str, str]) -> pa.RecordBatch:
    """The groups of rows; ``groups``: their columns by their names in the synopsis."""
    columns = [rows.column(c) for c in groups.values()]
    return pa.RecordBatch.from_arrays(columns, names=list(groups)) if groups else no_columns(rows.num_rows)


@dataclass(frozen=True)
class Kept:
    """A ``part`` of argument ``name``, which is ``column`` of the rows. ``waiting``: counts of panes that are not
    whole, where only a whole one becomes a sketch (``sketch``)."""

    name: str
    column: str
    part: str
    store: PaneStore
    waiting: PaneStore | None = None
    sketch: Callable[[Partials], Partials] | None = None

    @staticmethod
    def of(state: ShardState, groups: pa.Schema, name: str, column: str, type: pa.DataType, part: str) -> Kept:
        """In a vertex's state."""
        structure, (kind, size) = f"{part}.{name}", _kind(part)
        if kind == "hashes":
            hashed = groups.append(pa.field(VALUE, pa.int64()))
            return Kept(name, column, part, PaneStore(state, hashed, structure, registered(size)))
        valued = groups.append(pa.field(VALUE, type))
        store = PaneStore(state, valued, structure)
        if kind == EXACT:
            return Kept(name, column, part, store)
        waiting = PaneStore(state, valued, f"{WAITING}{structure}")
        sketch = ranks if kind == "ranks" else tops
        return Kept(name, column, part, store, waiting, lambda p: sketch(p, size))

    def take_in(
        self, rows: pa.RecordBatch, pane: Ints, sig: Ints, groups: pa.RecordBatch, layout: tuple[int, int]
    ) -> None:
        """Keep rows with the ends of their panes, their signatures and groups; ``layout``: its number and grid."""
        values = rows.column(self.column)
        if self.part.startswith("hashes"):
            values = hashes_of(values)
        target = self.store if self.waiting is None else self.waiting
        target.append(fold_values(values, pane, sig, groups), *layout)

    def close(self, until: int) -> None:
        """Make sketches of the panes that end before ``until``: they are whole."""
        if self.waiting is None or self.sketch is None:
            return
        grids = {number: layout.grid for number, layout in self.store.layouts.items()}
        for number, partials in self.waiting.take(until):
            self.store.append(self.sketch(partials), number, grids[number])

    def merge(self, until: int, reach: int, grid: int) -> None:
        """As ``PaneStore.merge``; counts that wait over no more than a pane (``grid``), so that few are taken up before
        theirs is whole."""
        self.store.merge(until, reach)
        if self.waiting is not None:
            self.waiting.merge(until, grid)
