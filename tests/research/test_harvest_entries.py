"""Checks of J1 to J19 fed with what they must refuse, and the simulation against a plain join."""

from __future__ import annotations

from itertools import product
from math import inf

import numpy as np
import pytest

from muntin.research.harness import Check
from muntin.research.harvest import (
    j01,
    j02,
    j03,
    j04,
    j05,
    j06,
    j07,
    j08,
    j09,
    j10,
    j11,
    j12,
    j13,
    j14,
    j15,
    j16,
    j17,
    j19,
)
from muntin.research.harvest.engine import Setup, Simulation, run
from muntin.research.harvest.streams import Workload
from muntin.research.kernels.harvest import OUTPUT, WORK


def oks(checks: tuple[Check, ...]) -> list[bool]:
    return [c.ok for c in checks]


def by_hand(load: Workload, parts: dict[int, list[list[int]]]) -> tuple[int, int]:
    """(results, tuples compared) of a join in Python, with the parts that each direction reads, for three streams."""
    at, streams, values, _ = load.arrivals
    orders, b = Simulation(load, Setup(inf), "full").given.orders, load.span / load.parts
    results = compared = 0
    for n in range(len(at)):
        s = int(streams[n])

        def read(hop: int, n: int = n, s: int = s) -> list[int]:
            ages = at[n] - at[:n]
            chosen = np.isin((ages // b).astype(int), parts[s][hop]) & (ages < load.span)
            return np.flatnonzero((streams[:n] == orders[s][hop]) & chosen).tolist()

        near = [c for c in read(0) if abs(values[c] - values[n]) <= load.tolerance]
        compared += len(read(0)) + len(near) * len(read(1))
        results += sum(
            max(abs(values[c] - values[n]), abs(values[c] - values[d])) <= load.tolerance
            for d, c in product(near, read(1))
        )
    return results, compared


@pytest.mark.slow
def test_the_simulation_joins_what_a_plain_loop_joins() -> None:
    load = Workload(15.0, (20.0, 20.0, 60.0), (0.0, 2.0, 4.0), seconds=14.0, span=6.0, parts=3, domain=200.0, eta=20.0)
    for counts in (((3, 3),) * 3, ((2, 1), (1, 3), (2, 2))):
        sim = Simulation(load, Setup(inf, omega=0.0, buffer=1000), "full")
        sim.counts = counts
        sim.go(load.seconds)
        parts = {i: [list(sim.problem.read(counts, i, j)) for j in range(2)] for i in range(3)}
        found = int(sim.counters[OUTPUT].sum()), int(sim.counters[WORK].sum())
        assert found == by_hand(load, parts) and found[0] > 0


def test_less_time_never_gives_more_and_buffers_bound_what_waits() -> None:
    load = Workload(30.0, (2.0, 2.0, 20.0), (0.0, 2.0, 4.0), seconds=30.0, span=6.0)
    outputs = [run(load, Setup(budget, buffer=5), "full", 10.0) for budget in (inf, 5e3, 1e3)]
    assert outputs[0].rate > outputs[1].rate > outputs[2].rate
    assert outputs[0].dropped == 0 < outputs[1].dropped < outputs[2].dropped


def test_j1_to_j8_can_fail() -> None:
    good = [(4.0 * k, 1.0 if k < 6 or k > 15 else 0.3, 1.0) for k in range(1, 25)]
    rates = [1.8 if 20 < t <= 60 else 0.9 for t, _, _ in good]
    assert all(oks(j01.judge(good, rates)))
    assert oks(j01.judge([(t, 0.96, 0.5) for t, _, _ in good], rates)) == [False, False, False, False]
    assert oks(j02.judge([1], [2, 3], 5, 1)) == [False, True, False, False]
    assert oks(j03.judge(1, 1, 1, 9)) == [False] * 3 and j03.yields((3.0, 1.0)) == (0, 0.75, 1)
    assert oks(j04.judge([(1.05, 1.2)])) == [True, False]
    assert oks(j05.judge([(2, 3, 9, 16)])) == [True] and oks(j05.judge([(2, 3, 9, 15)])) == [False]
    orders = ((1, 2), (2, 0), (1, 0))
    assert oks(j06.judge(orders, ((5, 5),) * 3, ((1, 1), (1, 1), (5, 5)))) == [True] * 3
    assert oks(j06.judge(orders[::-1], ((5, 5), (1, 1), (1, 1)), ((5, 5),) * 3)) == [False] * 3
    assert oks(j07.judge(1.1, 1, 3, 4, 4)) == [True, False, False, False]
    assert oks(j08.judge([0.1, 0.3, 0.7])) == [True] and oks(j08.judge([0.11, 0.3, 0.7])) == [False]


def test_j9_to_j19_can_fail() -> None:
    n = len(j09.FRACTIONS)
    rising = [0.9 + 0.01 * k for k in range(n)]
    assert all(oks(j09.judge({j09.OUTPUT: rising, j09.PER_COST: rising[::-1], j09.DELTA: [0.999] * n})))
    assert not any(oks(j09.judge({j09.OUTPUT: rising[::-1], j09.PER_COST: rising, j09.DELTA: [0.8] * n})))
    assert all(
        oks(
            j10.judge(
                {3: [20.0, 40, 60, 80], 4: [40.0, 80, 120, 160], 5: [80.0, 160, 240, 320]}, [n**6 for n in j10.SIZES]
            )
        )
    )
    assert not any(oks(j10.judge({3: [1.0, 1e4, 1, 80], 4: [1.0, 1, 1, 1], 5: [1.0, 1, 1, 1]}, [1, 2, 3, 4])))
    steps = {m: [1.0, 10 * m * (m - 1) - m * (m - 2)] for m in (3, 4, 5)}
    assert all(oks(j11.judge(steps, 10))) and not any(oks(j11.judge({m: [99.0, 9.0 - m] for m in steps}, 10)))
    up = [float(k) for k in range(1, 11)]
    found = {"greedy": up, "reverse": up[::-1], "double": [min(a, b) for a, b in zip(up, up[::-1], strict=True)]}
    assert oks(j12.judge(found, [0.99])) == [True] * 3
    assert oks(j12.judge({**found, "reverse": up, "double": [19.0] * 10}, [0.9])) == [False] * 3
    assert all(oks(j13.judge({True: [0, 0, 0.2, 0.3, 0.6], False: [0, 0, 0.5, 0.9, 1.5]})))
    assert not any(oks(j13.judge({True: [0, 0.1, 0.2, 0.1, -0.1], False: [0, 0, 0.1, 0.05, 0.0]})))
    assert all(oks(j14.judge([2.5, 1.5, 0.25, 0.0]))) and not any(oks(j14.judge([0.5, 1.5, 0.25, 0.5])))
    assert all(oks(j15.judge({True: [0.1, 0.2, 0.3], False: [0.5, 2.0, 7.0]})))
    assert not any(oks(j15.judge({True: [1.1, 0.2, 0.3], False: [0.5, 2.0, 0.6]})))
    assert all(oks(j16.judge({3: [9.0, 8, 7, 6, 5, 4], 4: [8.0, 9, 7, 6, 5, 4]})))
    assert not any(oks(j16.judge({3: [1.0, 2, 3, 4, 5, 6], 4: [9.0, 8, 7, 6, 5, 4]}))[:1])
    assert all(oks(j17.judge({2.0: [0.4, 0.35, 0.3, 0.2], 2.5: [0.5, 0.45, 0.4, 0.3]})))
    assert not any(oks(j17.judge({2.0: [0.4, 0.5, 0.6, 0.7], 2.5: [0.3, 0.3, 0.3, 0.3]})))
    assert oks(j19.judge([3.0], [3.0], 0.3, 0.1, 2.0)) == [True, True]
    assert oks(j19.judge([3.0], [2.0], 0.3, 1.0, 2.0)) == [False, False]
