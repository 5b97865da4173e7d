"""The streams of ``muntin bench overload``, and what of their exact answer a run gave.

Two streams whose partners are some seconds apart, joined by a condition that no index helps (the square of a
difference), so that work is in looking at pairs, as in Gedik et al. (6.2).
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

WINDOW, LAG, KAPPA, DOMAIN, PERIOD = 20.0, 12.0, 10.0, 1000.0, 50.0
"""Seconds of both windows; by how much partners in ``r`` are older; deviation of values; values and their period."""

TEXT = (
    "Istream(SELECT l.n AS a, r.n AS b FROM l [RANGE 20 SECONDS], r [RANGE 20 SECONDS] "
    "WHERE (l.x - r.x) * (l.x - r.x) <= 0.01)"
)
EXACT = TEXT.replace("(l.x - r.x) * (l.x - r.x) <= 0.01", "ABS(l.x - r.x) <= 0.1")
"""The same condition as one that an index helps."""

PIECE = 0.5
"""Seconds from file to file."""

SLICE = 20_000
"""Rows of ``l`` whose pairs are compared at a time."""


def rows_at(rng: np.random.Generator, name: str, since: float, seconds: float, rate: int, first: int) -> pa.Table:
    """Rows of a stream over some seconds (since 1970): number, value, time."""
    n = round(seconds * rate)
    t = since + np.sort(rng.random(n)) * seconds
    lead = LAG if name == "r" else 0.0  # a row of r shows what a row of l shows LAG seconds later
    x = np.mod(DOMAIN / PERIOD * (t + lead) + KAPPA * rng.standard_normal(n), DOMAIN)
    us = pa.array((t * 1e6).astype(np.int64), pa.timestamp("us", "UTC"))
    return pa.table({"ts": us, "n": np.arange(first, first + n), "x": x})


@dataclass
class Writer:
    """Puts a file of each stream every ``PIECE`` seconds, with the rows of that time."""

    folder: Path
    rate: int
    seconds: float
    kept: dict[str, list[pa.Table]] = field(default_factory=lambda: {"l": [], "r": []})

    def run(self) -> None:
        """Until all have come."""
        rng, start, done = np.random.default_rng(1), time.time(), 0
        for number in range(round(self.seconds / PIECE)):
            time.sleep(max(0.0, start + (number + 1) * PIECE - time.time()))
            for name, tables in self.kept.items():
                table = rows_at(rng, name, start + number * PIECE, PIECE, self.rate, done)
                put(self.folder / name, number, table)
                tables.append(table)
            done += round(PIECE * self.rate)


def put(folder: Path, number: int, table: pa.Table) -> None:
    """A file that appears whole; Spark takes files in the order of their times, which go by their numbers."""
    folder.mkdir(parents=True, exist_ok=True)
    hidden = folder / f".{number:06d}"
    pq.write_table(table, hidden)
    os.utime(hidden, (1_600_000_000 + number, 1_600_000_000 + number))
    hidden.rename(folder / f"{number:06d}.parquet")


@dataclass(frozen=True)
class Compared:
    """``results``: pairs that were given, ``exact``: that there are; ``subset``: whether all of those given are among
    them, each once."""

    results: int
    exact: int
    subset: bool


def compared(kept: Mapping[str, Sequence[pa.Table]], given: Sequence[pa.Table], upto: int | None) -> Compared:
    """What came out against all pairs of rows before ``upto`` (microseconds since 1970; None: of all rows). Pairs with
    the rows that were there before, whose numbers are negative, are left out.

    Cost: the exact join, in slices of ``SLICE`` rows, by an index.
    """
    codes = np.sort(np.concatenate([_codes(t) for t in given] or [np.empty(0, np.int64)]))
    codes = codes[codes >= 0]
    left, right = (_before(pa.concat_tables(kept[n]), upto) for n in "lr")
    subset, exact, found = len(np.unique(codes)) == len(codes), 0, 0
    for at in range(0, len(left), SLICE):
        own = _codes(exact_pairs(left.slice(at, SLICE), right))
        numbers = left.column("n").slice(at, SLICE).to_numpy()
        low, high = np.searchsorted(codes, [int(numbers[0]) << 31, (int(numbers[-1]) + 1) << 31])
        exact, found = exact + len(own), found + int(high - low)
        subset = subset and bool(np.isin(codes[low:high], own).all())
    return Compared(len(codes), exact, subset and found == len(codes))


def exact_pairs(left: pa.Table, right: pa.Table) -> pa.Table:
    """What a join that has all the time gives, of rows of ``l`` that follow one another."""
    from muntin import query

    if not len(left):
        return pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.int64())})
    at = _microseconds(left)
    other = _microseconds(right)
    low, high = np.searchsorted(other, [at[0] - int(WINDOW * 1e6), at[-1] + int(WINDOW * 1e6) + 1])
    return query(EXACT, l=left, r=right.slice(int(low), int(high - low))).select(["a", "b"])


def _before(table: pa.Table, upto: int | None) -> pa.Table:
    return table if upto is None else table.slice(0, int(np.searchsorted(_microseconds(table), upto)))


def _microseconds(table: pa.Table) -> NDArray[np.int64]:
    found: NDArray[np.int64] = table.column("ts").cast(pa.int64()).to_numpy()
    return found


def _codes(table: pa.Table) -> np.ndarray[Any, np.dtype[np.int64]]:
    a, b = (table.column(n).to_numpy().astype(np.int64) for n in ("a", "b"))
    return np.where((a < 0) | (b < 0), -1, a * (1 << 31) + b)
