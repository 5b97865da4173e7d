"""The parts of ``muntin bench overload`` that need no Spark: its rows, its judgement, its plot."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from muntin.bench import overload
from muntin.bench.overload import _ended, fitting, run_overload
from muntin.bench.overload_record import SETTLED, Overloaded, Reported, Sample, draw, failures, judged, line
from muntin.bench.overload_rows import LAG, Compared, compared, exact_pairs, rows_at
from muntin.core.errors import ConfigError

RNG = np.random.default_rng(1)
KEPT = {n: [rows_at(RNG, n, 1e6 + s, 1.0, 60, 60 * s) for s in range(40)] for n in "lr"}


def test_partners_are_older_by_the_lag() -> None:
    left, right = (pa.concat_tables(KEPT[n]) for n in "lr")
    pairs = exact_pairs(left, right)
    at = {n: t.column("ts").cast(pa.int64()).to_numpy() for n, t in (("l", left), ("r", right))}
    older = at["l"][pairs.column("a").to_numpy()] - at["r"][pairs.column("b").to_numpy()]
    assert len(pairs) > 50 and np.median(older) / 1e6 == pytest.approx(LAG, abs=0.5)


def test_results_are_compared_slice_by_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = exact_pairs(*(pa.concat_tables(KEPT[n]) for n in "lr"))
    old = pa.table({"a": [-9], "b": [1]})
    half = pairs.slice(0, len(pairs) // 2)
    for size in (100, 100_000):
        monkeypatch.setattr("muntin.bench.overload_rows.SLICE", size)
        assert compared(KEPT, [half, old], None) == Compared(len(half), len(pairs), True)
        assert not compared(KEPT, [pairs, half], None).subset
        assert not compared(KEPT, [pa.table({"a": [0], "b": [2399]})], None).subset
        assert not compared(KEPT, [pa.table({"a": [2400], "b": [2399]})], None).subset
    early = compared(KEPT, [], round((1e6 + 20) * 1e6))
    assert early.results == 0 < early.exact < len(pairs)


def looks(*lags: float, memory: int = 1 << 20) -> list[Sample]:
    return [Sample(float(at), lag, 100 + at, memory * (1 + at // 8), 10 * at) for at, lag in enumerate(lags)]


def test_judgement() -> None:
    reported = Reported(0.25, 0.1, 10)
    found = judged("drop", 3.0, 100, Compared(2, 3, True), looks(99, 1, 1, 1, 1, 2, 3, 4, 4, 4, 4), 10, reported)
    assert (found.results, found.exact, found.subset, found.lag, found.lag_bounded) == (2, 3, True, 4.0, True)
    assert found.shed_share == pytest.approx(1 / 3, abs=1e-3) and (found.reported, found.reported_error) == (0.25, 0.1)
    assert (found.state_rows, found.results_per_s, found.batches) == (110, 10.0, 10)
    assert (found.memory_mb, found.memory_bounded) == (2, False) and "growing" in line(found)
    assert judged("drop", 3.0, 100, Compared(2, 3, True), looks(*range(11), memory=0), 10, reported).memory_bounded
    other = judged("drop", 3.0, 100, Compared(1, 3, False), [], 10, reported)
    assert not other.subset and not other.lag_bounded and "not bounded" in line(other)
    assert fitting((400, 1.0), (800, 4.0), 2.4) == pytest.approx(620, abs=1)
    assert fitting((400, 2.0), (800, 1.0), 2.4) == 800


def one(policy: str, results: int, load: float = 3.0) -> Overloaded:
    left_out = 1 - results / 100
    return Overloaded(
        policy, load, round(load), 600.0, results, 100, True, results / 10, 1.0, True, left_out, left_out, 0.0, 1, 1,
        True, 1,
    )  # fmt: skip


def test_what_must_hold() -> None:
    drop, harvest = one("drop", 20), one("harvest", 30)
    never = replace(one("never", 100), lag_bounded=False, memory_bounded=False)
    assert failures([never, drop, harvest]) == []
    assert failures([drop, one("harvest", 10)]) == ["load 3: harvest gives less than drop"]
    short = replace(drop, seconds=SETTLED / 2, memory_bounded=False)
    assert failures([short]) == [], "workers may still grow"
    for wrong in ({"subset": False}, {"lag_bounded": False}, {"memory_bounded": False}, {"reported": 0.5}):
        assert len(failures([replace(drop, **wrong), harvest])) == 1  # type: ignore[arg-type]
    assert failures([replace(drop, reported=0.5, reported_error=0.31)]) == []
    assert failures([replace(one("drop", 100, 0.5), reported=0.3)]) == [
        "load 0.5, drop, 600 s: reported 30.0% where 0.0% was left out"
    ]


def test_a_run_without_a_batch_gave_nothing(tmp_path: Path) -> None:
    reported, upto, given = _ended(None, tmp_path)
    assert reported == Reported() and given == []
    assert compared(KEPT, given, upto) == Compared(0, 0, True)


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_plot(tmp_path: Path, ending: str) -> None:
    pytest.importorskip("matplotlib")
    plot = tmp_path / f"plot.{ending}"
    draw([one(policy, 20, load) for policy in ("never", "drop", "harvest") for load in (1.0, 3.0)], plot)
    assert plot.stat().st_size > 1000


def test_arguments(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="write numbers"):
        run_overload(print, None, "a,b", None, None, None)
    with pytest.raises(ConfigError, match="more than 0"):
        run_overload(print, None, "0,1", None, None, None)
    pytest.importorskip("matplotlib")
    with pytest.raises(ConfigError, match="the file ends in"):
        run_overload(print, None, None, None, None, tmp_path / "plot.txt")


def test_every_policy_runs_at_every_load_and_what_there_is_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[tuple[str, float, float]] = []

    def once(spark: object, policy: str, rate: int, load: float, seconds: float) -> Overloaded:
        ran.append((policy, load, seconds))
        if policy == "never" and load == 3:
            raise KeyboardInterrupt
        return one(policy, 20, load)

    monkeypatch.setattr("muntin.session.local_spark", lambda **_: SimpleNamespace(stop=lambda: None))
    monkeypatch.setattr(overload, "capacity", lambda spark, say: 100)
    monkeypatch.setattr(overload, "one", once)
    with pytest.raises(KeyboardInterrupt):
        run_overload(lambda words: None, 20, "1,3", 600, tmp_path / "found.json", None)
    assert [r for r in ran if r[1] == 1] == [("harvest", 1, 20), ("drop", 1, 20), ("never", 1, 20)]
    assert [r for r in ran if r[1] == 3] == [("harvest", 3, 600), ("drop", 3, 600), ("never", 3, 20)]
    assert len(json.loads((tmp_path / "found.json").read_text())) == 5
