"""Nested values on Spark: its own text of an expression gives what the workers' columns give, and a query over them."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from nested_values import CATALOG, EXPRESSIONS, SCHEMA, expressions, row

import muntin
from muntin.cql.spark_sql import to_spark_sql
from muntin.scalars.evaluate import evaluate
from muntin.session import Session

pytestmark = [pytest.mark.spark, pytest.mark.any_spark]

ROWS = [row(Random(n), n) for n in range(60)]


def test_text_for_spark_and_columns_agree(spark: Any, tmp_path: Any) -> None:
    table = pa.Table.from_pylist(ROWS, schema=SCHEMA)
    pq.write_table(table, tmp_path / "f.parquet")
    df = spark.read.parquet(str(tmp_path / "f.parquet"))
    (batch,) = df.toArrow().rename_columns([f"f.{n}" for n in SCHEMA.names]).combine_chunks().to_batches()
    told = df.selectExpr(*(f"{to_spark_sql(e, lambda n: n[2:])} AS `{i}`" for i, (_, e) in enumerate(expressions())))
    got = told.toArrow()
    for i, (text, e) in enumerate(expressions()):
        wanted = evaluate(e, batch)
        assert list(map(repr, got.column(i).to_pylist())) == list(map(repr, wanted.to_pylist())), text
    assert len(EXPRESSIONS) == got.num_columns and CATALOG.stream("f") is not None


def test_a_query_over_nested_values_is_that_in_process(spark: Any, tmp_path: Any) -> None:
    table = pa.Table.from_pylist(ROWS, schema=SCHEMA)
    pq.write_table(table, tmp_path / "f.parquet")
    session = Session(spark, shards=2)
    session.stream("f", spark.read.parquet(str(tmp_path / "f.parquet")))
    text = (
        "SELECT a.page.url, a.m, a.tags, b.pages[0].in.x AS x FROM f a [RANGE 20 SECONDS], f b [RANGE 20 SECONDS] "
        "WHERE a.page.url = b.page.url AND size(a.tags) > 1 AND array_contains(b.tags, 'x')"
    )
    found = session.sql(text).to_df().toArrow()
    wanted = muntin.query(text, f=table)
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, wanted.to_pylist())) and len(found) > 20
