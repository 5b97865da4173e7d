"""How rows reach a vertex: the routes of a graph's edges, and the one function that spreads rows over shards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from muntin.kernels.gathering import reordered
from muntin.kernels.hashing import hash_columns
from muntin.kernels.placing import shard_order
from muntin.operators.joins.hot_keys import parts


@dataclass(frozen=True)
class Here:
    """Rows stay on the shard that made them."""


HERE = Here()


@dataclass(frozen=True)
class Keyed:
    """Rows with equal values of these columns meet on one shard."""

    columns: tuple[str, ...]


@dataclass(frozen=True)
class Split:
    """As ``Keyed``, but rows of hot keys go to every shard, which take turns in joining them (``joins.hot_keys``)."""

    columns: tuple[str, ...]


@dataclass(frozen=True)
class Everywhere:
    """Every shard gets every row."""


@dataclass(frozen=True)
class Single:
    """All rows go to shard 0."""


Route = Here | Keyed | Split | Everywhere | Single


def route(
    rows: pa.RecordBatch, way: Route, shards: int, shard: int, hot: Sequence[int] = (), first: int = 0
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """(shard, its rows in their order) for every shard that gets any; ``shard``: the one that sends.

    ``hot``: hashes of hot keys, and ``first`` where their turns begin (``Split`` adds a column of roles). Cost: one
    pass over the rows; nothing is copied for ``Here``, ``Everywhere`` and ``Single``.
    """
    match way:
        case Here():
            yield shard, rows
        case Single():
            yield 0, rows
        case Everywhere():
            yield from ((s, rows) for s in range(shards))
        case Split(columns):
            yield from parts(rows, [rows.column(c) for c in columns], shards, hot, first)
        case Keyed(columns):
            yield from _by_key(rows, [rows.column(c) for c in columns], shards)


def _by_key(rows: pa.RecordBatch, keys: list[pa.Array], shards: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    if shards == 1:
        if rows.num_rows:
            yield 0, rows
        return
    order, ends = shard_order(hash_columns(keys, rows.num_rows), shards)
    ordered = reordered(rows, order)
    start = 0
    for s, end in enumerate(ends.tolist()):
        if end > start:
            yield s, ordered.slice(start, end - start)
        start = end


def route_text(way: Route, names: Sequence[str]) -> str:
    """A route in words; ``names``: what people call the columns c0, c1, ..."""
    match way:
        case Here():
            return "same shard"
        case Single():
            return "one shard"
        case Everywhere():
            return "every shard"
        case Split(columns):
            return f"by ({', '.join(_named(columns, names))}), hot keys split"
        case Keyed(columns):
            return f"by ({', '.join(_named(columns, names))})"


def _named(columns: Sequence[str], names: Sequence[str]) -> list[str]:
    return [names[int(c[1:])] if int(c[1:]) < len(names) else c for c in columns]
