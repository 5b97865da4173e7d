"""Studies of response times on the machine's clock: the product's join does every unit, and answers stay what they are.

No time is asserted.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from muntin.core.errors import ConfigError, InternalError
from muntin.research.harness import Check, Setting
from muntin.research.periodic import policies, product
from muntin.research.periodic.load import GROUPS, LONGEST, LOW
from muntin.research.periodic.policies import Load, run_with
from muntin.research.registry import on_a_clock
from muntin.research.shared_joins import analytic, units
from muntin.research.shared_joins.study import Study, by_clock, measured
from muntin.research.shared_joins.units import checked_units, microseconds
from muntin.research.shared_joins.workload import TABLE_1, Access, arrivals_of, rows_work
from muntin.scheduling.slice_clock import play
from muntin.scheduling.slices import sizes_of
from muntin.scheduling.swf import SWF


@pytest.mark.parametrize(("access", "rate"), [("hash", 100.0), ("nlj", 15.0)])
def test_the_products_join_finds_in_each_slice_what_is_counted(access: Access, rate: float) -> None:
    """And by the meter it looks at what the virtual clock counts, but for the ends of bisections."""
    rows, windows = arrivals_of(40, rate, 600.0, 3), TABLE_1["Small-Large"]
    found = checked_units(rows, windows, access)
    work, results = rows_work(rows, windows, access)
    assert (found.results == results).all() and found.results.sum() > 100
    looked = work - results - 1
    assert (found.looked >= looked - 1).all() and found.looked.sum() <= 1.05 * looked.sum()
    assert (found.seconds > 0).all()


def test_units_with_other_results_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = arrivals_of(5, 100.0, 20.0, 3)
    monkeypatch.setattr(units, "partners", lambda rows, windows: np.zeros((5, 2), np.int64))
    with pytest.raises(InternalError, match="other results than are counted"):
        checked_units(rows, (10.0, 20.0), "hash")


def test_times_become_distinct_microseconds_in_order() -> None:
    assert microseconds(np.array([1.0, 1.0000001, 1.0000002, 2.0])).tolist() == [1000000, 1000001, 1000002, 2000000]


def test_both_clocks_give_each_query_the_same_results() -> None:
    study = Study("Mostly-Small", 0.5, 60, clock="wall")
    pairs = {c: replace(study, clock=c).units(1, "hash") for c in ("virtual", "wall")}
    assert (pairs["virtual"][1] == pairs["wall"][1]).all()
    come, sizes = np.arange(60.0), sizes_of(TABLE_1[study.windows])
    played = [play(SWF, sizes, come, work, results, 1e9).results.tolist() for work, results in pairs.values()]
    assert played[0] == played[1] and sum(played[0]) > 0
    found = measured(replace(study, seeds=(1,)))
    assert all((m > 0).all() for m in found.mean.values())
    burst = [analytic.counted(SWF, (1.0, 5.0), 4, clock) for clock in ("virtual", "wall")]
    assert burst[0].results.tolist() == burst[1].results.tolist() == [400, 2000]


def test_periodic_queries_run_on_the_machines_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same runs, measured in seconds: less than one each, which counted rows never are."""
    few = product.draw(LOW, LONGEST + product.PHASES)
    monkeypatch.setattr(product, "draw", lambda rate, seconds: {n: v[:, :15] for n, v in few.items()})
    monkeypatch.setattr(product, "GROUPS", {"port": ("port",)})
    taken = {c: product.counted.__wrapped__(LOW, 40, c)["port"] for c in ("virtual", "wall")}
    assert taken["virtual"].update >= 15 and taken["virtual"].scan[0, LONGEST] > 15
    assert 0 < taken["wall"].update < 1 > taken["wall"].scan[0, LONGEST] > 0
    monkeypatch.setattr(policies, "counted", lambda rate, updates, clock: dict.fromkeys(GROUPS, taken[clock]))
    runs = [run_with("H-LP", Load(2, LOW, 40, clock=c), 1e9) for c in ("virtual", "wall")]
    assert all(r.latency == 0 and r.throughput > 0 for r in runs)  # the machine keeps up


def test_a_claim_that_time_does_not_bear_out_says_where_it_goes() -> None:
    checks = Check("a < 1", "a 2", False), Check("b", "b", True)
    assert by_clock(Setting(), checks) == checks
    wall = by_clock(Setting(clock="wall"), checks, Study("Mostly-Small", 0.0, 60))
    assert "on this machine a unit takes" in wall[0].reason and wall[1] == checks[1]


def test_entries_without_a_clock_are_refused() -> None:
    on_a_clock(["h5", "all", "T65"])
    with pytest.raises(ConfigError, match=r"T7: no clock to choose; --clock is for H3, H5, H8, .*H15, T65, T66, T67"):
        on_a_clock(["H5", "T7"])
