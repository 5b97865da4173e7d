"""What a benchmark reports: one record an engine and case, as a table and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Record:
    """``rows_per_s``: steady input rate; ``speedup``: Muntin's rows_per_s over this engine's; ``answers_equal``:
    whether the engines gave the same rows on the prefix that both ran."""

    bench: str
    case: str
    engine: str
    rows: int
    results: int
    seconds: float
    rows_per_s: float
    speedup: float
    answers_equal: bool


def write_json(records: Sequence[object], path: Path) -> None:
    """The records as one JSON list."""
    path.write_text(json.dumps([asdict(r) for r in records], indent=2) + "\n", encoding="utf-8")  # type: ignore[call-overload]


def lines(records: Sequence[Record]) -> list[str]:
    """A plain table, one line a record."""
    head = f"{'case':<18}{'engine':<10}{'rows':>12}{'results':>12}{'seconds':>10}{'rows/s':>12}{'speedup':>10}  answers"
    body = [
        f"{r.case:<18}{r.engine:<10}{r.rows:>12,}{r.results:>12,}{r.seconds:>10.1f}{r.rows_per_s:>12,.0f}"
        f"{r.speedup:>9.1f}x  {'equal' if r.answers_equal else 'DIFFER'}"
        for r in records
    ]
    return [head, *body]
