"""How many rows pass each edge of a plan, per second and at a time: one match, a few lines an operator.

Steady state is assumed: windows are full, so what comes equals what goes. Values are spread evenly, and of two join
columns the one with fewer values has a subset of the other's (thesis 5.3.1).
"""

from __future__ import annotations

from dataclasses import replace

from muntin.core.calendar import nominal
from muntin.core.time import SECOND
from muntin.optimizer.flow import Flow
from muntin.optimizer.rewrite import have, is_nrr
from muntin.optimizer.selectivity import selectivity, values_of
from muntin.optimizer.statistics import Statistics
from muntin.plan.exprs import Column, Expr, columns_of, conjuncts
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
)
from muntin.plan.patterns import Pattern, pattern
from muntin.plan.windows import Now, Range, Rows, Session, Unbounded, Window

__all__ = ["Flow", "flow_of"]


def flow_of(node: Node, statistics: Statistics) -> Flow:
    """The traffic that comes out of a node."""
    found = _flow(node, statistics)
    return replace(found, pattern=pattern(node))


def _flow(node: Node, s: Statistics) -> Flow:
    match node:
        case Scan(stream, alias, window):
            values = {f"{alias}.{f.name}": s.values(stream.name, f.name) for f in stream.schema}
            return _windowed(window, s.rate(stream.name, stream.rate), values, f"{alias}.", s)
        case TableScan(table, alias):
            size = s.size(table.name)
            updates = 0.0 if table.kind == "static" else s.updates(table.name)
            values = {f"{alias}.{f.name}": min(s.values(table.name, f.name), size) for f in table.schema}
            return Flow(updates, size, 0.0, updates, values, pattern(node))
        case Rewindow(output, window):
            inner = flow_of(output.input, s)
            return _windowed(window, _shown(output, inner), dict(inner.distinct), "", s)
        case Filter(child, predicate):
            below = flow_of(child, s)
            return below.scaled(selectivity(predicate, below.distinct, s))
        case Project(child, exprs):
            below = flow_of(child, s)
            values = {n: min(values_of(e, below.distinct), max(below.size, 1.0)) for n, e in exprs}
            return replace(below, distinct=values)
        case Join(parts, predicate):
            return _join(parts, [flow_of(p, s) for p in parts], predicate, s)
        case Aggregate(child, groups, aggs):
            return _grouped(flow_of(child, s), groups, [n for n, _ in aggs])
        case Distinct(child):
            below = flow_of(child, s)
            kinds = min(_product(list(below.distinct.values())), max(below.size, 1.0))
            return below.scaled(kinds / max(below.size, 1.0))
        case SemiJoin():
            return _semi_join(node, s)
        case OuterJoin(left, right, predicate, _):
            sides = [flow_of(left, s), flow_of(right, s)]
            inner = _join((left, right), sides, predicate, s)
            size = max(inner.size, sides[0].size, sides[1].size)
            early = inner.early + inner.rate * 0.5  # a row without partner is taken back when one comes
            return replace(inner, rate=inner.rate + early, size=size, early=early)
        case SetOp(kind, left, right):
            a, b = flow_of(left, s), flow_of(right, s)
            return _union(a, b) if kind == "union_all" else _difference(a, b, kind, _domain(left, s))
        case Apply(left, right, predicate, aggs):
            a, b = flow_of(left, s), flow_of(right, s)
            hit = _join((left, right), [a, b], predicate, s)
            redone = min(a.size * (b.rate + b.expiring), hit.rate + hit.expiring + hit.early)
            values = dict(a.distinct) | {n: max(a.size, 1.0) for n, _ in aggs}
            return replace(a, rate=a.rate + redone, early=a.early + redone, distinct=values)
        case TopK(child, _, count, by):
            below = flow_of(child, s)
            kinds = _product([below.distinct.get(e.name, 1.0) for e in by if isinstance(e, Column)])
            return below.scaled(min(1.0, count * kinds / max(below.size, 1.0)))
        case Output(child, _):
            return flow_of(child, s)


def _windowed(window: Window, rate: float, values: dict[str, float], prefix: str, s: Statistics) -> Flow:
    match window:
        case Range(length, rows=fired):
            size, expiring, early = rate * nominal(length) / SECOND, rate, 0.0
            if fired is not None:
                expiring, early = 0.0, rate  # a later row fires and takes them away
        case Now():
            size, expiring, early = 1.0, rate, 0.0
        case Unbounded():
            size, expiring, early = rate * s.horizon, 0.0, 0.0
        case Session(gap):
            size, expiring, early = rate * gap / SECOND, rate, 0.0
        case Rows(count, _, by):
            parts = _product([values.get(prefix + b, 1.0) for b in by])
            size, expiring, early = count * parts, 0.0, rate  # the next row takes each one away
    return Flow(rate, size, expiring, early, values, Pattern.MON).scaled(1.0)


def _shown(output: Output, inner: Flow) -> float:
    """Rows per second of a query's output stream."""
    match output.kind:
        case "istream" | "istream_restore":
            return inner.rate
        case "dstream":
            return inner.expiring + inner.early
        case _:
            return inner.size  # the whole answer, taken to be shown once a second


def _join(parts: tuple[Node, ...], flows: list[Flow], predicate: Expr, s: Statistics) -> Flow:
    """|result| = product of the windows / product over equalities of max(v1, v2); each row takes part in its share."""
    size, distinct = 1.0, {n: v for f in flows for n, v in f.distinct.items()}
    for f in flows:
        size *= max(f.size, 1e-9)
    for c in conjuncts(predicate):
        size *= selectivity(c, distinct, s)
        both = [x.name for x in columns_of(c)] if getattr(c, "fn", "") == "eq" else []
        least = min((distinct.get(n, 1.0) for n in both), default=1.0)
        distinct |= dict.fromkeys((n for n in both if n in distinct), least)
    live = [f for f, p in zip(flows, parts, strict=True) if not is_nrr(p)]  # NRR updates show nothing
    shares = [size / max(f.size, 1e-9) for f in live]
    rate = sum(f.rate * x for f, x in zip(live, shares, strict=True))
    early = sum(f.early * x for f, x in zip(live, shares, strict=True))
    expiring = sum(f.expiring * x for f, x in zip(live, shares, strict=True))
    capped = {n: min(v, max(size, 1.0)) for n, v in distinct.items()}
    return Flow(rate, size, expiring, early, capped, live[0].pattern if live else flows[0].pattern)


def _grouped(below: Flow, groups: tuple[tuple[str, Expr], ...], others: list[str]) -> Flow:
    """Each row that comes or goes changes the value of its group: the new one replaces the old one."""
    keys = {n: values_of(e, below.distinct) for n, e in groups}
    size = min(_product(list(keys.values())), max(below.size, 1.0))
    changes = below.rate + below.expiring + below.early
    return Flow(changes, size, 0.0, changes, keys | dict.fromkeys(others, size), below.pattern)


def _semi_join(node: SemiJoin, s: Statistics) -> Flow:
    """A value of the right that comes, or goes for good, adds or takes away the left rows that have it.

    It does so for good where no other right row has the value: (1 - 1/v) ** size of the time (thesis 3.5.2: how often
    rows go prematurely depends on the distribution of the values).
    """
    left, right = flow_of(node.left, s), flow_of(node.right, s)
    mine, theirs = _keys(node, left, right)
    alone = (1 - 1 / max(theirs, 1.0)) ** right.size if theirs > 1 else float(right.size < 1)
    there = min(theirs * (1 - alone), mine) / max(mine, 1.0)
    kept = max(0.02, 1 - there if node.anti else there)
    turns = (right.rate + right.expiring + right.early) * alone / 2
    taken = min(turns * left.size / max(mine, 1.0), left.size * turns)
    base = left.scaled(kept)
    return replace(base, rate=base.rate + taken, early=base.early + taken)


def _keys(node: SemiJoin, left: Flow, right: Flow) -> tuple[float, float]:
    """Distinct values of the columns that the two sides are matched on."""
    used = {c.name for c in columns_of(node.predicate)}
    if node.null_aware:
        used |= {c.name for e in node.null_aware for c in columns_of(e)}
    sides = ((node.left, left), (node.right, right))
    a, b = (_product([f.distinct.get(n, 1.0) for n in used & have(p)]) for p, f in sides)
    return a, b


def _union(a: Flow, b: Flow) -> Flow:
    values = {n: a.distinct[n] + v for n, v in zip(a.distinct, b.distinct.values(), strict=True)}
    return Flow(a.rate + b.rate, a.size + b.size, a.expiring + b.expiring, a.early + b.early, values, a.pattern)


def _difference(a: Flow, b: Flow, kind: str, domain: float) -> Flow:
    """A left row goes to a right one where they meet, at most half of them; a right row takes one away or brings it
    back as likely as its value is there. ``domain``: the values that there are, whether or not a window has them."""
    kinds = max(min(_product(list(a.distinct.values())), a.size), 1.0)
    turns = (b.rate + b.expiring + b.early) * min(1.0, a.size / domain)
    base = a.scaled(1 - min(1.0, b.size / domain) / 2)
    if not kind.endswith("_all"):
        base = base.scaled(kinds / max(a.size, 1.0))
    return replace(base, rate=base.rate + turns / 2, early=base.early + turns / 2)


def _domain(node: Node, s: Statistics) -> float:
    """Distinct rows that a node may ever have, as far as its columns are plain ones of windows."""
    match node:
        case Scan(stream, _, _):
            return _product([s.values(stream.name, f.name) for f in stream.schema])
        case Project(child, exprs) if isinstance(leaf := _leaf(child), Scan):
            values = {f"{leaf.alias}.{f.name}": s.values(leaf.stream.name, f.name) for f in leaf.stream.schema}
            return max(_product([values_of(e, values) for _, e in exprs]), 1.0)
        case Filter(child):
            return _domain(child, s)
        case _:
            return max(_product(list(flow_of(node, s).distinct.values())), 1.0)


def _leaf(node: Node) -> Node:
    """What filters stand on."""
    return _leaf(node.input) if isinstance(node, Filter) else node


def _product(values: list[float]) -> float:
    product = 1.0
    for v in values:
        product = min(product * float(v), 1e15)
    return product
