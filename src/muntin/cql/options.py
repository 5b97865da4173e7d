"""Options of a query: which values they take."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

CHOICES = {
    "bounds": ("half_open", "closed", "start"),
    "strategy": ("upa", "nt", "direct", "auto"),
    "skew": ("keep", "split"),
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
        case "granule" if value <= 0:
            raise ValueError("it is longer than nothing, as in '1 second'")
        case "zone":
            _check_zone(value)


def _check_zone(name: Any) -> None:
    try:
        if not isinstance(name, str):
            raise ValueError
        ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        raise ValueError(f"there is no time zone {name!r}; write a name as 'Europe/Rome', or 'UTC'") from None
