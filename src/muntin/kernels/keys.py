"""Keys of any type as dense ids: by hash where that proves equality, confirmed on the columns otherwise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from muntin.kernels.hashing import as_float64, canonical_bits, exact, hash_columns, texts
from muntin.kernels.index import dense_ids


def columns_equal(left: pa.Array, right: pa.Array) -> NDArray[np.bool_]:
    """Row by row equality as keys: NULL equals NULL, NaN equals NaN, -0.0 equals 0.0."""
    if pa.types.is_floating(left.type):
        same = canonical_bits(as_float64(left)) == canonical_bits(as_float64(right))
    elif pa.types.is_null(left.type):
        return np.ones(len(left), np.bool_)
    elif pa.types.is_nested(left.type):
        same = np.array([a == b for a, b in zip(texts(left), texts(right), strict=True)], np.bool_)
    else:
        same = np.asarray(pc.fill_null(pc.equal(left, right), False).to_numpy(zero_copy_only=False), np.bool_)
    if left.null_count or right.null_count:
        gone = [np.asarray(pc.is_null(c).to_numpy(zero_copy_only=False), np.bool_) for c in (left, right)]
        same = np.where(gone[0] | gone[1], gone[0] & gone[1], same)
    return same


def key_ids(
    columns: Sequence[pa.Array], rows: int, hashes: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.int64], int, NDArray[np.int64]]:
    """(id by row, number of ids, first row by id): equal keys get equal ids, numbered by first appearance.

    Two keys with one hash are told apart on the columns (then the slow way, key by key, is taken once). ``hashes``:
    ``hash_columns(columns, rows)`` where it is known.
    """
    ids, count = dense_ids(hash_columns(columns, rows) if hashes is None else hashes)
    first = first_rows(ids, count)
    if not (exact([c.type for c in columns]) and all(c.null_count == 0 for c in columns)):
        index = pa.array(first[ids])
        if not all(columns_equal(c, c.take(index)).all() for c in columns):
            return _by_value(columns, rows)
    return ids, count, first


def first_rows(ids: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The first row with each id."""
    first = np.empty(count, np.int64)
    first[ids[::-1]] = np.arange(len(ids) - 1, -1, -1)
    return first


def _by_value(columns: Sequence[pa.Array], rows: int) -> tuple[NDArray[np.int64], int, NDArray[np.int64]]:
    plain = [
        canonical_bits(as_float64(c)).tolist() if pa.types.is_floating(c.type) and not c.null_count else c.to_pylist()
        for c in columns
    ]
    known: dict[tuple[object, ...], int] = {}
    ids = np.array([known.setdefault(key, len(known)) for key in zip(*plain, strict=True)], np.int64)
    return ids, len(known), first_rows(ids, len(known))
