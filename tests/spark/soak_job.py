"""A pipeline over endless input in a process of its own (see ``test_soak``): ``python soak_job.py DIRECTORY SECONDS``.

The seconds count from the end of the first batch; it goes on after them until it has looked at the heap nine times.

It writes a line of JSON for each batch to ``DIRECTORY/batches``, and one at the end to ``DIRECTORY/end``.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

QUERIES = {
    "join": "SELECT x.k, COUNT(*) AS n FROM a x [RANGE 5 SECONDS SLIDE 1 SECOND], b y [RANGE 3 SECONDS] "
    "WHERE x.v = y.v GROUP BY x.k",
    "rows": "SELECT k, AVG(v) AS mean FROM a [PARTITION BY k ROWS 50] GROUP BY k",
    "median": "SELECT k, MEDIAN(v) AS middle FROM b [RANGE 10 SECONDS SLIDE 1 SECOND] GROUP BY k",
}


def rate(spark: Any) -> Any:
    source = spark.readStream.format("rate").option("rowsPerSecond", 1000).option("numPartitions", 2)
    return source.load().selectExpr("timestamp AS ts", "value % 20 AS k", "value % 5000 AS v")


def live_heap(spark: Any) -> float:
    """Megabytes that the JVM's objects take after a collection: what it reserves depends on when it last collected."""
    spark._jvm.System.gc()
    runtime = spark._jvm.Runtime.getRuntime()
    return float(runtime.totalMemory() - runtime.freeMemory()) / 2**20


def main(where: Path, seconds: float) -> None:
    from muntin.session import Session, local_spark

    spark = local_spark(2, "1g")
    session = Session(spark, shards=8)
    for name in ("a", "b"):
        session.stream(name, rate(spark))
    for name, text in QUERIES.items():
        query = session.sql(text, name=name)
        match name:
            case "join":
                query.write("parquet", str(where / "out"))
            case "rows":
                query.write("blackhole")
            case _:
                query.write(foreach_batch=lambda df, batch: df.toArrow())
    run = session.start(str(where / "cp"), "500 milliseconds")
    while run.metrics() is None and not run.await_termination(0.5):
        pass
    end, last, collect, heaps = time.monotonic() + seconds, -1, 0.0, 0
    with open(where / "batches", "w", buffering=1) as out:
        while (time.monotonic() < end or heaps < 9) and not run.await_termination(0.1):
            progress = run.query.lastProgress
            if progress is not None and progress["batchId"] > last:
                last = progress["batchId"]
                line = {"batch": last, "ms": progress["durationMs"].get("triggerExecution"), "lag": run.metrics().lag}
                if time.monotonic() > collect:
                    heaps += 1
                    line["heap"], collect = live_heap(spark), time.monotonic() + min(2, seconds / 12)
                out.write(json.dumps(line) + "\n")
    run.stop()
    (where / "end").write_text(json.dumps({"results": run.metrics().results, "batches": run.metrics().batches}))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
