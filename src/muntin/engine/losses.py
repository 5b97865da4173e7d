"""What a run left out, in words, the same for every runtime."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


class Counted(Protocol):
    """Counters of a run: see ``Losses``."""

    @property
    def rows(self) -> int: ...
    @property
    def bad(self) -> int: ...
    @property
    def late(self) -> int: ...
    @property
    def shed(self) -> int: ...
    @property
    def bad_updates(self) -> Mapping[str, int]: ...
    @property
    def lost(self) -> Mapping[str, tuple[int, int]]: ...


@dataclass(frozen=True)
class Losses:
    """Counters of a run in one process.

    ``rows``: with a usable event time; ``bad``: without one; ``late``: left out for coming too late; ``shed``: not
    admitted, since their stream is sampled; ``bad_updates``: by table, deletions of rows that were not there; ``lost``:
    by stream of which every row was dropped, how many were bad and how many late.
    """

    rows: int = 0
    bad: int = 0
    late: int = 0
    shed: int = 0
    bad_updates: Mapping[str, int] = field(default_factory=dict)
    lost: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """See ``losses``."""
        return losses(self)


def shared(share: float, error: float) -> str:
    """A share of a full answer, with its error where it has one."""
    return f"{share:.1%}" + (f" (within {100 * error:.1f} points)" if error >= 0.0005 else "")


def lost_text(stream: str, bad: int, late: int) -> str:
    """What happened to a stream whose every row was dropped, and what to do."""
    reasons = []
    if bad:
        reasons.append(f"{bad:,} without a usable event time (is ts= the right column, ts_unit= its unit?)")
    if late:
        reasons.append(f"{late:,} too late (raise slack=, or restrain rows from the future by max_jump=)")
    return f"every row of {stream} was dropped: {', '.join(reasons)}"


def losses(counted: Counted | None) -> list[str]:
    """What was left out, a line each; none where nothing was."""
    if counted is None:
        return []
    lines = [lost_text(stream, bad, late) for stream, (bad, late) in counted.lost.items()]
    if counted.bad > sum(bad for bad, _ in counted.lost.values()):
        total = counted.bad + counted.rows
        lines.append(f"{counted.bad:,} of {total:,} rows have no usable event time: dropped")
    if counted.late:
        lines.append(f"{counted.late:,} of {counted.rows:,} rows came too late: dropped")
    if counted.shed:
        lines.append(f"{counted.shed:,} rows were not admitted (sample): answers are not exact")
    updates = counted.bad_updates.items()
    return lines + [f"{n:,} updates of {table} took away rows that were not there; ignored" for table, n in updates]
