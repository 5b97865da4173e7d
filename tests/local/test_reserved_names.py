"""Columns, aliases and results may have any name, those that the engine uses inside too: answers do not change."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Catalog, Stream, Table
from muntin.verify.arrow import to_table

SECOND = 1_000_000
NAMES = [
    "__start", "__exp", "__ts", "__sign", "__w", "__x0", "__x1", "__x2", "__at", "__add", "__row", "__number",
    "__until", "__role", "__h", "__m", "__o", "__g", "__arg0", "__now", "__n", "__v", "__dir", "__start1", "__match1",
    "__match2", "__any1", "__l1", "__r1", "__l2", "__r2", "__end1", "__key1", "__key2", "__g.k", "__o.k", "__m.k",
    "a.k", "ts", "_ts", "op", "_op", "exp", "_exp", "_start", "w1", "query", "agg0", "c0", "c1", "e0", "row", "n",
    "left", "slot",
]  # fmt: skip

TEXTS = [
    "SELECT * FROM A [RANGE 5 SECONDS]",
    "SELECT {x}.* FROM A {x} [RANGE 5 SECONDS], B {y} [RANGE 4 SECONDS] WHERE {x}.{k} = {y}.{k}",
    "SELECT {x}.{k} AS {p}, {y}.{v} AS {q} FROM A {x} [RANGE 5 SECONDS] LEFT JOIN B {y} [RANGE 4 SECONDS] "
    "ON {x}.{k} = {y}.{k} AND {x}.{v} < {y}.{v}",
    "SELECT {x}.{k} AS {p}, {y}.{v} AS {q} FROM A {x} [RANGE 5 SECONDS SLIDE 2 SECONDS] FULL JOIN B {y} "
    "[RANGE 4 SECONDS] ON {x}.{j} = {y}.{j}",
    "SELECT {k} AS {p}, COUNT(*) AS {q}, SUM({v}) AS {r} FROM A [RANGE 5 SECONDS SLIDE 2 SECONDS] GROUP BY {k}",
    "SELECT {k} AS {p}, MAX({v}) AS {q} FROM A [RANGE 5 SECONDS] GROUP BY {k} HAVING COUNT(*) > 1",
    "SELECT {k} AS {p}, MEDIAN({v}) AS {q}, COUNT(DISTINCT {j}) AS {r} FROM A [RANGE 9 SECONDS] GROUP BY {k}",
    "SELECT DISTINCT {k} AS {p} FROM A [RANGE 5 SECONDS]",
    "SELECT {k} AS {p} FROM A [RANGE 5 SECONDS] UNION SELECT {j} FROM B [RANGE 4 SECONDS]",
    "SELECT {k} AS {p}, {v} AS {q} FROM A [RANGE 5 SECONDS] EXCEPT SELECT {k}, {v} FROM B [RANGE 4 SECONDS]",
    "SELECT {k} AS {p} FROM A [RANGE 5 SECONDS] WHERE {k} NOT IN (SELECT {k} FROM B [RANGE 4 SECONDS])",
    "SELECT {x}.{k} AS {p} FROM A {x} [RANGE 5 SECONDS] WHERE EXISTS "
    "(SELECT * FROM B {y} [RANGE 4 SECONDS] WHERE {y}.{k} = {x}.{k} AND {y}.{v} > {x}.{v})",
    "SELECT {x}.{k} AS {p}, (SELECT COUNT(*) FROM B {y} [RANGE 4 SECONDS] WHERE {y}.{k} = {x}.{k}) AS {q} "
    "FROM A {x} [RANGE 5 SECONDS]",
    "SELECT {k} AS {p}, {v} AS {q} FROM A [RANGE 5 SECONDS SLIDE 2 SECONDS] ORDER BY {v} DESC, {k}, {j} LIMIT 2",
    "SELECT {k} AS {p}, SUM({v}) AS {q} FROM A [PARTITION BY {k} ROWS 2] GROUP BY {k}",
    "SELECT {z}.{p} AS {q}, COUNT(*) AS {r} FROM (SELECT {k} AS {p}, COUNT(*) AS {q} FROM A [RANGE 5 SECONDS] "
    "GROUP BY {k}) AS {z}, B {y} [RANGE 4 SECONDS] WHERE {z}.{p} = {y}.{k} GROUP BY {z}.{p}",
    "ISTREAM(SELECT {x}.{k} AS {p} FROM A {x} [RANGE 5 SECONDS], T {y} WHERE {x}.{k} = {y}.{k})",
    "SELECT {x}.{k} AS {p}, {y}.{v} AS {q} FROM A {x} [RANGE 5 SECONDS] LEFT JOIN T {y} ON {x}.{k} = {y}.{k}",
    "RSTREAM(SELECT {k} AS {p}, COUNT(*) AS {q} FROM A [RANGE 5 SECONDS SLIDE 3 SECONDS] GROUP BY {k})",
]  # fmt: skip

PLAIN = {"k": "k", "j": "j", "v": "v", "p": "p", "q": "q", "r": "r", "x": "x", "y": "y", "z": "z", "t": "time"}


def names_of(rng: Random) -> dict[str, str]:
    """A drawn name for each column, result and alias; no two columns and no two aliases are equal."""
    names = dict(zip(PLAIN, rng.sample(NAMES, len(PLAIN)), strict=True))
    aliases = rng.sample([n for n in NAMES if "." not in n], 3)  # the language refuses aliases with dots
    return names | dict(zip("xyz", aliases, strict=True))


def catalog_of(names: dict[str, str]) -> Catalog:
    kinds = {"t": pa.int64(), "k": pa.int64(), "j": pa.int64(), "v": pa.int64()}
    schema = Schema.of(**{names[c]: kind for c, kind in kinds.items()})
    streams = tuple(Stream(s, schema, names["t"], ts_unit=SECOND, order=i) for i, s in enumerate("AB"))
    table = Table("T", Schema.of(**{names[c]: kinds[c] for c in "kv"}), "relation")
    return Catalog(streams, (table,))


def text_of(text: str, names: dict[str, str]) -> str:
    return text.format(**{c: f"`{n}`" for c, n in names.items()})


def batches_of(rng: Random, names: dict[str, str]) -> list[dict[str, list[dict[str, object]]]]:
    found = []
    for low in (0, 5, 10):
        batch: dict[str, list[dict[str, object]]] = {"T": [], "A": [], "B": []}
        for stream in "AB":
            times = sorted(rng.randint(low, low + 4) for _ in range(5))
            batch[stream] = [{"t": t} | {c: rng.randint(0, 3) for c in "kjv"} for t in times]
        batch["T"] = [{"k": rng.randint(0, 3), "v": rng.randint(0, 3)}]
        found.append({s: [{names[c]: v for c, v in row.items()} for row in rows] for s, rows in batch.items()})
    return found


def answer(text: str, names: dict[str, str], seed: int, options: dict[str, object] | None = None) -> list[object]:
    catalog = catalog_of(names)
    query = bind(text_of(text, names), catalog)
    plan = plan_query(query)
    rng = Random(seed)
    pipe = LocalPipeline(plan, rng.randint(1, 3))
    tables = []
    for i, batch in enumerate(batches_of(rng, names)):
        given = {}
        for stream in plan.streams:
            rows = batch[stream.name]
            table = catalog.table(stream.name)
            if table is not None and stream.name == "T":
                rows = [{**r, table.at: i * 5 * SECOND, table.add: True} for r in rows]
            given[stream.name] = to_table(stream, rows)
        tables.append(pipe.push(given))
    tables.append(pipe.finish())
    whole = pa.concat_tables(tables)
    assert len(set(map(str.lower, whole.column_names))) == len(whole.column_names)
    return sorted(zip(*(c.to_pylist() for c in whole.columns), strict=True), key=repr)


@pytest.mark.parametrize("text", TEXTS)
def test_names_do_not_change_an_answer(text: str) -> None:
    wanted = answer(text, PLAIN, 1)
    assert wanted
    for seed in range(4):
        assert answer(text, names_of(Random(seed)), 1) == wanted, names_of(Random(seed))


def test_names_that_the_lowering_would_give() -> None:
    text = "SELECT {k} AS {p}, {v} AS {q} FROM A [RANGE 5 SECONDS] EXCEPT SELECT {k}, {v} FROM B [RANGE 4 SECONDS]"
    names = PLAIN | {"k": "__l1", "v": "___r2", "p": "__l1", "q": "__r2"}
    assert answer(text, names, 1) == answer(text, PLAIN, 1)


def test_results_over_results_over_results() -> None:
    """Each names its own time after those that are there."""
    text, names = "SELECT * FROM A [RANGE 5 SECONDS]", {"ts": pa.int64(), "op": pa.string(), "exp": pa.int64()}
    shown = []
    for more in ({}, {"_ts": pa.int64(), "_op": pa.string()}, {"__TS": pa.int64()}):
        names |= more
        catalog = Catalog((Stream("A", Schema.of(**names), "ts", ts_unit=SECOND),))
        plan = plan_query(bind(text, catalog))
        shown.append((plan.time_column, plan.op_column, *plan.result_schema.names[len(names) :]))
    assert shown == [("_ts", "_op") * 2, ("__ts", "__op") * 2, ("___ts", "__op") * 2]
