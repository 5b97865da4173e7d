"""Options of a query: which values they take, and how a user gives them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, TypedDict, get_args
from zoneinfo import ZoneInfo

from muntin.core.errors import ConfigError
from muntin.cql.durations import parse_duration
from muntin.plan.windows import Bounds, Periods, QueryOptions, Shed, Skew, Strategy

Duration = str | timedelta | int


class Options(TypedDict, total=False):
    """What a query takes beside its text, as a user gives it (see ``plan.windows.QueryOptions``); None: not given."""

    bounds: Bounds | None
    origin: Duration | None
    granule: Duration | None
    zone: str | None
    exp: bool | None
    strategy: Strategy | None
    skew: Skew | None
    memory: int | str | None
    priority: int | None
    periods: Periods | None
    shed: Shed | None
    quality: float | None


OPTIONS = tuple(Options.__annotations__)
"""What a query takes beside its text."""

CHOICES: Mapping[str, tuple[str, ...]] = {
    "bounds": get_args(Bounds),
    "strategy": get_args(Strategy),
    "skew": get_args(Skew),
    "periods": get_args(Periods),
    "shed": get_args(Shed),
}
"""The options that are one of several words (see ``plan.windows.QueryOptions``)."""


def check_option(key: str, value: Any) -> None:
    """Raises ValueError, with what would do, for a value that the option does not take. Lengths of time and sizes are
    given as integers."""
    if key in CHOICES and value not in CHOICES[key]:
        raise ValueError(f"{value!r} is none of {', '.join(CHOICES[key])}")
    match key:
        case "exp" if not isinstance(value, bool):
            raise ValueError(f"{value!r} is neither True nor False")
        case "priority" if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"{value!r} is not an integer; the greater, the earlier (0 where nothing is said)")
        case "granule" if value <= 0:
            raise ValueError("it is longer than nothing, as in '1 second'")
        case "quality" if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
            raise ValueError(f"{value!r} is no share from 0 up to (and not) 1")
        case "zone":
            _check_zone(value)


def _check_zone(name: Any) -> None:
    try:
        if not isinstance(name, str):
            raise ValueError
        ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        raise ValueError(f"there is no time zone {name!r}; write a name as 'Europe/Rome', or 'UTC'") from None


def microseconds(value: Duration, what: str) -> int:
    """A duration as microseconds: text as ``"5 minutes"``, a timedelta, or an integer of microseconds."""
    match value:
        case timedelta():
            return value // timedelta(microseconds=1)
        case str():
            try:
                return parse_duration(value)
            except ValueError as e:
                raise ConfigError(f"{what}: {e}") from e
        case int():
            return value
    raise ConfigError(f'{what}: {value!r} is not a duration; write text as "5 minutes", or a timedelta')


def byte_size(value: int | str, what: str) -> int:
    """A size in bytes: an integer, or text as ``"512 MB"`` (KB, MB, GB: powers of 1024)."""
    found = re.fullmatch(r"\s*(\d+)\s*([KMG]?)i?B?\s*", str(value), re.IGNORECASE)
    size = int(found[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[found[2].upper()] if found else 0
    if size <= 0:
        raise ConfigError(f'{what}: {value!r} is not a size; write bytes, or text as "512 MB"')
    return size


def query_options(options: Mapping[str, Any]) -> QueryOptions:
    """The options of ``Session.sql`` as the planner takes them. Raises ConfigError for unknown and wrong ones."""
    unknown = [k for k in options if k not in OPTIONS]
    if unknown:
        raise ConfigError(f"unknown option {unknown[0]!r}; a query takes {', '.join(OPTIONS)}")
    given = {k: v for k, v in options.items() if v is not None}
    for key in ("origin", "granule"):
        if key in given:
            given[key] = microseconds(given[key], f"option {key}")
    if "memory" in given:
        given["memory"] = byte_size(given["memory"], "option memory")
    for key, value in given.items():
        try:
            check_option(key, value)
        except ValueError as e:
            raise ConfigError(f"option {key}: {e}") from None
    return QueryOptions(**given)
