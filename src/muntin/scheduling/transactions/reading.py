"""One query that reads a window pane by pane while updates go on: the pane with the highest time to update first.

Golab (2006), 7.4.2, Algorithm 8, in the variant that reads again in place of an abort: where an update replaces a pane
that was read, what was read of that one is given up, and nothing else. So a query that has read all panes of the newest
version has the state of the window at its commit (latest-window-serializable), and begins anew only as far as it must.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Pane = TypeVar("Pane", bound=Hashable)


@dataclass(frozen=True)
class Reading(Generic[Pane]):
    """``left``: panes of the version that the query goes by which it has still to read, those that are updated last
    first. ``read``: those of that version that it has read."""

    left: tuple[Pane, ...]
    read: frozenset[Pane] = frozenset()

    @property
    def next(self) -> Pane | None:
        """The pane to read next; None where all are read."""
        return self.left[0] if self.left else None

    def after(self, pane: Pane) -> Reading[Pane]:
        """A pane was read."""
        return Reading(tuple(p for p in self.left if p != pane), self.read | {pane})

    def updated(self, panes: Sequence[Pane]) -> tuple[Reading[Pane], frozenset[Pane]]:
        """By an update the window has these ``panes`` (the highest time to update first). Second: the panes that were
        read and are replaced, whose rows are to be given up."""
        now = frozenset(panes)
        kept = self.read & now
        return Reading(tuple(p for p in panes if p not in kept), kept), self.read - now
