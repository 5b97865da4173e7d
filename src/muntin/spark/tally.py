"""Numbers of a replay: its tasks report through a Spark accumulator, since a batch DataFrame has no store."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.accumulators import AccumulatorParam
from pyspark.sql import SparkSession

from muntin.spark.counts import Report
from muntin.spark.metrics import Metrics, combine

Reports = dict[tuple[int, int], Report]
"""By level and slot: a task that runs again reports the same under the same name."""


class _Union(AccumulatorParam[Reports]):
    def zero(self, value: Reports) -> Reports:
        return {}

    def addInPlace(self, value1: Reports, value2: Reports) -> Reports:
        return {**value1, **value2}


class Tally:
    """What a replayed query has counted so far: everything once its DataFrame has been read to the end."""

    def __init__(self, spark: SparkSession) -> None:
        self._reports = spark.sparkContext.accumulator({}, _Union())

    def add(self, level: int, slot: int, report: Mapping[str, Mapping[str, int]]) -> None:
        """The report of one slot at one level; in a task."""
        self._reports.add({(level, slot): {key: dict(values) for key, values in report.items()}})

    def metrics(self, signature: str) -> Metrics | None:
        """The query's numbers; None before anything was read. On the driver."""
        return combine(0, self._reports.value.values()).get(signature)
