"""The parts of ``muntin bench overload`` that need no Spark: its rows, its judgement, its plot."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from muntin.bench import overload
from muntin.bench.overload import Overloaded, exact_pairs, good, judged, rows_at, run_overload
from muntin.core.errors import ConfigError


def test_partners_are_older_by_the_lag() -> None:
    rng = np.random.default_rng(1)
    kept = {n: [rows_at(rng, n, 1e6 + s, 1.0, 20, 20 * s) for s in range(30)] for n in "lr"}
    pairs = exact_pairs(kept)
    at = {n: pa.concat_tables(t).column("ts").cast(pa.int64()).to_numpy() for n, t in kept.items()}
    older = at["l"][pairs.column("a").to_numpy()] - at["r"][pairs.column("b").to_numpy()]
    assert len(pairs) > 50 and np.median(older) / 1e6 == pytest.approx(overload.LAG, abs=0.5)


def batch(number: int, share: float) -> tuple[float, SimpleNamespace]:
    q = SimpleNamespace(share=share)
    return float(number), SimpleNamespace(queries={"q": q}, state_rows=number, batch=number)


def test_judgement(tmp_path: Path) -> None:
    exact = pa.table({"a": [1, 2, 3], "b": [1, 2, 3]})
    part = pa.table({"a": [-9, 2, 3], "b": [1, 2, 3]})
    found = judged("drop", 3.0, 100, part, exact, [batch(1, 1.0), batch(8, 0.5)], [(1.0, 99.0), (8.0, 4.0)], 10)
    assert (found.results, found.exact, found.subset, found.lag, found.lag_bounded) == (2, 3, True, 4.0, True)
    assert found.shed_share == pytest.approx(1 / 3, abs=1e-3) and found.told == 0.25 and found.state_rows == 8
    other = judged("drop", 3.0, 100, pa.table({"a": [9], "b": [9]}), exact, [], [], 10)
    assert not other.subset and not other.lag_bounded and "not bounded" in overload.line(other)
    twice = judged("drop", 3.0, 100, pa.concat_tables([exact, exact]), exact, [batch(8, 1.0)], [(8.0, 1.0)], 10)
    assert not twice.subset

    def one(policy: str, results: int, lag_bounded: bool = True) -> Overloaded:
        return Overloaded(policy, 3.0, 1, results, 100, True, 1.0, lag_bounded, 0.1, 0.1, 1, 1)

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
