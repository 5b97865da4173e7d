from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from muntin.cli.job import QueryPart, QuerySink, SessionPart, StreamPart, TablePart, load_job
from muntin.cli.wiring import options_of
from muntin.core.errors import ConfigError

GOOD = """
[session]
shards = 8
trigger = "10 seconds"
checkpoint = "state"

[[stream]]
name = "flights"
format = "parquet"
path = "in/flights"
schema = "dep TIMESTAMP, origin STRING"
ts = "dep"
slack = "5 minutes"
max_jump = "P1D"
on_bad_time = "fail"
[stream.options]
maxFilesPerTrigger = 1

[[table]]
name = "airports"
path = "/data/airports"
kind = "nrr"

[[query]]
name = "departures"
file = "departures.cql"
[query.options]
bounds = "closed"
granule = "1 second"
[query.sink]
format = "parquet"
path = "out"
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "job.toml"
    path.write_text(text)
    return path


def test_reads_every_part(tmp_path: Path) -> None:
    (tmp_path / "departures.cql").write_text("SELECT 1")
    job = load_job(write(tmp_path, GOOD))
    assert (job.session.shards, job.session.trigger) == (8, "10 seconds")
    stream = job.streams[0]
    assert (stream.name, stream.ts, stream.slack, stream.on_bad_time) == ("flights", "dep", "5 minutes", "fail")
    assert stream.table_schema == "dep TIMESTAMP, origin STRING"
    assert stream.options == {"maxFilesPerTrigger": 1}
    assert job.tables[0].kind == "nrr"
    assert job.text(job.queries[0]) == "SELECT 1"
    assert options_of(job.queries[0]) == {"bounds": "closed", "granule": "1 second"}


def test_relative_paths_count_from_the_job_file(tmp_path: Path) -> None:
    job = load_job(write(tmp_path, GOOD))
    assert job.resolve("in") == str(tmp_path / "in")
    assert job.resolve("/in") == "/in"
    assert job.resolve("s3a://bucket/in") == "s3a://bucket/in"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('slack = "5 minutes"', 'slak = "5 minutes"'), r"\[\[stream\]\] 1 \(flights\), key slak: unknown key; .*ts"),
        (('slack = "5 minutes"', 'slack = "5 parsecs"'), r"\(flights\), key slack: 'parsecs' is not a unit of time"),
        (('slack = "5 minutes"', 'slack = "-5 minutes"'), r"key slack: '-5 minutes' is negative"),
        (('slack = "5 minutes"', "slack = 5"), r"key slack: .*string"),
        (('ts = "dep"\n', ""), r"\(flights\), key ts: is missing"),
        (("shards = 8", "shards = 0"), r"\[session\], key shards: .*greater than or equal to 1, not 0"),
        (("shards = 8", 'shards = "many"'), r"\[session\], key shards: .*integer.*'many'"),
        (('trigger = "10 seconds"', 'trigger = "often"'), r"\[session\], key trigger: 'often' is not a length of time"),
        (('trigger = "10 seconds"', 'trigger = "-1 s"'), r"\[session\], key trigger: '-1 s' is negative"),
        (("maxFilesPerTrigger = 1", "maxFilesPerTriger = 1"), r"\(flights\), key options.maxFilesPerTriger: parquet "
         r"has no option 'maxFilesPerTriger'. Did you mean maxFilesPerTrigger or"),
        (('path = "in/flights"\n', ""), r"\[\[stream\]\] 1 \(flights\), key path: is missing: the file or directory"),
        (('path = "/data/airports"', 'format = "table"'), r"\(airports\), key path: is missing: the table's name"),
        (('path = "out"', ""), r"\(departures\), key sink.path: is missing"),
        (('path = "out"', 'path = "out"\nmode = "append to"'), r"key sink.mode: mode is one of append, overwrite"),
        (('path = "out"', 'path = "out"\nmode = "overwrite"'), r"key sink.mode: parquet is written batch by batch"),
        (('path = "out"', 'path = "out"\noptions = { compresion = "zstd" }'), r"key sink.options.compresion: .*ssion"),
        (('granule = "1 second"', 'strategy = "x"'), r"key options.strategy: .*'direct' or 'auto', not 'x'"),
        (('granule = "1 second"', 'zone = "Mars/Olympus"'), r"key options.zone: there is no time zone 'Mars/Olympus'"),
        (('kind = "nrr"', 'kind = "big"'), r"\[\[table\]\] 1 \(airports\), key kind: .*'static'.*'big'"),
        (('on_bad_time = "fail"', 'on_bad_time = "skip"'), r"key on_bad_time: .*'drop' or 'fail'"),
        (('file = "departures.cql"', 'file = "a"\ncql = "b"'), r"\[\[query\]\] 1 \(departures\): give either cql"),
        (('bounds = "closed"', 'bound = "closed"'), r"key options.bound: unknown key; the keys here are bounds,"),
        (('format = "parquet"\npath = "out"', 'path = "out"'), r"key sink.format: is missing"),
        (("shards = 8", 'tau = "0 seconds"'), r"\[session\], key tau: .*not positive"),
        (("shards = 8", 'tau = "soon"'), r"\[session\], key tau: "),
        (("[session]", "[sessions]"), r"key sessions: unknown key; the keys here are session, stream,"),
        (("[[table]]", "[table]"), r"\[table\]: write \[\[table\]\]"),
        (("[session]", "[session"), r"job.toml is not TOML: .*line 2"),
        (('name = "airports"', 'name = "Flights"'), r"named 'flights'"),
        (('format = "parquet"\npath = "out"', 'format = "kafka"'), r"key sink.options.kafka.boot.*: is missing"),
        (('kind = "nrr"', 'kind = "nrr"\nformat = "kafka"\noptions = { "kafka.bootstrap.servers" = "a:1" }'),
         r"\(airports\), key options.subscribe: is missing: kafka needs one of subscribe, subscribePattern, assign"),
        (('kind = "nrr"', 'kind = "nrr"\nformat = "kafka"\n[table.options]\n"kafka.bootstrap.servers" = "a:1"\n'
          'subscribe = "x"\nassign = "y"'), r"key options.assign: kafka takes one of .*, not subscribe and assign"),
    ],
)
def test_errors_name_the_key(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    assert change[0] in GOOD
    with pytest.raises(ConfigError, match=message):
        load_job(write(tmp_path, GOOD.replace(*change, 1)))


def test_every_fault_gets_its_line(tmp_path: Path) -> None:
    text = GOOD.replace("shards = 8", "shards = 0").replace('kind = "nrr"', 'kind = "big"')
    with pytest.raises(ConfigError) as caught:
        load_job(write(tmp_path, text))
    assert len(str(caught.value).splitlines()) == 2


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read the job file .*No such file"):
        load_job(tmp_path / "none.toml")
    job = load_job(write(tmp_path, GOOD))
    with pytest.raises(ConfigError, match=r"query 'departures': cannot read .*departures.cql: No such file"):
        job.text(job.queries[0])


@pytest.mark.parametrize(
    ("given", "trigger"),
    [
        ("available_now", "available_now"),
        ("10 seconds", "10 seconds"),
        ("PT5M", "5 minutes"),
        ("1.5 seconds", "1500 milliseconds"),
        ("0 seconds", "0 seconds"),
    ],
)
def test_triggers_are_lengths_of_time_in_any_form(tmp_path: Path, given: str, trigger: str) -> None:
    job = load_job(write(tmp_path, GOOD.replace('trigger = "10 seconds"', f'trigger = "{given}"')))
    assert job.session.trigger == trigger


@pytest.mark.parametrize("options", ['"kafka.bootstrap.servers" = "a:1"\nassign = "{}"', "anything = 1"])
def test_options_of_clients_and_of_formats_of_others_pass(tmp_path: Path, options: str) -> None:
    form = "kafka" if "kafka" in options else "org.example.Source"
    text = GOOD.replace('format = "parquet"\npath = "in/flights"', f'format = "{form}"')
    assert load_job(write(tmp_path, text.replace("maxFilesPerTrigger = 1", options))).streams[0].options


def test_the_job_files_of_the_documentation_are_good(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    pages = "\n".join(p.read_text() for p in (root / "README.md", *sorted((root / "docs").rglob("*.md"))))
    blocks = [b for b in re.findall(r"```toml\n(.*?)```", pages, re.DOTALL) if "[[" in b]
    jobs = [load_job(write(tmp_path, block)) for block in blocks]
    assert {t.form for job in jobs for t in job.tables} >= {None, "upsert", "debezium", "delta"}
    assert {s.decode for job in jobs for s in job.streams} >= {None, "json"}


@pytest.mark.parametrize("part", [SessionPart, StreamPart, TablePart, QueryPart, QuerySink])
def test_the_page_names_every_key(part: type[BaseModel]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "command.md").read_text()
    keys = {field.alias or name for name, field in part.model_fields.items()}
    assert not {key for key in keys if not re.search(rf"`{key}\b|^{key} =|[{{,] {key} =", page, re.MULTILINE)}
