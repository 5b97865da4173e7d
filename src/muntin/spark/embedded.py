"""An embedded SparkSession with settings that suit Muntin."""

from __future__ import annotations

import os
import sys
from typing import Any

from pyspark.sql import SparkSession


def local_spark(cores: str | int = "*", memory: str = "2g", **conf: Any) -> SparkSession:
    """A SparkSession in this process tree, or the one that is already active.

    Args:
        cores: worker threads; ``"*"`` takes all.
        memory: heap of the JVM.
        conf: more Spark configuration; dots of a key written as ``__``, or pass ``**{"spark.x.y": value}``.

    The workers run this interpreter; time zone UTC, no user interface, as many shuffle partitions as cores.
    """
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    number = (os.cpu_count() or 1) if cores == "*" else int(cores)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": memory,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(number),
        "spark.sql.execution.arrow.maxRecordsPerBatch": "131072",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        **{k.replace("__", "."): str(v) for k, v in conf.items()},
    }
    builder = SparkSession.builder.appName("muntin")
    if "spark.master" not in settings:
        builder = builder.master(f"local[{cores}]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("WARN")
    return spark
