"""One reader of ``muntin bench one-time``: a process that asks a checkpoint and notes what it was told.

``python -m muntin.bench.one_time_reader CHECKPOINT NUMBER OUT``: asks again and again until a file ``stop`` is beside
``OUT``; a file ``pause`` says how many seconds it rests in between (less than 0: for ever). Asks at the lowest
priority unless under isolation serial, as ``muntin sql --live`` does.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

QUESTIONS = {
    "window": "SELECT k, COUNT(*) AS n, SUM(v) AS s FROM a [RANGE 20 SECONDS] GROUP BY k",
    "all": "SELECT COUNT(*) AS n, SUM(v) AS s, MAX(v) AS m FROM a",
    "join": "SELECT x.k, COUNT(*) AS n FROM a [RANGE 2 SECONDS] x, a [RANGE 1 SECOND] y WHERE x.k = y.k GROUP BY x.k",
    "totals": "SELECT k, n, s FROM totals",
    "most": "SELECT k, n FROM recent WHERE n > 3",
}
"""By name. ``totals`` and ``recent`` are queries that run."""

ISOLATIONS = ("window", "latest", "serial")


def digest(rows: Iterable[tuple[Any, ...]]) -> str:
    """Equal for equal bags of rows."""
    return hashlib.sha1(repr(sorted(rows)).encode()).hexdigest()


def ask(checkpoint: str, number: int, out: Path) -> None:
    """Ask the questions in turn, under one isolation, until told to stop; one line of JSON an answer."""
    from muntin.core.errors import MuntinError
    from muntin.core.priority import at_low_priority
    from muntin.session.one_time import ask_checkpoint

    names, isolation = list(QUESTIONS), ISOLATIONS[number % len(ISOLATIONS)]
    if isolation != "serial":
        at_low_priority()
    pause, stop = out.parent / "pause", out.parent / "stop"
    turn = number
    with out.open("a", buffering=1) as told:
        while not stop.exists():
            rest = float(pause.read_text()) if pause.exists() else 0.0
            if rest < 0:
                time.sleep(0.05)
                continue
            time.sleep(rest)
            name, turn = names[turn % len(names)], turn + 1
            began = time.time()
            try:
                found = ask_checkpoint(checkpoint, QUESTIONS[name], isolation=isolation)  # type: ignore[arg-type]
            except MuntinError as e:
                told.write(json.dumps({"question": name, "at": None, "error": str(e)}) + "\n")
                time.sleep(0.1)
                continue
            rows = digest(tuple(r.values()) for r in found.rows.to_pylist())
            line = {
                "question": name, "isolation": isolation, "at": found.at, "batch": found.batch, "newer": found.newer,
                "caught_up": found.caught_up, "again": found.again, "digest": rows, "began": began,
                "waited": found.waited, "seconds": time.time() - began, "age": time.time() - (found.committed or began),
            }  # fmt: skip
            told.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    ask(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
