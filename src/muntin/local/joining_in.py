"""What a query begins with whose operators with state run already: all that these show of its answer."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

import pyarrow as pa

from muntin.core.errors import InternalError
from muntin.core.time import NEVER
from muntin.dataflow.durable import DurablePlan
from muntin.dataflow.graph import QueryPlan
from muntin.dataflow.sharing.rules import shared_graph
from muntin.engine.clocks import CLOCKS
from muntin.local.contents import Running
from muntin.operators.joining_in import begun_with
from muntin.state.shard_state import ShardState
from muntin.state.snapshots import Snapshot


def shown_before(
    name: str, plan: QueryPlan, before: DurablePlan, opens: Callable[[Collection[str]], Snapshot | None], shards: int
) -> dict[str, ShardState]:
    """The states, by name, of the last vertex of a plan (``dataflow.joining_in.joined_in``).

    Raises ``contents.NotHeld`` where the states do not tell what is shown. Cost: see ``Running.answer``.
    """
    last = plan.vertices[plan.root]
    under = replace(plan, vertices=plan.vertices[:-1], root=last.inputs[0].vertex)
    plans = {name: under, **{n: p for n, p in before.named.items() if n != name}}
    running = Running(plans, shared_graph(list(plans.values())))
    held = opens(running.vertices(name) | {CLOCKS})
    if held is None:
        raise InternalError("a query joins in what has not run")
    states = [ShardState() for _ in range(shards)]
    if running.mark(name, held) != NEVER:
        rows, _ = running.rows(name, held)
        columns = pa.RecordBatch.from_arrays(rows.columns.columns, schema=last.schema)
        states[0] = begun_with(columns, running.mark(name, held))
    return {f"{last.id}/{shard}": state for shard, state in enumerate(states)}
