"""How the drop boxes of one query share out what it has to lose (Ayad & Naughton 2004, 4.2; windows of time).

A result has a row of each stream, so dropping alike at all of them loses a power of the share; what a row costs and
what it brings differs by stream. The model needs what a run measures: rates, windows, results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from muntin.optimizer.capacity.boxes import exchanged
from muntin.optimizer.capacity.model import Join, JoinCost, Leaf, Plan, Source, flow

COST = JoinCost(insert=2.0, probe=1.0, result=1.0)
"""Operations: a row is sent and kept, looks for partners, and each result is put together."""

MOST = 4
"""Streams up to which shares are found one by one."""


@dataclass(frozen=True)
class Scanned:
    """A scan of a query: the stream, and the seconds of its window (None: not a plain window of time)."""

    stream: str
    span: float | None


def stream_shares(
    scans: Sequence[Scanned], rates: Mapping[str, float], results: float, fraction: float, floor: float = 0.0
) -> dict[str, float]:
    """By stream the share to admit, so that about ``fraction`` of the work is left and as many results as possible.

    ``rates``: rows a second; ``results``: of the whole query, a second, were nothing dropped. No share is below
    ``floor``. Where a stream is scanned twice, a window is none of time, or nothing is known yet, all get the fraction.
    Cost: a few thousand evaluations of a model of n streams.
    """
    names = [s.stream for s in scans]
    even = dict.fromkeys(names, max(floor, fraction))
    known = all(rates.get(n, 0.0) > 0 for n in names)
    if len(set(names)) < len(names) or not 2 <= len(names) <= MOST or not known or any(not s.span for s in scans):
        return even
    sources = tuple(Source(s.stream, rates[s.stream], span=s.span) for s in scans)
    plan = _plan(sources, results)
    whole = flow(plan, sources).work
    found = exchanged(
        lambda x: flow(plan, sources, x).rate, lambda x: flow(plan, sources, x).work, len(sources), fraction * whole,
        precision=0.01,
    )  # fmt: skip
    return even if min(found) < floor else dict(zip(names, found, strict=True))


def _plan(sources: Sequence[Source], results: float) -> Plan:
    """Joins of the product keep no intermediate results: selectivities are even over the hops, and what is in between
    costs as what comes out."""
    windows = [s.window(s.rate) for s in sources]
    product = sum(s.rate * prod(windows) / w for s, w in zip(sources, windows, strict=True))
    each = min(1.0, max(results, 1e-9) / product) ** (1 / (len(sources) - 1))
    plan: Plan = Leaf(0)
    for k in range(1, len(sources)):
        plan = Join(plan, Leaf(k), each, COST)
    return plan
