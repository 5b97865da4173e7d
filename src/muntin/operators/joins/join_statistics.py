"""What a join measures while it runs, kept in the heads of its shard's state: rates, lifetimes, distinct key values,
partners found per hop, and the orders that follow from them.

Every shard has its own, of the rows that it sees; nothing here changes an answer. Distinct values come from HyperLogLog
sketches (Apache DataSketches) of the hashed keys: of a batch's values those that fall into a share of the hash space
small enough for ``MOST_UPDATES`` of them are entered, and the estimate is scaled back. Two sketches, of the present
and of the last period of a window's length, let old values go.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import datasketches as ds
import numpy as np
from numpy.typing import NDArray

from muntin.core.batch import Batch
from muntin.core.time import FOREVER, SECOND
from muntin.kernels.hashing import hash_columns
from muntin.kernels.index import dense_ids
from muntin.kernels.keys import first_rows
from muntin.operators.joins.join_graph import GraphJoin, way_into
from muntin.operators.joins.order import Estimates, Orders, revised, unaided
from muntin.state.shard_state import ShardState

MOST_UPDATES = 2048
"""Values of one batch that are entered into a sketch."""

PRECISION = 9
"""Logarithm of a sketch's registers: a relative error of about 5 %."""

FRESH = 0.3
"""Weight of the newest measurement."""

STATISTICS = "statistics"
"""The head in which a join keeps them."""

FLUCTUATES = 0.5
"""A rate that differs from step to step by more than this share of what it was on average fluctuates."""

CHANGES = 8
"""Revised orders that are remembered."""

Ints = NDArray[np.int64]


@dataclass
class JoinStatistics:
    """The statistics of one join on one shard. ``rates``: rows per second; ``lives``: seconds a row is valid (None:
    for ever); ``since``: when the present sketches began; ``factors``: by kind of hop, partners found over
    predicted; ``swings``: by which share of itself a rate has changed from step to step; ``results``: of a row that
    came."""

    rates: list[float]
    lives: list[float | None]
    newest: int | None = None
    since: int | None = None
    sketches: dict[str, str] = field(default_factory=dict)
    older: dict[str, str] = field(default_factory=dict)
    shares: dict[str, int] = field(default_factory=dict)
    factors: dict[str, float] = field(default_factory=dict)
    orders: list[list[int]] | None = None
    waiting: list[int] = field(default_factory=list)
    changes: list[dict[str, Any]] = field(default_factory=list)
    sizes: list[float] = field(default_factory=list)
    swings: list[float] = field(default_factory=list)
    results: float = 0.0


class JoinMonitor:
    """Measures one step and says in which order it is to run. ``once``: as in ``join_order.cost``."""

    def __init__(self, op: GraphJoin, state: ShardState, once: bool = False) -> None:
        self.op, self.state, self.once = op, state, once
        held = state.heads.get(STATISTICS)
        n = len(op.columns)
        self.found = JoinStatistics(**held) if held else JoinStatistics([0.0] * n, [None] * n)
        self.estimates: Estimates | None = None
        self._orders: tuple[tuple[int, ...], ...] | None = None

    def arrived(
        self, batches: Sequence[Batch], sizes: Sequence[int], unindexed: frozenset[tuple[int, int]] = frozenset()
    ) -> None:
        """Take in the step's rows; ``sizes``: rows held by input, these included; ``unindexed``: as ``Estimates``."""
        before, moved = self.found.newest, self._moved(batches)
        for i, batch in enumerate(batches):
            rate = len(batch) / moved if moved else float(len(batch))
            if before is not None:
                self._swung(i, rate)
            self.found.rates[i] = _blend(self.found.rates[i], rate, before is not None)
            if len(batch):
                finite = batch.exp < FOREVER
                life = float((batch.exp - batch.ts)[finite].mean()) / SECOND if finite.any() else None
                self.found.lives[i] = life
                if len(batches) > 2:  # with two inputs there is no order to choose
                    self._sketch(i, batch)
        self.found.sizes = [float(s) for s in sizes]
        self.estimates = replace(_estimates(self.found, self.found.sizes), unindexed=unindexed)

    def estimates_before(self, batches: Sequence[Batch]) -> Estimates | None:
        """What the step before measured, with the rows that came now; None in the first."""
        held = self.found
        if held.newest is None or not held.sizes:
            return None
        return _estimates(held, [n + len(b) for n, b in zip(held.sizes, batches, strict=True)])

    def orders(self, at: int) -> tuple[tuple[int, ...], ...]:
        """The order of each origin in this step; a revision is remembered with the event time ``at``."""
        if self._orders is None:
            self._orders = self._revised(at)
        return self._orders

    def _revised(self, at: int) -> tuple[tuple[int, ...], ...]:
        assert self.estimates is not None
        held = self.found.orders
        now = None if held is None else Orders(tuple(map(tuple, held)), tuple(self.found.waiting))
        orders, changes = revised(self.op, self.estimates, now, self.once)
        self.found.orders, self.found.waiting = [list(o) for o in orders.orders], list(orders.waiting)
        added = [{"at": at, **asdict(c)} for c in changes]
        self.found.changes = [*self.found.changes, *added][-CHANGES:]
        return orders.orders

    def hop(self, bound: frozenset[int], j: int, tried: int, found: int) -> None:
        """``tried`` combinations visited input j and found so many partners."""
        assert self.estimates is not None
        expected = unaided(self.op, self.estimates, bound, j).found * tried
        if expected > 0 and tried:
            kind = way_into(self.op, bound, j).kind
            ratio = max(found, 0.5) / expected
            known = kind in self.found.factors
            self.found.factors[kind] = round(_blend(self.found.factors.get(kind, 1.0), ratio, known), 6)

    @property
    def each(self) -> float:
        """Results that a row made in the steps before."""
        return self.found.results

    def gave(self, results: int, batches: Sequence[Batch]) -> None:
        """These rows made so many results."""
        came = sum(map(len, batches))
        if came:
            self.found.results = round(_blend(self.found.results, results / came, self.found.results > 0), 6)

    def save(self) -> None:
        """Keep what was measured with the state."""
        self.state.heads[STATISTICS] = dict(vars(self.found))

    def _swung(self, i: int, rate: float) -> None:
        """Note how far the step's rate is from what it was."""
        swings = self.found.swings = self.found.swings or [0.0] * len(self.found.rates)
        known = self.found.rates[i]
        swings[i] = round(_blend(swings[i], abs(rate - known) / known if known else float(rate > 0), True), 6)

    def _moved(self, batches: Sequence[Batch]) -> float:
        """Seconds of event time since the newest row of the step before."""
        starts = [b.ts for b in batches if len(b)]
        if not starts:
            return 0.0
        top = max(int(s.max()) for s in starts)
        bottom = min(int(s.min()) for s in starts) if self.found.newest is None else self.found.newest
        self.found.newest = max(top, bottom)
        if self.found.since is None:
            self.found.since = bottom
        return max(top - bottom, 0) / SECOND

    def _sketch(self, i: int, batch: Batch) -> None:
        self._turn()
        for number, name in ((n, c) for n, k in enumerate(self.op.classes) for j, c in k if j == i):
            key = f"{number}.{i}"
            hashes = hash_columns([batch.columns.column(name)], len(batch))
            ids, count = dense_ids(hashes)
            values = hashes[first_rows(ids, count)]
            share = self.found.shares.get(key, 0)
            while (count >> share) > MOST_UPDATES:
                share += 1
            if share != self.found.shares.get(key, 0):  # fewer keys from now on: what was entered before does not fit
                self.found.sketches.pop(key, None)
                self.found.older.pop(key, None)
            self.found.shares[key] = share
            sketch = _read(self.found.sketches.get(key))
            for h in values[((values >> 20) & ((1 << share) - 1)) == 0].tolist():
                sketch.update(h)
            self.found.sketches[key] = _write(sketch)

    def _turn(self) -> None:
        """Begin new sketches when the present ones span a window's length."""
        lives = [x for x in self.found.lives if x is not None]
        period = int(max(lives, default=0.0) * SECOND)
        now, since = self.found.newest, self.found.since
        if period and now is not None and since is not None and now - since >= period:
            self.found.older, self.found.sketches, self.found.since = self.found.sketches, {}, now


def _estimates(found: JoinStatistics, sizes: Sequence[float]) -> Estimates:
    fluctuating = frozenset(i for i, swing in enumerate(found.swings) if swing > FLUCTUATES)
    return Estimates(
        tuple(map(float, sizes)), tuple(found.rates), distinct_of(found), dict(found.factors), fluctuating=fluctuating
    )


def estimates_of(heads: dict[str, Any]) -> dict[str, Any]:
    """Statistics as kept, with estimates in place of the sketches (``distinct``: by input, then by class)."""
    found = JoinStatistics(**heads)
    kept = {k: v for k, v in asdict(found).items() if k not in ("sketches", "older", "shares")}
    distinct: dict[int, dict[int, float]] = {}
    for (number, i), values in distinct_of(found).items():
        distinct.setdefault(i, {})[number] = values
    return kept | {"distinct": distinct}


def distinct_of(found: JoinStatistics) -> dict[tuple[int, int], float]:
    """Distinct values by (class, input), by what the sketches say."""
    estimates: dict[tuple[int, int], float] = {}
    for key, share in found.shares.items():
        number, i = map(int, key.split("."))
        union = ds.hll_union(PRECISION)
        for part in (h[key] for h in (found.sketches, found.older) if key in h):
            union.update(_read(part))
        estimates[number, i] = max(1.0, float(union.get_estimate()) * (1 << share))
    return estimates


def _blend(old: float, new: float, known: bool) -> float:
    return (1 - FRESH) * old + FRESH * new if known else new


def _read(text: str | None) -> ds.hll_sketch:
    return ds.hll_sketch(PRECISION) if text is None else ds.hll_sketch.deserialize(base64.b64decode(text))


def _write(sketch: ds.hll_sketch) -> str:
    return base64.b64encode(sketch.serialize_compact()).decode()
