"""Which vertices number the rows of a stream, and whether one has all that another needs to go on from it.

Windows of rows that number alike (the same rows of a stream, by partitions and order, in the same time) differ only in
how many of the last rows they keep, with which columns.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from muntin.dataflow.graph import QueryPlan, Vertex, column_name
from muntin.dataflow.routes import HERE, Everywhere, Route
from muntin.operators.compute import Compute
from muntin.operators.joins.counted_join import CountedJoin
from muntin.operators.reader import Reader
from muntin.operators.row_history import Numbering
from muntin.operators.rows_window import RowsWindow
from muntin.operators.source import Source
from muntin.operators.time_window import TimeWindow
from muntin.plan.exprs import Column, Expr, columns_of, conjuncts, map_columns
from muntin.plan.windows import Unbounded


@dataclass(frozen=True)
class NumberedInput:
    """An input of a vertex that numbers a stream's rows. ``source``, ``route``: how they come to it; ``columns``: what
    it has of them; ``by``, ``order``: over the stream's own columns; ``keep``: what rows fulfil that are kept;
    ``wanted``: what those fulfil that somebody reads; ``streams``: whose time it has."""

    vertex: str
    numbering: Numbering
    source: Source
    window: TimeWindow
    route: Route
    columns: tuple[Expr, ...]
    by: tuple[Column, ...]
    order: tuple[Column, ...]
    keep: frozenset[Expr]
    wanted: frozenset[Expr]
    streams: tuple[str, ...]

    @property
    def alike(self) -> Hashable:
        """Equal for those that number the same rows alike."""
        return self.source.stream.name, self.source.keep, self.window, self.by, self.order, self.streams

    @cached_property
    def named(self) -> dict[str, str]:
        """By the stream's columns how those that are kept as they are are called."""
        pairs = zip(self.columns, self.numbering.schema.names, strict=True)
        return {e.name: name for e, name in pairs if isinstance(e, Column)}

    @property
    def sizes(self) -> tuple[int, int]:
        """(rows of the window, SLIDE)."""
        op = self.numbering.op
        if isinstance(op, CountedJoin):
            return op.inputs[self.numbering.input].kept, 1
        return op.count, op.slide or 1

    def serves(self, other: NumberedInput, columns: set[str]) -> bool:
        """Whether it keeps all rows that ``other`` needs, with the stream's ``columns``."""
        (count, slide), (wanted, moves) = self.sizes, other.sizes
        enough = count >= wanted + moves - 1 or (count >= wanted and slide == moves)
        return enough and self.alike == other.alike and columns <= self.named.keys() and self.keep <= other.wanted

    @property
    def everywhere(self) -> bool:
        """Whether every shard has all rows."""
        return isinstance(self.route, Everywhere)


def numbered_inputs(plan: QueryPlan, number: int) -> tuple[NumberedInput, ...] | None:
    """The inputs of a vertex that numbers rows of streams; None where it does something else."""
    v = plan.vertices[number]
    if not isinstance(v.op, RowsWindow | CountedJoin) or (isinstance(v.op, RowsWindow) and v.op.by_value):
        return None
    found = tuple(_inputs(plan, number))
    return found if len(found) == len(v.inputs) else None


def numbered_by(plans: Iterable[QueryPlan]) -> tuple[NumberedInput, ...]:
    """The inputs of all vertices that number rows, each once: what is wanted of it is what all plans want."""
    found: dict[tuple[str, int], NumberedInput] = {}
    for plan in plans:
        for number in range(len(plan.vertices)):
            for given in numbered_inputs(plan, number) or ():
                key = given.vertex, given.numbering.input
                wanted = found[key].wanted & given.wanted if key in found else given.wanted
                found[key] = replace(given, wanted=wanted)
    return tuple(found.values())


def _inputs(plan: QueryPlan, number: int) -> Iterator[NumberedInput]:
    v, first = plan.vertices[number], 0
    for i, edge in enumerate(v.inputs):
        window = plan.vertices[edge.vertex]
        if edge.route != HERE or not _endless(window):
            return
        (sent,) = window.inputs
        source = plan.vertices[sent.vertex].op
        if not isinstance(source, Source):
            return
        columns = tuple(e for _, e in source.columns)
        place = {column_name(first + k): e for k, e in enumerate(columns)}
        by, order = _numbered_by(v.op, i)
        schema = window.schema
        if isinstance(v.op, CountedJoin):
            schema = schema.empty_table().rename_columns(list(place)).schema
        told = [e for c in (*by, *order) if isinstance(e := place[c], Column)]
        if len(told) < len(by) + len(order):
            return
        keep = _kept(v.op, i, place)
        yield NumberedInput(
            v.id, Numbering(v.op, i, schema, by), source, window.op, sent.route, columns,  # type: ignore[arg-type]
            tuple(told[: len(by)]), tuple(told[len(by) :]), keep,
            keep if isinstance(v.op, CountedJoin) else _wanted(plan, number, columns), (*v.streams, *window.streams),
        )  # fmt: skip
        first += len(columns)


def _endless(window: Vertex) -> bool:
    op = window.op
    return isinstance(op, TimeWindow) and isinstance(op.window, Unbounded) and op.ticks is None and not op.weighed


def _numbered_by(op: object, input: int) -> tuple[tuple[str, ...], Sequence[str]]:
    """By which columns rows are told into partitions, and ordered in an instant."""
    own = op.inputs[input] if isinstance(op, CountedJoin) else op
    return own.by, () if own.order is None else (own.order,)  # type: ignore[attr-defined]


def _kept(op: object, input: int, place: Mapping[str, Expr]) -> frozenset[Expr]:
    """What the rows fulfil that are kept, over the stream's own columns."""
    if not isinstance(op, CountedJoin):
        return frozenset()
    return frozenset(conjuncts(_over(op.inputs[input].keep, place)))


def _wanted(plan: QueryPlan, number: int, columns: Sequence[Expr]) -> frozenset[Expr]:
    """What the rows of a vertex fulfil that any of its readers lets pass; ``columns``: they over the stream's own."""
    place = {column_name(k): e for k, e in enumerate(columns)}
    found: frozenset[Expr] | None = frozenset() if number == plan.root else None
    for reader, v in enumerate(plan.vertices):
        if all(e.vertex != number for e in v.inputs):
            continue
        own: frozenset[Expr] = frozenset()
        if isinstance(v.op, Reader):
            own = _wanted(plan, reader, [place[c] for c in v.op.columns])
        elif isinstance(v.op, Compute):
            made = columns if v.op.columns is None else [_over(e, place) for _, e in v.op.columns]
            own = frozenset(conjuncts(_over(v.op.predicate, place))) | _wanted(plan, reader, made)
        found = own if found is None else found & own
    return found or frozenset()


def _over(e: Expr, place: Mapping[str, Expr]) -> Expr:
    return map_columns(e, lambda c: place[c.name])


def columns_needed(source: Source) -> set[str]:
    """The stream's columns that a source reads."""
    exprs = [source.keep, *(e for _, e in source.columns)]
    return {c.name for e in exprs for c in columns_of(e)}
