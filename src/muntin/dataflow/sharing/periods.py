"""How often flexible queries run that read a synopsis with others (Golab 2006, sections 8.4.3 and 8.4.4).

A query with ``periods="flexible"`` may run before it is due, at the instants of one with a shorter SLIDE: the panes of
their synopsis end there, so its answer at each of them is exact, and whoever runs then reads the panes once for all.
Aggressive scheduling runs all flexible queries of a synopsis with the shortest SLIDE; hybrid scheduling those for which
that costs less, by what reading panes and showing rows costs. Exact queries run at their own instants, whoever else
does.

Settled when a run starts, and anew whenever its queries change: a query takes a period only if the panes that are held
end where it begins and ends, so those of before a finer SLIDE came have to leave first. Instants of either period are
those of the same window, so nothing that is kept changes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Literal as OneOf

from muntin.core.time import SECOND
from muntin.dataflow.graph import Early, Graph, QueryPlan
from muntin.dataflow.reporter import reporter
from muntin.dataflow.sharing.synopses import Candidate, panes, sharing_groups, synopsis_id
from muntin.operators.group_aggregate import GroupAggregate
from muntin.scheduling.costs import CostModel, cost_per_update
from muntin.scheduling.hybrid import hybrid
from muntin.scheduling.tasks import PeriodicQuery, Task, aggressive, conservative
from muntin.state.pane_partials import Layout

EarlyRuns = OneOf["aggressive", "hybrid"]
"""Who chooses the periods of flexible queries."""

EARLY = ("aggressive", "hybrid")

SHOWN = 10.0
"""A row that a query shows, on its way to a sink, in partials that a run goes through (0.2 us each; the synopsis itself
takes up to 0.5 us for a row)."""

MODEL = CostModel(float, lambda query: SHOWN)
"""Of a group's rows: a run goes through a partial for each pane of its longest window, and each query shows a row."""

Held = Mapping[str, Collection[Layout]]
"""By id of a synopsis what its panes tell that are held."""


def with_periods(
    plans: Sequence[QueryPlan], scheduling: str, every: float | None = None, held: Held | None = None
) -> list[QueryPlan]:
    """The plans of all queries of a run with the periods of the flexible ones (``QueryPlan.early``).

    ``every``: seconds between batches, which are no time apart for those that run in one (None: as fast as may be).
    Cost: as ``scheduling.hybrid``, for each synopsis.
    """
    plain = [replace(p, early=None) for p in plans]
    if scheduling not in EARLY:
        return plain
    graph, found = Graph.of(plain), dict[int, Early]()
    for own in sharing_groups(graph):
        flexible = frozenset(c.number for c in own if _flexible(graph, c.number))
        layouts = () if held is None else held.get(synopsis_id(own), ())
        for origin in sorted({_origin(graph, c) for c in own if c.number in flexible}):
            alike = [c for c in own if _origin(graph, c) == origin and _ends_at_instants(c, layouts)]
            found |= _settled(alike, flexible, scheduling, _unit(own, every), panes(own)[0])
    users = {q: e for number, e in found.items() for q in graph.used_by[number]}
    return [replace(p, early=users.get(number)) for number, p in enumerate(plain)]


def _unit(own: Sequence[Candidate], every: float | None) -> int:
    """Microseconds of an update: a pane, or the time between batches."""
    return max(panes(own)[0], 0 if every is None else round(every * SECOND))


def _flexible(graph: Graph, number: int) -> bool:
    """Whether a vertex is the answer of flexible queries, and nothing else."""
    users = graph.used_by[number]
    return all(graph.plans[u].options.periods == "flexible" and reporter(graph, u) == number for u in users)


def _origin(graph: Graph, c: Candidate) -> int:
    """Where the multiples of its SLIDE are counted from: queries of one origin meet where they would by their SLIDEs.
    """
    op = graph.vertices[c.number].op
    assert isinstance(op, GroupAggregate) and op.ticks is not None
    return op.ticks.origins[0]


def _ends_at_instants(c: Candidate, layouts: Collection[Layout]) -> bool:
    """Whether all panes that are held end where an instant of a query lies."""
    ends = (layout.grid * (2 if c.granule else 1) for layout in layouts)
    return all(c.slide % e == 0 and (c.origin - o.base) % e == 0 for e, o in zip(ends, layouts, strict=True))


def _settled(
    own: Sequence[Candidate], flexible: Collection[int], scheduling: str, unit: int, grid: int
) -> dict[int, Early]:
    """By number of a vertex how often it runs: flexible ones of one synopsis and origin."""
    queries = [
        PeriodicQuery(str(at), "", -(-c.length // grid), max(1, c.slide // unit), exact=c.number not in flexible)
        for at, c in enumerate(own)
    ]
    tasks = hybrid(queries, MODEL) if scheduling == "hybrid" else aggressive(queries)
    why = f"{scheduling}: {_costs(conservative(queries), tasks)}"
    found = {}
    for task in tasks:
        members = [(q, own[int(q.name)]) for q in task.queries]
        donors = [c for q, c in members if q.period == task.period]
        for q, c in members:
            if c.number in flexible:
                taken = c if q.period == task.period else max(donors, key=lambda d: d.slide)
                found[c.number] = Early(taken.slide, taken.origin, why)
    return found


def _costs(apart: Sequence[Task], tasks: Sequence[Task]) -> str:
    """What running costs by the model, as chosen and with nothing run early."""
    chosen, own = (cost_per_update(t, MODEL) for t in (tasks, apart))
    return f"{chosen:,.4g} partials of a group read or shown an update, {own:,.4g} with nobody early"
