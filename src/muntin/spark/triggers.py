"""How often a run asks for a batch, and what follows from that."""

from __future__ import annotations

import re
from typing import Any

from muntin.core.errors import ConfigError
from muntin.cql.durations import format_duration, parse_duration
from muntin.spark.overload import interval_of
from muntin.spark.prepare import Job

_INTERVAL = re.compile(r"\d+\s*[a-zA-Z]+")


def trigger_of(text: str | None) -> dict[str, Any]:
    """Arguments for Spark's ``trigger``: none (as fast as possible), ``available_now``, or as ``10 seconds``."""
    if text is None:
        return {}
    if text.lower().replace(" ", "_") in ("available_now", "availablenow"):
        return {"availableNow": True}
    if _INTERVAL.fullmatch(text.strip()):
        return {"processingTime": text.strip()}
    raise ConfigError(f'trigger {text!r} is not known; use "available_now", an interval as "10 seconds", or none')


def check_tau(trigger: str | None, tau: int | None) -> None:
    """Raises ConfigError for a trigger whose interval is longer than ``tau`` (Golab & Ozsu 2003, 3: results are
    recomputed at least every tau)."""
    interval = trigger_of(trigger).get("processingTime")
    if interval is None or tau is None:
        return
    try:
        span = parse_duration(interval)
    except ValueError as e:
        raise ConfigError(f"trigger {trigger!r}: {e}") from None
    if span > tau:
        raise ConfigError(
            f"trigger {trigger!r} is longer than tau, {format_duration(tau).lower()}: rows would wait longer than a "
            "result may be old; shorten the trigger, leave it out (as fast as possible), or allow a longer tau"
        )


def seconds_between(trigger: str | None) -> float:
    """From trigger to trigger; 0 where they come as fast as possible."""
    given = trigger_of(trigger).get("processingTime")
    try:
        return 0.0 if given is None else parse_duration(given) / 1e6
    except ValueError:  # Spark may know it
        return 0.0


def interval(trigger: str | None, job: Job) -> float | None:
    """Seconds that a batch may take before input is left out; None where none may be. Raises ConfigError where a query
    allows it and nothing says how long that is."""
    given = trigger_of(trigger)
    if not job.sheds:
        return None
    every = given.get("processingTime")
    return interval_of(None if every is None else parse_duration(every), job.tau, "availableNow" in given)
