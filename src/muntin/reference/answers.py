"""The law (Definition 3.1): at every instant the answer is the one-time SQL answer over the window contents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cmp_to_key
from typing import Any

from muntin.core.time import ALWAYS
from muntin.plan.nodes import BoundQuery, Output, Rewindow, Scan, TableScan, ticks_of, walk, within
from muntin.plan.windows import QueryOptions, Range, Rows, Session, Window
from muntin.reference.inputs import Event, Functions, Inputs, Streams, Tables, load_stream, load_table
from muntin.reference.membership import Beat, Visit, beat_of, instants, last_of_month, shown_end, visits
from muntin.reference.relation import Leaf, Relation, compare_nulls, has_internal, leaf_of
from muntin.reference.values import canonical

Answer = tuple[int, list[tuple[Any, ...]]]
"""An instant and the bag of rows that answers it."""
ResultRow = tuple[int, str | None, tuple[Any, ...]]
"""(instant in microseconds, '+' or '-' for change streams, the query's columns: see ``reference.values``)."""

_Bag = Counter[tuple[Any, ...]]


def answers(
    query: BoundQuery,
    streams: Streams,
    until: int | None = None,
    tables: Tables | None = None,
    functions: Functions | None = None,
) -> list[Answer]:
    """The query's relation at every instant at which it answers, in time order; empty answers are listed too.

    ``streams``: rows by stream name, in arrival order, a row being a mapping from column to value; event times are
    datetimes or integers in the stream's ``ts_unit``; a stream may be left out when it has no rows. ``until``: answer
    instants at or before it (microseconds), time then running on to it; None: the rule for the end of input. Rows
    without event time are in no window.

    ``tables``: by table name, rows that are always there (mappings) and updates ``(ts in microseconds, '+' or '-',
    row)``; an update is seen by stream rows of the same instant. ``functions``: user-defined aggregates by name, from
    the group's values in order (without NULLs, at least one) to a value.

    Cost: instants x the query over the window contents. Raises DataError on integer overflow, when a scalar
    sub-query has several rows, and when a table with ``on_bad_update="fail"`` loses a row that it does not have.
    """
    return _Query(query.root, _load(query, streams, tables or {}, functions or {}), query.options, until).answers()


def run(
    query: BoundQuery,
    streams: Streams,
    until: int | None = None,
    tables: Tables | None = None,
    functions: Functions | None = None,
) -> list[ResultRow]:
    """The result rows as the user sees them, in time order, '-' before '+' in an instant (arguments: ``answers``)."""
    return _Query(query.root, _load(query, streams, tables or {}, functions or {}), query.options, until).rows()


def _load(query: BoundQuery, streams: Streams, tables: Tables, functions: Functions) -> Inputs:
    nodes = list(walk(query.root))
    scanned = {n.stream.name: n.stream for n in nodes if isinstance(n, Scan)}
    read = {n.table.name: n.table for n in nodes if isinstance(n, TableScan)}
    return Inputs(
        {name: load_stream(s, streams.get(name, ())) for name, s in scanned.items()},
        {name: load_table(t, tables.get(name, ())) for name, t in read.items()},
        functions,
    )


@dataclass
class _Query:
    """One query: the root, or the input of a window on results.

    ``continual``: its windows forget their time SLIDE (what a -restore stream must not lose, thesis 3.3.4).
    """

    output: Output
    inputs: Inputs
    options: QueryOptions
    until: int | None
    continual: bool = False

    def __post_init__(self) -> None:
        self._open()
        end = self.end()
        if self.until is None and end is not None and any(isinstance(n, Rewindow) for n in within(self.output)):
            self.until = end  # inner queries answer as long as this one does, as they would in a run that goes on
            self._open()

    def _open(self) -> None:
        self.leaves: dict[int, Leaf] = {}
        self.ghosts: list[Visit] = []
        self.passed: list[Visit] = []  # updates that change nothing: time has come that far all the same
        for node in within(self.output):
            match node:
                case Scan(stream, alias, window):
                    leaf = (self._now(window), self.inputs.events[stream.name], f"{alias}.")
                case Rewindow(inner, window):
                    leaf = (self._now(window), self._emitted(inner, self._now(window)), "")
                case _:
                    continue
            self.leaves[id(node)] = leaf_of(*leaf, self.options)
            self.ghosts += visits(leaf[0], last_of_month(leaf[0], leaf[1], self.options), self.options)
        self.beats: list[Beat] = [b for f in self.leaves.values() if (b := beat_of(f.window, self.options))]
        self.stays = [v for leaf in self.leaves.values() for v in leaf.stays]
        read = {n.table.name for n in within(self.output) if isinstance(n, TableScan) and n.table.kind == "relation"}
        for table in (self.inputs.tables[name] for name in read):
            self.stays += [_moment(ts) for ts, _ in table.versions if ts != ALWAYS]
            self.passed += [_moment(ts) for ts in table.updates]

    def _now(self, window: Window) -> Window:
        return replace(window, slide=None) if self.continual and isinstance(window, Range) else window

    def _emitted(self, inner: Output, window: Window) -> list[Event]:
        """The output stream of an inner query; rows of one instant in the order of their values, NULLs first.

        Time runs on as if a row came out at the inner query's last instant (``ghosts``).
        """
        ended = self.options.bounds == "start" and ticks_of(inner, self.options) is not None
        names = inner.schema.names
        query = _Query(inner, self.inputs, self.options, self.until)
        if (end := query.end()) is not None and not isinstance(window, Rows):
            alone = replace(window, by=()) if isinstance(window, Session) else window
            self.ghosts += visits(alone, [Event(end - ended, (-1, 0), {})], self.options)
        rows = sorted(query.rows(), key=lambda r: (r[0], _BY_VALUE(r[2])))
        return [Event(t - ended, (-1, i), dict(zip(names, row, strict=True))) for i, (t, _, row) in enumerate(rows)]

    def end(self) -> int | None:
        """The last expiry of a finite window (with SLIDE the first tick at or after it); None over no rows."""
        return max((shown_end(v, self.beats) for v in [*self.stays, *self.ghosts, *self.passed]), default=None)

    def answers(self) -> list[Answer]:
        relation = Relation(self.leaves, self.inputs, self.options, has_internal(self.output))
        names = self.output.schema.names
        return [
            (t, [tuple(canonical(r.values[n]) for n in names) for r in relation.at(self.output, t)])
            for t in instants(self._marking(), self.beats, self.until, self.end())
        ]

    def _marking(self) -> list[Visit]:
        """What tells instants. A whole answer is shown again only when a window or a relation of the query changes."""
        again = self.output.kind == "rstream" and not self.beats
        return self.stays if again else [*self.stays, *self.passed]

    def _with_edges(self, t: int, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """The row with the columns that are made of the instant."""
        for edge in self.output.edges:
            at = t - 1 - (t - 1 - edge.origin) % edge.since if edge.since else t - edge.back
            row = (*row[: edge.position], at, *row[edge.position :])
        return row

    def rows(self) -> list[ResultRow]:
        kind = self.output.kind
        if kind in ("istream_restore", "rstream_restore"):
            return list(self._restored())
        out: list[ResultRow] = []
        before: _Bag = Counter()
        for t, rows in self.answers():
            now = Counter(rows)
            gone, come = (before - now).elements(), (now - before).elements()
            match kind:
                case "rstream":
                    out += [(t, None, self._with_edges(t, r)) for r in rows]
                case "istream":
                    out += [(t, None, r) for r in come]
                case "dstream":
                    out += [(t, None, r) for r in gone]
                case "changes":
                    out += [(t, "-", r) for r in gone] + [(t, "+", r) for r in come]
            before = now
        return out

    def _restored(self) -> Iterator[ResultRow]:
        """At every evaluation also what a continual evaluation would have produced since the one before.

        Istream-restore: all its insertions. Rstream-restore: the answer, and what was inserted and deleted since; of
        equal rows the oldest is deleted first.
        """
        steps = iter(_Query(self.output, self.inputs, self.options, self.until, continual=True).answers())
        step = next(steps, None)
        last: _Bag = Counter()
        for t, _ in self.answers():
            start, come, gone = last, Counter[tuple[Any, ...]](), Counter[tuple[Any, ...]]()
            while step is not None and step[0] <= t:
                now = Counter(step[1])
                come += now - last
                gone += last - now
                last, step = now, next(steps, None)
            shown = come if self.output.kind == "istream_restore" else last + (gone - start)
            yield from ((t, None, r) for r in shown.elements())


def _moment(ts: int) -> Visit:
    return Visit(Event(ts, (-1, 0), {}), ts, None)


def _before(a: tuple[Any, ...], b: tuple[Any, ...]) -> int:
    return next((c for x, y in zip(a, b, strict=True) if (c := compare_nulls(x, y))), 0)


_BY_VALUE = cmp_to_key(_before)
