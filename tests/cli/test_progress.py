from __future__ import annotations

import io
from dataclasses import dataclass

from muntin.cli.progress import Progress, Rate, flat, line


def test_line_before_the_first_batch() -> None:
    assert line({}, 0.0) == "starting"


def test_line_shows_every_number() -> None:
    numbers = {
        "batch": 12, "rows": 100_000, "watermark": 1_357_034_400_000_000, "lag": 2_100_000,
        "state_rows": 10_322, "results": 51_204, "late": 3,
    }  # fmt: skip
    assert line(numbers, 84_210.4).split(" | ") == [
        "batch 12", "84,210 rows/s", "watermark 2013-01-01 10:00:00", "lag 2.1 s", "state 10,322 rows",
        "51,204 results", "3 late",
    ]  # fmt: skip


def test_line_names_the_stream_that_the_others_wait_for() -> None:
    shown = line({"watermark": 7_000_000, "held_by": "weather"}, 1)
    assert "watermark 1970-01-01 00:00:07 (held back by weather) |" in shown


def test_line_shows_updates_that_named_no_row_and_streams_of_which_nothing_was_kept() -> None:
    numbers = {"batch": 1, "bad": 5, "bad_updates": {"rates": 1200}, "lost": {"clicks": (1000, 12)}}
    assert line(numbers, 0).split(" | ")[-3:] == [
        "5 bad", "1,200 bad updates of rates", "EVERY ROW OF A BATCH DROPPED: clicks (1,012 rows)"
    ]  # fmt: skip


def test_watermarks_that_are_no_date() -> None:
    for nothing in (None, -(2**62), 2**63 - 1):
        assert "watermark - " in line({"batch": 0, "watermark": nothing}, 0)


def test_lag_units() -> None:
    lags = [line({"batch": 0, "lag": s * 1_000_000}, 0).split("lag ")[1].split(" |")[0] for s in (90, 600, 9000, 10**6)]
    assert lags == ["90.0 s", "10.0 min", "2.5 h", "11.6 d"]


def test_rate_between_looks() -> None:
    rate = Rate()
    assert rate.look(0, 10.0) == 0.0
    assert rate.look(1000, 12.0) == 500.0
    assert rate.look(1000, 13.0) == 500.0
    assert rate.look(1000, 18.0) == 0.0


def test_log_lines_now_and_then() -> None:
    @dataclass
    class Metrics:
        batch: int = 3
        rows: int = 5

    out = io.StringIO()
    numbers = Metrics()
    with Progress(out, lambda: numbers) as progress:
        progress.look()
        assert out.getvalue() == ""
        progress._printed -= 60
        progress.look()
        progress.look()
        assert out.getvalue().count("batch 3") == 1
        numbers.batch = 4
        progress.look()
    assert out.getvalue().count("batch 3") == out.getvalue().count("batch 4") == 1
    assert flat(None) == {}
