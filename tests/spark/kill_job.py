"""A pipeline in a process of its own, to be killed (see ``processes``): ``python kill_job.py DIRECTORY MASTER``.

MASTER "": the one that ``local_spark`` takes by itself. The variable ``BUDGET``: of a session in which queries wait.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from conftest_spark import Feed

QUERIES = {
    "slide": "SELECT k, COUNT(*) AS n, SUM(v) AS total FROM a [RANGE 20 SECONDS SLIDE 3 SECONDS] "
    "WHERE v > 20 GROUP BY k",
    "join": "SELECT x.k, COUNT(*) AS n, AVG(y.v) AS mean "
    "FROM a x [RANGE 10 SECONDS SLIDE 1 SECOND], b y [RANGE 6 SECONDS] WHERE x.j = y.j GROUP BY x.k",
}


def main(where: Path, master: str) -> None:
    from muntin.session import Session, local_spark

    spark = local_spark(2, "1g", master=master or None)
    budget = os.environ.get("BUDGET")
    session = Session(spark, shards=4, budget=budget)
    for name in ("a", "b"):
        session.stream(name, Feed(spark, where / "in" / name).live(), slack="2 seconds")
    for name, text in QUERIES.items():
        session.sql(text, name=name).write("parquet", str(where / "out" / name))
    run = session.start(str(where / "cp"), None if budget else "available_now")
    if budget:
        run.process_all_available()
        run.stop()
    else:
        run.await_termination()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
