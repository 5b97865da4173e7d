"""Which Spark partition a shard goes to: slot ids that Spark's own hash spreads evenly."""

from __future__ import annotations

from functools import lru_cache

_M = 0xFFFFFFFF


def murmur3_int(value: int, seed: int = 42) -> int:
    """Spark SQL's ``hash(cast(value as int))``: Murmur3 (x86, 32 bit) of one four-byte word, signed."""
    k = (value & _M) * 0xCC9E2D51 & _M
    k = ((k << 15) | (k >> 17)) & _M
    h = (seed ^ (k * 0x1B873593 & _M)) & _M
    h = ((h << 13) | (h >> 19)) & _M
    h = (h * 5 + 0xE6546B64) & _M
    h ^= 4
    h ^= h >> 16
    h = h * 0x85EBCA6B & _M
    h ^= h >> 13
    h = h * 0xC2B2AE35 & _M
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h


@lru_cache
def slot_ids(partitions: int) -> tuple[int, ...]:
    """One id for each partition p, with ``pmod(hash(id), partitions) = p``: ids 0, 1, 2 ... themselves may collide."""
    found: dict[int, int] = {}
    candidate = 0
    while len(found) < partitions:
        found.setdefault(murmur3_int(candidate) % partitions, candidate)
        candidate += 1
    return tuple(found[p] for p in range(partitions))


@lru_cache
def slots_of_shards(shards: int, partitions: int) -> tuple[int, ...]:
    """The slot id of every shard; shards go round the partitions. More partitions than shards are not used."""
    ids = slot_ids(min(partitions, shards))
    return tuple(ids[s % len(ids)] for s in range(shards))


def shards_of_slot(slot: int, shards: int, partitions: int) -> tuple[int, ...]:
    """The shards that live in a slot, ascending."""
    return tuple(s for s, x in enumerate(slots_of_shards(shards, partitions)) if x == slot)
