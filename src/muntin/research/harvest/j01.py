"""J1, Gedik et al. 3.1 and Figure 2: how the throttle fraction follows the rates.

The figure's rates are not given: here 90 tuples a second, 180 from 20 s on, 90 again from 60 s on, with a join that
saturates at 100.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from muntin.research.harness import Check, Entry, Outcome, Plot, Setting
from muntin.research.harvest.engine import Setup, run, saturation
from muntin.research.harvest.sizes import scaled
from muntin.research.harvest.streams import Workload

EVERY = 4.0
UP, DOWN, END = 20.0, 60.0, 100.0


def steps_until_settled(points: list[tuple[float, float, float]]) -> float:
    """After the step to twice the rate."""
    after = [(t, z, beta) for t, z, beta in points if t > UP + EVERY]
    settled = next((t for t, _, beta in after if 0.9 <= beta <= 1.1), None)
    return 99.0 if settled is None else (settled - UP) / EVERY


def judge(points: list[tuple[float, float, float]], rates: list[float], short: str = "") -> tuple[Check, ...]:
    """(second, z, beta) at each adaptation, and the rate before it. ``short``: beta with windows of two of them."""
    steps = steps_until_settled(points)
    z = np.array([p[1] for p in points])
    correlation = float(np.corrcoef(z, rates)[0, 1]) if len(set(z.tolist())) > 1 else 0.0
    first = next((t for t, v, _ in points if t > UP and v < 0.95), None)
    lag = 99.0 if first is None else first - UP
    back = next((t for t, v, _ in points if t > DOWN and v == 1.0), None)
    return (
        Check(
            "after a step to twice the rate beta is in [0.9, 1.1] within 4 steps",
            f"{steps:g} steps",
            steps <= 4,
            REASON.format(betas(points), short),
        ),
        Check("correlation(z, rate) < 0", f"{correlation:.2f}", correlation < 0),
        Check("lag <= 2 Delta", f"{lag:g} s, Delta {EVERY:g} s", lag <= 2 * EVERY),
        Check("z returns to 1 below capacity", f"at {back} s", back is not None),
    )


REASON = (
    "a tuple that finds its buffer full is in no window, so that windows are thinner and beta says less than by how "
    "much there is too much: each step takes away a part of that, beta being {}; with windows of 8 s, and all else "
    "alike, {}; the figure's windows and rates are not stated"
)


def betas(points: list[tuple[float, float, float]]) -> str:
    """After the step to twice the rate, until they have settled."""
    steps = round(steps_until_settled(points))
    return ", ".join(f"{beta:.2f}" for t, _, beta in points if UP < t <= UP + steps * EVERY)


def run_entry(setting: Setting) -> Outcome:
    """One run."""
    sat = scaled(setting)
    load = Workload(0.9 * sat, seconds=END, steps=((UP, 1.8 * sat), (DOWN, 0.9 * sat)))
    trace = run(load, Setup(saturation(load, sat), every=EVERY), "harvest")
    points = [(t, z, beta) for t, z, beta, _ in trace.points]
    near = replace(load, span=2 * EVERY, tau=(0.0, 0.0, 0.0))
    other = run(near, Setup(saturation(near, sat), every=EVERY), "harvest")
    short = betas([(t, z, beta) for t, z, beta, _ in other.points])
    rates = [1.8 if UP < t <= DOWN else 0.9 for t, _, _ in points]
    plot = Plot("throttle", "second", "z and rate by capacity",
                {"z": [(t, z) for t, z, _ in points], "rate": list(zip([t for t, _, _ in points], rates, strict=True))},
                log=False)  # fmt: skip
    return Outcome(judge(points, rates, short), plots=(plot,))


ENTRY = Entry(
    "J1",
    "Figure 2: z follows the rates inversely, with a delay of about Delta",
    "settles within 2-4 steps where beta in [0.9, 1.1]; correlation < 0; lag <= 2 Delta; returns to 1",
    run_entry,
)
