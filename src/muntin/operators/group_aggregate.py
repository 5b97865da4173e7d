"""Sliding aggregates of interval rows: groups, live counts and accumulators over one schedule.

A step collects the rows that enter or leave in it (both found without touching the rest of the window), numbers their
groups, fixes when which group is shown (``kernels.schedule``), lets each accumulator replay that, and compares
successive values to get changes. Cost: events plus emissions; neither RANGE nor SLIDE matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal as OneOf

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from muntin.aggregates.accumulators import Accumulator, Events, Replay
from muntin.aggregates.approximate import sketch_of
from muntin.aggregates.description import Keeps, partial_name
from muntin.aggregates.panes import fold_panes, wanted_of
from muntin.aggregates.registry import accumulator, described, partial_accumulator
from muntin.core.batch import Batch, forever, no_columns
from muntin.core.time import FOREVER
from muntin.kernels.keys import columns_equal
from muntin.kernels.schedule import Schedule, at_changes, at_instants, populated_spans, previous_emission
from muntin.operators.compute import project
from muntin.operators.context import Context, Cut
from muntin.operators.dominated import Extremes, dominated, shortened
from muntin.operators.events import events_of
from muntin.operators.instants import instants_in
from muntin.operators.marks import marked
from muntin.operators.operator import Begins, Described, Show
from muntin.operators.structures import STRUCTURES
from muntin.optimizer.plan_text import agg_text
from muntin.plan.exprs import Agg, Expr
from muntin.plan.patterns import Pattern
from muntin.plan.windows import Ticks
from muntin.state.keyed_table import KeyedTable
from muntin.state.shard_state import ShardState


@dataclass(frozen=True)
class GroupAggregate(Described):
    """Aggregates of interval rows by ``groups``; ungrouped when empty.

    ``emit="changes"``: signed rows at every instant at which a group's answer changes. ``emit="snapshots"``: all live
    groups at every evaluation instant of ``ticks`` (None: at every instant that marks) (interval rows with ts = the
    instant). An ungrouped aggregate has an answer from the query's first row on (``from_input``: from the first row of
    its further arguments), over an empty window too.
    """

    groups: tuple[tuple[str, Expr], ...]
    aggs: tuple[tuple[str, Agg], ...]
    emit: OneOf["changes", "snapshots"]
    ticks: Ticks | None = None
    from_input: bool = False
    panes: bool = False
    """Whether rows of one group that enter and leave together are folded into one (``folds``) before they are kept."""
    begins: Begins = ()  # type: ignore[misc]
    """Of an ungrouped aggregate, the streams whose first row begins its answers."""

    stateful = True

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        marks = list(inputs[1:])
        ctx = ctx if self.from_input else marked(state, marks, ctx)
        return group_aggregate(self, state, inputs[0], ctx, marks)

    def current(self, inputs: Sequence[Batch], state: ShardState, at: int, ctx: Context) -> Batch:
        """The groups that have rows, with their values. Cost: the groups."""
        return current_groups(self, state, inputs[0], at, ctx)

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """A new value replaces the old one whenever a row comes or goes; a group without values stays while rows do."""
        lasts = not self.aggs and inputs[0] is Pattern.MON
        return Pattern.MON if lasts or self.emit == "snapshots" else Pattern.STR

    def words(self, show: Show) -> str:
        if not self.aggs:
            return f"distinct rows, emit {self.emit}"
        by = ", ".join(show(e) for _, e in self.groups) or "nothing"
        exactly = ", no sketches: exact" if any(sketch_of(a) for _, a in self.aggs) else ""
        return f"aggregate {', '.join(agg_text(a, show) for _, a in self.aggs)} by {by}, emit {self.emit}{exactly}"

    def keeps(self, inputs: Sequence[Pattern], show: Show) -> str:
        if inputs[0] is Pattern.STR:
            return STRUCTURES[Pattern.STR]
        return f"{STRUCTURES[inputs[0]]}{' of partials' if self.panes else ''}; group table"


Ints = NDArray[np.int64]


def group_aggregate(
    op: GroupAggregate, state: ShardState, batch: Batch, ctx: Context, marks: list[Batch]
) -> Batch:
    """Interval rows in; signed changes of each group's row, or all live groups at each instant, out.

    ``marks``: rows of the query's windows, the first of which begins the answers (``op.from_input``).
    """
    ctx = replace(ctx, first=_first(op, state, marks, ctx))
    arguments = _arguments(op)
    rows = batch.with_columns(project(op.groups + arguments, batch.columns))
    if op.panes:
        rows = fold_panes(rows, tuple(n for n, _ in op.groups), wanted_of(_with_columns(op, arguments)), ctx.functions)
    events = _events(op, state, rows, ctx, _extremes(op, arguments) if batch.sign is None else ())
    groups = KeyedTable(state, "groups", events.keys.schema)
    events = Events(**{**vars(events), "group": groups.ids_of(events.keys, len(events.time))})
    schedule = _schedule(op, events, groups, _rows_before(state, events), ctx)
    replay = Replay(events, schedule, groups, state, ctx.low, ctx.high)
    values = [a.values(replay) for a in _accumulators(op, arguments, batch.sign is not None, ctx)]
    shown = _changes(op, replay, values, ctx) if op.emit == "changes" else _snapshots(op, replay, values)
    groups.save(np.flatnonzero(np.bincount(events.group, minlength=len(groups))))
    return shown


def current_groups(op: GroupAggregate, state: ShardState, batch: Batch, at: int, ctx: Context) -> Batch:
    """All live groups as the last step has left them, shown at ``at``; of an ungrouped aggregate one row, if the query
    had its first row by then. ``batch``: no rows, of the input's kind."""
    arguments, names = _arguments(op), [n for n, _ in op.groups]
    rows = batch.with_columns(project(op.groups + arguments, batch.columns))
    if op.panes:
        rows = fold_panes(rows, tuple(names), wanted_of(_with_columns(op, arguments)), ctx.functions)
    none, keys = np.empty(0, np.int64), rows.columns.select(names) if names else no_columns(0)
    groups = KeyedTable(state, "groups", keys.schema)
    ids = groups.ids_of(keys, 0)
    groups.load_all()
    events = Events(rows.columns, keys, none, none, ids, np.empty(0, np.int8), np.empty(0, np.bool_))
    begun = bool(names) or state.heads.get("first", FOREVER) <= ctx.low
    instants = np.array([at] if begun else [], np.int64)
    plan, _ = at_instants(none, ids, events.sign, groups.live, instants, always=not names)
    replay = Replay(events, plan, groups, state, at + 1, at + 2)
    return _snapshots(op, replay, [a.values(replay) for a in _accumulators(op, arguments, batch.sign is not None, ctx)])


def _first(op: GroupAggregate, state: ShardState, marks: list[Batch], ctx: Context) -> int:
    """From when on an ungrouped aggregate has an answer: the query's first row, as it enters a window."""
    first = ctx.first if ctx.home else FOREVER
    if op.from_input:
        seen = min([state.heads.get("first", FOREVER), *(int(b.ts.min()) for b in marks if len(b))])
        state.heads["first"] = first = seen
    if op.ticks is None or first == FOREVER:
        return first
    return int(op.ticks.at_or_after(np.array([first]))[0])


def _arguments(op: GroupAggregate) -> tuple[tuple[str, Expr], ...]:
    """The distinct argument expressions, each shipped and stored once."""
    distinct = dict.fromkeys(a.arg for _, a in op.aggs if a.arg is not None)
    return tuple((f"__arg{i}", e) for i, e in enumerate(distinct))


def _accumulators(
    op: GroupAggregate, arguments: tuple[tuple[str, Expr], ...], signed: bool, ctx: Context
) -> list[Accumulator]:
    named = zip((n for n, _ in op.aggs), _with_columns(op, arguments), strict=True)
    if op.panes:
        return [partial_accumulator(n, a, column, ctx.functions) for n, (a, column) in named]
    return [accumulator(n, a, column, signed, ctx.functions) for n, (a, column) in named]


def _with_columns(op: GroupAggregate, arguments: tuple[tuple[str, Expr], ...]) -> list[tuple[Agg, str]]:
    """Each aggregate with its argument's column ("" for COUNT(*))."""
    column = {e: n for n, e in arguments}
    return [(a, column[a.arg] if a.arg is not None else "") for _, a in op.aggs]


def _extremes(op: GroupAggregate, arguments: tuple[tuple[str, Expr], ...]) -> Extremes:
    """Column and function of each aggregate where all are MIN or MAX; else none."""
    if not op.aggs or not all(described(a).keeps is Keeps.CANDIDATES for _, a in op.aggs):
        return ()
    return [(partial_name(c, a.fn) if op.panes else c, a.fn) for a, c in _with_columns(op, arguments)]


def _events(op: GroupAggregate, state: ShardState, rows: Batch, ctx: Context, extremes: Extremes) -> Events:
    """Rows entering and leaving in this step, in time order (leaving first inside an instant); those that no extreme
    needs any more leave early."""
    names = [n for n, _ in op.groups]
    if extremes:
        moves = events_of(
            state, "rows", shortened(rows, names, extremes), ctx, lambda kept: dominated(kept, names, extremes)
        )
    else:
        moves = events_of(state, "rows", rows, ctx)
    assert moves.sign is not None
    keys = moves.columns.select(names) if names else no_columns(len(moves))
    # a row leaves at its expiry, and enters before it
    return Events(moves.columns, keys, moves.ts, moves.exp, np.empty(0, np.int64), moves.sign, moves.ts < moves.exp)


def _schedule(op: GroupAggregate, events: Events, groups: KeyedTable, before: int, ctx: Context) -> Schedule:
    """When which group is shown; ``before``: rows that were live when the step began, over all groups."""
    ungrouped = not op.groups
    if op.emit == "changes":
        forced = [(ctx.first, 0)] if ungrouped and ctx.low <= ctx.first < ctx.high else []
        return at_changes(events.time, events.group, events.sign, groups.live, forced)
    if ungrouped:
        spans = np.array([max(ctx.low, ctx.first)]), np.array([ctx.high])
    else:
        spans = populated_spans(events.time, events.sign, before, ctx.low, ctx.high)
    instants = instants_in(op.ticks, spans, ctx)
    if op.ticks is None:
        instants = instants[instants >= ctx.first]
    if len(instants):
        groups.load_all()  # each of them is shown
    plan, cut = at_instants(
        events.time, events.group, events.sign, groups.live, instants, always=ungrouped, most=ctx.most
    )
    if cut is not None:
        raise Cut(cut)
    return plan


def _rows_before(state: ShardState, events: Events) -> int:
    """Rows that were live when the step began, over all groups; those of its end are noted for the next."""
    held: int = state.heads.get("live", 0)
    state.heads["live"] = held + int(events.sign.sum())
    return held


def _changes(op: GroupAggregate, replay: Replay, values: list[pa.Array], ctx: Context) -> Batch:
    """'-' with the former and '+' with the new row of each group that changed, in time order."""
    plan = replay.schedule
    instant = plan.instant_of_emission()
    time = plan.time[instant] if len(instant) else np.empty(0, np.int64)
    exists = plan.live > 0 if op.groups else _since_first(time, instant, ctx)
    previous = previous_emission(plan.group, len(replay.groups))
    known = previous >= 0
    had = known & exists[np.where(known, previous, 0)]
    same = had & exists & _same(values, previous)
    shown = known & ~same  # the first emission of a group is its state before the step
    minus, plus = np.flatnonzero(shown & had), np.flatnonzero(shown & exists)
    emission = np.concatenate([previous[minus], plus])
    at = np.concatenate([time[minus], time[plus]])
    order = np.argsort(np.concatenate([minus * 2, plus * 2 + 1]), kind="stable")
    sign = np.repeat(np.array([-1, 1], np.int8), [len(minus), len(plus)])
    rows = _rows(op, replay, values, emission[order])
    return Batch(rows, at[order], forever(len(order)), sign[order])


def _since_first(time: Ints, instant: Ints, ctx: Context) -> NDArray[np.bool_]:
    """An ungrouped aggregate has a row from the query's first instant on; instant 0 is the state before the step."""
    return np.where(instant == 0, ctx.first < ctx.low, time >= ctx.first)


def _same(values: list[pa.Array], previous: Ints) -> NDArray[np.bool_]:
    same = np.ones(len(previous), np.bool_)
    index = pa.array(np.where(previous < 0, 0, previous))
    for column in values:
        same &= columns_equal(column, column.take(index))
    return same


def _snapshots(op: GroupAggregate, replay: Replay, values: list[pa.Array]) -> Batch:
    plan = replay.schedule
    time = plan.time[plan.instant_of_emission()] if len(plan.group) else np.empty(0, np.int64)
    return Batch(_rows(op, replay, values, None), time, forever(len(time)))


def _rows(op: GroupAggregate, replay: Replay, values: list[pa.Array], emission: Ints | None) -> pa.RecordBatch:
    """Group columns and values of the given emissions (None: all)."""
    group = replay.schedule.group if emission is None else replay.schedule.group[emission]
    keys = replay.groups.keys.take(pa.array(group)).columns if op.groups else []
    shown = values if emission is None else [v.take(pa.array(emission)) for v in values]
    names = [n for n, _ in op.groups] + [n for n, _ in op.aggs]
    if not names:
        return no_columns(len(group))
    return pa.RecordBatch.from_arrays([*keys, *shown], names=names)
