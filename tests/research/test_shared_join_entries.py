"""Entries H: what each check must refuse, and the streams that they are run on."""

from __future__ import annotations

import numpy as np
from test_entries import oks

from muntin.research.shared_joins import h02, h04, h06, h08, h09, h10, h11, h12, h14, h15
from muntin.research.shared_joins.pairs import FIGURE, FIGURE_WINDOWS, SharedJoin
from muntin.research.shared_joins.study import NAMES, Found, most_within
from muntin.research.shared_joins.workload import TABLE_1, arrivals_of, pareto_sizes, partners
from muntin.scheduling.policies import POLICIES


def test_traces_of_other_policies_are_refused() -> None:
    traces = {p: SharedJoin(POLICIES[p], FIGURE_WINDOWS).run(FIGURE, 6, lambda n: 0) for p in NAMES}
    assert oks(h02.judge(traces["lwo"])) == [True, True] and oks(h02.judge(traces["swf"])) == [False, False]
    assert oks(h04.judge(traces["swf"])) == [True, True, True]
    assert oks(h04.judge(traces["lwo"])) == [False, False, True]
    assert not h06.judge(traces["lwo"], {})[0].ok and not h06.judge(traces["lwo"], {})[1].ok


def means(lwo: float, swf: float, greedy: float) -> dict[str, float]:
    return {"lwo": lwo, "swf": swf, "greedy": greedy}


def test_means_can_be_in_another_order() -> None:
    right = {n: means(3, 2.5 if n == "Mostly-Small" else 4, 2) for n in TABLE_1}
    assert oks(h08.judge(right)) == [True, True, True]
    wrong = {n: means(3 + i, 2, 4) for i, n in enumerate(TABLE_1)}
    assert oks(h08.judge(wrong)) == [False, False, False]
    assert oks(h11.judge({e: means(e * e, e * e, e**1.5 / 2) for e in range(1, 6)})) == [True] * 4
    assert oks(h11.judge({e: means(e, e, e) for e in range(1, 6)})) == [False] * 4
    assert oks(h15.judge([means(3, 4, 2)], 0.05)) == [True, True, True]
    assert oks(h15.judge([means(3, 4, 3.5)], 0.5)) == [False, False, False]


def found(lwo: list[float], swf: list[float], greedy: list[float], longest: float = 20) -> Found:
    values = {p: np.array(v, float) for p, v in zip(NAMES, (lwo, swf, greedy), strict=True)}
    most = {p: v * longest for p, v in values.items()}
    return Found(values, most, dict.fromkeys(NAMES, 1), dict.fromkeys(NAMES, 1), dict.fromkeys(NAMES, 1))


LWO, RISING = [10, 10, 10.1, 10.2, 10.3, 10.4, 10.5], [1.0, 2, 4, 8, 16, 24, 36]


def test_windows_can_fare_otherwise() -> None:
    right = {
        "Uniform": found(LWO, RISING, [*RISING[:6], 33]),
        "Mostly-Small": found(LWO, [1, 1, 1, 1, 2, 8, 18], [1, 1, 1, 1, 2, 8, 15]),
        "Mostly-Large": found(LWO, RISING, [1, 2, 11, 11, 11, 11, 11]),
        "Small-Large": found(LWO, RISING, [1, 2, 4, 10, 11, 11, 11]),
    }
    assert oks(h09.judge(right)) == [True] * 7
    steep = [1, 2, 3, 4, 5, 6, 7]
    wrong = {n: found(steep, steep, [2, 3, 30, 4, 5, 6, 9], 1) for n in TABLE_1}
    assert oks(h09.judge(wrong)) == [False] * 7
    slow = {n: means(3, 2.5 if n == "Mostly-Small" else 4, 2) for n in TABLE_1}
    fast = {n: {p: v / 9 for p, v in m.items()} for n, m in slow.items()}
    assert oks(h10.judge(slow, fast, found(LWO, RISING, [*RISING[:6], 33]))) == [True] * 5
    assert oks(h10.judge(fast, slow, found(steep, steep, [*steep[:6], 8]))) == [True, True, False, False, False]
    assert oks(h12.judge(found(LWO, RISING, LWO))) == [True, True]
    assert oks(h12.judge(found(LWO, LWO, RISING))) == [False, False]
    assert oks(h14.judge({"hash": 0.4, "nlj": 0.01}, {"hash": 0.3, "nlj": 0.1})) == [True, True]
    assert oks(h14.judge({"hash": 0.05, "nlj": 0.4}, {"hash": 0.3, "nlj": 0.1})) == [False, False]


def test_streams_have_the_rate_the_bursts_and_the_partners_that_they_should() -> None:
    for burst in (1.0, 3.0):
        rows = arrivals_of(3_000, 100.0, 60.0, 5, burst)
        assert (np.diff(rows.times) >= 0).all() and rows.times[rows.first] >= 60.0
        assert len(rows.times) - rows.first == 3_000
        gaps = np.diff(rows.times[rows.streams == 0])
        assert (gaps < 2e-6).mean() > 0.3 if burst > 1 else (gaps < 2e-6).mean() < 0.01
    sizes = pareto_sizes(np.random.default_rng(1).random(100_000), 2.0)
    assert sizes.min() == 1 and abs(sizes.mean() - np.pi**2 / 6) < 0.1  # of the floor; 2 before
    rows = arrivals_of(200, 100.0, 3.0, 2)
    counted = partners(rows, (0.5, 2.0))
    for n in range(0, 200, 17):
        at = rows.first + n
        before = rows.times[:at][(rows.streams[:at] != rows.streams[at]) & (rows.keys[:at] == rows.keys[at])]
        back = rows.times[at] - before
        assert counted[n].tolist() == [(back < 0.5).sum(), ((back >= 0.5) & (back < 2.0)).sum()]
    assert most_within(np.array([0.0, 1, 2, 10, 11, 11.5, 12]), 2.0) == 4
