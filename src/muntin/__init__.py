"""Muntin: exact sliding-window continuous queries, written in CQL, on Apache Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from muntin.core.errors import (
    BudgetError,
    ConfigError,
    DataError,
    InternalError,
    MuntinError,
    QueryError,
    StoreError,
    UnsupportedError,
)
from muntin.core.version import VERSION

if TYPE_CHECKING:
    from muntin.cql.user_functions import function
    from muntin.local.query import query, query_batches
    from muntin.session import Query, Run, Session, UserAggregate, local_spark

__version__ = VERSION
_LOCAL = ("query", "query_batches")
_SESSION = ("Query", "Run", "Session", "UserAggregate", "local_spark")
__all__ = [
    "query", "query_batches", "function", "Query", "Run", "Session", "UserAggregate", "local_spark", "MuntinError",
    "QueryError", "UnsupportedError", "ConfigError", "DataError", "BudgetError", "StoreError", "InternalError",
    "__version__",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """The facade on first use, so that ``import muntin`` alone loads no PySpark."""
    if name in _LOCAL:
        from muntin.local import query as local

        return getattr(local, name)
    if name == "function":
        from muntin.cql.user_functions import function

        return function
    if name in _SESSION:
        from muntin import session

        return getattr(session, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """What users call, whether it is loaded or not."""
    return sorted({*__all__, *(n for n in globals() if n.startswith("__"))})
