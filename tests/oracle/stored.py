"""A local pipeline whose state goes through the pane store between batches."""

from __future__ import annotations

from random import Random

from muntin.local.runtime import LocalPipeline
from muntin.state.pane_store import PaneStore


class Stored(LocalPipeline):
    """As ``LocalPipeline``; ``restart`` writes a version, drops it from memory and reads it back."""

    def restart(self, store: PaneStore, version: int, rng: Random | None = None) -> None:
        """One task for all shards; with ``rng`` shards are shared out to other tasks at every restart, and each task
        commits its own cells."""
        cells = {f"{v}/{s}": (v, s) for s, states in enumerate(self.states) for v in states}
        task_of = [rng.randint(0, 2) if rng else 0 for _ in range(self.shards)]
        for task in sorted(set(task_of)):
            own = {n: self.states[s][v] for n, (v, s) in cells.items() if task_of[s] == task}
            own |= {f"clocks/{s}": clock for s, clock in enumerate(self.clocks) if task_of[s] == task}
            store.commit(version, f"t{task}", own, {"shards": self.shards})
        for name, state in store.load(version, [*cells, *(f"clocks/{s}" for s in range(self.shards))]).items():
            if name in cells:
                vertex, shard = cells[name]
                self.states[shard][vertex] = state
            else:
                self.clocks[int(name.partition("/")[2])] = state
