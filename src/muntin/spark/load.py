"""What a run tells of its load: who may lose rows (None where nobody may), and what a batch brought and gave."""

from __future__ import annotations

from collections.abc import Mapping

from muntin.engine.boxes import Scanned
from muntin.engine.pace import Pace
from muntin.operators.source import Source
from muntin.optimizer.scaling import scales
from muntin.optimizer.shedding import spans
from muntin.spark.counts import VertexCounts
from muntin.spark.metrics import Metrics
from muntin.spark.overload import Overload, Traffic, harvested_joins, policies
from muntin.spark.prepare import Prepared


def overload_of(made: Prepared, seconds: float | None) -> Overload | None:
    """Who may lose rows, and how fast the run has to be (``seconds`` a batch; None: it has the time that it takes); it
    goes on as fast as the batch before."""
    if not made.spec.sheds:
        return None
    pairs = [(q.signature, made.job.asked[n].bound) for n, q in made.job.queries.items()]
    rules = policies([(s, tuple(Scanned(*x) for x in spans(bound)), bound.options) for s, bound in pairs])
    pace = None if seconds is None else Pace(seconds)
    scaled = frozenset(s for s, bound in pairs if scales(bound))
    found = Overload(made.checkpoint.store, rules, pace, harvested_joins(made.spec, rules), scaled)
    found.resume(made.spec.resumed.batch)
    return found


def traffic_of(made: Prepared, found: Mapping[str, Metrics], vertices: Mapping[str, VertexCounts]) -> Traffic:
    """What a batch brought and gave, by its numbers by signature and by vertex."""
    signatures = {q.signature for q in made.job.queries.values()}
    rows = {s: found[s].rows if s in found else 0 for s in signatures}
    brought = {
        v.op.stream.name: float(vertices[v.id].rows_out)
        for v in made.spec.graph.vertices
        if isinstance(v.op, Source) and v.id in vertices
    }
    took = dict.fromkeys(rows, 0.0)
    for number, v in enumerate(made.spec.graph.vertices):
        users = [made.spec.signatures[q] for q in made.spec.graph.used_by[number]]
        for user in users:
            took[user] = took.get(user, 0.0) + (vertices[v.id].seconds / len(users) if v.id in vertices else 0.0)
    return Traffic(rows, brought, {s: float(found[s].results) for s in rows if s in found}, took)
