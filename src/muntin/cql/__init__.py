"""CQL: the dialect (text to tree), the binder (tree to plan) and the unparser (plan to Spark SQL or back to CQL)."""

from muntin.cql.binder import bind
from muntin.cql.spark_sql import to_spark_sql
from muntin.cql.unparse_query import to_cql, window_text

__all__ = ["bind", "to_cql", "to_spark_sql", "window_text"]
