"""Pane partials against the rows that they stand for."""

from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from muntin.aggregates.description import ROWS
from muntin.aggregates.panes import fold_panes, wanted_of
from muntin.core.batch import Batch
from muntin.plan.exprs import Agg, Column
from muntin.state.window_rows import EXP, START, stored

X = Column("x", pa.int64())


def rows(rng: Random, n: int, values: pa.Array) -> Batch:
    keys = pa.array([rng.choice(("a", "b", None)) for _ in range(n)])
    start = np.array([rng.randrange(3) * 10 for _ in range(n)], np.int64)
    return Batch(pa.RecordBatch.from_arrays([keys, values], names=["k", "x"]), start, start + 30)


def listed(batch: Batch) -> list[dict[str, Any]]:
    """The rows with their times, as they would be kept."""
    return stored(batch).to_pylist()


def wanted(*functions: str) -> dict[str, frozenset[str]]:
    return dict(wanted_of((Agg(f, X, pa.int64()), "x") for f in functions)) | {"": frozenset({"count"})}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("decimal", [False, True])
def test_partials_are_what_their_rows_add_up_to(seed: int, decimal: bool) -> None:
    rng = Random(seed)
    plain = [rng.choice((None, rng.randint(-50, 50))) for _ in range(rng.randint(1, 40))]
    given = [Decimal(v) / 100 if decimal and v is not None else v for v in plain]
    before = rows(rng, len(given), pa.array(given, pa.decimal128(10, 2) if decimal else pa.int64()))
    folded = listed(fold_panes(before, ("k",), wanted("avg", "min", "max")))
    expected: dict[tuple[object, ...], list[object]] = {}
    for row in listed(before):
        expected.setdefault((row[START], row[EXP], row["k"]), []).append(row["x"])
    assert len(folded) == len(expected) and folded == sorted(folded, key=lambda r: r[START])
    for row in folded:
        values = expected[row[START], row[EXP], row["k"]]
        known = [v for v in values if v is not None]
        assert (row[ROWS], row["x.count"]) == (len(values), len(known))
        assert row["x.sum"] == (sum(known) if known else None)
        assert (row["x.min"], row["x.max"]) == ((min(known), max(known)) if known else (None, None))


def test_rows_whose_sum_leaves_64_bits_stay_apart() -> None:
    top = 2**63 - 1
    before = Batch(
        pa.RecordBatch.from_arrays([pa.array(["a", "b", "a", "b"]), pa.array([top, 1, top, 2])], names=["k", "x"]),
        np.zeros(4, np.int64), np.full(4, 10, np.int64),
    )  # fmt: skip
    folded = listed(fold_panes(before, ("k",), wanted("sum")))
    assert sorted((r["k"], r["x.sum"], r[ROWS]) for r in folded) == [("a", top, 1), ("a", top, 1), ("b", 3, 2)]


def test_without_groups_a_pane_is_one_row() -> None:
    before = rows(Random(0), 9, pa.array(range(9)))
    folded = listed(fold_panes(before, (), wanted("sum")))
    assert len(folded) == len({r[START] for r in listed(before)})
    assert sum(r["x.sum"] for r in folded) == sum(range(9))
