"""Every query text of the shared vectors is read: it binds, or it is said to be beyond this version, and why."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from muntin.core.errors import QueryError, UnsupportedError
from muntin.core.schema import Field, Schema
from muntin.cql import bind, to_cql
from muntin.cql.parse import parse
from muntin.plan.catalog import Catalog, Stream, Table

pytestmark = pytest.mark.real


def _type(values: list[Any]) -> pa.DataType:
    kinds = {type(v) for v in values if v is not None}
    if kinds <= {bool} and kinds:
        return pa.bool_()
    if kinds <= {int}:
        return pa.int64()
    return pa.float64() if kinds <= {int, float} else pa.string()


def _schema(rows: list[dict[str, Any]]) -> Schema:
    names = dict.fromkeys(["ts", *(k for r in rows for k in r)])
    return Schema(tuple(Field(n, _type([r.get(n) for r in rows])) for n in names))


def _rows(rows: Any, base: Path) -> list[dict[str, Any]]:
    loaded = json.loads((base / rows["$ref"]).read_text()) if isinstance(rows, dict) else rows
    return [r.get("row", r) for r in loaded]


def _catalog(case: dict[str, Any], base: Path) -> Catalog:
    streams = {n: _schema(_rows(r, base)) for n, r in (case.get("streams") or {}).items()}
    tables = {n: _schema(_rows(r, base)) for n, r in (case.get("relations") or {}).items()}
    views = {n: Schema.of(ts=pa.int64()) for n, _ in case.get("views") or []}
    return Catalog(
        tuple(Stream(n, s, "ts", order=i) for i, (n, s) in enumerate(streams.items())),
        tuple(Table(n, s) for n, s in (tables | views).items()),
    )


def _texts(directory: Path) -> Iterator[tuple[str, Catalog]]:
    for path in sorted(directory.glob("*.json")):
        for case in json.loads(path.read_text()):
            texts = [case.get("cql"), case.get("expect_cql"), *(v[1] for v in case.get("views") or [])]
            catalog = _catalog(case, path.parent)
            yield from ((t, catalog) for t in texts if isinstance(t, str))


def test_every_text_is_read(shared: Path) -> None:
    bound = 0
    for text, catalog in _texts(shared / "vectors"):
        parse(text)
        try:
            query = bind(text, catalog)
        except UnsupportedError as e:
            assert e.line is not None and e.token, text
        except QueryError as e:  # the views of a case are tables here, and a window on a table is an error
            assert "tables have no window" in e.message, f"{e}: {text}"
        else:
            bound += 1
            assert bind(to_cql(query), catalog).root == query.root
    assert bound >= 90
