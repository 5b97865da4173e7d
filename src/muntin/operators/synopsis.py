"""One synopsis for many sliding aggregates over a stream, and the answers of all of them (Golab 2006, chapter 8).

Aggregates that group alike read the same panes, whatever their windows, slides and predicates are: rows are folded by
pane, group and signature (which of all predicates they fulfil), and an answer is put together from the panes of its
window and the signatures of its predicate. One vertex answers all of them, so a reader more costs its answers and next
to nothing else; ``operators.reader`` takes each one's own out.

What a step does follows the rows that arrived and, where some reader reports, the partials held: those are gone through
once for all readers (a few ns each), which spares every reader a state of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.core.batch import Batch, forever
from muntin.core.shown import counted
from muntin.core.spans import span_words
from muntin.core.time import FOREVER, MICROSECOND, USABLE
from muntin.core.zones import Grid, grid_of
from muntin.operators.context import Context, Cut
from muntin.operators.operator import Begins, Described, Show
from muntin.operators.predicate_index import PredicateIndex
from muntin.operators.synopsis_answers import answered, shown
from muntin.operators.synopsis_clock import first_instants, last_instants, panes_of, whole_before
from muntin.operators.synopsis_fold import Argument, fold_rows
from muntin.operators.synopsis_held import Columns
from muntin.operators.synopsis_kept import Kept, group_columns, is_of_values, words_of
from muntin.optimizer.plan_text import agg_text
from muntin.plan.exprs import Agg, Expr
from muntin.plan.patterns import Pattern
from muntin.state.pane_partials import PANES, Layout, PaneStore, expire, forget_layouts
from muntin.state.shard_state import ShardState

Ints = NDArray[np.int64]

REACH = 8
"""A merged chunk reaches over this part of the longest window at most, so that what has left does not stay for long."""


@dataclass(frozen=True)
class Window:
    """A sliding aggregate that reads a synopsis. ``id``: of the vertex that it is when it runs alone; ``predicate``,
    ``aggs``: places among the synopsis' predicates and aggregates; RANGE ``length`` and ``slide`` in microseconds,
    instants being the multiples of the slide from ``origin``. ``early``: slide and origin of its instants where it runs
    before it is due (``dataflow.sharing.periods``)."""

    id: str
    predicate: int
    length: int
    slide: int
    origin: int
    aggs: tuple[int, ...]
    early: tuple[int, int] | None = None

    @property
    def period(self) -> tuple[int, int]:
        """Slide and origin of the instants at which it runs."""
        return self.early or (self.slide, self.origin)


@dataclass(frozen=True)
class Synopsis(Described):
    """Panes of ``stream`` by ``groups`` (expressions over the stream's columns; none: one answer over all rows), and
    what ``windows`` show of them.

    ``shift``: how long after its event time a row enters a window (microseconds). Columns of the input: the groups
    first, then what ``predicates`` (known by ``names``) and ``arguments`` read; ``of``: by aggregate the place of its
    argument (-1: COUNT(*)). ``granule``: of windows that are ``closed`` (0: they are not); ``zone``: whose clock
    windows go by, ``of_hours``: only their instants (``operators.synopsis_clock``). Who reads it is no part of what it
    is: state goes on when windows come and go.

    Columns out: the groups, one an aggregate, and the place of the window, by which the rows are ordered.
    """

    stream: str
    groups: tuple[Expr, ...]
    shift: int
    predicates: tuple[Expr, ...]
    names: tuple[str, ...]
    arguments: tuple[Argument, ...]
    aggs: tuple[Agg, ...]
    of: tuple[int, ...]
    windows: tuple[Window, ...]
    grid: int
    base: int
    begins: Begins = ()  # type: ignore[misc]
    granule: int = 0
    zone: str | None = None
    of_hours: bool = False

    stateful = True

    def identity(self) -> Any:
        """What is kept, not who reads it."""
        kind = (self.granule, self.zone) if self.granule or self.zone else ()
        hours = ("hours",) if self.of_hours else ()
        return ("Synopsis", self.stream, self.groups, self.shift, *kind, *hours)

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        panes = PaneStore(state, self.group_schema(inputs[0].columns.schema))
        stores, whole = self._stores(state, panes), whole_before(self, ctx.until)
        self._take_in(panes, stores, inputs[0])
        for own in stores:
            own.close(whole)
        readers = self.readers(ctx)
        rows = answered(self, panes, readers, ctx)
        if rows.cut is not None:
            raise Cut(rows.cut)
        answers = shown(self, rows, stores)
        self._leave(state, panes, stores, self._needed(ctx.until))
        return Batch(answers, rows.time, forever(len(rows.time)))

    def current(self, inputs: Sequence[Batch], state: ShardState, at: int, ctx: Context) -> Batch:
        """What each window shows at its last instant up to ``at``. Cost: the partials held."""
        panes = PaneStore(state, self.group_schema(inputs[0].columns.schema))
        panes.number_of(self.layout)
        last, _ = last_instants(self, at)
        if not self.groups:
            last = np.where(last < state.heads.get("first", FOREVER), at + 1, last)
        rows = answered(self, panes, last, replace(ctx, low=at, high=at + 1, end=at, most=None))
        return Batch(shown(self, rows, self._stores(state, panes)), rows.time, forever(len(rows.time)))

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """Whole answers, which nothing takes back."""
        return Pattern.MON

    def words(self, show: Show) -> str:
        made = ", ".join(agg_text(a, show) for a in self.aggs)
        by = ", ".join(show.column(f"c{i}") for i in range(len(self.groups))) or "nothing"
        return (
            f"synopsis of panes of {span_words(self.grid)} by {by} for "
            f"{counted(len(self.windows), 'sliding aggregate')} ({counted(len(set(self._shapes)), 'window')}, "
            f"{counted(len(self.predicates), 'predicate')}): {made}"
        )

    def keeps(self, inputs: Sequence[Pattern], show: Show) -> str:
        parts = [words_of(show.column(a.column), p) for a in self.arguments for p in a.parts if is_of_values(p)]
        counts = "".join(f", {p}" for p in parts)
        return f"partials by pane, group and predicates fulfilled{counts}, for {span_words(self.longest)}"

    @property
    def _shapes(self) -> list[tuple[int, int, int]]:
        return [(w.length, w.slide, w.origin) for w in self.windows]

    @property
    def unit(self) -> int:
        """What ends of panes are multiples of."""
        return self.ends.unit if self.of_hours else self.grid // 2 if self.granule else self.grid

    @cached_property
    def ends(self) -> Grid:
        """The ends of panes for windows of hours in a zone; ``grid`` and ``base`` are on its clock there."""
        assert self.zone is not None
        return grid_of(self.grid, self.base, self.zone)

    @property
    def longest(self) -> int:
        """The longest RANGE."""
        return max(w.length for w in self.windows)

    @cached_property
    def index(self) -> PredicateIndex:
        return PredicateIndex(self.predicates)

    @cached_property
    def layout(self) -> Layout:
        """What panes tell from now on."""
        parts = tuple(f"{a.name}.{p}" for a in self.arguments for p in a.parts)
        if self.of_hours:
            return Layout(self.unit, self.ends.base, self.names, parts, self.grid)
        return Layout(self.unit, self.base, self.names, parts)

    @cached_property
    def wanted(self) -> dict[Columns, dict[int, tuple[list[int], list[int]]]]:
        """Which of the columns at hand each window reads, as far as it was asked."""
        return {}

    @cached_property
    def asks(self) -> NDArray[np.bool_]:
        """Window by aggregate, whether it shows it."""
        found = np.zeros((len(self.windows), len(self.aggs)), np.bool_)
        for at, w in enumerate(self.windows):
            found[at, list(w.aggs)] = True
        return found

    @cached_property
    def predicate_of(self) -> Ints:
        """The predicates of the windows."""
        return np.array([w.predicate for w in self.windows], np.int64)

    @cached_property
    def clocks(self) -> tuple[Ints, Ints, Ints]:
        """Lengths, slides and origins of the windows as they run; a closed one reaches a little further."""
        table = np.array([(w.length, *w.period) for w in self.windows], np.int64).reshape(-1, 3)
        table[:, 0] += MICROSECOND if self.granule else 0
        return tuple(np.ascontiguousarray(table[:, k]) for k in range(3))  # type: ignore[return-value]

    def argument(self, agg: int) -> str:
        """The name of an aggregate's argument in the synopsis; "" for COUNT(*)."""
        return self.arguments[self.of[agg]].name if self.of[agg] >= 0 else ""

    def group_schema(self, rows: pa.Schema) -> pa.Schema:
        """The groups as the synopsis names them."""
        return pa.schema([(f"g{i}", rows.field(f"c{i}").type) for i in range(len(self.groups))])

    def readers(self, ctx: Context) -> Ints:
        """By window the first instant that it may show in this step, or one after the step."""
        first = ctx.low
        if not self.groups:
            first = max(first, ctx.first) if ctx.home else ctx.until
        if first >= ctx.until:
            return np.full(len(self.windows), ctx.until)
        found = first_instants(self, first)
        for window, instant in ctx.shown_of.items():
            found[window] = max(found[window], instant)
        return found

    def _take_in(self, panes: PaneStore, stores: Sequence[Kept], rows: Batch) -> None:
        """Fold the rows that arrived; those that fulfil no predicate are nobody's."""
        number = panes.number_of(self.layout)
        if len(rows) == 0:
            return
        sig, distinct = self.index.signatures(rows.columns)
        wanted: NDArray[np.bool_] = np.asarray(distinct.any(axis=1))[sig]
        if not wanted.all():
            rows, sig = rows.where(wanted), sig[wanted]
        if len(rows) == 0:
            return
        end = panes_of(self, rows.ts)
        groups = {f"g{i}": f"c{i}" for i in range(len(self.groups))}
        partials = fold_rows(rows.columns, end, sig, groups, self.arguments, self.unit)
        there = np.unique(partials.sig)
        numbers = np.zeros(len(distinct), np.int64)
        numbers[there] = panes.numbered(number, [distinct[s].tobytes() for s in there.tolist()])
        panes.append(replace(partials, sig=numbers[partials.sig]), number, self.unit)
        folded = group_columns(rows.columns, groups)
        for own in stores:
            own.take_in(rows.columns, end, numbers[sig], folded, (number, self.unit))

    def _stores(self, state: ShardState, panes: PaneStore) -> list[Kept]:
        """What is kept of the values of arguments."""
        return [
            Kept.of(state, panes.groups, a.name, a.column, a.type, p)
            for a in self.arguments for p in a.parts if is_of_values(p)
        ]  # fmt: skip

    def _leave(self, state: ShardState, panes: PaneStore, stores: Sequence[Kept], needed: int) -> None:
        """Drop what no later answer reads, also of what nobody asks for any more, and merge small chunks."""
        kept = [s for s in state.chunks if s == PANES or is_of_values(s)]
        for structure in kept:
            expire(state, structure, needed)
        forget_layouts(state, kept)
        reach = self.longest // REACH
        panes.merge(needed, reach)
        for own in stores:
            own.merge(needed, reach, self.grid)

    def _needed(self, until: int) -> int:
        """The end of the newest pane that neither a later answer reads nor one-time queries for the last ones."""
        at = min(until - 1, USABLE)
        reach = self.clocks[0]  # of one that runs early the last multiple of its own SLIDE, too: it may go back to it
        own = [at - (at - w.origin) % w.slide - int(reach[i]) for i, w in enumerate(self.windows) if w.early]
        return int(min([last_instants(self, at)[1].min(), *own]))
