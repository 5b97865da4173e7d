"""An embedded SparkSession with settings that suit Muntin."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any
from warnings import filterwarnings

from pyspark import SparkContext, cloudpickle
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import Column, DataFrame, SparkSession

from muntin.core.errors import ConfigError
from muntin.spark.checkpoint_files import EMBEDDED

__all__ = ["Column", "DataFrame", "SparkSession", "local_spark"]


ARROW_OPTIONS = ("-Darrow.enable_unsafe_memory_access=true", "-Darrow.enable_null_check_for_get=false")
"""Of the JVM: Arrow's readers check bounds and NULLs at every value; Spark has checked both before it reads one."""


ATTEMPTS = 4
"""How often a task is tried, as on a cluster. Spark's own default for one machine is once, and then a Python worker
that is killed (for want of memory, say) ends the run."""


def local_spark(
    cores: str | int = "*",
    memory: str = "2g",
    *,
    master: str | None = None,
    config: Mapping[str, Any] | None = None,
    **conf: Any,
) -> SparkSession:
    """A SparkSession in this process tree, or the one that is already active.

    Args:
        cores: worker threads; ``"*"`` takes all.
        memory: heap of the JVM.
        master: another master than ``local[cores,4]`` (each task tried up to four times).
        config: more Spark configuration, by its full names.
        conf: the same as keywords, with ``__`` for dots (``spark__sql__ansi__enabled="true"``).

    The workers run this interpreter; time zone UTC, no user interface, as many shuffle partitions as cores. Runs write
    Spark's files of a local checkpoint without starting processes (``spark.checkpoint_files``).
    """
    # Spark's own word, each time that rows come, on a pandas that it takes all the same.
    filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    _let_workers_import_muntin()
    number = (os.cpu_count() or 1) if cores == "*" else int(cores)
    given = {
        **{k: str(v) for k, v in (config or {}).items()},
        **{k.replace("__", "."): str(v) for k, v in conf.items()},
    }
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": memory,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(number),
        "spark.sql.execution.arrow.maxRecordsPerBatch": "131072",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxBytesPerBatch": "2147483647",  # its check costs more than the row it counts
        "spark.sql.adaptive.streaming.stateless.enabled": "false",  # the number of tasks is fixed by the shards
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        **given,
    }
    for name in ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"):
        settings[name] = " ".join([*ARROW_OPTIONS, *given.get(name, "").split()])
    settings.setdefault("spark.master", master or f"local[{cores},{ATTEMPTS}]")
    if settings["spark.master"].startswith("local"):  # elsewhere the daemon may start before the package is there
        settings.setdefault("spark.python.daemon.module", "muntin.spark.daemon")
    if SparkContext._active_spark_context is None:  # else the session that is there may be the user's
        settings[EMBEDDED] = "true"
    builder = SparkSession.builder.appName("muntin")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = _started(builder)
    spark.sparkContext.setLogLevel("WARN")
    return spark


def _started(builder: Any) -> SparkSession:
    """The session. Raises ConfigError where no Java can be started."""
    try:
        found: SparkSession = builder.getOrCreate()
    except PySparkRuntimeError as e:
        if "JAVA_GATEWAY_EXITED" not in str(e):
            raise
        home = os.environ.get("JAVA_HOME")
        looked = f"JAVA_HOME is {home}" if home else "JAVA_HOME is not set, and java on the PATH is asked for"
        raise ConfigError(
            f"Spark could not start its JVM: it needs Java 17 or newer ({looked}). Install one (on Debian: apt-get "
            "install openjdk-17-jre-headless) and set JAVA_HOME, or answer without Spark: muntin sql, muntin.query(...)"
        ) from None
    return found


def not_by_connect(given: Any, what: str) -> None:
    """Raises ConfigError for a session or a DataFrame of Spark Connect (``what`` names it)."""
    if any(kind.__module__.startswith("pyspark.sql.connect.") for kind in type(given).__mro__):
        raise ConfigError(
            f"{what} is of Spark Connect, whose client has no way to the JVM: Muntin's driver commits a batch's state "
            "with Spark's batch and asks Spark for its formats, paths and errors. Run the program beside the JVM "
            "(spark-submit, a notebook attached to the cluster) with a classic SparkSession, or without Spark: "
            "muntin.query(...)"
        )


def _let_workers_import_muntin() -> None:
    """Workers inherit this environment; the package may stand in a source tree that only this process was told of."""
    here = str(Path(__file__).resolve().parents[2])
    path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if here not in path:
        os.environ["PYTHONPATH"] = os.pathsep.join([here, *filter(None, path)])


def sent_by_value(module: ModuleType) -> None:
    """Let what a module defines be sent to workers as it is: they cannot import it."""
    cloudpickle.register_pickle_by_value(module)
