"""Users' scalar functions: where they may stand, NULLs, errors, and what tells one from another."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import muntin
from muntin.cli.app import app
from muntin.core.errors import ConfigError, DataError, QueryError
from muntin.core.schema import Field, Schema
from muntin.cql.binder import bind
from muntin.cql.user_functions import with_functions
from muntin.dataflow.codec import decode, encode
from muntin.dataflow.durable import Asked, from_json, take_up, to_json
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.user_functions import ScalarFunction, code_of, user_calls, with_code
from muntin.reference.answers import run
from muntin.testing import Harness, stream

TS = pa.timestamp("us", "UTC")
SEEN: list[int] = []


@muntin.function(returns="DOUBLE", arguments=["DOUBLE"])
def kelvin(celsius: pa.Array) -> pa.Array:
    SEEN.append(len(celsius))
    return pc.add(celsius, 273.15)


@muntin.function(returns="BIGINT", arguments=["BIGINT", "BIGINT"])
def nearest(x: pa.Array, step: pa.Array) -> Any:
    return np.asarray(x) // np.asarray(step) * np.asarray(step)


@muntin.function(returns="STRING", on_null="call")
def shown(x: pa.Array) -> list[str]:
    return ["none" if v is None else str(v) for v in x.to_pylist()]


READINGS = pa.table(
    {
        "ts": pa.array([0, 1_000_000, 2_000_000, 3_000_000, 4_000_000], TS),
        "k": ["a", "b", "a", None, "b"],
        "v": pa.array([10, 21, None, 33, 47], pa.int64()),
    }
)
OTHERS = pa.table({"ts": pa.array([500_000, 3_500_000], TS), "w": pa.array([20, 40], pa.int64())})


def asked(text: str, *functions: ScalarFunction) -> list[dict[str, Any]]:
    return muntin.query(text, functions=functions, r=READINGS, o=OTHERS).to_pylist()


def test_anywhere_an_expression_may_stand() -> None:
    rows = asked("SELECT v, kelvin(v) AS t FROM r [NOW] WHERE kelvin(v) > 290", kelvin)
    assert [(r["v"], r["t"]) for r in rows if r["op"] == "+"] == [(21, 294.15), (33, 306.15), (47, 320.15)]
    grouped = asked(
        "SELECT nearest(v, 20) AS n, SUM(kelvin(v)) AS s, COUNT(*) AS c FROM r [RANGE 1 MINUTE SLIDE 1 MINUTE] "
        "GROUP BY nearest(v, 20) HAVING COUNT(*) > 0 AND nearest(v, 20) < 40 ORDER BY n LIMIT 5", nearest, kelvin,
    )  # fmt: skip
    found = [(r["n"], r["s"], r["c"]) for r in grouped if r["ts"].minute == 1]
    assert found == [(20, 294.15 + 306.15, 2)]
    joined = asked("SELECT v, w FROM r [RANGE 1 MINUTE], o [RANGE 1 MINUTE] WHERE nearest(v, 20) = w", nearest)
    assert sorted((r["v"], r["w"]) for r in joined if r["op"] == "+") == [(21, 20), (33, 20), (47, 40)]
    beside = asked("SELECT v, w FROM r [RANGE 1 MINUTE], o [RANGE 1 MINUTE] WHERE nearest(v, w) = 40", nearest)
    assert sorted((r["v"], r["w"]) for r in beside if r["op"] == "+") == [(47, 20), (47, 40)]


TEXTS = [
    "SELECT nearest(v, 5) AS n, MAX(kelvin(v)) AS m, COUNT(shown(k)) AS c FROM r [RANGE 2 SECONDS SLIDE 1 SECOND] "
    "WHERE CASE WHEN v IS NULL THEN TRUE ELSE kelvin(v) > 284 END GROUP BY nearest(v, 5)",
    "SELECT a.v, shown(b.v) AS t FROM r a [RANGE 3 SECONDS] LEFT JOIN r b [RANGE 1 SECOND] ON nearest(a.v, 7) = b.v",
    "SELECT k, v FROM r [RANGE 2 SECONDS] WHERE NOT EXISTS (SELECT 1 FROM r x [RANGE 1 SECOND] WHERE shown(x.k) = r.k)",
]


def _bound(text: str, *functions: ScalarFunction) -> Any:
    schema = Schema(tuple(Field(f.name, f.type) for f in READINGS.schema))
    return bind(text, with_functions(Catalog((Stream("r", schema, "ts"),)), functions))


@pytest.mark.parametrize("text", TEXTS)
def test_the_answer_is_that_of_the_reference_however_rows_are_cut(text: str) -> None:
    draw = random.Random(text)
    functions = (nearest, kelvin, shown)
    rows = [
        {"ts": draw.randrange(12) * 500_000, "k": draw.choice(["a", "none", None]), "v": draw.choice([None, 7, 20, 30])}
        for _ in range(30)
    ]
    rows.sort(key=lambda r: r["ts"] or 0)
    naive = [(t, op or "", *map(str, values)) for t, op, values in run(_bound(text, *functions), {"r": rows})]
    harness = Harness(text, functions=functions, r=stream({"ts": TS, "k": "string", "v": "bigint"}))
    at = 0
    while at < len(rows):
        size = draw.randrange(1, 9)
        harness.feed("r", rows[at : at + size])
        at += size
        if draw.random() < 0.3:
            harness.restart()
    harness.finish()
    found = [_row(r) for r in harness.answers()]
    assert naive and sorted(found) == sorted(naive)


def _row(r: dict[str, Any]) -> tuple[Any, ...]:
    given = {n: v for n, v in r.items() if n not in ("ts", "op")}
    return (int(r["ts"].timestamp() * 1e6), r.get("op", ""), *map(str, given.values()))


def test_nulls_are_not_shown_unless_they_are_asked_for() -> None:
    SEEN.clear()
    rows = asked("SELECT v, kelvin(v) AS t FROM r [NOW] WHERE v IS NULL OR v > 30", kelvin)
    assert [(r["v"], r["t"]) for r in rows if r["op"] == "+"] == [(None, None), (33, 306.15), (47, 320.15)]
    assert SEEN == [2]
    rows = asked("SELECT shown(k) AS t FROM r [NOW]", shown)
    assert [r["t"] for r in rows if r["op"] == "+"] == ["a", "b", "a", "none", "b"]


def test_rows_that_a_guard_keeps_away_are_not_shown() -> None:
    @muntin.function(returns="BIGINT")
    def careful(x: pa.Array) -> pa.Array:
        if pc.any(pc.greater(x, 30)).as_py():
            raise ValueError("too large")
        return x

    rows = asked("SELECT CASE WHEN v > 30 THEN -1 ELSE careful(v) END AS c FROM r [NOW]", careful)
    assert [r["c"] for r in rows if r["op"] == "+"] == [10, 21, None, -1, -1]
    rows = asked("SELECT v FROM r [NOW] WHERE v <= 30 AND careful(v) > 10", careful)
    assert [r["v"] for r in rows if r["op"] == "+"] == [21]
    with pytest.raises(DataError, match="function careful failed, asked about 4 rows of int64: ValueError: too large"):
        asked("SELECT careful(v) AS c FROM r [NOW]", careful)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (lambda x: x[:1], "function f gave 1 values, asked about 4 rows of int64: it must give one for each row"),
        (lambda x: 7, "function f gave a int, asked about 4 rows of int64: it must give an array"),
        (lambda x: {1, 2, 3, 4}, "function f gave a set, asked about 4 rows of int64: it must give an array"),
        (lambda x: pa.table({"x": x}), "function f gave a Table, .*: it must give an array"),
        (lambda x: x.to_numpy().reshape(2, 2), "function f gave a ndarray, .*: it must give an array of one dimension"),
        (lambda x: pc.cast(x, pa.string()), "gave string, .*: it is registered as one that gives int32"),
        (lambda x: pc.add(x, 2**40), "gave what is no int32, .*not in range"),
        (lambda x: ["a"] * len(x), "gave what is no int32"),
    ],
)
def test_an_answer_that_does_not_fit_is_told(code: Any, words: str) -> None:
    f = muntin.function(code, name="f", returns="INT")
    with pytest.raises(DataError, match=words):
        asked("SELECT f(v) AS c FROM r [NOW]", f)


def test_what_is_told_before_a_row_is_read() -> None:
    with pytest.raises(QueryError, match="kelvin takes 1 argument, not 2"):
        asked("SELECT kelvin(v, v) AS c FROM r [NOW]", kelvin)
    with pytest.raises(QueryError, match=r"kelvin takes DOUBLE, not r.k \(STRING\): write CAST"):
        asked("SELECT kelvin(k) AS c FROM r [NOW]", kelvin)
    with pytest.raises(QueryError, match="the code of shown does not take 2 arguments"):
        asked("SELECT shown(k, v) AS c FROM r [NOW]", shown)
    with pytest.raises(ConfigError, match="'median': SQL has something of this name"):
        asked("SELECT 1 AS c FROM r [NOW]", muntin.function(lambda x: x, name="median", returns="INT"))
    with pytest.raises(ConfigError, match="'levenshtein': SQL has something"):
        asked("SELECT 1 AS c FROM r [NOW]", muntin.function(lambda x: x, name="levenshtein", returns="INT"))
    with pytest.raises(ConfigError, match="there is a function 'Kelvin' already"):
        muntin.query("SELECT 1 AS c FROM r [NOW]", functions={"kelvin": kelvin, "Kelvin": kelvin}, r=READINGS)
    with pytest.raises(ConfigError, match="function 'f': unknown type DUBLE"):
        muntin.function(lambda x: x, name="f", returns="DUBLE")
    with pytest.raises(ConfigError, match=r"function 'f': a type is of Arrow, or .*, not 3"):
        muntin.function(lambda x: x, name="f", returns="INT", arguments=[3])  # type: ignore[list-item]
    with pytest.raises(ConfigError, match=r"functions is a list of functions, as in \[kelvin\]"):
        muntin.query("SELECT 1 AS c FROM r [NOW]", functions=kelvin, r=READINGS)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="its code does not take 2 arrays"):
        muntin.function(lambda x: x, name="f", returns="INT", arguments=["INT", "INT"])
    with pytest.raises(ConfigError, match="say what it gives"):
        muntin.query("SELECT 1 AS c FROM r [NOW]", functions={"f": lambda x: x}, r=READINGS)  # type: ignore[dict-item]


def test_a_restart_goes_on_under_changed_code_and_not_under_another_version() -> None:
    text = "SELECT SUM(f(v)) AS s FROM r [RANGE 1 MINUTE]"

    def asking(version: str, code: Any) -> Asked:
        bound = _bound(text, muntin.function(code, name="f", returns="BIGINT", version=version))
        return Asked(bound, lambda places, known: plan_query(bound, places, known))

    first = take_up(None, {"q": asking("1", lambda x: x)}, 0, "1").durable
    stored = from_json(to_json(first))
    goes_on = take_up(stored, {"q": asking("1", lambda x: pc.negate(x))}, 1, "1")
    assert not goes_on.notes and len(list(user_calls(goes_on.plans["q"].vertices))) == 1
    with pytest.raises(ConfigError, match=r"asks another question .* on_change"):
        take_up(stored, {"q": asking("2", lambda x: x)}, 1, "1")
    assert "begin anew" in take_up(stored, {"q": asking("2", lambda x: x)}, 1, "1", "refill").notes["q"]


def test_a_stored_plan_is_without_code_until_it_gets_it_back() -> None:
    plan = plan_query(_bound("SELECT kelvin(v) AS t FROM r [NOW]", kelvin))
    stored = decode(encode(plan))
    assert stored == plan and [c.code for c in user_calls(stored.vertices)] == [None]
    rows = pa.table({"ts": READINGS["ts"], "v": READINGS["v"]})
    with pytest.raises(DataError, match=r"the code of function kelvin \(version 1\) is not here"):
        LocalPipeline(stored, 1).push({"r": rows})
    again = with_code(stored, code_of(user_calls(plan.vertices)))
    assert [c.code for c in user_calls(again.vertices)] == [kelvin] and again == plan
    assert [v.id for v in again.vertices] == [v.id for v in plan.vertices]
    LocalPipeline(again, 1).push({"r": rows})


def test_a_decorated_function_is_called_as_it_is() -> None:
    assert kelvin(pa.array([0.0])).to_pylist() == [273.15]


def test_functions_of_a_job_file(tmp_path: Path) -> None:
    def call(*words: str) -> tuple[int, str, str]:
        result = CliRunner().invoke(app, [*words, "--job", str(job)])
        return result.exit_code, result.stdout, result.stderr

    pq.write_table(READINGS, tmp_path / "r.parquet")
    (tmp_path / "own_code_of_job.py").write_text(
        "import muntin, pyarrow.compute as pc\n"
        "@muntin.function(returns='DOUBLE', arguments=['DOUBLE'])\ndef kelvin(x):\n    return pc.add(x, 273.15)\n"
        "def twice(x):\n    return pc.multiply(x, 2)\n"
    )
    stream_part = f'[[stream]]\nname = "r"\npath = "{tmp_path}/r.parquet"\nts = "ts"\n'
    job = tmp_path / "job.toml"
    job.write_text(
        '[functions]\nkelvin = "own_code_of_job:kelvin"\n'
        'double_it = { code = "own_code_of_job:twice", returns = "BIGINT", version = "3" }\n' + stream_part
    )
    text = "SELECT kelvin(v) AS k, double_it(v) AS d FROM r [NOW] WHERE v > 40"
    status, out, err = call("sql", text, "--format", "csv")
    assert (status, err) == (0, "") and "320.15,94" in out
    status, out, _ = call("explain", text)
    assert status == 0 and "double_it(" in out
    result = CliRunner().invoke(app, ["shell", "--job", str(job)], input=f"\\format csv\n{text};\n")
    assert result.exit_code == 0 and "320.15,94" in result.stdout
    for key, words in [
        ('f = "own_code_of_job"', 'no place of code; write "module:function"'),
        ('f = "own_code_of_job:nothing"', "module own_code_of_job has no function nothing"),
        ('f = "own_code_of_job:twice"', "key returns is missing"),
        ('f = "no_such_module_here:f"', "cannot import no_such_module_here"),
        ('f = { code = "a:b", retruns = "INT" }', "unknown key; the keys here are code, returns"),
    ]:
        job.write_text(f"[functions]\n{key}\n" + stream_part)
        status, _, err = call("explain", text)
        assert status != 0 and words in " ".join(err.split()), key
