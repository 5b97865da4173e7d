"""Which aggregates over values (COUNT(DISTINCT x), order statistics, FREQUENT) read frequency counts together, by what
that costs: in a step in which one of them reports, a synopsis goes through all counts held of its argument, once for
all; alone each follows the rows that come and go. So queries that report often over long windows of many values cost
less apart, unless there are many of them.

Settled when a query is new, by what is known of the data then (rates, distinct values and seconds a batch: as
registered, or as the run before measured them), and stored with its form (``QueryPlan.sharing``), so that state stays
where it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from math import expm1, log1p, prod

from muntin.core.time import SECOND
from muntin.dataflow.graph import Graph, QueryPlan
from muntin.dataflow.sharing.synopses import Candidate, panes, sharing_groups
from muntin.operators.synopsis_held import EXACT, value_part
from muntin.optimizer.selectivity import selectivity, values_of
from muntin.optimizer.statistics import Statistics
from muntin.plan.exprs import Agg, Expr

STEP = 20_000.0
"""A step of an operator, whatever it does, in rows of state looked at by a query alone, which all costs are in (60 ns
each)."""
TAKEN = 3.0
"""A row that a synopsis takes in."""
COUNT = 2.0
"""A count that a synopsis goes through."""
ALONE = 6.0
"""A row that comes and goes, for a query alone."""
TOUCHED = {"count_distinct": 4.0, "frequent": 2.0}
"""A value whose count changes between two answers, for a query alone (of others ``RANKED``)."""
RANKED = 2.0


def settled_by_cost(plans: Sequence[QueryPlan], known: Statistics) -> list[QueryPlan]:
    """The plans, those of new queries with what they do apart although it could be done together."""
    apart = {id for own in sharing_groups(Graph.of(plans)) for id in apart_of(own, known, _stays(plans))}
    if not apart:
        return list(plans)
    return [replace(p, sharing=(*p.sharing, *((v.id, False) for v in p.vertices if v.id in apart))) for p in plans]


def _stays(plans: Sequence[QueryPlan]) -> Mapping[str, bool]:
    return {id: inside for plan in plans for id, inside in plan.sharing}


def apart_of(own: Sequence[Candidate], known: Statistics, stays: Mapping[str, bool]) -> list[str]:
    """Of candidates for one synopsis the ids of those that cost less apart: of the ones over values that are new some
    that report most often."""
    free = [c for c in own if _over_values(c) and not c.sketched and not stays.get(c.id)]
    there = [c for c in own if c not in free]
    ordered = sorted(free, key=lambda c: (-c.slide, c.length, c.id))
    alone = [cost_alone(c, known) for c in ordered]
    rest = [sum(alone), *(sum(alone) - x for x in accumulate(alone))]
    totals = [rest[n] + cost_shared([*there, *ordered[:n]], own, known) for n in range(len(ordered) + 1)]
    best = min(range(len(totals)), key=lambda n: (totals[n], -n))
    return [c.id for c in (ordered if best + len(there) < 2 else ordered[best:])]


def _over_values(c: Candidate) -> bool:
    return any(value_part(a) == EXACT for a in c.aggs)


def cost_shared(own: Sequence[Candidate], among: Sequence[Candidate], known: Statistics) -> float:
    """Of a synopsis and all that read it, a second, as far as counts of values are concerned. ``among``: those whose
    panes fit together."""
    if not own:
        return 0.0
    grid, _ = panes(among)
    rows = max(_rate(c, known) for c in own)
    found = STEP / known.step + TAKEN * rows
    asked: dict[Expr, list[Candidate]] = {}
    for c in own:
        for x in {a.arg for a in c.aggs if a.arg is not None and value_part(a) == EXACT}:
            asked.setdefault(x, []).append(c)
    for x, readers in asked.items():
        often = 1 / max(known.step, min(c.slide for c in readers) / SECOND)
        pane, longest = grid / SECOND, max(c.length for c in readers) / SECOND
        counts = different(max(_rate(c, known) for c in readers) * pane, _kinds(readers[0], x, known))
        found += TAKEN * rows + often * COUNT * counts * longest / pane
    return found


def cost_alone(c: Candidate, known: Statistics) -> float:
    """Of a query with operators of its own, a second."""
    rate, between = _rate(c, known), max(known.step, c.slide / SECOND)
    return STEP / known.step + ALONE * rate + sum(_touched(c, a, rate, between, known) for a in c.aggs)


def _touched(c: Candidate, a: Agg, rate: float, between: float, known: Statistics) -> float:
    if a.arg is None or value_part(a) != EXACT:
        return 0.0
    kinds = _kinds(c, a.arg, known)
    changed = 2 * different(rate * between, kinds)
    held = different(rate * c.length / SECOND, kinds) if a.fn == "frequent" else 0.0
    return (TOUCHED.get(a.fn, RANKED) * changed + held) / between


def _kinds(c: Candidate, x: Expr, known: Statistics) -> float:
    """Combinations of a group and a value."""
    columns = {f.name: known.values(c.stream.name, f.name) for f in c.stream.schema}
    return prod(max(1.0, values_of(e, columns)) for e in (*c.groups, x))


def _rate(c: Candidate, known: Statistics) -> float:
    """Rows a second that the query reads."""
    columns = {f.name: known.values(c.stream.name, f.name) for f in c.stream.schema}
    return known.rate(c.stream.name, c.stream.rate) * selectivity(c.keep, columns, known)


def different(rows: float, kinds: float) -> float:
    """How many of so many equally likely values some rows have."""
    return kinds * -expm1(rows * log1p(-1 / kinds)) if kinds > 1 else min(rows, 1.0)
