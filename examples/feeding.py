"""Writes the examples' input: files of JSON lines that appear whole, all at once or one a second."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

Row = dict[str, Any]
FILES = 24
STEP = timedelta(seconds=5)


def feed(where: Path, rows: Callable[[int, datetime], dict[str, Iterable[Row]]]) -> None:
    """``rows(number, time)`` gives the rows of each stream for five seconds that begin at ``time``."""
    live = "--live" in sys.argv
    start = datetime.now(UTC) if live else datetime(2024, 1, 1, 12, tzinfo=UTC)
    for number in range(10**9 if live else FILES):
        for name, some in rows(number, start + number * STEP).items():
            put(where / "in" / name, number, some)
        time.sleep(STEP.total_seconds() if live else 0)


def put(directory: Path, number: int, rows: Iterable[Row]) -> None:
    """One file, under its name only when it is complete: Spark reads a file once."""
    directory.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps({**row, "ts": row["ts"].isoformat()}) + "\n" for row in rows)
    scratch = directory / f".{number:06d}"
    scratch.write_text(lines)
    scratch.rename(directory / f"{number:06d}.json")
