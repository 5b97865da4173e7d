from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from muntin.cli.in_process import needs_spark, open_inputs, replay_of
from muntin.cli.job import SessionPart, load_job
from muntin.cli.streams import inputs_of, offline_catalog, parse_stream
from muntin.core.errors import ConfigError, QueryError
from muntin.core.time import MINUTE
from muntin.data import sample
from muntin.local.query import open_table
from muntin.local.readers import Separated
from muntin.plan.windows import QueryOptions


def test_stream_of_the_command_line() -> None:
    part = parse_stream(f"flights={sample('flights')}:dep;slack=5 minutes;on_bad_time=fail")
    assert (part.name, part.format, part.path, part.ts) == ("flights", "parquet", str(sample("flights")), "dep")
    assert (part.slack, part.on_bad_time) == ("5 minutes", "fail")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("flights", "write NAME=FILE:TIMECOLUMN"),
        ("flights=x.parquet", "write NAME=FILE:TIMECOLUMN"),
        ("flights=nowhere.parquet:ts", "there is no file or directory 'nowhere.parquet'"),
        ("flights={here}:ts", "cannot tell the format of .*, or say format=csv"),
        ("flights={here}:ts;format=xml", "format is one of parquet, csv, json, not 'xml'"),
        ("flights={here}:ts;format=csv;sep=ab", "sep is one character or one of tab, comma, semicolon, pipe, space"),
        ("flights={here}:ts;format=csv;sep=;", "the separator itself is written sep=semicolon"),
        ("flights={here}:ts;format=csv;header=no", "header is true or false"),
        ("flights={sample}:ts;sep=tab", "sep is a setting of files with separators"),
        ("flights={sample}:ts;slak=1 min", "'slak=1 min' is not a setting"),
        ("flights={sample}:ts;slack=soon", "slack: 'soon' is not a length of time"),
        ("flights={sample}:ts;on_bad_time=skip", "on_bad_time: .*'drop' or 'fail'"),
    ],
)
def test_stream_errors(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_stream(text.format(here=__file__, sample=sample("flights")))


def test_formats_by_extension(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("ts,x\n")
    (tmp_path / "days").mkdir()
    (tmp_path / "days" / "b.json").write_text("{}")
    csv = parse_stream(f"a={tmp_path / 'a.csv'}:ts")
    assert (csv.format, csv.options["header"]) == ("csv", "true")
    days = parse_stream(f"b={tmp_path / 'days'}:ts")
    assert (days.format, days.options) == ("json", {"inferTimestamp": "true"})


def test_offline_catalog_of_parquet() -> None:
    catalog = offline_catalog(inputs_of(None, [f"f={sample('flights')}:dep;slack=5 min", f"w={sample('weather')}:ts"]))
    assert catalog is not None
    f, w = catalog.streams
    assert (f.ts, f.slack, f.order, w.order) == ("dep", 5 * MINUTE, 0, 1)
    dep, origin = f.schema.get("dep"), f.schema.get("origin")
    assert dep is not None and dep.type == pa.timestamp("us", "UTC")
    assert origin is not None and origin.type == pa.string()


def test_offline_catalog_says_which_time_column_is_missing() -> None:
    with pytest.raises(ConfigError, match=r"there is no column 'time' .*dep, sched_dep"):
        offline_catalog(inputs_of(None, [f"f={sample('flights')}:time"]))


def test_offline_catalog_refuses_what_cannot_be_event_time(tmp_path: Path) -> None:
    columns = {"word": ["x"], "flag": [True], "x": [1.5], "n": [7], "day": pa.array([1], pa.date32())}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    for column, message in {
        "word": r"'a': column 'word' is text, which is no time yet; read it as one: to_timestamp\(word, pattern\)",
        "flag": "stream 'a': column 'flag' has type bool, which cannot be event time: that is a timestamp, a date",
        "x": r"has type double, which cannot be event time.* or cast this one; .*: timestamp_seconds\(x\) on the Data",
        "n": "'n' is an integer; say its unit with ts_unit=us, ms or s",
    }.items():
        with pytest.raises(ConfigError, match=message):
            offline_catalog(inputs_of(None, [f"a={tmp_path / 'a.parquet'}:{column}"]))
    for setting, unit in ((":n;ts_unit=ms", 1000), (":day", 1)):
        catalog = offline_catalog(inputs_of(None, [f"a={tmp_path / 'a.parquet'}{setting}"]))
        assert catalog is not None and catalog.streams[0].ts_unit == unit


def test_offline_catalog_of_a_table_that_changes(tmp_path: Path) -> None:
    pq.write_table(pa.table({"at": pa.array([1], pa.timestamp("us")), "op": ["+"], "k": [1]}), tmp_path / "t.parquet")
    job = tmp_path / "job.toml"
    text = '[[table]]\nname = "t"\npath = "t.parquet"\nkind = "relation"\nts = "at"\nop = "op"\nkey = "k"\n'
    job.write_text(text + 'on_bad_update = "fail"\n')
    catalog = offline_catalog(inputs_of(load_job(job), []))
    assert catalog is not None
    (table,) = catalog.tables
    assert table.schema.names == ("k",) and table.key == ("k",) and table.on_bad_update == "fail"
    job.write_text(text.replace('ts = "at"', 'ts = "op"'))
    with pytest.raises(ConfigError, match="table 't': column 'op' is text, which is no time yet"):
        offline_catalog(inputs_of(load_job(job), []))


def test_csv_needs_spark(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("ts,x\n")
    assert offline_catalog(inputs_of(None, [f"a={tmp_path / 'a.csv'}:ts"])) is None


def test_unreadable_parquet(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"no parquet at all")
    with pytest.raises(ConfigError, match=r"a: cannot read .*a.parquet"):
        offline_catalog(inputs_of(None, [f"a={tmp_path / 'a.parquet'}:ts"]))


def test_a_parquet_directory_that_is_not_there(tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text(
        '[[stream]]\nname = "a"\nformat = "parquet"\npath = "in"\nts = "ts"\n'
        '[[query]]\nname = "q"\ncql = "SELECT x FROM a"\nsink = { format = "parquet", path = "o" }\n'
    )
    with pytest.raises(ConfigError, match=rf"a: there is no file or directory {tmp_path / 'in'}$"):
        offline_catalog(inputs_of(load_job(job), []))


def test_job_and_line_together(tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text('[[stream]]\nname = "w"\npath = "w.parquet"\nts = "ts"\n')
    inputs = inputs_of(load_job(job), [f"f={sample('flights')}:dep"])
    assert [(s.name, s.path) for s in inputs.streams] == [
        ("w", str(tmp_path / "w.parquet")),
        ("f", str(sample("flights"))),
    ]
    with pytest.raises(ConfigError, match="two inputs are named 'w'"):
        inputs_of(load_job(job), [f"W={sample('flights')}:dep"])


@pytest.mark.parametrize(
    ("body", "settings", "rows"),
    [
        ("1\ta\t5\n2\tb\t\n", "sep=tab;columns=time,host,n;format=csv", [("a", 5), ("b", None)]),
        ("time|host|n\n1|a|5\n", "format=csv;sep=pipe", [("a", 5)]),
        ("1;a;5\n", "format=csv;sep=semicolon;header=false;columns=time, host, n", [("a", 5)]),
    ],
)
def test_files_with_separators_with_and_without_a_header(tmp_path: Path, body: str, settings: str, rows: list) -> None:  # type: ignore[type-arg]
    (tmp_path / "conn.log").write_text(body)
    inputs = inputs_of(None, [f"c={tmp_path / 'conn.log'}:time;ts_unit=s;{settings}"])
    assert needs_spark(inputs, SessionPart()) is None
    replay, _ = replay_of("SELECT host, n FROM c [NOW]", open_inputs(inputs), QueryOptions())
    found = [(r["host"], r["n"]) for t in replay.results() for r in t.to_pylist() if r["op"] == "+"]
    assert found == rows


def test_names_that_do_not_fit_and_names_that_are_missing(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,1\ny,2\n")
    tables = [f"t={tmp_path / 't.csv'};columns=a,b,c"]
    with pytest.raises(ConfigError, match="has 2 columns, and 3 names are given"):
        open_inputs(inputs_of(None, [f"f={sample('flights')}:dep"], tables))
    found, schema = open_table("t", str(tmp_path / "t.csv"), Separated(header=False))
    assert schema.names == ("_c0", "_c1") and len(found.parts) == 1


def test_files_of_text_may_be_packed_and_say_what_stands_for_null(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"at,x\n2024-01-01T00:00:00Z,NA\n2024-01-01T00:01:00Z,2.5\n"))
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "b.json.bz2").write_bytes(bz2.compress(b'{"at": "2024-01-01T00:00:00Z", "x": 1}\n'))
    given = inputs_of(None, [f"a={tmp_path / 'a.csv.gz'}:at;null=NA", f"b={tmp_path / 'd'}:at"])
    assert given.streams[0].options["nullValue"] == "NA" and needs_spark(given, SessionPart()) is None
    read = open_inputs(given).read
    assert [part.read(["x"]).column("x").to_pylist() for part in read["a"][0].parts] == [[None, 2.5]]
    assert [part.read(["x"]).column("x").to_pylist() for part in read["b"][0].parts] == [[1]]
    with pytest.raises(ConfigError, match=r"cannot tell the format of .*may end in \.gz"):
        inputs_of(None, [f"a={tmp_path}:at"])


def test_a_name_with_a_point_is_to_be_quoted(tmp_path: Path) -> None:
    pq.write_table(pa.table({"at": pa.array([1], pa.timestamp("us")), "PM2.5": [1.0]}), tmp_path / "a.parquet")
    opened = open_inputs(inputs_of(None, [f"a={tmp_path / 'a.parquet'}:at"]))
    with pytest.raises(QueryError, match=r"PM2.5 has a point in its name: write `PM2.5`"):
        replay_of("SELECT AVG(PM2.5) AS pm FROM a [RANGE 1 HOUR]", opened, QueryOptions())
    replay_of("SELECT AVG(`PM2.5`) AS pm FROM a [RANGE 1 HOUR]", opened, QueryOptions())
