"""The parts of ``muntin bench overload`` that need no Spark: its rows, its judgement, its plot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from muntin.bench import overload
from muntin.bench.overload import Overloaded, Sample, fitting, good, judged, run_overload
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
    return [Sample(float(at), lag, 100 + at, memory * (1 + at // 8), 0.75, at) for at, lag in enumerate(lags)]


def test_judgement(tmp_path: Path) -> None:
    found = judged("drop", 3.0, 100, Compared(2, 3, True), looks(99, 1, 1, 1, 1, 2, 3, 4, 4, 4, 4), 10)
    assert (found.results, found.exact, found.subset, found.lag, found.lag_bounded) == (2, 3, True, 4.0, True)
    assert found.shed_share == pytest.approx(1 / 3, abs=1e-3) and found.told == 0.25 and found.state_rows == 110
    assert (found.memory_mb, found.memory_bounded) == (2, False) and "growing" in overload.line(found)
    assert judged("drop", 3.0, 100, Compared(2, 3, True), looks(*range(11), memory=0), 10).memory_bounded
    other = judged("drop", 3.0, 100, Compared(1, 3, False), [], 10)
    assert not other.subset and not other.lag_bounded and "not bounded" in overload.line(other)
    assert fitting((400, 1.0), (800, 4.0), 2.4) == pytest.approx(620, abs=1)
    assert fitting((400, 2.0), (800, 1.0), 2.4) == 800

    def one(policy: str, results: int, lag_bounded: bool = True) -> Overloaded:
        return Overloaded(policy, 3.0, 1, results, 100, True, 1.0, lag_bounded, 0.1, 0.1, 1, 1, True, 1)

    runs = [one("never", 10, False), one("drop", 20), one("harvest", 30)]
    assert (
        good(runs)
        and not good([*runs[:2], one("harvest", 10)])
        and not good([one("drop", 20, False), one("harvest", 30)])
    )
    pytest.importorskip("matplotlib")
    overload.draw(runs, tmp_path / "plot.png", 10)
    assert (tmp_path / "plot.png").stat().st_size > 1000


def test_arguments() -> None:
    with pytest.raises(ConfigError, match="write numbers"):
        run_overload(print, None, "a,b", None, None)
