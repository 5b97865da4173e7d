"""A live query over files that writes to an archive, in a process that a test kills: INPUT CHECKPOINT ARCHIVE."""

from __future__ import annotations

import sys

from muntin.session import Session, local_spark

TEXT = "SELECT k, COUNT(*) AS n FROM a [RANGE 20 SECONDS SLIDE 5 SECONDS] GROUP BY k"

if __name__ == "__main__":
    place, checkpoint, archive = sys.argv[1:4]
    spark = local_spark(2, "1g")
    session = Session(spark, shards=4)
    reader = spark.readStream.schema(spark.read.parquet(place).schema).option("maxFilesPerTrigger", 1)
    session.stream("a", reader.parquet(place), ts="ts")
    options = {"key": "k", "every": "10 seconds", "retain": "40 seconds"}
    session.sql(TEXT, name="sums").write("archive", archive, options=options)
    session.start(checkpoint, "available_now").await_termination()
    spark.stop()
