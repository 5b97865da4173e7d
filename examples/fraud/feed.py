"""Payments of twenty cards; card 7 is in three towns within minutes."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from feeding import Row, feed

TOWNS = ("Rome", "Oslo", "Lima")


def rows(number: int, begin: datetime) -> dict[str, list[Row]]:
    """Five seconds of input from ``begin``."""
    honest = [
        {"ts": begin + timedelta(seconds=s), "card": (number * 5 + s) % 7, "town": "Rome", "amount": 10.0 + s}
        for s in range(5)
    ]
    stolen = [{"ts": begin + timedelta(seconds=4), "card": 7, "town": TOWNS[number % 3], "amount": 900.0}]
    return {"payments": honest + (stolen if 4 <= number < 8 else [])}


if __name__ == "__main__":
    feed(Path(__file__).parent, rows)
