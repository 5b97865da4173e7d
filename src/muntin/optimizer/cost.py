"""Work per second of a plan under each execution strategy (thesis 3.5.3), in the unit that the meter counts.

Rules that move operators compare plans by it, and ``strategy="auto"`` takes the strategy with the lowest estimate. It
says of each node what the operators do that the lowering makes of it; ``work`` knows what they keep.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from muntin.optimizer.estimate import flow_of
from muntin.optimizer.flow import Flow
from muntin.optimizer.join_order import pipeline_cost
from muntin.optimizer.statistics import Statistics
from muntin.optimizer.strategy import Strategy
from muntin.optimizer.work import coming, entered, grouped, per_batch, probed, scanned, shown, signed, waited
from muntin.plan.exprs import Expr
from muntin.plan.nodes import (
    Aggregate,
    Apply,
    Distinct,
    Filter,
    Join,
    Node,
    OuterJoin,
    Output,
    Project,
    Rewindow,
    Scan,
    SemiJoin,
    SetOp,
    TableScan,
    TopK,
    walk,
)
from muntin.plan.windows import Rows, Unbounded


def total(root: Node, statistics: Statistics, strategy: Strategy = Strategy.UPA) -> float:
    """Work per second of the whole plan."""
    return sum(cost for _, cost in costs(root, statistics, strategy))


def costs(root: Node, statistics: Statistics, strategy: Strategy = Strategy.UPA) -> Iterator[tuple[Node, float]]:
    """Each node with its own cost, parents first."""
    for node in walk(root):
        yield node, operator_cost(node, statistics, strategy)


def operator_cost(node: Node, s: Statistics, strategy: Strategy) -> float:
    """Work per second of one node; a window counts where its rows are first kept or combined."""
    flows = [flow_of(child, s) for child in node.inputs]
    handled = sum(coming(f, strategy) for f in flows)
    before = sum(_entered(child, f, strategy) for child, f in zip(node.inputs, flows, strict=True))
    match node:
        case Scan() | TableScan() | Rewindow():
            return sum(coming(f, strategy) for f in flows or [flow_of(node, s)])
        case Filter() | Project():
            return 0.0 if is_source(node) else 2 * handled
        case Join(_, predicate):
            results = coming(flow_of(node, s), strategy)
            return before + handled + results + _joined(flows, predicate, s, strategy)
        case Distinct():
            return before + _distinct(flows[0], flow_of(node, s), s, strategy)
        case Aggregate():
            out, events = flow_of(node, s), sum(_events(f) for f in flows)
            kept = waited(flows[0], s, strategy) + grouped(events, out.size, s)
            return before + handled + coming(out, strategy) + kept
        case SemiJoin() | OuterJoin() | Apply():
            return before + _negated(node, flows, s, strategy)
        case SetOp(kind="union_all"):
            return before + 2 * handled
        case SetOp():
            events = sum(_events(f) for f in flows)
            values = max(_values(f) for f in flows)
            kept = sum(waited(f, s, strategy) for f in flows)
            return before + kept + 3 * handled + 6 * events + grouped(events, values, s)
        case TopK(_, _, count):
            return before + handled * (1 + count.bit_length()) + waited(flows[0], s, strategy)
        case Output():
            return before + handled + _events(flows[0]) + waited(flows[0], s, strategy)


def is_source(node: Node) -> bool:
    """A window with what filters and projects it: computed where the stream is read."""
    return isinstance(node, Scan) or (isinstance(node, Filter | Project) and is_source(node.input))


def _entered(node: Node, f: Flow, strategy: Strategy) -> float:
    if not is_source(node):
        return 0.0
    leaf = node
    while isinstance(leaf, Filter | Project):
        leaf = leaf.input
    return entered(f, strategy, announced=isinstance(leaf, Scan) and not isinstance(leaf.window, Unbounded | Rows))


def _events(f: Flow) -> float:
    """Rows that come and go per second."""
    return f.rate + f.expiring + f.early


def _values(f: Flow) -> float:
    found = 1.0
    for v in f.distinct.values():
        found = min(found * v, 1e15)
    return found


def _joined(flows: Sequence[Flow], predicate: Expr, s: Statistics, strategy: Strategy) -> float:
    """Probes of the other windows, what is found there, and merging what is kept; DIRECT looks through all of it."""
    again = sum(coming(f, strategy) for f in flows) / max(sum(f.rate + f.early for f in flows), 1e-9)
    probes = again * pipeline_cost(flows, predicate, s, [probed(f, strategy) for f in flows])
    kept = sum(coming(f, strategy) for f in flows)
    return probes + kept + (sum(scanned(f.size, s) for f in flows) if strategy is Strategy.DIRECT else 0.0)


def _distinct(below: Flow, out: Flow, s: Statistics, strategy: Strategy) -> float:
    """Over rows whose expiry is known one row a value is shown and one kept to follow it; signed rows are counted."""
    handled = coming(below, strategy)
    if signed(below, strategy):
        return handled + 3 * _events(out) + grouped(handled, out.size, s)
    asked = per_batch(below.rate, out.size, s)
    found = handled + out.rate + below.rate + shown(out.size, asked, s) * asked
    followers = min(max(below.size - out.size, 0.0), 2 * out.size)
    return found + scanned(followers, s) if strategy is Strategy.DIRECT else found


def _negated(node: SemiJoin | OuterJoin | Apply, flows: Sequence[Flow], s: Statistics, strategy: Strategy) -> float:
    """The left side joined with the distinct values of the right, or with the right, and taken together with it."""
    left, right = flows
    out = flow_of(node, s)
    values = max(min(_values(right), right.size), 1.0)
    kinds = right.scaled(min(1.0, values / max(right.size, 1.0)))
    found = _distinct(right, kinds, s, strategy) if isinstance(node, SemiJoin) else coming(right, strategy)
    other = kinds if isinstance(node, SemiJoin) else right
    probes = coming(left, strategy) * probed(other, strategy) + coming(other, strategy) * probed(left, strategy)
    if strategy is Strategy.DIRECT:
        probes += scanned(left.size + other.size, s)
    matched = coming(out, strategy) + out.early
    return found + probes + 6 * (coming(left, strategy) + matched)
