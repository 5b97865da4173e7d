"""INTERNAL windows (thesis 3.3.2): results do not leave because a row left such a window.

"An operator over internal windows produces the same results in the same order as in the case of external windows", and
"its state must be maintained as if external windows were used". So the joins below are those of external windows. Their
results are the combinations of rows that come to be in them; each of these stays while its external parts are there:

    part                                         until
    rows of an INTERNAL window                   for ever
    [UNBOUNDED], tables that do not change       for ever
    a window of time                             an expiry that is known when the row comes: ``Until``
    a window of rows, a relation, an aggregate,
    DISTINCT, negation, a set operation          a negative tuple: ``Stay``
    an aggregate over an INTERNAL window         for ever, each new value

The combinations are those of rows, not of values: that an equal row leaves as another comes does not take an insertion
back. Rows are told apart by their start, and where negative tuples name them by a number beside it (``Identify``).

EXISTS, IN and semi joins are joins of which each row of the left is shown once: from its first partner on, while one of
the partners that it met is there. What they show must not come again when a second partner does. Where partners never
leave, so much is known from the rows of the left: as long as they are in their windows, INTERNAL or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from muntin.core.schema import Field, Schema
from muntin.core.time import FOREVER
from muntin.dataflow.graph import column_name
from muntin.dataflow.lowering.joins import Joins
from muntin.dataflow.lowering.nodes import (
    INT,
    all_columns,
    columns,
    is_nrr,
    names_of,
    rows_decide,
)
from muntin.dataflow.values import Loose, Named, Names, Placed, Value, table
from muntin.operators.identify import Identify
from muntin.operators.one_sign import OneSign
from muntin.operators.rewind import Rewind
from muntin.operators.stamp import Stamp, Until
from muntin.operators.stay import Stay
from muntin.operators.time_window import meaning_of
from muntin.plan.exprs import Column, Expr, Literal, conjunction, conjuncts
from muntin.plan.nodes import Filter, Join, Node, Project, Rewindow, Scan, SemiJoin, SetOp, TableScan, has_internal
from muntin.plan.windows import Ticks, Unbounded


@dataclass(frozen=True)
class Leaving:
    """Rows that negative tuples take away, and by which columns of the results each names the one that it is in."""

    rows: Placed
    part: tuple[str, ...]


@dataclass(frozen=True)
class Traced:
    """Combinations over windows read as external ones, with what tells when their parts leave.

    ``ends``, ``leaving``: of the external parts, columns with their expiry and rows that go. ``own``: what tells a
    combination from others, partners of EXISTS and IN apart (without EXISTS and IN: from those that come at other
    instants); ``lasts``, ``left``: as ``ends`` and ``leaving``, of all the parts that ``own`` names, INTERNAL ones too.
    ``partners``: whether some partner is external.
    """

    value: Value
    ends: tuple[str, ...] = ()
    leaving: tuple[Leaving, ...] = ()
    own: tuple[str, ...] = ()
    lasts: tuple[str, ...] = ()
    left: tuple[Leaving, ...] = ()
    partners: bool = False

    @property
    def further(self) -> tuple[str, ...]:
        """The columns beside those of the plan."""
        parts = [n for p in (*self.leaving, *self.left) for n in p.part]
        return tuple(dict.fromkeys((*self.ends, *self.lasts, *self.own, *parts)))


class InternalJoins(Joins):
    """Windows and combinations of windows some of which are INTERNAL."""

    def internal(self, node: Node, ticks: Ticks | None) -> Value:
        """The results of a window, a join, EXISTS or IN over windows some of which are INTERNAL."""
        semi, strict = any(isinstance(n, SemiJoin) for n in _combined(node)), any(map(_events, _combined(node)))
        traced = self._traced(node, ticks, semi, strict or semi)
        if not semi:
            here = self._held(self._come(traced.value), traced.ends, traced.leaving)
        elif traced.partners:
            pairs = self._held(self._come(traced.value), traced.ends, traced.leaving)
            here = self._once(pairs, (*node.schema.names, *traced.own))
        else:
            pairs = self._held(self._come(traced.value), traced.lasts, traced.left)
            first = self._once(pairs, (*node.schema.names, *traced.further))
            here = self._held(self._come(first), traced.ends, traced.leaving)
        return self.build.project(here, columns(node.schema))

    def _once(self, pairs: Placed, names: tuple[str, ...]) -> Placed:
        shown = self.build.project(pairs, tuple((n, Column(n, pairs.schema.get(n).type)) for n in names))  # type: ignore[union-attr]
        return self.build.place(self.distinct(shown))

    def _come(self, value: Value) -> Placed:
        """What comes to be, for ever: what comes and goes inside an instant was never there."""
        here = self.build.place(value)
        if not here.signed:
            return here
        (here,) = self.build.colocate([here], [here.schema.names])
        changes = self.materialize(here, "changes", None, [])
        come = self.build.apply(OneSign(1), [changes], changes.schema, True)
        return self.build.apply(Rewind(Unbounded(), meaning_of(self.query.options)), [come], come.schema, False)

    def _held(self, here: Placed, ends: tuple[str, ...], leaving: Sequence[Leaving]) -> Placed:
        """Results while their parts are there."""
        here = self.build.apply(Until(Names(here).columns(ends)), [here], here.schema, False)
        for part in leaving:
            args = self.build.colocate([here, part.rows], [part.part, part.rows.schema.names])
            here = self.build.apply(Stay(Names(args[0]).columns(part.part)), args, here.schema, True)
        return replace(here, endless=not ends) if leaving else here

    def _traced(self, node: Node, ticks: Ticks | None, semi: bool, strict: bool) -> Traced:
        """``semi``: there are partners, so that combinations are told apart; ``strict``: rows by their start."""
        match node:
            case Filter(child, predicate):
                below = self._traced(child, ticks, semi, strict)
                return replace(below, value=self.build.filter(below.value, predicate))
            case Project(child, exprs):
                below = self._traced(child, ticks, semi, strict)
                return replace(below, value=self.build.project(below.value, (*exprs, *_named(below))))
            case Join(parts, predicate):
                return self._traced_join(parts, predicate, ticks, semi, strict)
            case SemiJoin(anti=False, null_aware=None):
                left, right = (self._traced(n, ticks, semi, strict) for n in (node.left, node.right))
                found = _beside([left, right], self.join([left.value, right.value], node.predicate))
                found = replace(
                    found, own=left.own, lasts=left.lasts, left=left.left,
                    partners=left.partners or bool(right.ends or right.leaving),
                )  # fmt: skip
                shown = (*columns(node.schema), *_named(found))
                return replace(found, value=self.build.project(found.value, shown))
            case SetOp(kind="union_all"):
                return self._traced_union(node, ticks, semi, strict)
            case _:
                return self._leaf(node, ticks, semi, strict)

    def _traced_join(
        self, parts: Sequence[Node], predicate: Expr, ticks: Ticks | None, semi: bool, strict: bool
    ) -> Traced:
        """A join; non-retroactive relations as of the combination of the others."""
        others = [p for p in parts if not is_nrr(p)]
        traced = [self._traced(p, ticks, semi, strict) for p in others]
        have = {n for t in traced for n in t.value.schema.names}
        inner = [c for c in conjuncts(predicate) if names_of(c) <= have]
        rest = [c for c in conjuncts(predicate) if c not in inner]
        if len(traced) == 1:
            value = self.build.filter(traced[0].value, conjunction(inner))
        else:
            value = self.join([t.value for t in traced], conjunction(inner), others)
        for node in parts:
            if isinstance(node, TableScan) and is_nrr(node):
                value, rest = self.as_of(value, table(node, ticks), rest)
        found = _beside(traced, value)
        shown = columns(Schema(tuple(f for p in parts for f in p.schema)))
        return replace(found, value=self.build.project(value, (*shown, *_named(found))))

    def _traced_union(self, node: SetOp, ticks: Ticks | None, semi: bool, strict: bool) -> Traced:
        """All rows of both sides; columns of the other side's parts say nothing: NULL, and an expiry that never is."""
        sides = [self._traced(n, ticks, semi, strict) for n in (node.left, node.right)]
        both = _beside(sides, sides[0].value)
        types = {f.name: f.type for s in sides for f in s.value.schema}
        schema = Schema((*node.schema.fields, *(Field(n, types[n]) for n in both.further)))
        values = []
        for side, below in zip(sides, (node.left, node.right), strict=True):
            shown = ((f.name, Column(b.name, b.type)) for f, b in zip(node.schema, below.schema, strict=True))
            known = set(side.further)
            ends = {*both.ends, *both.lasts}
            empty = {n: Literal(FOREVER if n in ends else None, types[n]) for n in both.further}
            further = ((n, Column(n, types[n]) if n in known else empty[n]) for n in both.further)
            values.append(self.build.project(side.value, (*shown, *further)))
        return replace(both, value=self.plus(values, schema))

    def _leaf(self, node: Node, ticks: Ticks | None, semi: bool, strict: bool) -> Traced:
        """A window, a table, or the rows of any other construct."""
        value = self.visit(node, ticks, external=True)
        value = replace(value, interval=True) if isinstance(value, Loose) and value.updates is None else value
        stays = has_internal(node)
        if _events(node):
            by_value = not isinstance(node, Scan | Rewindow)
            return self._told_apart(self._identified(value, True, by_value), stays, semi)
        ends = not (isinstance(node, TableScan) or (isinstance(node, Scan) and isinstance(node.window, Unbounded)))
        named: tuple[str, ...] = ()
        if semi:
            value, named = self._copied(self._identified(value, False, False))
        elif strict:
            value, start = self._stamped(self.build.place(value), "start")
            named = (start,)
        if not (ends and (semi or not stays)):
            return Traced(value, own=named)
        value, end = self._stamped(self.build.place(value), "end")
        return Traced(value, () if stays else (end,), own=named, lasts=(end,) if semi else ())

    def _told_apart(self, rows: Placed, stays: bool, semi: bool) -> Traced:
        """Rows that negative tuples take away."""
        if stays and not semi:
            return Traced(rows, own=(rows.schema.names[-2],))
        value, named = self._copied(rows)
        leaving = (Leaving(rows, named),)
        return Traced(value, (), () if stays else leaving, named, (), leaving if semi else ())

    def _identified(self, value: Value, events: bool, by_value: bool) -> Placed:
        (here,) = self.build.colocate([value], [value.schema.names])
        n = len(here.schema)
        schema = Schema((*here.schema.fields, Field(self.fresh("start"), INT), Field(self.fresh("number"), INT)))
        op = Identify((column_name(n), column_name(n + 1)), events, by_value)
        return replace(self.build.apply(op, [here], schema, events), endless=events)

    def _copied(self, rows: Placed) -> tuple[Value, tuple[str, ...]]:
        """The rows with all their columns once more, under names that projections leave alone."""
        copies = tuple((self.fresh("part"), e) for _, e in all_columns(rows))
        return self.build.project(rows, (*all_columns(rows), *copies)), tuple(n for n, _ in copies)

    def _stamped(self, here: Placed, what: str) -> tuple[Placed, str]:
        name = self.fresh(what)
        schema = Schema((*here.schema.fields, Field(name, INT)))
        return self.build.apply(Stamp(column_name(len(here.schema)), what == "end"), [here], schema, False), name


def _beside(parts: Sequence[Traced], value: Value) -> Traced:
    """The parts of all."""
    return Traced(
        value,
        tuple(n for p in parts for n in p.ends),
        tuple(x for p in parts for x in p.leaving),
        tuple(n for p in parts for n in p.own),
        tuple(n for p in parts for n in p.lasts),
        tuple(x for p in parts for x in p.left),
        any(p.partners for p in parts),
    )


def _named(traced: Traced) -> Named:
    types = {f.name: f.type for f in traced.value.schema}
    return tuple((n, Column(n, types[n])) for n in traced.further)


def _combined(node: Node) -> list[Node]:
    """The node and those below it whose rows it combines."""
    match node:
        case Filter() | Project() | Join() | SemiJoin(anti=False, null_aware=None) | SetOp(kind="union_all"):
            return [node, *(n for child in node.inputs for n in _combined(child))]
        case _:
            return [node]


def _events(node: Node) -> bool:
    """Whether rows that are not combinations leave by negative tuples, or by value."""
    match node:
        case Scan(window=window) | Rewindow(window=window):
            return rows_decide(window)
        case TableScan(table=table):
            return table.kind == "relation"
        case Filter() | Project() | Join() | SemiJoin(anti=False, null_aware=None) | SetOp(kind="union_all"):
            return False
        case _:
            return True
