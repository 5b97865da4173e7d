"""How Spark writes its own files of a local checkpoint: offsets, commits, sources.

Spark's default goes by Hadoop's ``FileContext``, which asks for links and permissions of each file. Where Hadoop's
native library is absent (as with PySpark from PyPI) it starts ``stat``, ``readlink`` and ``chmod`` for that, some 40
processes a batch, and a batch waits 60 ms or more for them. ``FileSystemBasedCheckpointFileManager`` starts few, and on
a local file system it gives the same: both write a temporary file beside, look whether the name is taken, and rename by
``java.io.File.renameTo`` (rename(2), which is atomic), the file first and then its checksum. So a kill leaves the whole
file or none, and a file whose checksum is not there yet is read without. Neither keeps two drivers apart that write one
checkpoint at once, and neither syncs.

On other file systems the default stays: there ``FileContext`` alone renames atomically without overwriting.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from muntin.spark.files import place

EMBEDDED = "spark.muntin.embedded"
"""Set on sessions that Muntin made: what others are given stays as it is."""

OPTION = "spark.sql.streaming.checkpointFileManagerClass"

_STREAMING = "org.apache.spark.sql.execution.streaming"
_CLASSES = tuple(f"{_STREAMING}.{p}FileSystemBasedCheckpointFileManager" for p in ("checkpointing.", ""))
"""Where releases of Spark have it: since 4.1, before."""


@contextmanager
def written_by_the_jvm(spark: SparkSession, checkpoint: str) -> Iterator[None]:
    """A streaming query that is started inside writes the files of a local ``checkpoint`` without other processes, if
    Muntin made the session and nobody has chosen otherwise."""
    chosen = spark.conf.get(OPTION, None) is not None or spark.conf.get(EMBEDDED, None) != "true"
    name = None if chosen or place(checkpoint)[0] != "file" else _class(spark)
    if name is None:
        yield
        return
    spark.conf.set(OPTION, name)
    try:
        yield
    finally:
        spark.conf.unset(OPTION)


def _class(spark: SparkSession) -> str | None:
    """The class's name in this release; None where it is not known."""
    assert spark._jvm is not None
    for name in _CLASSES:
        try:
            spark._jvm.java.lang.Class.forName(name)
        except Py4JJavaError:
            continue
        return name
    return None
