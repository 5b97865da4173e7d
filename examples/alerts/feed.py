"""Readings of two sensors, and a threshold that rises after a minute."""

from __future__ import annotations

import math
import sys
from datetime import datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from feeding import Row, feed


def rows(number: int, begin: datetime) -> dict[str, list[Row]]:
    """Five seconds of input from ``begin``."""
    readings = [
        {"ts": begin + timedelta(seconds=s), "sensor": f"s{i}", "value": 50 + 30 * i * math.sin((number * 5 + s) / 9)}
        for s in range(5)
        for i in (1, 2)
    ]
    limits = [{"ts": begin, "op": "+", "sensor": f"s{i}", "threshold": 60 if number < 12 else 75} for i in (1, 2)]
    return {"readings": readings, "limits": limits if number in (0, 12) else []}


if __name__ == "__main__":
    feed(Path(__file__).parent, rows)
