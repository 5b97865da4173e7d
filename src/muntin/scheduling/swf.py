"""Smallest window first: a new outer is served at once, then whoever waits for the smallest window (Hammad et al.,
3.2)."""

from __future__ import annotations

from collections.abc import Sequence

from muntin.scheduling.slices import Policy


def _order(sizes: Sequence[float]) -> tuple[int, ...]:
    return tuple(range(len(sizes)))


SWF = Policy("swf", _order, holds=True)
