"""The memory that a stage's state may take on a shard: accounting by operator, and the error when it is exceeded."""

from __future__ import annotations

from muntin.core.errors import BudgetError
from muntin.dataflow.stage import Stage
from muntin.state.shard_state import ShardState


def held_by(state: ShardState, op: int) -> int:
    """Bytes of the rows that operator number ``op`` of a stage holds."""
    return sum(c.meta["bytes"] for n, cs in state.chunks.items() if n.split(".")[0] == f"op{op}" for c in cs)


def check_memory(stage: Stage, state: ShardState, number: int, shard: int, budget: int | None) -> None:
    """Raises BudgetError when the state is larger than the budget, with what each operator holds."""
    if budget is None or (held := state.size()) <= budget:
        return
    parts = [(held_by(state, k), type(op).__name__) for k, op in enumerate(stage.ops)]
    told = ", ".join(f"{name} {_text(size)}" for size, name in sorted(parts, reverse=True) if size)
    raise BudgetError(
        f"stage {number} holds {_text(held)} of state on shard {shard}, more than the {_text(budget)} that the option "
        f"memory allows ({told}); shorten the windows, use more shards, or allow more. Nothing of this batch was kept"
    )


def _text(size: int) -> str:
    for unit, shift in (("GB", 30), ("MB", 20), ("KB", 10)):
        if size >= 1 << shift:
            return f"{size / (1 << shift):.1f} {unit}"
    return f"{size} bytes"
