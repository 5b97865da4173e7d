"""Answers over tables, frames and files in this process, without Spark."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import muntin
from muntin.core.errors import ConfigError, DataError, QueryError
from muntin.data import sample
from muntin.local import ordering, readers
from muntin.local.query import open_stream

SRC = str(Path(muntin.__file__).parents[1])
SECOND = 1_000_000
SUM = "SELECT k, SUM(v) AS total FROM e [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY k"


def events(seconds: list[int], unit: str = "us") -> pa.Table:
    scale = {"s": 1, "ms": 1000, "us": SECOND, "ns": 1000 * SECOND}[unit]
    return pa.table(
        {
            "ts": pa.array([s * scale for s in seconds], pa.timestamp(unit, "UTC")),
            "k": pa.array(["ab"[s % 2] for s in seconds]),
            "v": pa.array(seconds, pa.int64()),
        }
    )


def totals(answer: pa.Table) -> list[tuple[int, str, int]]:
    return sorted((int(r["ts"].timestamp()), r["k"], r["total"]) for r in answer.to_pylist())


WANTED = [(5, "a", 6), (5, "b", 4), (10, "a", 6), (10, "b", 4), (15, "b", 13), (20, "b", 13)]
SECONDS = [13, 2, 1, 4, 3]


def test_every_form_of_an_input_gives_the_same_answer(tmp_path: Path) -> None:
    rows = events(SECONDS)
    pq.write_table(rows, tmp_path / "e.parquet", row_group_size=2)
    pyarrow.csv.write_csv(rows, tmp_path / "e.csv")
    lines = [f'{{"ts": "1970-01-01T00:00:{s:02}Z", "k": "{"ab"[s % 2]}", "v": {s}}}' for s in SECONDS]
    (tmp_path / "e.jsonl").write_text("\n".join(lines))
    (tmp_path / "days").mkdir()
    for i, second in enumerate(SECONDS):
        pq.write_table(events([second]), tmp_path / "days" / f"{i}.parquet")
    (tmp_path / "days" / "_SUCCESS.json").write_text("")
    frame = rows.to_pandas()
    forms: dict[str, Any] = {
        "table": rows, "batches": rows.to_batches(max_chunksize=2), "batch": rows.to_batches()[0],
        "reader": rows.to_reader(), "pandas": frame, "pandas with an index of times": frame.set_index("ts"),
        "nanoseconds": events(SECONDS, "ns"), "dicts": rows.to_pylist(), "parquet": tmp_path / "e.parquet",
        "csv": str(tmp_path / "e.csv"), "json": tmp_path / "e.jsonl", "directory": tmp_path / "days",
        "glob": str(tmp_path / "days" / "*.parquet"), "list": [tmp_path / "days" / f"{i}.parquet" for i in range(5)],
        "pair": (rows.append_column("other", rows.column("ts")), "ts"),
    }  # fmt: skip
    for name, form in forms.items():
        assert totals(muntin.query(SUM, e=form)) == WANTED, name


class ArrowStream:
    """What Polars, DuckDB and others give: columns through Arrow's stream interface, in types of their own."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested: object = None) -> object:
        return self.table.__arrow_c_stream__(requested)


def test_frames_of_other_libraries_come_through_arrow() -> None:
    rows = events(SECONDS, "ms")
    views = rows.set_column(1, "k", rows.column("k").cast(pa.string_view()))
    assert totals(muntin.query(SUM, e=ArrowStream(views))) == WANTED
    words = rows.set_column(1, "k", rows.column("k").dictionary_encode())
    assert totals(muntin.query(SUM, e=words)) == WANTED


class SparkFrame:
    """What a DataFrame of Spark Connect has."""

    __module__ = "pyspark.sql.connect.dataframe"

    def __init__(self, table: pa.Table, streaming: bool = False) -> None:
        self.table, self.isStreaming = table, streaming

    def toArrow(self) -> pa.Table:
        return self.table


def test_frames_of_spark_are_collected() -> None:
    rows = events(SECONDS, "us")
    assert totals(muntin.query(SUM, e=SparkFrame(rows))) == WANTED
    with pytest.raises(ConfigError, match=r"stream 'e': this DataFrame is streaming; muntin.Session\(spark\)"):
        muntin.query(SUM, e=SparkFrame(rows, streaming=True))
    column = type("Column", (), {"__module__": "pyspark.sql.column"})()
    with pytest.raises(ConfigError, match="stream 'e': Column of Spark is no input; give a DataFrame"):
        muntin.query(SUM, e=column)


@pytest.mark.parametrize("batch", [3, 64, 1 << 18])
def test_disorder_and_the_size_of_steps_change_nothing(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two streams, one of which ends early and begins late; shuffled, in order, and in runs that overlap."""
    rng = np.random.default_rng(7)
    left, right = np.sort(rng.integers(0, 400, 300)), np.sort(rng.integers(100, 200, 80))
    text = """SELECT e.k, COUNT(*) AS n, SUM(f.v) AS total
        FROM e [RANGE 9 SECONDS], f [RANGE 20 SECONDS SLIDE 3 SECONDS]
        WHERE e.k = f.k GROUP BY e.k"""
    e, f = events(left.tolist()), events(right.tolist())
    wanted = sorted(map(str, muntin.query(text, e=e, f=f).to_pylist()))
    assert len(wanted) > 50
    monkeypatch.setattr(readers, "BATCH_ROWS", batch)
    monkeypatch.setattr(ordering, "BATCH_ROWS", batch)
    runs = np.concatenate([np.arange(0, 300, 2), np.arange(1, 300, 2)])
    for order in (np.arange(300), rng.permutation(300), runs, np.arange(300)[::-1]):
        found = muntin.query(text, e=e.take(pa.array(order)), f=f.take(pa.array(rng.permutation(80))))
        assert sorted(map(str, found.to_pylist())) == wanted
        times = found.column("ts").cast(pa.int64()).to_numpy()
        assert (times[1:] >= times[:-1]).all()


def test_rows_of_one_time_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a part that begins earlier stands behind another."""
    monkeypatch.setattr(readers, "BATCH_ROWS", 2)
    monkeypatch.setattr(ordering, "BATCH_ROWS", 2)
    rows = pa.table({"ts": pa.array([9, 5, 5, 1, 5], pa.timestamp("us")), "v": [0, 1, 2, 3, 4]})
    found, stream = open_stream("e", rows, "ts", None)
    chunks = list(ordering.Ordered(stream, found[0], ["ts", "v"], found[1]).chunks())
    assert [v for chunk in chunks for v in chunk.rows.column("v").to_pylist()] == [3, 1, 2, 4, 0]
    assert all(len(chunk.ts) <= 2 for chunk in chunks)


def test_a_stream_that_has_ended_holds_nothing_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers leave while the other stream goes on, so that memory follows the windows."""
    monkeypatch.setattr(readers, "BATCH_ROWS", 10)
    monkeypatch.setattr(ordering, "BATCH_ROWS", 10)
    text = "SELECT e.v FROM e [RANGE 2 SECONDS SLIDE 1 SECOND] LEFT JOIN f [RANGE 2 SECONDS] ON e.k = f.k"
    sizes = [len(t) for t in muntin.query_batches(text, e=events(list(range(200))), f=events([0]))]
    assert max(sizes) < sum(sizes) / 10


def test_only_a_bounded_number_of_rows_goes_in_at_a_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of a Parquet file in order one row group is read at a time, and only the columns that the query needs."""
    monkeypatch.setattr(readers, "BATCH_ROWS", 10)
    monkeypatch.setattr(ordering, "BATCH_ROWS", 10)
    rows = events(list(range(100))).append_column("wide", pa.array(["x"] * 100))
    pq.write_table(rows, tmp_path / "e.parquet", row_group_size=10)
    steps: list[tuple[int, list[str]]] = []
    push = muntin.local.runtime.LocalPipeline.push_all  # type: ignore[attr-defined]

    def counted(self: Any, batch: Any, *more: Any, **named: Any) -> Any:
        steps.append((len(batch["e"]), batch["e"].column_names))
        return push(self, batch, *more, **named)

    monkeypatch.setattr("muntin.local.runtime.LocalPipeline.push_all", counted)
    batches = muntin.query_batches(SUM, e=tmp_path / "e.parquet")
    assert len(next(batches)) and len(steps) <= 2
    rest = list(batches)
    assert len(rest) >= 8 and all(count <= 10 for count, _ in steps)
    assert {tuple(names) for _, names in steps} == {("ts", "k", "v")}


def test_rows_without_event_time_are_told_of() -> None:
    rows = pa.table({"ts": pa.array([None, 1, 2], pa.timestamp("s")), "v": [1, 2, 3]})
    text = "SELECT SUM(v) AS s FROM e [RANGE 1 SECOND SLIDE 1 SECOND]"
    with pytest.warns(UserWarning, match="1 of 3 rows have no usable event time: dropped"):
        found = muntin.query(text, e=rows)
    assert [r["s"] for r in found.to_pylist()] == [2, 3, None]
    with pytest.raises(DataError, match="row 0 of partition 0 has no usable event time"):
        muntin.query(text, e=rows, on_bad_time="fail")
    with pytest.warns(UserWarning, match="every row of e was dropped: 1 without"):
        assert len(muntin.query(text, e=rows.slice(0, 1))) == 0


def test_event_time_is_the_only_timestamp_or_is_named() -> None:
    text = "SELECT COUNT(*) AS n FROM e [RANGE 1 DAY SLIDE 1 DAY]"
    both = {"at": dt.datetime(2024, 1, 1, 1), "seen": dt.datetime(2024, 1, 1, 2), "day": dt.date(2024, 1, 1), "n": 3}
    with pytest.raises(ConfigError, match=r'at, seen are timestamps: .* ts=\{"e": "at"\} or e=\(\.\.\., "at"\)'):
        muntin.query(text, e=[both])
    with pytest.raises(ConfigError, match=r"no column is a timestamp; it has n \(int64\), word \(string\)"):
        muntin.query(text, e=[{"n": 1, "word": "x"}])
    with pytest.raises(ConfigError, match="column 'n' is an integer; say its unit with ts_unit"):
        muntin.query(text, e=([both], "n"))
    with pytest.raises(ConfigError, match="there is no column 'when' to take event time from; it has at, seen"):
        muntin.query(text, e=[both], ts="when")
    for given in ({"ts": "at"}, {"ts": {"e": "seen"}}, {"ts": "day"}, {"ts": "n", "ts_unit": "s"}):
        assert muntin.query(text, e=[both], **given).column("n").to_pylist() == [1, 0]
    days = muntin.query("SELECT day FROM e [RANGE 1 DAY]", e=[both], ts="day")
    assert days.schema.field("day").type == pa.timestamp("us", "UTC")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"e": 3}, "stream 'e': int is no input; give an Arrow table"),
        ({"e": []}, "an empty list has no columns"),
        ({"e": [{"ts": 1}, {"ts": "x"}]}, "its rows do not fit into columns"),
        ({"e": "nowhere.parquet"}, "there is no file or directory 'nowhere.parquet'"),
        ({"e": "nowhere/*.parquet"}, r"no file matches 'nowhere/\*.parquet'"),
        ({"e": __file__}, "cannot tell the format of"),
        ({"e": "s3://bucket/e.parquet"}, "is no local file; read it into an Arrow table"),
        ({"e": events([1]), "E": events([1])}, "two inputs are named"),
        ({"e": events([1]), "slack": "5 minutes"}, "slack is of live streams: here all rows are there"),
        ({"e": events([1]), "stratgy": "nt"}, "stratgy is no option, and no stream of the query. Did you mean strat"),
        ({"e": events([1]), "ts": {"f": "ts"}}, "ts names a stream 'f' that is not given; there are: e"),
        ({"e": events([1]), "bounds": "open"}, "option bounds: 'open' is none of half_open, closed, start"),
        ({"e": (events([1]), "ts", "x")}, "a pair is"),
        ({"e": events([1]), "parameters": {"x": 1}}, "the text has no parameter :x"),
        ({"e": events([1]).rename_columns(["ts", "k", "K"])}, "'k' and 'K' differ in letter case alone"),
    ],
)
def test_what_is_wrong_is_said_with_what_to_do(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        muntin.query(SUM, **given)


def test_nanoseconds_are_cut_and_it_is_said(tmp_path: Path) -> None:
    """Towards the past, before 1970 too; whole microseconds are nothing to speak of."""
    rows = pa.table({"ts": pa.array([-1, 1_999], pa.timestamp("ns")), "v": [1, 2]})
    pq.write_table(rows, tmp_path / "e.parquet")
    with pytest.warns(UserWarning, match="column 'ts' has nanoseconds, which are cut to microseconds"):
        found = muntin.query("Istream(SELECT v FROM e [NOW])", e=tmp_path / "e.parquet")
    assert [t.value for t in found["ts"]] == [-1, 1]


def test_a_slide_longer_than_its_window_is_said() -> None:
    with pytest.warns(UserWarning, match="rows fall between its windows, and of every 5 MINUTES only the last 1 MIN"):
        muntin.query("SELECT COUNT(*) AS n FROM e [RANGE 1 MINUTE SLIDE 5 MINUTES]", e=events([1]))


def test_a_time_that_makes_millions_of_empty_answers_is_said() -> None:
    rows = {"ts": [0, 600_000_000], "v": [1, 2]}
    with pytest.warns(UserWarning, match=r"no row of e between 1970-01-01 .* and 1989-01-05 .*: 166,666 empty"):
        muntin.query("SELECT COUNT(*) AS n FROM e [RANGE 1 HOUR SLIDE 1 HOUR]", e=pa.table(rows), ts="ts", ts_unit="s")


def test_static_tables_options_and_parameters() -> None:
    names = [{"k": "a", "name": "Anna"}, {"k": "b", "name": "Bob's"}]
    text = """SELECT n.name, COUNT(*) AS c FROM e [RANGE 10 SECONDS SLIDE 5 SECONDS], names n
        WHERE e.k = n.k AND n.name = :name AND e.v > 0 -:low - 6 GROUP BY n.name -- not :this"""
    given: dict[str, Any] = {"tables": {"names": names}, "parameters": {"name": "Bob's", "low": -3}}
    found = muntin.query(text, e=events(SECONDS), **given)
    assert [(r["name"], r["c"]) for r in found.to_pylist()] == [("Bob's", n) for n in (2, 2, 1, 1)]
    assert [len(muntin.query(text, e=events([5]), **given, bounds=b)) for b in ("half_open", "closed")] == [2, 3]
    with pytest.raises(QueryError):
        muntin.query("SELECT nothing FROM e", e=events([1]))


def test_pandas_index_without_a_name_is_no_column() -> None:
    frame = pd.DataFrame({"ts": pd.to_datetime([1, 2], unit="s"), "v": [1, 2]}, index=[7, 8])
    found = muntin.query("SELECT * FROM e [NOW]", e=frame)
    assert set(found.column_names) >= {"v"} and "index" not in found.column_names


def test_a_new_process_answers_without_spark() -> None:
    code = (
        "import sys, muntin\n"
        f"weather = {str(sample('weather'))!r}\n"
        "found = muntin.query('SELECT COUNT(*) AS n FROM w [RANGE 1 HOUR SLIDE 1 HOUR]', w=weather)\n"
        "assert len(found)\n"
        "sys.exit(','.join(m for m in ('pyspark', 'py4j') if m in sys.modules) or 0)\n"
    )
    environment = {**os.environ, "PYTHONPATH": SRC, "JAVA_HOME": "/nowhere"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (0, "")


def test_forms_of_parquet(tmp_path: Path) -> None:
    """One file, several, a column from a directory, names with dots and without columns to read: the same rows."""
    ts = pa.array([3, 1, 2], pa.timestamp("s", "UTC"))
    rows = pa.table({"ts": ts, "v": [30, 10, 20], "s": [{"x": 1, "y": "a"}, None, {"x": 3, "y": "c"}]})
    (tmp_path / "day=7").mkdir()
    (tmp_path / "many").mkdir()
    dotted = rows.rename_columns(["ts", "v", "s.s"])
    pq.write_table(rows, tmp_path / "one.parquet", row_group_size=2)
    pq.write_table(dotted, tmp_path / "dotted.parquet", row_group_size=2)
    pq.write_table(rows, tmp_path / "day=7" / "one.parquet")
    for i in range(3):
        pq.write_table(rows.slice(i, 1), tmp_path / "many" / f"{i}.parquet")
    for where in ("one.parquet", "dotted.parquet", "day=7", "many"):
        answer = muntin.query("Rstream(SELECT v FROM e [NOW])", e=str(tmp_path / where))
        assert answer["v"].to_pylist() == [10, 20, 30], where
    for where, shown, found in (
        ("one.parquet", "s.y, v", [(None, 10), ("c", 20), ("a", 30)]),
        ("many", "s.y, v", [(None, 10), ("c", 20), ("a", 30)]),
        ("dotted.parquet", "`s.s`.x, v", [(None, 10), (3, 20), (1, 30)]),
        ("day=7", "v, day", [(10, 7), (20, 7), (30, 7)]),
    ):
        answer = muntin.query(f"Rstream(SELECT {shown} FROM e [NOW])", e=str(tmp_path / where))
        assert [tuple(r.values())[:2] for r in answer.to_pylist()] == found, where


def test_a_column_that_is_always_null_goes_through_aggregates() -> None:
    """As one of a CSV file that is empty today, or of dicts with None alone."""
    rows = [{"ts": 1, "k": 1, "v": None}, {"ts": 2, "k": 2, "v": None}]
    answer = muntin.query(
        "SELECT COUNT(v) AS c, SUM(v) AS s, MAX(v) AS m, BOOL_OR(v) AS b, ARG_MAX(k, v) AS a, COUNT(DISTINCT v) AS d, "
        "QUANTILE(v, 0.5) AS q FROM o [RANGE 1 MINUTE SLIDE 1 MINUTE] WHERE v IS NULL",
        o=rows, ts="ts", ts_unit="s",
    )  # fmt: skip
    assert answer.drop_columns(["ts"]).to_pylist()[0] == {
        "c": 0, "s": None, "m": None, "b": None, "a": None, "d": 0, "q": None,
    }  # fmt: skip
    with pytest.raises(QueryError, match=r"v holds nothing but NULL.*CAST\(v AS STRING\)"):
        muntin.query("SELECT v, COUNT(*) AS n FROM o [NOW] GROUP BY v", o=rows, ts="ts", ts_unit="s")
    fixed = "SELECT CAST(v AS STRING) AS v, COUNT(*) AS n FROM o [RANGE 1 MINUTE SLIDE 1 MINUTE] GROUP BY 1"
    assert muntin.query(fixed, o=rows, ts="ts", ts_unit="s")["n"].to_pylist() == [2]


def test_parameters_that_are_no_mapping_are_refused() -> None:
    with pytest.raises(ConfigError, match="parameters are values by name"):
        muntin.query("SELECT k FROM o", o=[{"ts": 1, "k": 1}], ts="ts", ts_unit="s", parameters=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("unit", [None, "s"])
def test_a_file_with_a_header_alone_is_an_empty_stream(unit: str | None, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("ts,v\n")
    text = "SELECT COUNT(*) AS n, SUM(v) AS s FROM a [RANGE 1 MINUTE SLIDE 1 MINUTE]"
    assert muntin.query(text, a=tmp_path / "a.csv", ts="ts", ts_unit=unit).num_rows == 0
    with pytest.warns(UserWarning, match="every row of a was dropped: 1 without a usable event time"):
        assert muntin.query(text, a=[{"ts": None, "v": 1}], ts="ts", ts_unit=unit).num_rows == 0
