"""What lowering of any node builds on: the graph under construction, fresh names, steps that nodes share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from muntin.core.schema import Schema
from muntin.dataflow.builder import Builder, Places
from muntin.dataflow.graph import column_name
from muntin.dataflow.lowering.nodes import all_columns, begins_of, domain_of, streams_of
from muntin.dataflow.values import Names, Placed, Value
from muntin.operators.distinct import Distinct
from muntin.operators.group_aggregate import GroupAggregate
from muntin.operators.joins.window_join import WindowJoin
from muntin.operators.materialize import Materialize
from muntin.operators.one_sign import OneSign
from muntin.operators.rewind import Rewind
from muntin.operators.time_window import meaning_of
from muntin.optimizer.statistics import Statistics
from muntin.plan.exprs import Column, Expr
from muntin.plan.nodes import (
    BoundQuery,
    Node,
    walk,
)
from muntin.plan.windows import Ticks, Unbounded


class Base:
    """The plan under construction, and operators that several nodes need."""

    def __init__(self, query: BoundQuery, places: Places, known: Statistics) -> None:
        self.query = query
        self.known = known
        self.build = Builder(query.options, begins_of(query), places, domain_of(query))
        streams = streams_of(query)
        self.shared_time = streams if len(streams) > 1 else ()
        """The streams whose time windows of counted rows share: what is late must be late for the whole query, since a
        row more or less changes which others such a window holds."""
        self.counter = 0
        self.mark = _mark_of(query.root)
        """What names of columns that only the lowering has begin with, and none of the query's."""

    def fresh(self, stem: str) -> str:
        """A column name that no other has."""
        self.counter += 1
        return f"{self.mark}{stem}{self.counter}"

    def visit(self, node: Node, ticks: Ticks | None, external: bool = False) -> Value:
        """The value of a relation (filled in by ``lowering.query``)."""
        raise NotImplementedError

    def materialize(self, value: Placed, emit: str, ticks: Ticks | None, marks: Sequence[Placed]) -> Placed:
        """The rows as changes or snapshots (``emit``), at evaluation instants or, without ``ticks``, whenever they
        change."""
        op = Materialize(emit, ticks)  # type: ignore[arg-type]
        return self.build.apply(op, [value, *marks], value.schema, emit == "changes")

    def internal_results(self, value: Value) -> Placed:
        """Values of an aggregate over INTERNAL windows, or windows of time read as of their rows: once there, they stay
        (thesis 3.3.2)."""
        here = self.build.place(value)
        if here.signed:
            # every insertion stays; what cancels inside an instant was never there
            (here,) = self.build.colocate([here], [here.schema.names])
            changes = self.materialize(here, "changes", None, [])
            here = self.build.apply(OneSign(1), [changes], changes.schema, True)
        return self.build.apply(Rewind(Unbounded(), meaning_of(self.query.options)), [here], here.schema, False)

    def with_columns(self, part: Value, terms: Sequence[Expr]) -> tuple[Value, tuple[str, ...]]:
        """A value in which each term is a column, and the names of these columns."""
        extra = {t: self.fresh("key") for t in terms if not isinstance(t, Column)}
        if extra:
            part = self.build.project(part, (*all_columns(part), *((n, e) for e, n in extra.items())))
        return part, tuple(t.name if isinstance(t, Column) else extra[t] for t in terms)

    def window_join(
        self, parts: list[Value], keys: list[tuple[str, ...]], null_safe: bool = False, split: bool = False
    ) -> Placed:
        """An equality join on one key column or more of each part; ``null_safe``: NULL equals NULL; ``split``: rows of
        hot keys may go to all shards."""
        here = self.build.colocate(parts, keys, split)
        schema = Schema(tuple(f for p in here for f in p.schema))
        signed = any(p.signed for p in here)
        names = Names(*here)
        op = WindowJoin(tuple(names.columns(k) for k in keys), null_safe)
        return self.build.apply(op, here, schema, signed, lambda args: joined_keys(args, keys))

    def distinct_rows(self, rows: Placed) -> Placed:
        """The distinct rows of a value whose equal rows are on one shard already: interval rows where each row's expiry
        is known, counted ones otherwise (thesis 3.5.2)."""
        if not rows.signed:
            return self.build.apply(Distinct(), [rows], rows.schema, False)
        groups = tuple((column_name(i), Column(column_name(i), f.type)) for i, f in enumerate(rows.schema))
        made = self.build.apply(GroupAggregate(groups, (), "changes"), [rows], rows.schema, True)
        return replace(made, endless=True)

    def distinct(self, value: Value) -> Placed:
        """Each row once."""
        (here,) = self.build.colocate([value], [value.schema.names])
        return self.distinct_rows(here)

    def minus(self, left: Placed, taken: Placed) -> Placed:
        """Left rows without those in ``taken`` (each of which is a left row), on their shards."""
        return self.build.merge([left, taken], (1, -1), left.schema)

    def plus(self, parts: Sequence[Value], schema: Schema) -> Placed:
        """All rows of values of equal types; spread over shards as they come."""
        placed = [self.build.place(p) for p in parts]
        return self.build.merge(placed, (1,) * len(placed), schema)


def joined_keys(parts: Sequence[Placed], keys: Sequence[tuple[str, ...]]) -> tuple[frozenset[str], ...] | None:
    """The spread of a join's result: each part of the first input's, with the columns that the join makes equal."""
    first = parts[0].keys
    if first is None:
        return None
    equal = [frozenset(k[i] for k in keys) for i in range(len(keys[0]))]
    return tuple(part | frozenset(n for e in equal if e & part for n in e) for part in first)


def _mark_of(root: Node) -> str:
    """As many underscores as begin no name of a column in the query, two at least."""
    taken = {name for node in walk(root) for name in node.schema.names}
    mark = "__"
    while any(name.startswith(mark) for name in taken):
        mark += "_"
    return mark
