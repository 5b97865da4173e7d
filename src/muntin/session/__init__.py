"""The facade: register streams and tables, write queries, run them. Everything a user calls is here."""

from muntin.plan.aggregates import UserAggregate
from muntin.session.query import Query
from muntin.session.session import Session
from muntin.spark.embedded import local_spark
from muntin.spark.run import Run

__all__ = ["Query", "Run", "Session", "UserAggregate", "local_spark"]
