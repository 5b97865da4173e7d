"""``muntin shell``: at a prompt with keys, and through standard input without a terminal."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from typer.testing import CliRunner

from muntin.cli.app import app
from muntin.cli.shell import prompt
from muntin.cli.shell.commands import HELP, Shell
from muntin.cli.shell.completion import KEYWORDS, candidates
from muntin.cli.shell.run import converse, read_all
from muntin.cli.shell.sources import Files
from muntin.cli.shell.statements import Command, Statement, is_whole, split
from muntin.cli.streams import Inputs, inputs_of
from muntin.core.errors import ConfigError, QueryError
from muntin.core.schema import Field, Schema
from muntin.cql.dialect import Cql
from muntin.plan.catalog import Catalog, Stream, Table
from muntin.plan.windows import QueryOptions

QUERY = "SELECT k, SUM(v) AS total FROM e [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY k"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write(tmp_path / "e.parquet", [1, 2, 3, 4, 13])
    return tmp_path / "e.parquet"


def write(path: Path, seconds: list[int]) -> None:
    ts = pa.array([s * 1_000_000 for s in seconds], pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"ts": ts, "k": ["ab"[s % 2] for s in seconds], "v": seconds}), path)


@pytest.fixture
def shell(file: Path) -> Shell:
    return Shell(Files(inputs_of(None, [f"e={file}:ts"]), QueryOptions()), form="csv")


def call(text: str, *arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["shell", *arguments], input=text)
    return result.exit_code, result.stdout, result.stderr


# --- what is typed ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "whole", "rest"),
    [
        ("", [], ""),
        ("SELECT 1", [], "SELECT 1"),
        ("SELECT 1; SELECT 2", [Statement("SELECT 1")], "SELECT 2"),
        ("a ';' \"\\\";\" `;` -- ;\n /* ; */ b; \n", [Statement("a ';' \"\\\";\" `;` -- ;\n /* ; */ b")], ""),
        ("it''s 'it''s; not' it\n;", [Statement("it''s 'it''s; not' it\n")], ""),
        ("'open; ", [], "'open; "),
        ("a /* open; ", [], "a /* open; "),
        ("-- nothing;\n;;\n a;", [Statement("a", 2)], ""),
        (" \\d  flights \n\\q", [Command("d", "flights"), Command("q", "")], ""),
        ("SELECT\n\\d\n;", [Statement("SELECT\n\\d\n")], ""),
        ("a; \\timing\nb;", [Statement("a"), Command("timing", ""), Statement("b", 1)], ""),
    ],
)
def test_texts_are_cut_into_statements(text: str, whole: list[Any], rest: str) -> None:
    assert split(text) == (whole, rest)
    assert is_whole(text) == (not rest)


def test_every_cut_gives_the_same_statements() -> None:
    text = "SELECT ';' FROM a; -- ;\n\\d a\n/* ; */ EXPLAIN\nSELECT `;\"` FROM b;\n"
    whole = [getattr(s, "text", s) for s in split(text)[0]]
    assert len(whole) == 3
    lines = text.splitlines(keepends=True)
    for cut in range(1, len(lines)):
        first, rest = split("".join(lines[:cut]))
        second, _ = split(rest + "".join(lines[cut:]))
        assert [getattr(s, "text", s) for s in first + second] == whole


# --- without a terminal -----------------------------------------------------------------------------------------------


def test_statements_come_through_standard_input(file: Path) -> None:
    text = f"\\stream e {file} ts\n\\format json\n{QUERY};\n\\set least 10\n"
    status, out, err = call(f"{text} SELECT v FROM e\n[NOW] WHERE v > :least;\n\\q\nSELECT wrong;\n")
    rows = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    assert (status, err) == (0, "")
    assert [(r["k"], r["total"]) for r in rows[:3]] == [("a", 6), ("b", 4), ("a", 6)]
    assert [r["v"] for r in rows[6:]] == [13, 13]  # it comes, and it goes
    assert "event time" in out and "BIGINT" in out  # what \stream found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT x FROM e [NOW];", "column 8"),
        ("SELECT v FROM e [NOW]", "does not end with ;"),
        ("\\nonsense", "there is no command \\nonsense"),
        ("\\d nobody", "there is no stream or table 'nobody'; there are: e"),
        ("\\limit all", "\\limit all: write a number"),
        ("\\format xml", "it is table, csv or json"),
        ("\\i nowhere.cql", "\\i nowhere.cql: cannot read it"),
        ("\\o nowhere/x.csv", "there is no directory nowhere"),
        ("\\stream f nowhere.parquet ts", "there is no file or directory 'nowhere.parquet'"),
        ("\\stream f", "write NAME=FILE:TIMECOLUMN"),
        ("\\set 1 2", "write \\set NAME VALUE"),
        ("SELECT v FROM e [NOW] WHERE v > :least;", "\\set least VALUE"),
    ],
)
def test_the_first_error_ends_it(text: str, message: str, file: Path) -> None:
    status, out, err = call(f"{text}\n\\?\n", "--stream", f"e={file}:ts")
    assert status == 2 and message in err and "EXPLAIN" not in out


def test_what_is_asked_of_a_checkpoint_has_streams_of_its_own(tmp_path: Path) -> None:
    assert "no checkpoint" in call("", "--live", str(tmp_path))[2]
    assert "--live goes with --job" in call("", "--live", "x", "--stream", "a=b:c")[2]


def test_inputs_that_need_spark_are_refused(tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text('[[stream]]\nname = "s"\nformat = "orc"\npath = "x"\nts = "at"\n')
    status, _, err = call("", "--job", str(job))
    assert status == 2 and "in this process, and 's' has format orc" in err


# --- commands ---------------------------------------------------------------------------------------------------------


def test_commands(shell: Shell, file: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    def said(text: str) -> tuple[str, str]:
        assert shell.run(f"{text}\n") == ""
        found = capsys.readouterr()
        return found.out, found.err

    assert [w in said("\\d")[0] for w in ("e", "stream", "ts, k, v", file.name)] == [True] * 4
    assert "TIMESTAMP" in said("\\d E")[0]
    assert said("\\timing")[1] == "muntin: timing is on\n"
    out, err = said("\\limit 2\nSELECT v FROM e [NOW];")
    assert len(out.splitlines()) == 3 and "the first 2 rows; \\limit 0 shows all" in err and err.endswith(" s\n")
    said("\\timing")
    out, err = said("\\limit 0\nSELECT v FROM e [NOW];")
    assert (len(out.splitlines()), err) == (11, "")
    assert "3 rows" in said("\\format table\nRstream(SELECT v FROM e [NOW] WHERE v < 4);")[1]
    assert "Logical plan" in said("explain SELECT v FROM e [NOW];")[0]
    assert "5 rows in" in said("EXPLAIN ANALYZE SELECT v FROM e [NOW];")[0]
    assert all(what in said("\\?")[0] for what, _ in HELP)
    said(f"\\o {tmp_path / 'out.parquet'}")
    assert said("SELECT v FROM e [NOW];") == ("", f"muntin: 10 rows in {tmp_path / 'out.parquet'}\n")
    assert len(pq.read_table(tmp_path / "out.parquet")) == 10 and shell.output is None
    said("\\set k a\n\\set n=3")
    assert said("\\set")[0] == ":k = 'a'\n:n = 3\n"
    said("\\set k")
    assert shell.parameters == {"n": 3}


def test_files_of_statements(shell: Shell, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "a.cql").write_text(f"\\i {tmp_path / 'b.cql'}\n\n-- and\nSELECT v,\n x FROM e [NOW];\n")
    (tmp_path / "b.cql").write_text("SELECT k FROM e [NOW];")
    with pytest.raises(QueryError) as wrong:
        shell.run(f"\\i {tmp_path / 'a.cql'}\n")
    assert (wrong.value.line, wrong.value.column) == (5, 2)
    assert capsys.readouterr().out.startswith('"k"')
    (tmp_path / "c.cql").write_text(f"\\i {tmp_path / 'c.cql'}")
    with pytest.raises(ConfigError, match="more than 16 deep"):
        shell.run(f"\\i {tmp_path / 'c.cql'}")
    (tmp_path / "d.cql").write_text("SELECT k FROM e [NOW]")
    with pytest.raises(ConfigError, match="last statement does not end"):
        shell.run(f"\\i {tmp_path / 'd.cql'}")
    assert shell._depth == 0


def test_a_file_that_changes_is_read_anew(shell: Shell, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "Rstream(SELECT v FROM e [NOW]);"
    shell.run(text)
    write(file, [20])
    shell.run(text)
    shell.run(text)
    assert [len(o.splitlines()) for o in capsys.readouterr().out.split('"v","ts"')[1:]] == [6, 2, 2]


def test_tables_and_names_that_are_given_anew(shell: Shell, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "names.csv").write_text("k,name\na,Anna\nb,Bert\n")
    write(tmp_path / "f.parquet", [2])
    shell.run(f"\\table names {tmp_path / 'names.csv'}\n\\stream E={tmp_path / 'f.parquet'}:ts;slack=1 second\n")
    assert [s.name for s in shell.asked.catalog().streams] == ["E"]
    capsys.readouterr()
    shell.run("Rstream(SELECT n.name FROM e [NOW], names n WHERE e.k = n.k);")
    assert capsys.readouterr().out.splitlines()[1:] == ['"Anna",1970-01-01 00:00:02.000000Z']
    with pytest.raises(ConfigError):
        shell.run("\\stream e nowhere.parquet ts")
    assert len(shell.asked.catalog().streams) == 1


# --- completion -------------------------------------------------------------------------------------------------------


CATALOG = Catalog(
    (
        Stream("flights", Schema((Field("dep", pa.timestamp("us", "UTC")), Field("origin", pa.string()))), "dep"),
        Stream("weather", Schema((Field("at", pa.timestamp("us", "UTC")), Field("wind", pa.float64()))), "at"),
    ),
    (Table("airlines", Schema((Field("carrier", pa.string()),))),),
)


def offered(text: str) -> list[str]:
    before, _, after = text.partition("|")
    return [c.text for c in candidates(before + after, len(before), CATALOG)]


def test_completion() -> None:
    assert offered("SELECT or|") == ["origin", "order"]
    assert offered("SELECT ORD|") == ["ORDER"]
    assert offered("SELECT f.| FROM flights [RANGE 1 HOUR] AS f, weather w [NOW]") == ["dep", "origin"]
    assert offered("SELECT w.w| FROM flights [RANGE 1 HOUR] AS f, weather w [NOW]") == ["wind"]
    assert offered("SELECT weather.| FROM weather WHERE 1 = 1") == ["at", "wind"]
    assert offered("SELECT x.| FROM weather") == []
    assert offered("SELECT * FROM fl|") == ["flights"]
    assert offered("SELECT fl|") == ["flights", "flatten", "floor"]
    assert offered("SELECT * FROM air|") == ["airlines"]
    assert {"MEDIAN", "STDDEV"} & {*offered("SELECT ME|"), *offered("SELECT STD|")} == {"MEDIAN", "STDDEV"}
    assert offered("SELECT 'or|") == offered("-- or|") == offered("SELECT |") == []
    assert "origin" in offered("SELECT 'it''s', or|")
    assert offered("\\|")[:2] == ["d", "stream"] and offered("\\ti|") == ["timing"]
    assert offered("\\d w|") == ["weather"] and offered("\\format c|") == ["csv"]


def test_files_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "day").mkdir()
    (tmp_path / "day" / "one.parquet").touch()
    (tmp_path / "data.csv").touch()
    assert offered("\\i da|") == ["data.csv", "day/"]
    assert offered("\\stream s day/|") == ["day/one.parquet"]
    assert offered("\\stream s=day/o|") == ["day/one.parquet"]


def test_keywords_are_words_of_the_language() -> None:
    known = {k.upper() for k in Cql.Tokenizer.KEYWORDS} | {"ANALYZE", "EXPLAIN", "DELAY", "SLIDE", "INTERNAL", "NOW"}
    known |= {"CUMULATE", "TIES", "UNBOUNDED", "ISTREAM", "DSTREAM", "RSTREAM", "WSTREAM"}
    known |= {"MILLISECONDS", "SECONDS", "MINUTES", "HOURS", "DAYS", "WEEKS", "MONTHS", "YEARS"}
    words = {w for k in known for w in k.split()}
    assert [k for k in KEYWORDS if k not in words and k not in ("BY", "WITHIN")] == []


# --- keys -------------------------------------------------------------------------------------------------------------


@contextmanager
def typing(keys: str, history: Any = None) -> Iterator[Callable[[], str]]:
    with create_pipe_input() as pipe:
        pipe.send_text(keys)
        session = prompt.prompt_session(lambda: CATALOG, history or InMemoryHistory(), input=pipe, output=DummyOutput())
        yield session.prompt


def test_enter_takes_what_is_whole() -> None:
    with typing("SELECT v\rFROM e;\r\\d\r") as read:
        assert [read(), read()] == ["SELECT v\nFROM e;", "\\d"]


def test_tab_completes() -> None:
    with create_pipe_input() as pipe:
        session = prompt.prompt_session(lambda: CATALOG, InMemoryHistory(), input=pipe, output=DummyOutput())

        def go_on(buffer: Buffer) -> None:  # what is offered is found in the background
            if buffer.text == "SELECT * FROM flights":
                pipe.send_text(" [NOW];\r")

        session.default_buffer.on_text_changed += go_on
        pipe.send_text("SELECT * FROM fli\t")
        assert session.prompt() == "SELECT * FROM flights [NOW];"


def test_history_outlives_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUNTIN_HISTORY", str(tmp_path / "state" / "history"))
    with typing("SELECT 1\r;\r", prompt.history()) as read:
        read()
    with typing("\x1b[A\r", prompt.history()) as read:
        assert read() == "SELECT 1\n;"
    assert (tmp_path / "state" / "history").stat().st_mode & 0o77 == 0
    monkeypatch.setenv("MUNTIN_HISTORY", "/proc/nobody/history")
    assert not isinstance(prompt.history(), FileHistory)


def test_a_conversation_goes_on_after_an_error(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    with typing("SELECT x FROM e;\r\x03SELECT v FROM e [NOW] WHERE v = 1;\r\\q\r") as read:
        converse(shell, read)
    found = capsys.readouterr()
    assert "^" in found.err and "interrupted" in found.err and found.out.splitlines()[0] == '"v","ts","op"'
    with typing("\x04") as read:
        converse(shell, read)


def test_ctrl_c_ends_the_statement_that_runs(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["SELECT v FROM e [NOW];", "\\q"])
    monkeypatch.setattr(shell.asked, "ask", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    converse(shell, lambda: next(answers))
    assert next(answers, None) is None


def test_completions_stand_in_for_the_word() -> None:
    (found, *_) = prompt._Completer(lambda: CATALOG).get_completions(Document("SELECT f.de FROM flights f", 11), None)  # type: ignore[arg-type]
    assert (found.text, found.start_position) == ("dep", -2)


def test_nothing_is_named_yet(capsys: pytest.CaptureFixture[str]) -> None:
    read_all(Shell(Files(Inputs(), QueryOptions())), io.StringIO("\\d\n"))
    assert "\\stream NAME PATH COLUMN" in capsys.readouterr().out
