"""What code in the documentation runs on where Spark, a broker or a live run would be: objects that take the calls
which the real ones take, by name and by signature, and give back stand-ins of what those give."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock, create_autospec

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamReader

import muntin
from muntin.cql.options import query_options


def standing_in(of: type) -> Any:
    """An instance of a class that does nothing; methods that set something up give it back, as the real ones do."""
    return create_autospec(of, instance=True)


def scope() -> dict[str, Any]:
    """Names that blocks use without saying what they are: a session and what it gives."""
    session, query, run, spark = map(standing_in, (muntin.Session, muntin.Query, muntin.Run, SparkSession))
    frame, reader = standing_in(DataFrame), standing_in(DataStreamReader)
    for step in ("format", "options", "option", "schema"):
        getattr(reader, step).return_value = reader
    reader.load.return_value = frame
    spark.readStream = reader

    def sql(text: str, name: str | None = None, replace: bool = False, **options: Any) -> Any:
        query_options({k: v for k, v in options.items() if v is not None})
        return query

    session.sql.side_effect = sql
    session.start.return_value = run
    session.archive.return_value = frame
    query.write.return_value = query
    api = Mock(spec=["Session", "local_spark"])
    api.local_spark = create_autospec(muntin.local_spark, return_value=spark)
    api.Session = create_autospec(muntin.Session, return_value=session)
    return {"muntin": api, "session": session, "query": query, "run": run, "spark": spark, "JOIN": "", "ALERTS": ""}
