"""``muntin bench``: run a benchmark by name, print its table, write its records."""

from __future__ import annotations

from pathlib import Path

from muntin.bench import contest, record, state_bytes
from muntin.bench.cases import contests

NAMES = ("sliding-sum", "window-join", "state-bytes")


def run_bench(name: str, json: Path | None = None) -> bool:
    """Run the benchmark and print what it found; False if answers differed or state grew. Raises ValueError for
    another name.

    ``json``: file for one JSON list of records.
    """
    if name == "state-bytes":
        found = state_bytes.run(say=print)
        table, good = state_bytes.lines(found), all(r.ratio <= 1.1 for r in found)
        records: list[object] = list(found)
    else:
        from muntin.session import local_spark

        todo = contests(name)
        spark = local_spark(cores="2", memory="4g")
        try:
            runs = [r for c in todo for r in contest.run(c, spark, print)]
        finally:
            spark.stop()
        table, good = record.lines(runs), all(r.answers_equal for r in runs)
        records = list(runs)
    print("\n".join(["", *table]))
    if json is not None:
        record.write_json(records, json)
    return good
