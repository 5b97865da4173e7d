"""An order a second; every fifth is never paid, the others five seconds later."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from feeding import Row, feed


def rows(number: int, begin: datetime) -> dict[str, list[Row]]:
    """Five seconds of input from ``begin``."""
    seconds = [(begin + timedelta(seconds=s), number * 5 + s) for s in range(5)]
    orders = [{"ts": ts, "id": i} for ts, i in seconds]
    paid = [{"ts": ts, "id": i - 5} for ts, i in seconds if i >= 5 and i % 5]
    return {"orders": orders, "payments": paid}


if __name__ == "__main__":
    feed(Path(__file__).parent, rows)
