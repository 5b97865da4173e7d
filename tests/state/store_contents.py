"""What the tests of the pane store write, and what they read of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from muntin.state.shard_state import ShardState

QUERY = "0b5e7c1e-5f0e-4ef7-9e5c-1d6b0a0a3f11"
PRINT = {"shards": 4}
CELLS = [f"sig/0/{i}" for i in range(4)]


def rows(*values: int | None) -> pa.RecordBatch:
    return pa.record_batch(
        {"v": pa.array(values, pa.int64()), "s": pa.array([None if v is None else f"t{v}" for v in values])}
    )


def state_of(*chunks: pa.RecordBatch, **heads: Any) -> ShardState:
    state = ShardState(heads=dict(heads))
    for c in chunks:
        state.append("panes", c, min_ts=int(c.column(0)[0].as_py() or 0))
    return state


def contents(states: dict[str, ShardState]) -> dict[str, Any]:
    """All that a state is, as plain values."""
    return {
        cell: (
            s.heads,
            {
                name: [(c.meta, c.load().schema, c.load().num_rows, c.load().to_pylist()) for c in cs]
                for name, cs in s.chunks.items()
            },
        )
        for cell, s in states.items()
    }


def data_files(tmp_path: Path) -> list[Path]:
    return sorted(tmp_path.rglob("*.chunks"))


def manifests(tmp_path: Path) -> list[Path]:
    return sorted(tmp_path.rglob("*.manifest"))
