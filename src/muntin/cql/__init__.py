"""CQL: the dialect (text to tree), the binder (tree to plan) and the unparser (plan to Spark SQL or back to CQL)."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muntin.cql.binder import bind
    from muntin.cql.spark_sql import to_spark_sql
    from muntin.cql.unparse_query import to_cql, window_text

__all__ = ["bind", "to_cql", "to_spark_sql", "window_text"]

_WHERE = {"bind": "binder", "to_spark_sql": "spark_sql", "to_cql": "unparse_query", "window_text": "unparse_query"}


def __getattr__(name: str) -> Any:
    """A module's function, loaded when it is asked for: who reads a duration alone waits for no kernels."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
