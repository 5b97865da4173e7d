"""Queries that wait: what comes for their operators is kept, and worked off in one step when they are due.

A query may be put off for a batch or more; answers do not depend on how time is cut into steps, so it then answers
exactly what it would have answered, only later. An operator waits when all queries that use it do; what it shares with
one that is due runs for all of them. Rows come in, late ones are found and streams are sampled as ever: only operators
that remember something wait, those before and between them have nothing to wait with.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from muntin.core.batch import Batch
from muntin.core.time import NEVER
from muntin.dataflow.graph import Graph
from muntin.engine.clocks import Progress, Times
from muntin.operators.joins.slice_readers import looks_back
from muntin.operators.joins.slices import DONE, slices_of
from muntin.state.shard_state import ShardState
from muntin.state.window_rows import as_batch, stored

BEHIND = "behind"
"""Head of the state of an operator that waits: the instants before it are answered."""


def waiting(graph: Graph, deferred: Collection[int]) -> frozenset[int]:
    """The operators that wait while these queries (by number) do."""
    if not deferred:
        return frozenset()
    put_off = frozenset(deferred)
    return frozenset(v for v in graph.stateful if graph.used_by[v] <= put_off)


def settled(graph: Graph, wished: Collection[int]) -> frozenset[int]:
    """Which of the queries can wait together: not those whose answers would leave all the same, in part at least, since
    some of their rows reach them past no operator that waits."""
    found = frozenset(wished)
    while found:
        held = waiting(graph, found)
        flows: list[bool] = []
        for number, vertex in enumerate(graph.vertices):
            flows.append(number not in held and (vertex.is_source or any(flows[e.vertex] for e in vertex.inputs)))
        left = frozenset(q for q in found if not flows[graph.roots[q]])
        if left == found:
            break
        found = left
    return found


def asked_of(graph: Graph, join: int, deferred: Collection[int]) -> int | None:
    """How far back the readers of a join that is done slice by slice look, of those that some query which does not wait
    uses; None where one of them may look back as far as the join does, where nobody waits, and for other operators."""
    if not deferred or slices_of(graph.vertices[join].op) is None:
        return None
    put_off = frozenset(deferred)
    readers = [i for i, v in enumerate(graph.vertices) if any(e.vertex == join for e in v.inputs)]
    due = [graph.vertices[i].op for i in readers if not graph.used_by[i] <= put_off]
    found = [looks_back(graph.vertices[join].op, reader) for reader in due]
    return None if None in found else max((a for a in found if a is not None), default=0)


def put_off(inputs: Sequence[Batch], state: ShardState, before: int) -> None:
    """Keep what came for an operator that waits; ``before``: the instants before it are answered."""
    state.heads.setdefault(BEHIND, before)
    for number, batch in enumerate(inputs):
        if len(batch):
            state.append(_name(number), stored(batch))


def taken_up(
    inputs: list[Batch], state: ShardState, progress: Progress, reach: int
) -> tuple[list[Batch], Progress]:
    """The inputs and the time of an operator that is due: with all that it waited with.

    ``reach``: how far the substep goes, which may be less than where the batch began.
    """
    before: int | None = state.heads.get(BEHIND)
    if before is None:
        return inputs, progress
    upto = min(progress.watermark, max(reach, before))
    if upto < progress.before:
        state.heads[BEHIND] = upto
    else:
        del state.heads[BEHIND]
    return [_with_waiting(state, i, batch) for i, batch in enumerate(inputs)], replace(
        progress, before=before, watermark=upto
    )


def _with_waiting(state: ShardState, number: int, batch: Batch) -> Batch:
    kept = [as_batch(c.load(), batch.columns.schema) for c in state.list(_name(number))]
    state.keep(_name(number), lambda _: False)
    return Batch.concat([*kept, batch]).in_time() if kept else batch


def _name(number: int) -> str:
    return f"put off.{number}"


def lowest(times: Times, states: Collection[ShardState]) -> int:
    """Before which every operator with these states has answered, and joins have done all of their slices."""
    behind = [s.heads[BEHIND] for s in states if BEHIND in s.heads]
    return min([*times.befores, *behind, *(min(s.heads[DONE]) for s in states if DONE in s.heads)], default=NEVER)
