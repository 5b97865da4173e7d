"""What a user gives when streams and tables are registered, checked."""

from __future__ import annotations

from typing import Any, get_args
from typing import Literal as OneOf

from muntin.core.errors import ConfigError
from muntin.cql.options import Duration, microseconds
from muntin.spark.embedded import DataFrame, not_by_connect
from muntin.spark.types import check_names

TableKind = OneOf["static", "nrr", "relation", "upsert"]

UNITS = {"us": 1, "microseconds": 1, "ms": 1000, "milliseconds": 1000, "s": 1_000_000, "seconds": 1_000_000}
"""Microseconds of the units of numeric event times."""


def spans(what: str, **given: Duration | None) -> dict[str, Any]:
    """In microseconds, those that are given. Raises ConfigError for a negative one."""
    found = {k: microseconds(v, f"{what}: {k}") for k, v in given.items() if v is not None}
    odd = next((k for k, v in found.items() if v < 0), None)
    if odd is not None:
        raise ConfigError(f"{what}: {odd} cannot be negative")
    return found


def check_choices(what: str, ts_unit: str | None, **faults: str) -> None:
    """Raises ConfigError for an option of a stream or table that is none of those there are."""
    if ts_unit is not None and ts_unit not in UNITS:
        raise ConfigError(f"{what}: ts_unit is one of {', '.join(UNITS)}, not {ts_unit!r}")
    for option, value in faults.items():
        if value not in ("drop", "fail"):
            raise ConfigError(f'{what}: {option} is "drop" or "fail", not {value!r}')


def check_table(
    name: str, kind: str, changing: object, ts_unit: str | None, on_bad_time: str, on_bad_update: str
) -> None:
    """Raises ConfigError for an option of a table that is none of those there are, and for a static one with what
    belongs to one that changes (``changing``: a part of it that is given, if any is)."""
    if kind not in get_args(TableKind):
        raise ConfigError(f'table {name!r}: kind is "static", "relation", "nrr" or "upsert", not {kind!r}')
    check_choices(f"table {name!r}", ts_unit, on_bad_time=on_bad_time, on_bad_update=on_bad_update)
    if kind == "static" and (changing or on_bad_update != "drop"):
        raise ConfigError(
            f"table {name!r}: a static table never changes and takes neither ts nor op, key or on_bad_update; give "
            'kind="relation" (its changes are seen by rows that are there already) or "nrr" (by later ones)'
        )


def check_frame(df: DataFrame, what: str) -> None:
    """Raises ConfigError for a DataFrame that cannot be a stream or a table."""
    not_by_connect(df, f"{what}: its DataFrame")
    check_names(df, what)
