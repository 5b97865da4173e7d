"""Past a memory budget: what the windows of joins let go where their queries may lose rows (Gedik et al., 7).

First the panes that no direction of a harvested join reads, now or when they are older; then the oldest ones. What is
gone finds no partners any more, so the answer stays a part of the exact one. What goes depends on the state and on the
decision for the batch alone, so a batch that runs again lets go of the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping

from muntin.dataflow.graph import Graph
from muntin.dataflow.harvestable import harvestable
from muntin.engine.valve import Valve
from muntin.operators.joins.harvest import Parts, part_of
from muntin.state.shard_state import Chunk, ShardState


def shed_memory(graph: Graph, level: int, states: Mapping[int, ShardState], valve: Valve) -> list[tuple[int, int]]:
    """Let go of panes until what each query holds on this level fits into its option ``memory``, as far as its joins
    can; by number of the join the rows that went. Only in live runs, which decide by batch what they admit. Cost:
    nothing where all fits; else the number of panes."""
    gone = []
    for number, plan in enumerate(graph.plans if valve.decided else ()):
        budget = plan.options.memory
        if budget is None or plan.options.shed == "never":
            continue
        own = [v for v in states if number in graph.used_by[v] and graph.levels[v] == level]
        over = sum(states[v].size() for v in own) - budget
        for vertex in own if over > 0 else ():
            if over > 0 and _may_lose(graph, vertex):
                rows, size = _let_go(states[vertex], over, valve.harvested.get(vertex, {}))
                over -= size
                gone.append((vertex, rows))
    return gone


def _may_lose(graph: Graph, vertex: int) -> bool:
    users = (graph.plans[q].options.shed for q in graph.used_by[vertex])
    return harvestable(graph, vertex) > 0 and all(shed != "never" for shed in users)


def _let_go(state: ShardState, over: int, chosen: Parts) -> tuple[int, int]:
    """(rows, bytes) that went, at least ``over`` bytes where there are as many."""
    rows = size = 0
    doomed: set[int] = set()
    for chunk in _in_turn(state, chosen):
        if size >= over:
            break
        doomed.add(id(chunk))
        rows, size = rows + chunk.meta["n"], size + chunk.meta["bytes"]
    for name in _windows(state):
        state.keep(name, lambda c: id(c) not in doomed)
    return rows, size


def _in_turn(state: ShardState, chosen: Parts) -> list[Chunk]:
    """The panes in the order in which they go."""
    chunks = [(name, c) for name in _windows(state) for c in state.list(name)]
    now = max((c.meta["max_start"] for _, c in chunks), default=0)
    last = {name: _last_read(name, chosen) for name in _windows(state)}

    def turn(named: tuple[str, Chunk]) -> tuple[bool, int, int]:
        name, c = named
        return part_of(c.meta, now) <= last[name], c.meta["max_exp"], c.meta["min_start"]

    return [c for _, c in sorted(chunks, key=turn)]


def _windows(state: ShardState) -> list[str]:
    return [n for n in state.chunks if n.startswith("in") and n[2:3].isdigit()]


def _last_read(name: str, chosen: Parts) -> int:
    """The oldest part of a window that some direction reads."""
    window = int(name.removeprefix("in").split(".")[0])
    read = [parts for (_, j), parts in chosen.items() if j == window]
    return max((max(parts, default=-1) for parts in read), default=1 << 30)
