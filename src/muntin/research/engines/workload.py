"""Input of the comparison of engines: a synthetic trace, and real flows.

The trace of the thesis (wide-area TCP connections, 3.6.1) is not at hand. The synthetic one has what the text says of
it: one tuple per link and time unit, about 1,650 source addresses, about ten times as many source-destination pairs,
ftp a selective protocol, telnet with about ten times its join results.
"""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Trace:
    """Tuples of all links in time order. ``protocol``: 0 other, 1 ftp, 2 telnet. ``unit``: time between two
    arrivals on a link."""

    ts: Ints
    link: Ints
    source: Ints
    pair: Ints
    protocol: Ints
    unit: int = 1

    def __len__(self) -> int:
        return len(self.ts)

    def links(self, count: int) -> Trace:
        """Only the first ``count`` links."""
        keep = self.link < count
        return self._only(keep)

    def first(self, count: int) -> Trace:
        """The first ``count`` tuples."""
        return self._only(slice(count))

    def _only(self, which: slice | NDArray[np.bool_]) -> Trace:
        columns = (self.ts, self.link, self.source, self.pair, self.protocol)
        ts, link, source, pair, protocol = (c[which] for c in columns)
        return Trace(ts, link, source, pair, protocol, self.unit)


def synthetic(
    units: int, links: int, sources: int = 1650, skew: float = 0.35, shared: float = 1.0, seed: int = 1993
) -> Trace:
    """One tuple per link and time unit; sources by a Zipf law with exponent ``skew``, independent of the link.

    ``shared``: the share of link 1's tuples (link 0 is the first) whose sources also occur on other links; its other
    sources occur there alone. Protocols: 10 % ftp, 30 % telnet. Destinations: ten to a source, geometrically popular.
    """
    rng = np.random.default_rng(seed)
    count = units * links
    weights = np.arange(1, sources + 1) ** -skew
    source = rng.choice(sources, count, p=weights / weights.sum()).astype(np.int64)
    link = np.tile(np.arange(links, dtype=np.int64), units)
    away = (link == 1) & (rng.random(count) >= shared)
    source[away] += sources
    pair = source * 16 + np.minimum(rng.geometric(0.2, count) - 1, 15)
    protocol = rng.choice(3, count, p=[0.6, 0.1, 0.3]).astype(np.int64)
    return Trace(np.repeat(np.arange(units, dtype=np.int64), links), link, source, pair, protocol)


def sessions(
    units: int, active: int = 8, length: int = 64, watched: float = 0.4, sources: int = 1650, seed: int = 1993
) -> Trace:
    """Three links with locality: ``active`` sources at a time, each for about ``length`` units, then others.

    A source is seen on the third link only in a ``watched`` share of its sessions. On the others every active source
    is as likely as any.
    """
    rng = np.random.default_rng(seed)
    now_active = rng.integers(0, sources, active)
    seen = rng.random(active) < watched
    source = np.empty((units, 3), np.int64)
    for t in range(units):
        if rng.random() < active / length:
            place = int(rng.integers(active))
            now_active[place], seen[place] = rng.integers(sources), rng.random() < watched
        source[t] = now_active[rng.integers(0, active, 3)]
        on_third = now_active[seen]
        source[t, 2] = on_third[rng.integers(len(on_third))] if len(on_third) else sources
    count = 3 * units
    protocol = rng.choice(3, count, p=[0.6, 0.1, 0.3]).astype(np.int64)
    flat = source.reshape(-1)
    return Trace(
        np.repeat(np.arange(units, dtype=np.int64), 3),
        np.tile(np.arange(3, dtype=np.int64), units),
        flat,
        flat * 16,
        protocol,
    )


def flows(shared: Path, links: int, scenarios: tuple[str, ...] = ("Benign1", "Benign2", "CnC1", "CnC2")) -> Trace:
    """Real flows (IoT-23), each capture sorted alone and shifted to a common start; microseconds.

    Links by the hash of the destination's address. Protocols: tcp stands for ftp, udp for telnet.
    """
    with gzip.open(shared / "data" / "iot23-flows" / "flows.csv.gz", "rt", newline="") as file:
        rows = [r for r in csv.DictReader(file) if r["scenario"] in scenarios]
    first: dict[str, float] = {}
    for r in rows:
        first[r["scenario"]] = min(float(r["ts"]), first.get(r["scenario"], float("inf")))
    rows.sort(key=lambda r: float(r["ts"]) - first[r["scenario"]])
    ts = np.array([round(1e6 * (float(r["ts"]) - first[r["scenario"]])) for r in rows], np.int64)
    source = _numbers([r["id.orig_h"] + r["id.orig_p"] for r in rows])
    pair = _numbers([r["id.orig_h"] + r["id.resp_h"] for r in rows])
    link = np.array([sum(r["id.resp_h"].encode()) % links for r in rows], np.int64)
    protocol = np.array([{"tcp": 1, "udp": 2}.get(r["proto"], 0) for r in rows], np.int64)
    return Trace(ts, link, source, pair, protocol, max(1, int(ts[-1] - ts[0]) * links // len(ts)))


def _numbers(names: list[str]) -> Ints:
    known: dict[str, int] = {}
    return np.array([known.setdefault(n, len(known)) for n in names], np.int64)
