"""Columns of results from many chunks equal taking and concatenating, for every kind of column."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from muntin.kernels.gathering import reordered
from muntin.kernels.spans import Spans
from muntin.operators.joins.assemble import Partners, Picked, Placed, Probing, column, placed_column

VALUES = {
    "int64": pa.array(range(50), pa.int64()),
    "int32": pa.array(range(50), pa.int32()),
    "int16": pa.array(range(50), pa.int16()),
    "double": pa.array([x / 7 for x in range(50)]),
    "timestamp": pa.array(range(50), pa.timestamp("us", "UTC")),
    "date": pa.array(range(50), pa.date32()),
    "nulls": pa.array([None if x % 3 == 0 else x for x in range(50)], pa.int64()),
    "bool": pa.array([x % 2 == 0 for x in range(50)]),
    "string": pa.array([f"s{x}" for x in range(50)]),
    "decimal": pa.array([Decimal(x) / 10 for x in range(50)], pa.decimal128(10, 2)),
    "list": pa.array([[x, x + 1] for x in range(50)]),
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("seed", range(3))
def test_columns_of_many_chunks(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = pa.RecordBatch.from_arrays([VALUES[name]], names=["c"])
    parts = []
    for _ in range(int(rng.integers(1, 5))):
        low = int(rng.integers(0, 30))
        chunk = rows.slice(low, int(rng.integers(1, 20)))
        parts.append(Picked(chunk, rng.integers(0, chunk.num_rows, int(rng.integers(0, 9))).astype(np.int32)))
    total = sum(len(p.index) for p in parts)
    if total == 0:
        return
    wanted = pa.concat_arrays([p.rows.column("c").take(pa.array(p.index)) for p in parts])
    found = column(parts, "c", total)
    assert found.equals(wanted) and found.type == wanted.type


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("seed", range(3))
def test_columns_of_chunks_whose_rows_go_to_runs_of_places(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = pa.RecordBatch.from_arrays([VALUES[name]], names=["c"])
    counts = rng.integers(0, 4, (3, 4))  # by part and run; runs of the parts lie side by side
    total = int(counts.sum())
    ends = np.cumsum(counts.T.ravel()).reshape(4, 3).T
    index = rng.integers(0, 10, total).astype(np.int32)
    wanted: list[object] = [None] * total
    parts = []
    for count, end in zip(counts, ends, strict=True):
        chunk = rows.slice(int(rng.integers(0, 30)), 10)
        low = np.ascontiguousarray(end - count)
        parts.append(Placed(chunk, index, low, low + count))
        for p in parts[-1].places():
            wanted[p] = chunk.column("c")[int(index[p])].as_py()
    found = placed_column(parts, "c", total)
    assert found.to_pylist() == wanted and found.type == VALUES[name].type


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("side", ["probing", "some of them probing", "partners"])
def test_columns_of_spans(name: str, side: str) -> None:
    rng = np.random.default_rng(len(name))
    rows = pa.RecordBatch.from_arrays([VALUES[name]], names=["c"])
    parts = []
    for _ in range(3):
        low, spans = int(rng.integers(0, 20)), int(rng.integers(1, 6))
        chunk = rows.slice(low, 20)
        first, count = rng.integers(0, 10, spans).astype(np.int32), rng.integers(1, 10, spans).astype(np.int32)
        found = Spans(np.sort(rng.integers(0, 9, spans)).astype(np.int32), first, count, int(count.sum()), 0)
        place = rng.permutation(20).astype(np.int32) if side.startswith("some") else None
        parts.append(Partners(chunk, found) if side == "partners" else Probing(chunk, found, place))
    wanted = pa.concat_arrays([p.rows.column("c").take(pa.array(p.index)) for p in parts])
    found = column(parts, "c", sum(map(len, parts)))
    assert found.equals(wanted) and found.type == wanted.type


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("picked", [0, 1, 30])
def test_reordered_rows_are_taken_rows(name: str, picked: int) -> None:
    rows = pa.RecordBatch.from_arrays([VALUES[name], VALUES["int32"]], names=["c", "d"]).slice(7, 20)
    order = np.random.default_rng(picked).integers(0, 20, picked)
    found = reordered(rows, order)
    assert found.equals(rows.take(pa.array(order))) and found.schema == rows.schema
