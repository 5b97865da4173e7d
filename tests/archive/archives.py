"""Random rows, and what an archive of them must hold."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from muntin.archive import Archive, Snapshot

SCHEMA = pa.schema([("k", pa.string()), ("v", pa.int64()), ("ts", pa.int64()), ("exp", pa.int64())])
KEYS = ["a", "b", "", "\u00e9", "\u65e5\u672c", "\U0001f40d", None, "zz"]
FLOATS = [1.5, -0.0, 0.0, float("nan"), float("inf"), float("-inf"), None, 2.0]


def plain(value: Any) -> Any:
    """NaN equals itself, and -0.0 is 0.0."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def bag(rows: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(plain(r[c]) for c in ("k", "v", "ts", "exp")) for r in rows.to_pylist())


@dataclass
class Model:
    """All rows that were written, and the time that has come: a brute-force filter is the answer."""

    rows: list[tuple[Any, int, int, int]] = field(default_factory=list)
    now: int = 0

    def live(self, at: int | None = None) -> Counter[tuple[Any, ...]]:
        time = self.now if at is None else at
        return Counter((plain(k), v, ts, exp) for k, v, ts, exp in self.rows if exp > time)

    def with_key(self, key: Any) -> Counter[tuple[Any, ...]]:
        return Counter({r: n for r, n in self.live().items() if r[0] == plain(key)})

    def between(self, low: Any, high: Any) -> Counter[tuple[Any, ...]]:
        return Counter(
            {r: n for r, n in self.live().items() if r[0] is not None and r[0] != "NaN" and low <= r[0] <= high}
        )


@dataclass
class Feed:
    """Batches of rows with random lifetimes, keys and rates."""

    rng: random.Random
    keys: list[Any]
    span: int
    model: Model = field(default_factory=Model)
    number: int = 0

    def batch(self, step: int, most: int, schema: pa.Schema = SCHEMA) -> pa.Table:
        """Rows of the next ``step`` units of time: most of them on time, some late, some longer-lived than promised."""
        start, self.model.now = self.model.now, self.model.now + step
        fresh = []
        for _ in range(self.rng.randrange(most + 1)):
            late = self.rng.random() < 0.05
            ts = self.rng.randrange(start - 5, start + 1) if late else self.rng.randrange(start + 1, self.model.now + 1)
            lifetime = self.rng.randrange(1, self.span + 1) * (3 if self.rng.random() < 0.02 else 1)
            fresh.append((self.rng.choice(self.keys), self.number, ts, ts + lifetime))
            self.number += 1
        self.model.rows += fresh
        columns = [pa.array([r[i] for r in fresh], f.type) for i, f in enumerate(schema)]
        return pa.table(columns, schema=schema)


def check(snapshot: Snapshot, model: Model, keys: list[Any], ranges: list[tuple[Any, Any]]) -> None:
    """Probes of every key, ranges and a scan equal the filter."""
    assert bag(snapshot.scan()) == model.live()
    for key in keys:
        assert bag(snapshot.probe(key)) == model.with_key(key), key
    for low, high in ranges:
        assert bag(snapshot.range(low, high)) == model.between(low, high), (low, high)
    later = model.now + 7
    assert bag(snapshot.scan(as_of=later)) == model.live(later)


def on_disk(archive: Archive) -> set[str]:
    return set(archive.files.names("data"))
