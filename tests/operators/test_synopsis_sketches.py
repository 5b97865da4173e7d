"""Sketches of panes: their errors are within bounds, and what they keep depends on the values alone."""

from __future__ import annotations

import datasketches
import numpy as np
import pyarrow as pa
import pytest

from muntin.operators.synopsis_sketches import (
    CUT,
    ERROR,
    Estimates,
    exact_up_to,
    hashes_of,
    ranks,
    registered,
    slots,
    tops,
)
from muntin.state.pane_partials import Partials


def counts(rng: np.random.Generator, cells: int, kinds: int) -> Partials:
    """Counted values of some panes and groups."""
    n = cells * kinds
    pane, group = np.sort(rng.integers(0, 3, n)), rng.integers(0, cells, n)
    groups = pa.record_batch({"g0": pa.array(group), "value": pa.array(rng.integers(-kinds, kinds, n))})
    return Partials(pane * 10, np.zeros(n, np.int64), groups, rng.zipf(1.5, n).clip(1, 99)).folded()


def of_cells(p: Partials) -> dict[tuple[int, int], list[tuple[int, int, int]]]:
    found: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    error = p.columns.get(ERROR, np.zeros(len(p.n), np.int64))
    rows = zip(p.pane, p.groups["g0"].to_pylist(), p.groups["value"].to_pylist(), p.n, error, strict=True)
    for pane, group, *row in rows:
        found.setdefault((int(pane), group), []).append(tuple(map(int, row)))
    return found


@pytest.mark.parametrize("seed", range(12))
def test_no_rank_is_wrong_by_more_than_is_said(seed: int) -> None:
    rng = np.random.default_rng(seed)
    accuracy = int(rng.choice([1, 3, 10, 50, 400]))
    plain = counts(rng, int(rng.integers(1, 5)), int(rng.choice([3, 40, 500])))
    sketch = ranks(plain, accuracy)
    known, kept = of_cells(plain), of_cells(sketch)
    assert known.keys() == kept.keys() and (np.diff(sketch.pane) >= 0).all()
    for cell, rows in known.items():
        size, error = sum(n for _, n, _ in rows), sum(e for _, _, e in kept[cell])
        assert error <= size / accuracy and sum(n for _, n, _ in kept[cell]) == size
        assert len(kept[cell]) <= max(accuracy, 1) + 5 or len(kept[cell]) == len(rows)
        assert {min(rows)[0], max(rows)[0]} <= {v for v, _, _ in kept[cell]}
        for value, _, _ in rows:
            upto, near = (sum(n for v, n, _ in part if v <= value) for part in (rows, kept[cell]))
            assert abs(upto - near) <= error


@pytest.mark.parametrize("seed", range(4))
def test_the_most_frequent_values_are_kept(seed: int) -> None:
    rng = np.random.default_rng(seed)
    plain, most = counts(rng, 2, 60), int(rng.choice([1, 5, 30, 1_000]))
    sketch = tops(plain, most)
    known, kept = of_cells(plain), of_cells(sketch)
    for cell, rows in known.items():
        best = sorted(rows, key=lambda r: (-r[1], r[0]))
        assert sorted((v, n) for v, n, _ in kept[cell]) == sorted((v, n) for v, n, _ in best[:most])
        assert sum(e for _, _, e in kept[cell]) == (best[most][1] if len(best) > most else 0)
    assert (CUT in sketch.columns) == any(len(rows) > most for rows in known.values())


def hashed(values: np.ndarray) -> Partials:
    n = len(values)
    groups = pa.record_batch({"value": hashes_of(pa.array(values))})
    return Partials(np.zeros(n, np.int64), np.zeros(n, np.int64), groups, np.ones(n, np.int64)).folded()


def merged(parts: list[Partials]) -> Partials:
    groups = pa.Table.from_batches([p.groups for p in parts]).combine_chunks().to_batches()[0]
    pane, sig, n = (np.concatenate([getattr(p, x) for p in parts]) for x in ("pane", "sig", "n"))
    return Partials(pane, sig, groups, n).folded()


def registers_of(p: Partials, size: int) -> np.ndarray:
    held = np.zeros(1 << size, np.int64)
    slot, rank = slots(np.asarray(p.groups["value"].to_numpy(), np.int64), size)
    np.maximum.at(held, slot, rank)
    return held


@pytest.mark.parametrize(("seed", "size", "kinds"), [(0, 7, 3_000), (1, 10, 90), (2, 12, 40_000), (3, 12, 900)])
def test_registers_depend_on_values_alone_and_estimates_are_within_bounds(seed: int, size: int, kinds: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 1 << 40, kinds)
    make = registered(size)
    parts = [make(hashed(rng.choice(values, kinds // 2))) for _ in range(9)] + [make(hashed(values))]
    one, other = make(merged(parts)), make(merged([make(merged(parts[6:])), *parts[:6]]))
    held = registers_of(hashed(values), size)
    for found in (one, other):
        assert (registers_of(found, size) == held).all()
        assert len(found.n) <= max(1 << size, 2 * exact_up_to(size))
    near, far = float((0.5 ** held[held < 32]).sum()), float((0.5 ** held[held >= 32]).sum())
    estimate, low, high = Estimates(size).of(near, far, int((held == 0).sum()))
    assert low <= len(set(values.tolist())) <= high and low <= estimate <= high


def test_an_estimate_is_that_of_the_library_for_a_union() -> None:
    union = datasketches.hll_union(12)
    for part in range(3):
        sketch = datasketches.hll_sketch(12, datasketches.tgt_hll_type.HLL_8)
        for v in range(part * 4_000, part * 4_000 + 7_000):
            sketch.update(v)
        union.update(sketch)
    whole = union.get_result(datasketches.tgt_hll_type.HLL_8)
    held = np.frombuffer(whole.serialize_updatable()[40:], np.uint8).astype(np.int64)
    sums = float((0.5 ** held[held < 32]).sum()), float((0.5 ** held[held >= 32]).sum()), int((held == 0).sum())
    assert Estimates(12).of(*sums)[0] == round(whole.get_estimate())
