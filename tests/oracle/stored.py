"""A local pipeline whose state goes through the pane store between batches."""

from __future__ import annotations

from muntin.local.runtime import LocalPipeline
from muntin.state.pane_store import PaneStore


class Stored(LocalPipeline):
    """As ``LocalPipeline``; ``restart`` writes a version, drops it from memory and reads it back."""

    def restart(self, store: PaneStore, version: int) -> None:
        names = {f"q/{i}/{s}": (i, s) for i, states in enumerate(self.states) for s in range(len(states))}
        store.commit(version, "t", {n: self.states[i][s] for n, (i, s) in names.items()}, {"shards": self.shards})
        for name, state in store.load(version, list(names)).items():
            i, s = names[name]
            self.states[i][s] = state
