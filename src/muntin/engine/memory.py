"""The memory that a query's state may take on a shard: accounting by vertex, and the error when it is exceeded."""

from __future__ import annotations

from collections.abc import Mapping

from muntin.core.errors import BudgetError
from muntin.dataflow.graph import Graph
from muntin.state.shard_state import ShardState


def check_memory(graph: Graph, level: int, states: Mapping[int, ShardState], shard: int) -> None:
    """Raises BudgetError when what a query holds on a level is larger than its option ``memory``, with what each of
    its vertices holds."""
    for number, plan in enumerate(graph.plans):
        budget = plan.options.memory
        if budget is None:
            continue
        own = (v for v in states if number in graph.used_by[v] and graph.levels[v] == level)
        sizes = {v: states[v].size() for v in own}
        held = sum(sizes.values())
        if held > budget:
            from muntin.dataflow.explain.words import words_of  # only where it is needed: workers load this module

            largest = sorted(sizes.items(), key=lambda x: -x[1])
            parts = ", ".join(f"{words_of(graph, v)}: {_text(n)}" for v, n in largest if n)
            raise BudgetError(
                f"level {level} holds {_text(held)} of state on shard {shard}, more than the {_text(budget)} that the "
                f"option memory allows ({parts}); shorten the windows, use more shards, or allow more. Nothing of this "
                "batch was kept"
            )


def _text(size: int) -> str:
    for unit, shift in (("GB", 30), ("MB", 20), ("KB", 10)):
        if size >= 1 << shift:
            return f"{size / (1 << shift):.1f} {unit}"
    return f"{size} bytes"
