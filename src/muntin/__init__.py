"""Muntin: exact sliding-window continuous queries, written in CQL, on Apache Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from muntin.core.version import VERSION

if TYPE_CHECKING:
    from muntin.local.query import query, query_batches
    from muntin.session import Query, Run, Session, local_spark

__version__ = VERSION
__all__ = ["Query", "Run", "Session", "__version__", "local_spark", "query", "query_batches"]


def __getattr__(name: str) -> Any:
    """The facade on first use, so that ``import muntin`` alone loads no PySpark."""
    if name in ("query", "query_batches"):
        from muntin.local import query as local

        return getattr(local, name)
    if name in ("Query", "Run", "Session", "local_spark"):
        from muntin import session

        return getattr(session, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
