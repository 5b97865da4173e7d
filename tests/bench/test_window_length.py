"""The benchmark of window lengths: every case runs, and a record has what is asked of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from muntin.bench import run, window_length
from muntin.bench.run import run_bench
from muntin.core.errors import ConfigError


@pytest.mark.parametrize("case", list(window_length.CASES))
def test_every_case_runs(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_it_has_no_other_engines() -> None:
    with pytest.raises(ConfigError, match="window-length runs without another engine"):
        run_bench("window-length", None, ["muntin", "spark"])
