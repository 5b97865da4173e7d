"""Every query text of the shared vectors binds, with its views and tables, and survives the round trip."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from muntin.core.schema import Field, Schema
from muntin.cql import bind, to_cql
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


def _table(name: str, rows: Any, base: Path) -> Table:
    changes = isinstance(rows, list) and bool(rows) and "op" in rows[0]
    return Table(name, _schema(_rows(rows, base)), "relation" if changes else "static")


def _catalog(case: dict[str, Any], base: Path) -> Catalog:
    streams = {n: _schema(_rows(r, base)) for n, r in (case.get("streams") or {}).items()}
    catalog = Catalog(
        tuple(Stream(n, s, "ts", order=i) for i, (n, s) in enumerate(streams.items())),
        tuple(_table(n, rows, base) for n, rows in (case.get("relations") or {}).items()),
    )
    for name, text in case.get("views") or []:
        catalog = catalog.with_view(name, text)
    return catalog


def _texts(directory: Path) -> Iterator[tuple[str, Catalog]]:
    for path in sorted(directory.glob("*.json")):
        for case in json.loads(path.read_text()):
            catalog = _catalog(case, path.parent)
            yield from ((t, catalog) for t in (case.get("cql"), case.get("expect_cql")) if isinstance(t, str))


def test_every_text_binds(shared: Path) -> None:
    texts = list(_texts(shared / "vectors"))
    assert len(texts) >= 200
    for text, catalog in texts:
        query = bind(text, catalog)
        assert bind(to_cql(query), catalog).root == query.root, text
