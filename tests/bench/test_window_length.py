"""The benchmark of window lengths: its cases run, and a record has what is asked of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from muntin.bench import run, window_length
from muntin.bench.run import run_bench
from muntin.core.errors import ConfigError

ALONE = ["sum", "avg", "median-by-key", "quantile", "distinct", "join", "left-join", "except", "not-exists"]


@pytest.mark.parametrize("case", [*ALONE, *window_length.GROWING])
def test_a_case_runs(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that ``aggregates/test_work_free_of_window`` does not run."""
    monkeypatch.setattr(window_length, "FILL", 500)
    monkeypatch.setattr(window_length, "BATCH", 100)
    (found,) = window_length.run([case], [1], batches=3)
    assert (found.case, found.window_s) == (case, 1)
    assert found.ms_per_batch > 0 and found.bytes_per_batch > 100


def test_records_are_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    found = window_length.LengthRecord("sum", 60, 1.5, 1000, 2.5, 3000)
    monkeypatch.setattr(run.window_length, "run", lambda say: [found])
    assert run_bench("window-length", tmp_path / "out.json")
    (row,) = json.loads((tmp_path / "out.json").read_text())
    assert {"case": "sum", "window_s": 60, "ms_per_batch": 1.5, "bytes_per_batch": 1000}.items() <= row.items()
    assert "sum" in capsys.readouterr().out


def test_what_grows_with_the_window_is_an_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    short = window_length.LengthRecord("sum", 60, 2.0, 1000, 2.5, 3000)
    for ms, written, case, good in (
        (6.0, 3000, "sum", True),
        (6.1, 1000, "sum", False),
        (2.0, 3001, "sum", False),
        (99.0, 9000, "collect-all", True),
    ):
        found = [replace(short, case=case), window_length.LengthRecord(case, 3600, ms, written, 9.0, 9000)]
        monkeypatch.setattr(run.window_length, "run", lambda say, found=found: found)
        assert run_bench("window-length") == good
        assert ("more than 3.0 x those beside 60 s" in capsys.readouterr().out) != good


def test_what_may_grow_is_a_case() -> None:
    assert window_length.GROWING.keys() <= window_length.CASES.keys()


def test_it_has_no_other_engines() -> None:
    with pytest.raises(ConfigError, match="window-length runs without another engine"):
        run_bench("window-length", None, ["muntin", "spark"])
