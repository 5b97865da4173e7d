"""How far the vertices of a version of the state have answered."""

from __future__ import annotations

from collections.abc import Sequence

from muntin.engine.clocks import CLOCKS
from muntin.engine.deferral import BEHIND
from muntin.local.history import watermark_of
from muntin.state.snapshots import Snapshot


def answered_before(held: Snapshot, vertex: str, streams: Sequence[str]) -> int:
    """The instants before it are answered by a vertex that goes by the time of ``streams`` (NEVER: none): those before
    the watermark, but where the vertex waits. The clocks are in the version too."""
    marks = [s.heads[BEHIND] for s in held.of(vertex).values() if BEHIND in s.heads]
    return min([watermark_of(held.of(CLOCKS)[0], streams), *marks])
