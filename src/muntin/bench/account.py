"""What a batch's time went to, by Spark's own account of its jobs: the driver, the scans, the window operators.

Spark objects arrive from outside; nothing here imports pyspark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

DRIVER = "driver: planning, offsets, commit"
SCAN = "scan, and writing the exchange"
REST = "reading the exchange, windows, results"


@dataclass(frozen=True)
class Part:
    """Wall time of one part of the timed batches. ``jvm``: CPU seconds of Spark's own threads in it, all cores."""

    name: str
    seconds: float
    jvm: float


def account(spark: Any, run_id: str, spans: Sequence[tuple[float, float]]) -> list[Part]:
    """The timed batches, ``spans`` in seconds since 1970, of the streaming query with this run id, in three parts."""
    scan = rest = scan_cpu = rest_cpu = 0.0
    for stage in _stages(spark, run_id):
        begin, end = (_seconds(t) for t in (stage.submissionTime(), stage.completionTime()))
        if not any(low <= begin <= high for low, high in spans):
            continue
        cpu = stage.executorCpuTime() / 1e9
        if stage.inputBytes() > 0 or stage.shuffleReadBytes() == 0:
            scan, scan_cpu = scan + end - begin, scan_cpu + cpu
        else:
            rest, rest_cpu = rest + end - begin, rest_cpu + cpu
    total = sum(high - low for low, high in spans)
    return [Part(SCAN, scan, scan_cpu), Part(REST, rest, rest_cpu), Part(DRIVER, max(0.0, total - scan - rest), 0.0)]


def lines(case: str, engine: str, parts: Sequence[Part]) -> list[str]:
    """The account as text, one line a part."""
    total = sum(p.seconds for p in parts) or 1.0
    return [
        f"{case}, {engine}: {p.seconds / total:4.0%} {p.name}" + (f" (JVM threads {p.jvm:.1f} s)" if p.jvm else "")
        for p in parts
    ]


def _stages(spark: Any, group: str) -> Iterator[Any]:
    """Spark's records of the stages that ran in a job group, each once."""
    store = spark.sparkContext._jsc.sc().statusStore()
    jobs, seen = store.jobsList(None), set()
    for job in (jobs.apply(i) for i in range(jobs.size())):
        if job.jobGroup().isEmpty() or job.jobGroup().get() != group:
            continue
        ids = job.stageIds()
        for number in (ids.apply(i) for i in range(ids.size())):
            stage = store.lastStageAttempt(number)
            if number not in seen and stage.submissionTime().isDefined() and stage.completionTime().isDefined():
                seen.add(number)
                yield stage


def _seconds(date: Any) -> float:
    return float(date.get().getTime()) / 1000
