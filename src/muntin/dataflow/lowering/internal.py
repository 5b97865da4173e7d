"""Joins with INTERNAL windows (thesis 3.3.2): results stay while their external parts, if any, are in their windows.

A combination comes to be when all of its parts are in their windows together, as in any join. Then the INTERNAL parts
may leave: it lives until the first external part does, whose expiry it carries along as a column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from muntin.core.errors import UnsupportedError
from muntin.core.schema import Field, Schema
from muntin.dataflow.graph import column_name
from muntin.dataflow.lowering.joins import Joins
from muntin.dataflow.lowering.nodes import INT, columns, is_internal, is_nrr, renews, windows_of
from muntin.dataflow.values import Loose, Names, Placed, Value
from muntin.operators.stamp import Stamp, Until
from muntin.plan.exprs import Expr
from muntin.plan.nodes import Filter, Join, Node, Project, Rewindow, Scan, within
from muntin.plan.windows import Ticks, Unbounded

_PLAIN = Scan | Rewindow | Filter | Project | Join


def only_windows(parts: Sequence[Node]) -> bool:
    """Whether the parts are windows on streams, with conditions and columns at most."""
    return all(isinstance(n, Scan | Filter | Project) for p in parts for n in within(p))


class InternalJoins(Joins):
    """Joins of which some windows are INTERNAL."""

    def internal_join(self, parts: Sequence[Node], predicate: Expr, ticks: Ticks | None) -> Value:
        """The join of inputs some of which are INTERNAL.

        Raises:
            UnsupportedError: rows that may be taken away by negative tuples, which do not say when their row started;
                aggregates of INTERNAL windows; a non-retroactive relation.
        """
        ends: list[str] = []
        inputs = [self._part(p, ticks, ends) for p in parts]
        here = self.build.place(self.join(inputs, predicate, parts))
        here = self.build.apply(Until(Names(here).columns(ends)), [here], here.schema, False)
        return self.build.project(here, columns(Schema(tuple(f for p in parts for f in p.schema))))

    def _part(self, node: Node, ticks: Ticks | None, ends: list[str]) -> Value:
        """An input; the expiry of an external one is a column, added to ``ends``."""
        windows = windows_of(node)
        internal = [is_internal(w) for w in windows]
        if is_nrr(node) or (any(internal) and not (all(internal) and all(isinstance(n, _PLAIN) for n in within(node)))):
            raise UnsupportedError(
                "INTERNAL and external windows in one join cannot run yet beside a non-retroactive relation, or where "
                "a sub-query aggregates over INTERNAL windows or mixes them with others"
            )
        value = self.visit(node, ticks, external=True)
        if isinstance(value, Loose):
            value = replace(value, interval=True)
        if value.signed or renews(node):
            raise UnsupportedError(
                "INTERNAL and external windows in one join cannot run yet where rows are taken away by negative tuples "
                "(windows of rows, aggregates, sub-queries): make all windows INTERNAL, or use windows of time"
            )
        lasts = all(internal) or (isinstance(value, Loose) and isinstance(value.scan.window, Unbounded))
        return value if lasts else self._stamped(self.build.place(value), ends)

    def _stamped(self, here: Placed, ends: list[str]) -> Placed:
        ends.append(self.fresh("end"))
        schema = Schema((*here.schema.fields, Field(ends[-1], INT)))
        return self.build.apply(Stamp(column_name(len(here.schema)), end=True), [here], schema, False)
