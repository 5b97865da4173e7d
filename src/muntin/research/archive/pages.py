"""The thesis' indices (4.4.1) page by page: sub-indices of buckets, in which every page read and written is counted.

Records of 1000 bytes lie in pages of 4096. A sub-index that an update touches is read whole (4.2: it is scanned for
what has expired) and written as its kind asks: *Rebuild* and REINDEX cluster it anew, one run of pages a key;
*NoRebuild* and DEL write the buckets that changed. A bucket has room for a fixed number of records, so that a sub-index
begins with 2.5 of them a key; records go where there is room, then to a new bucket. Each access to a sub-index costs
``DIRECTORY`` pages beside. Which sub-index a record belongs to is the product's own ``archive.layout``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from muntin.archive.layout import Layout, slots

PER_PAGE = 4
DIRECTORY = 1
BUCKETS = 2.5
KEYS = 100
UPDATES = 36

Ints = NDArray[np.int64]


@dataclass
class Records:
    """Records by key, expiry, and number of the bucket that they are in."""

    key: Ints
    exp: Ints
    bucket: Ints

    def where(self, mask: NDArray[np.bool_]) -> Records:
        return Records(self.key[mask], self.exp[mask], self.bucket[mask])


def no_records() -> Records:
    """None."""
    none = np.empty(0, np.int64)
    return Records(none, none, none)


@dataclass
class Cost:
    """Of one update, probe or scan: pages read and written, sub-indices accessed."""

    read: int = 0
    written: int = 0
    cells: int = 0

    @property
    def pages(self) -> int:
        return self.read + self.written


@dataclass
class PagedIndex:
    """An index of ``size`` records expected; time in units of the workload, updates every ``every``."""

    layout: Layout
    size: int
    every: int
    cells: dict[int, Records] = field(default_factory=dict)
    now: int = 0
    buckets: int = 0

    @property
    def room(self) -> int:
        """Records of a bucket (4.4.1)."""
        return max(round(self.size / (self.layout.size * KEYS * BUCKETS)), 1)

    def build(self, key: Ints, time: Ints, exp: Ints, now: int) -> None:
        """The building stage: what is alive at ``now``."""
        self.now = now
        for cell, (keys, exps) in self._by_cell(key, time, exp).items():
            self.cells[cell] = self._placed(no_records(), keys, exps)

    def update(self, key: Ints, time: Ints, exp: Ints, now: int) -> Cost:
        """Insert records that have come, delete those that have expired, at ``now``."""
        self.now, cost = now, Cost()
        live = exp > now
        arriving = self._by_cell(key[live], time[live], exp[live])
        expiring = {c for c, r in self.cells.items() if (r.exp <= now).any()}
        for cell in expiring | set(arriving):
            before = self.cells.get(cell, no_records())
            kept = before.where(before.exp > now)
            keys, exps = arriving.get(cell, (kept.key[:0], kept.exp[:0]))
            after = self._placed(kept, keys, exps)
            cost.cells += 1
            cost.read += DIRECTORY + self._pages(before)
            cost.written += DIRECTORY + self._changed(before, after)
            self.cells[cell] = after
        return cost

    def probe(self, key: int) -> Cost:
        """All records of a key."""
        return self._access([r.where(r.key == key) for r in self.cells.values()])

    def scan(self) -> Cost:
        """All records."""
        return self._access(list(self.cells.values()))

    def _access(self, found: list[Records]) -> Cost:
        return Cost(read=sum(DIRECTORY + self._pages(r) for r in found), cells=len(found))

    def _by_cell(self, key: Ints, time: Ints, exp: Ints) -> dict[int, tuple[Ints, Ints]]:
        where = self.layout.cells(slots(time, self.every), slots(exp, self.every), UPDATES)
        return {int(c): (key[where == c], exp[where == c]) for c in np.unique(where)}

    def _placed(self, kept: Records, key: Ints, exp: Ints) -> Records:
        """Records with new ones in their buckets; with *Rebuild* a key is a bucket."""
        if self.layout.update == "rebuild":
            keys = np.concatenate([kept.key, key])
            return Records(keys, np.concatenate([kept.exp, exp]), keys)
        bucket = np.empty(len(key), np.int64)
        for k in np.unique(key).tolist():
            mine = np.flatnonzero(key == k)
            bucket[mine] = self._rooms(kept.bucket[kept.key == k], len(mine))
        return Records(
            np.concatenate([kept.key, key]), np.concatenate([kept.exp, exp]), np.concatenate([kept.bucket, bucket])
        )

    def _rooms(self, used: Ints, wanted: int) -> Ints:
        """Buckets for new records of a key: free places of those that it has, then new ones."""
        have, counts = np.unique(used, return_counts=True)
        free = np.repeat(have, np.maximum(self.room - counts, 0))[:wanted]
        new = -(-(wanted - len(free)) // self.room)
        fresh = np.repeat(np.arange(self.buckets, self.buckets + new), self.room)[: wanted - len(free)]
        self.buckets += new
        return np.concatenate([free, fresh])

    def _pages(self, records: Records) -> int:
        return _pages_of(np.unique(records.bucket, return_counts=True)[1])

    def _changed(self, before: Records, after: Records) -> int:
        if self.layout.update == "rebuild":
            return self._pages(after)
        new, counts = np.unique(after.bucket, return_counts=True)
        old, earlier = np.unique(before.bucket, return_counts=True)
        was = np.zeros(len(new), np.int64)
        at = np.searchsorted(old, new)
        known = at < len(old)
        known[known] = old[at[known]] == new[known]
        was[known] = earlier[at[known]]
        lost = np.isin(new, before.bucket[before.exp <= self.now])
        return _pages_of(counts[(counts != was) | lost])


def _pages_of(counts: Ints) -> int:
    return int((-(-counts // PER_PAGE)).sum())
