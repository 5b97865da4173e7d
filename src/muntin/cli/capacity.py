"""``muntin explain --capacity``: is a query feasible on this machine at the given rates, and if not, what to drop."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from muntin.core.errors import ConfigError
from muntin.local.calibrate import seconds_per_operation
from muntin.optimizer.capacity.of_query import Load, load_of
from muntin.optimizer.statistics import Statistics
from muntin.plan.nodes import BoundQuery


def capacity(query: BoundQuery, rates: dict[str, float], form: str = "text", cores: int | None = None) -> str:
    """The report, as text or JSON. ``rates``: rows a second by stream, instead of the registered ones.

    Raises ConfigError for another form.
    """
    if form not in ("text", "json"):
        raise ConfigError(f"--capacity is told as text or json, not as {form}")
    number = cores or os.cpu_count() or 1
    seconds = seconds_per_operation()
    found = load_of(query, seconds, number, Statistics(rates={n.lower(): r for n, r in rates.items()}))
    if form == "json":
        plain: dict[str, Any] = asdict(found)
        plain |= {"utilisation": found.utilisation, "feasible": found.feasible}
        plain |= {"seconds_per_operation": seconds, "cores": number}
        return json.dumps(plain, indent=2)
    return "\n".join(lines(found, seconds, number))


def rates_of(given: list[str], streams: list[str]) -> dict[str, float]:
    """Rates by stream, from texts as ``flights=5000``. Raises ConfigError for other texts and unknown streams."""
    found = {}
    for text in given:
        name, _, number = text.partition("=")
        try:
            rate = float(number)
        except ValueError:
            rate = 0.0
        if rate <= 0:
            raise ConfigError(f"--rate {text!r}: write a stream and its rows a second, as flights=5000")
        if name.lower() not in {s.lower() for s in streams}:
            raise ConfigError(f"--rate {text!r}: there is no stream {name!r}; there are {', '.join(streams)}")
        found[name] = rate
    return found


def lines(found: Load, seconds: float, cores: int) -> Iterator[str]:
    """The report as text."""
    rates = ", ".join(f"{name} {rate:,.0f} rows/s" for name, rate in found.rates.items())
    yield f"Capacity at {rates} on {cores} cores ({1e9 * seconds:.0f} ns an operation, measured now)"
    for words, used in found.operators:
        yield f"  {used:8.1%}  {words}"
    state = "feasible" if found.feasible else "not feasible"
    yield f"  {found.utilisation:8.1%}  of the machine: {state}; about {found.output:,.0f} results/s"
    if not found.feasible:
        boxes = ", ".join(f"{name} {share:.1%}" for name, share in found.shares.items())
        yield f"Drop boxes that keep the most results: {boxes} let in; about {found.kept:.1%} of the results are left"
        yield 'With shed="drop" or shed="harvest" a run leaves out only what it has to; shed="never" falls behind'
    if len(found.plan) > 2:
        yield f"As binary joins, drop boxes considered: {' x '.join(found.plan)} (left-deep)"
