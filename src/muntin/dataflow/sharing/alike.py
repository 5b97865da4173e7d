"""Whether a plan that shares is what a query's own plan becomes by sharing: then there is nothing to say of it."""

from __future__ import annotations

from muntin.dataflow.graph import QueryPlan
from muntin.dataflow.sharing.joined_rows import joined_rows
from muntin.dataflow.sharing.joined_windows import joined_windows
from muntin.dataflow.sharing.row_windows import row_window
from muntin.operators.compute import Compute
from muntin.operators.joining_in import JoiningIn
from muntin.operators.joins.narrow import Narrow
from muntin.operators.reader import Reader
from muntin.plan.exprs import TRUE


def differs_only_by_sharing(own: QueryPlan, shared: QueryPlan) -> bool:
    """Whether ``shared`` does what ``own``, the plan of the query alone, does in the same order, but for joins and
    windows that it reads with others, and for how it joined those."""
    return _alike(own, own.root, shared, shared.root)


def _alike(own: QueryPlan, a: int, shared: QueryPlan, b: int) -> bool:
    one, other = own.vertices[a], shared.vertices[b]
    if isinstance(other.op, JoiningIn):
        return _alike(own, a, shared, other.inputs[0].vertex)
    if _may_share(own, a) and _reads_shared(shared, b):
        return True
    if one.op != other.op or len(one.inputs) != len(other.inputs):
        return False
    pairs = zip(one.inputs, other.inputs, strict=True)
    return all(_alike(own, x.vertex, shared, y.vertex) for x, y in pairs)


def _may_share(plan: QueryPlan, number: int) -> bool:
    """Whether a vertex is a join or a window that can be shared, or takes columns of one, which reading it does too."""
    v = plan.vertices[number]
    if isinstance(v.op, Compute) and v.op.predicate == TRUE:
        return _may_share(plan, v.inputs[0].vertex)
    found = (joined_windows(plan, number), joined_rows(plan, number), row_window(plan, number, 0))
    return any(f is not None for f in found)


def _reads_shared(plan: QueryPlan, number: int) -> bool:
    """Whether a vertex takes its query's rows out of what several share, those that pass its own conditions maybe."""
    v = plan.vertices[number]
    if isinstance(v.op, Compute):
        return _reads_shared(plan, v.inputs[0].vertex)
    return isinstance(v.op, Narrow | Reader)
