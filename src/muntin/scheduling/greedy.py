"""Greedy: the smallest slice first, by priorities that only a change of the windows changes (Hammad et al., 3.3).

The order is known beforehand, so results may leave while their outer still scans.
"""

from __future__ import annotations

from collections.abc import Sequence

from muntin.scheduling.slices import Policy


def _order(sizes: Sequence[float]) -> tuple[int, ...]:
    """A priority is inverse to the size of the slice; of equal ones the smaller window is served first."""
    return tuple(sorted(range(len(sizes)), key=lambda i: (sizes[i], i)))


GREEDY = Policy("greedy", _order)
