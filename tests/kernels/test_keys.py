"""Key equality and ids: NULLs, NaNs and zeros; and hashes that collide."""

import numpy as np
import pyarrow as pa
import pytest

from muntin.kernels import hashing, keys


def test_nan_zero_and_null_are_keys_like_any_other() -> None:
    column = pa.array([0.0, -0.0, float("nan"), None, np.float64("nan"), None, 1.0])
    ids, count, first = keys.key_ids([column], len(column))
    assert ids.tolist() == [0, 0, 1, 2, 1, 2, 3] and count == 4 and first.tolist() == [0, 2, 3, 6]


def test_equal_hashes_do_not_make_equal_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "hash_columns", lambda columns, rows: np.zeros(rows, np.int64))
    column = pa.array(["a", "b", "a", None])
    ids, count, _ = keys.key_ids([column], 4)
    assert ids.tolist() == [0, 1, 0, 2] and count == 3


@pytest.mark.parametrize(
    "column",
    [
        pa.array([5, None, 7], pa.int32()),
        pa.array(["x", None, "a longer text than eight bytes"]),
        pa.array([1, 2, None], pa.decimal128(30, 2)),
        pa.array([True, False, None]),
        pa.array([0, 1, None], pa.timestamp("us", "UTC")),
        pa.array([b"x", b"y", None]),
        pa.array([0, 19000, None], pa.date32()),
    ],
)
def test_slices_hash_as_their_copies_do(column: pa.Array) -> None:
    whole = hashing.hash_columns([column], 3)
    part = hashing.hash_columns([column.slice(1)], 2)
    assert part.tolist() == whole[1:].tolist() and len(set(whole.tolist())) == 3


def test_shards_are_even() -> None:
    h = hashing.hash_columns([pa.array(np.arange(64_000))], 64_000)
    counts = np.bincount(hashing.shard_of(h, 32), minlength=32)
    assert counts.min() > 1_700 and counts.max() < 2_300
