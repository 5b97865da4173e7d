"""Largest window only: each outer scans the largest window before the next one begins (Hammad et al., 3.1)."""

from __future__ import annotations

from collections.abc import Sequence

from muntin.scheduling.slices import Policy


def _order(sizes: Sequence[float]) -> tuple[int, ...]:
    """Who has begun goes on: the queue of the last slice first."""
    return tuple(reversed(range(len(sizes))))


LWO = Policy("lwo", _order)
