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
        cells = self.cells()
        task_of = [rng.randint(0, 2) if rng else 0 for _ in range(self.shards)]
        for task in sorted(set(task_of)):
            own = {n: c for n, c in cells.items() if task_of[int(n.rpartition("/")[2])] == task}
            store.commit(version, f"t{task}", own, {"shards": self.shards})
        self.restore(store.load(version, list(cells)))
