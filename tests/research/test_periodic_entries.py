"""The checks of the scheduling entries refuse what they must, and the workload is what it says."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from muntin.research.harness import Check
from muntin.research.periodic import t62, t63, t64, t65, t66, t67, t68
from muntin.research.periodic.load import GROUPS, HIGH, LONGEST, LOW, VALUES, counters, queries
from muntin.research.periodic.policies import POLICIES, Found
from muntin.research.periodic.product import TOP, Product


def oks(checks: tuple[Check, ...]) -> list[bool]:
    return [c.ok for c in checks]


def test_t62_to_t64_can_fail() -> None:
    fast, slow = t62.runs(0.5), t62.runs(3.0)
    assert oks(t62.judge([2, 1, 0, -1], fast, slow)) == [True] * 3
    assert oks(t62.judge([2, 1, 1, 0], slow, fast)) == [False] * 3
    assert oks(t63.judge([9, 14, 29], (46 / 6, 7), t63.RIGHT, 2)) == [True] * 4
    assert oks(t63.judge([9, 14, 30], (46, 7), {**t63.RIGHT, "none": 11.0}, 3)) == [False] * 4
    plans = {**t64.RIGHT, "hybrid": t64.RIGHT["conservative"]}
    assert oks(t64.judge(plans, {})) == [True, True, False, True, False]
    assert t64.together((-1, -1, 0), "late_pending") == [0, 1, 2]


def row(**values: tuple[float, float]) -> dict[str, Found]:
    names = dict(zip(("No-S", "AS", "CS", "HS", "H-LS", "H-LP"), POLICIES, strict=True))
    return {names[k.replace("_", "-")]: Found(*v) for k, v in values.items()}


def test_t65_to_t68_can_fail() -> None:
    stated = row(No_S=(4, 5), AS=(9, 3), CS=(5, 4), HS=(9, 0.4), H_LS=(10, 0.3), H_LP=(11, 0.2))
    more = {**stated, "No-S": Found(3, 6)}
    assert oks(t65.judge({160: stated, 240: more})) == [True] * 3
    swapped = {**stated, "HS": stated["CS"], "CS": stated["HS"]}
    assert oks(t65.judge({160: stated, 240: swapped})) == [False, False, True]
    assert oks(t65.judge({160: more, 240: stated})) == [True, True, False]
    assert oks(t66.judge({240: stated})) == [True] * 3
    assert oks(t66.judge({240: swapped})) == [False, False, False]
    none = {**stated, "CS": Found(5, 0.001), "HS": Found(9, 0), "H-LS": Found(9, 0), "H-LP": Found(9, 0)}
    found = t66.judge({240: none})
    assert oks(found) == [True] * 3, "the criterion is the document's"
    assert found[1].measured == "CS 0.0010, HS 0.0000 updates late: the ratio says little, both are nearly 0"
    assert found[2].measured.startswith("AS/HS ")
    low = {240: {**stated, "AS": Found(12, 3)}}
    assert oks(t67.judge(low, {240: {**stated, "H-LP": Found(13, 0.1)}})) == [True, True, True]
    assert oks(t67.judge(low, {240: {**low[240], "HS": Found(10, 0.1)}})) == [False, False, False]
    assert oks(t68.judge([0.3, 0.5, 0.6], [1.0])) == [True] and oks(t68.judge([0.3, 0.3, 0.6], [1.0])) == [False]


@pytest.mark.parametrize("rate", [LOW, HIGH])
def test_counters_are_those_of_the_packets(rate: int) -> None:
    found, updates = counters(rate, 4), 4
    rng, more = np.random.default_rng(8), rate // LOW
    packets = {n: rng.integers(0, v * more, (LONGEST + updates + 1, rate)) for n, v in VALUES.items()}
    for group in ("source", "protocol, port"):
        keys = list(zip(*(packets[n].reshape(-1) for n in GROUPS[group]), strict=True))
        intervals = [set(keys[i * rate : (i + 1) * rate]) for i in range(LONGEST + updates + 1)]
        for k, n in ((0, 1), (2, 7), (4, LONGEST)):
            last = intervals[LONGEST + k - n + 1 : LONGEST + k + 1]
            assert found[group].scan[k, n] == sum(map(len, last))
            assert found[group].finish[k, n] == len(set().union(*last))


def test_the_product_counts_scans_once_and_what_each_window_does_of_its_own() -> None:
    """A run of many windows is the scan of the longest and each one's own, as ``counted`` puts it together."""
    keys = np.random.default_rng(1).integers(0, 300, (64, 50))
    product = Product.empty()
    for second in keys:
        assert product.update(second).work >= 50
    for windows in ((20, 60), (7, 19, 33, 33, 48, 61)):
        took, found = product.run(windows)
        longest = product.run((max(windows),))[0].work
        own = [product.run((max(windows), n))[0].work - longest for n in windows]
        together = longest - own[windows.index(max(windows))] + sum(own)
        assert took.seconds > 0 and abs(took.work - together) <= 0.02 * took.work
        assert all(1 + TOP <= o < 1 + len(np.unique(keys[-n:])) for o, n in zip(own, windows, strict=True))
        read = sum(len(np.unique(k)) for k in keys[-max(windows) :])
        assert 2 * read + own[windows.index(max(windows))] <= longest < 2.4 * read + max(own)
        answers = dict(zip(found.columns.column(1).to_pylist(), found.columns.column(0).to_pylist(), strict=True))
        for place, n in enumerate(windows):
            best = sorted(Counter(keys[-n:].reshape(-1).tolist()).items(), key=lambda x: (-x[1], x[0]))[:TOP]
            assert [(i["item"], i["count"]) for i in answers[place]["items"]] == best


def test_queries_are_as_described() -> None:
    asked = queries(30)
    assert len(asked) == 240 and asked == queries(30) and asked != queries(30, seed=1)
    assert all(20 <= q.window <= 100 and 1 <= q.period <= q.window // 2 for q in asked)
    assert replace(asked[0], name="other") not in asked
