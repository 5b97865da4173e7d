"""How far the vertices of a version of the state have answered."""

from __future__ import annotations

from collections.abc import Sequence

from muntin.core.time import NEVER
from muntin.core.watermark import SourceClock
from muntin.engine.clocks import CLOCKS
from muntin.engine.deferral import BEHIND
from muntin.state.shard_state import ShardState
from muntin.state.snapshots import Snapshot


def answered_before(held: Snapshot, vertex: str, streams: Sequence[str]) -> int:
    """The instants before it are answered by a vertex that goes by the time of ``streams`` (NEVER: none): those before
    the watermark, but where the vertex waits. The clocks are in the version too."""
    marks = [s.heads[BEHIND] for s in held.of(vertex).values() if BEHIND in s.heads]
    return min([watermark_of(held.of(CLOCKS)[0], streams), *marks])


def watermark_of(clock: ShardState, streams: Sequence[str]) -> int:
    """As ``engine.clocks.advance`` has left it, or would have for streams that nobody read together."""
    marks: dict[str, int] = clock.heads.get("watermarks", {})
    clocks = clock.heads.get("clocks", {})
    name = "\n".join(streams)
    if name in marks:
        return marks[name]
    if not all(s in clocks for s in streams):
        return NEVER
    return min(SourceClock(**clocks[s]).watermark() for s in streams)
