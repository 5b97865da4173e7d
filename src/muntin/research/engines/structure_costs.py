"""Work per second of a plan over the thesis' structures (thesis 3.5.2, 3.5.3), tuple by tuple: what the choice among
the engines of its figures is made by. What the product's own operators do is estimated by ``optimizer.cost``.

Strategies (thesis 2.3.2, 3.5): NT, every expiration is a negative tuple that all operators above process; DIRECT, rows
leave state by their expiry, for which state in another order is searched; UPA, the update pattern of each edge decides:
queues where rows leave as they came, calendar queues where they do not, negative tuples only above what needs them.
"""

from __future__ import annotations

from muntin.optimizer.estimate import flow_of
from muntin.optimizer.flow import Flow
from muntin.optimizer.join_order import pipeline_cost
from muntin.optimizer.strategy import Strategy
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
from muntin.plan.patterns import Pattern
from muntin.research.engines.structures import Structure, StructureStatistics, holdings


def total(root: Node, statistics: StructureStatistics, strategy: Strategy = Strategy.UPA) -> float:
    """Elementary steps per second of the whole plan."""
    return sum(operator_cost(node, statistics, strategy) for node in walk(root))


def cheapest(root: Node, statistics: StructureStatistics) -> Strategy:
    """The strategy with the lowest estimate; UPA if it is no worse than another."""
    order = (Strategy.UPA, Strategy.NT, Strategy.DIRECT)
    return min(order, key=lambda s: (total(root, statistics, s), order.index(s)))


def structure_of(node: Node, statistics: StructureStatistics, strategy: Strategy) -> Structure:
    """What holds the rows that come out of a node where every expiration shows: the cheapest that the edge may have."""
    found = holdings(flow_of(node, statistics), statistics, strategy, eager=True)
    return min(found, key=lambda structure: found[structure])


def operator_cost(node: Node, s: StructureStatistics, strategy: Strategy) -> float:
    """Steps per second of one operator: a line each."""
    flows = [flow_of(child, s) for child in node.inputs]
    handled = sum(processed(f, strategy) for f in flows)

    def keep(f: Flow, eager: bool) -> float:
        return upkeep(f, s, strategy, eager)

    match node:
        case Scan() | TableScan():
            return processed(flow_of(node, s), strategy)
        case Rewindow() | Filter() | Project():
            return handled
        case Join(_, predicate):
            again = handled / max(sum(f.rate + f.early for f in flows), 1e-9)  # NT probes for expirations too
            return again * pipeline_cost(flows, predicate, s) + sum(keep(f, eager=False) for f in flows)
        case Distinct():
            out = flow_of(node, s)
            if strategy is Strategy.UPA and flows[0].pattern is not Pattern.STR:
                return handled + 2 * keep(out, eager=True)  # delta*: the output and its understudies (3.5.2)
            return handled + keep(flows[0], eager=False) + keep(out, eager=True)
        case Aggregate():
            return 2 * handled + keep(flows[0], eager=True)  # the group array takes a step; its input is stored
        case SemiJoin():
            out = flow_of(node, s)
            return 2 * handled + out.early + sum(keep(f, eager=True) for f in flows)
        case OuterJoin() | Apply():
            out = flow_of(node, s)
            return 2 * handled + out.rate + out.early + sum(keep(f, eager=True) for f in flows)
        case SetOp(kind="union_all"):
            return handled
        case SetOp():
            return 2 * handled + flow_of(node, s).early + sum(keep(f, eager=True) for f in flows)
        case TopK(_, _, count):
            return handled * count.bit_length()
        case Output():
            return handled + keep(flows[0], eager=True)  # the materialised answer


def processed(f: Flow, strategy: Strategy) -> float:
    """Tuples per second that an operator above the edge handles: expirations too under NT."""
    return f.rate + f.early + (f.expiring if strategy is Strategy.NT else 0.0)


def upkeep(f: Flow, s: StructureStatistics, strategy: Strategy, eager: bool) -> float:
    """Steps per second to keep an edge's rows in the cheapest structure (``structures.holdings``)."""
    return min(holdings(f, s, strategy, eager).values())
