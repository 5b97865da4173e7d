"""The throttle on a simulated clock: a machine that joins two windows, at loads and with accidents that are given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import pytest

from muntin.engine.pace import Line, Measured, Pace

INTERVAL, WINDOW, CAPACITY = 3.0, 20.0, 1000.0
"""Seconds; rows a second of which all work takes 0.8 intervals once windows are full."""


@dataclass(frozen=True)
class Ran:
    """A batch that began at ``at`` over the rows of ``period`` seconds, did ``fraction`` and took ``seconds``."""

    at: float
    period: float
    fraction: float
    seconds: float

    @property
    def lag(self) -> float:
        """How old its oldest answer is in the end."""
        return self.period + self.seconds


def simulated(
    rate: Callable[[float], float],
    until: float,
    policy: str,
    noise: float = 0.0,
    fixed: float = 0.8,
    power: float = 1.0,
    seed: int = 1,
) -> list[Ran]:
    """Batches of a join whose work is new rows times rows in the windows, which hold what was admitted (``drop``, a
    share of rows to the power ``power`` of the fraction) or all (``harvest``, of which the fraction is looked at)."""
    unit = (0.8 * INTERVAL - fixed) / (CAPACITY * INTERVAL * CAPACITY * WINDOW)
    pace, rng, at, before, found = Pace(INTERVAL), Random(seed), 0.0, -INTERVAL, []
    held: list[tuple[float, float, float]] = []
    while at < until:
        period, z = at - before, pace.fraction
        rows = sum(rate(before + period * (i + 0.5) / 20) for i in range(20)) * period / 20
        rows *= 1 + 0.6 * noise * rng.uniform(-1, 1)  # files come or do not
        admitted = z**power if policy == "drop" else 1.0
        held.append((before, at, rows * admitted))
        window = sum(n * (b - max(a, at - WINDOW)) / (b - a) for a, b, n in held if b > at - WINDOW)
        work = rows * admitted * window * (z if policy == "harvest" else 1.0)
        seconds = (fixed + unit * work) * (1 + noise * rng.uniform(-1, 1))
        found.append(Ran(at, period, z, seconds))
        pace = pace.after(Measured(rows, period, z, seconds))
        before, at = at, at + max(INTERVAL, seconds)
    return found


def step(low: float, high: float) -> Callable[[float], float]:
    """A load that rises after a minute and falls after four more."""
    return lambda at: CAPACITY * (high if 60 <= at < 300 else low)


CASES = [("drop", 0.75), ("drop", 1.0), ("drop", 1.5), ("harvest", 1.0)]


@pytest.mark.parametrize(("policy", "power"), CASES)
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_lag_is_bounded_within_six_batches_of_a_load_of_three_times_the_capacity(
    policy: str, power: float, noise: float
) -> None:
    ran = simulated(step(0.9, 3.0), 390, policy, noise, power=power)
    assert all(r.fraction == 1 for r in ran if r.at < 60)
    first = next(i for i, r in enumerate(ran) if r.at > 60)
    assert max(r.lag for r in ran) < 5 * INTERVAL
    over = [r for r in ran[first + 6 :] if r.at < 300]
    assert max(r.lag for r in over) < (2.1 if noise == 0 else 2.8) * INTERVAL
    mean = sum(r.seconds for r in over) / len(over) / INTERVAL
    assert 0.68 < mean < 0.85, "what there is time for is done"


@pytest.mark.parametrize(("policy", "power"), CASES)
@pytest.mark.parametrize("seed", range(5))
def test_back_at_a_normal_load_answers_are_exact_within_two_steps(policy: str, power: float, seed: int) -> None:
    ran = simulated(step(0.9, 3.0), 600, policy, 0.2, power=power, seed=seed)
    first = next(i for i, r in enumerate(ran) if r.at - r.period >= 300)  # the first batch of normal load alone
    assert all(r.fraction == 1 for r in ran[first + 2 :])
    assert max(r.lag for r in ran[first:]) < 8 * INTERVAL, "windows still hold three times as much"
    assert max(r.lag for r in ran if r.at > 400) < 2.2 * INTERVAL


def test_overload_from_the_beginning_and_a_load_that_is_still_too_much() -> None:
    ran = simulated(lambda at: CAPACITY * (3 if at < 200 else 2), 400, "harvest", 0.25)
    assert max(r.lag for r in ran if r.at > 60) < 8 * INTERVAL
    assert max(r.lag for r in ran if r.at > 300) < 2.8 * INTERVAL
    shares = [r.fraction for r in ran if 100 < r.at < 190]
    assert sum(shares) / len(shares) == pytest.approx(1 / 9, rel=0.25)


def test_where_leaving_out_rows_does_not_help_few_are() -> None:
    pace, period = Pace(1.0), 1.0
    for _ in range(30):  # a batch takes two intervals whatever it does, and little more with rows
        rows = 100 * period
        seconds = 2.0 + 0.001 * rows * pace.fraction
        pace = pace.after(Measured(rows, period, pace.fraction, seconds))
        period = max(1.0, seconds)
    assert pace.fraction > 0.9


def test_warm_up_and_empty_batches_are_not_judged() -> None:
    cold = Pace(1.0).after(Measured(100, 1, 1, 10))
    assert cold.fraction == 0.1, "a part of what waits"
    pace = cold.after(Measured(1000, 10, 0.1, 1.9))
    assert pace.fraction == 1
    assert Pace(1.0, 0.3, first=0.3).after(Measured(100, 1, 0.3, 0.1)).fraction == 0.3, "as the run before"
    assert pace.after(Measured(0, 1, 1, 60)).fraction == 1
    slow = pace.after(Measured(100, 1, 1, 4))
    assert 0.01 <= slow.fraction < 0.1 and slow.sustained == 0
    assert Pace.of_json(slow.to_json()) == slow
    old = {"interval": 2.0, "capacity": None, "fraction": 0.5, "every": 1}
    assert Pace.of_json(old) == Pace(2.0, 0.5)
    assert slow.after(Measured(100, 1, 0.0, 4)).fraction == 0.01, "so that it comes back"


def test_the_line_of_what_batches_take() -> None:
    line = Line()
    assert line.fit(0.7) == (0.7, 0.0)
    for rows in (100, 300, 200, 50):
        line = line.after(rows, 0.5 + 0.01 * rows)
    fixed, each = line.fit(0.5)
    assert (fixed, each) == (pytest.approx(0.5), pytest.approx(0.01))
    for _ in range(30):  # the same again and again leaves what is known
        line = line.after(200, 2.5)
    assert line.fit(0.5)[0] == pytest.approx(0.5, abs=0.02)
