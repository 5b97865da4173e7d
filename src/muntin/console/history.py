"""A series of points in time that keeps its length: the older, the coarser. Survives a restart as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from muntin.core.errors import StoreError

MOST = 600
"""Points kept: when there are more, of the older half every second one goes."""

FORMAT = 1

Point = Mapping[str, Any]
"""Plain values; "t": milliseconds since 1970."""


class History:
    """Points in the order of time."""

    def __init__(self, points: Iterable[Point] = ()) -> None:
        self.points: list[Point] = list(points)

    def add(self, point: Point) -> None:
        """Add a point; thin the older half where there are too many."""
        self.points.append(point)
        if len(self.points) > MOST:
            half = MOST // 2
            self.points = self.points[:half:2] + self.points[half:]

    def to_json(self) -> bytes:
        """The series as a file."""
        return json.dumps({"format": FORMAT, "points": self.points}, separators=(",", ":")).encode()

    @staticmethod
    def from_json(raw: bytes | None) -> History:
        """The series of a file; empty without one. Raises StoreError where it is no such file."""
        if raw is None:
            return History()
        try:
            found = json.loads(raw)
            points = found["points"]
            if found["format"] != FORMAT or not all(isinstance(p["t"], int) for p in points):
                raise ValueError(f"format {found['format']}")
        except (ValueError, KeyError, TypeError) as e:
            raise StoreError(f"it is no history of a console ({e})") from e
        return History(points)
