"""The order in which a join visits its windows: what is predicted, what is measured, and when an order is revised."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest

from muntin.core.batch import Batch
from muntin.core.time import SECOND
from muntin.operators.joins.join_graph import GraphJoin, edge_indexes, way_into
from muntin.operators.joins.join_statistics import JoinMonitor, distinct_of
from muntin.operators.joins.order import GAIN, PATIENCE, Estimates, Orders, best_order, cost, revised, unaided
from muntin.state.shard_state import ShardState

CHAIN = (((0, "a.k"), (1, "b.k")), ((1, "b.j"), (2, "c.j")))
NAMES = (("a.k",), ("b.k", "b.j"), ("c.j",))


def chain() -> GraphJoin:
    return GraphJoin(NAMES, CHAIN, indexes=edge_indexes(CHAIN, 3))


def estimates(sizes: tuple[float, ...], **factors: float) -> Estimates:
    distinct = {(0, 0): 50.0, (0, 1): 100.0, (1, 1): 10.0, (1, 2): 10.0}
    return Estimates(sizes, (10.0, 10.0, 10.0), distinct, factors)


def test_a_hop_finds_size_over_the_larger_number_of_values() -> None:
    hop = unaided(chain(), estimates((1000.0, 2000.0, 30.0)), frozenset([0]), 1)
    assert hop.found == 2000 / 100 and hop.touched == 2000 / 100
    assert unaided(chain(), estimates((1000.0, 2000.0, 30.0)), frozenset([1]), 0).found == 1000 / 100


def test_an_input_without_an_equality_to_the_bound_ones_is_read_through() -> None:
    assert way_into(chain(), frozenset([0]), 2).index is None
    assert unaided(chain(), estimates((10.0, 10.0, 30.0)), frozenset([0]), 2).touched == 30.0


@pytest.mark.parametrize("seed", range(20))
def test_the_best_order_of_few_inputs_is_the_cheapest_of_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    found = estimates(tuple(float(x) for x in rng.integers(1, 5000, 3)))
    for origin in range(3):
        others = [j for j in range(3) if j != origin]
        best = best_order(chain(), found, origin)
        assert cost(chain(), found, origin, best) == min(cost(chain(), found, origin, o) for o in permutations(others))


def test_an_order_is_revised_only_after_the_gain_was_promised_more_than_once() -> None:
    small_a, small_c = estimates((1.0, 100.0, 5000.0)), estimates((5000.0, 100.0, 1.0))
    orders, changes = revised(chain(), small_a, None)
    assert orders.orders[1] == (0, 2) and not changes, "the first order is the best one at once"
    for step in range(PATIENCE - 1):
        orders, changes = revised(chain(), small_c, orders)
        assert not changes and orders.waiting[1] == step + 1
    orders, changes = revised(chain(), small_c, orders)
    assert [(c.origin, c.old, c.new) for c in changes if c.origin == 1] == [(1, (0, 2), (2, 0))]
    assert all(c.cost_new < (1 - GAIN) * c.cost_old for c in changes)


def test_a_promise_that_is_not_kept_up_counts_from_the_start() -> None:
    small_a, small_c = estimates((1.0, 100.0, 5000.0)), estimates((5000.0, 100.0, 1.0))
    orders, _ = revised(chain(), small_a, None)
    orders, _ = revised(chain(), small_c, orders)
    orders, _ = revised(chain(), small_a, orders)
    assert orders.waiting == (0, 0, 0)
    assert not revised(chain(), small_c, orders)[1]


def test_a_gain_below_the_threshold_changes_nothing() -> None:
    even = Orders(((1, 2), (0, 2), (1, 0)), (0, 0, 0))
    nearly = estimates((100.0, 100.0, 95.0))
    for _ in range(3 * PATIENCE):
        even, changes = revised(chain(), nearly, even)
        assert all(c.origin != 1 for c in changes)


def test_what_a_hop_finds_corrects_the_prediction() -> None:
    kind = way_into(chain(), frozenset([0]), 1).kind
    plain = estimates((1000.0, 1000.0, 1000.0))
    skewed = Estimates(plain.sizes, plain.rates, plain.distinct, {kind: 40.0})
    assert cost(chain(), skewed, 0, (1, 2)) > 10 * cost(chain(), plain, 0, (1, 2))


def batch(keys: np.ndarray, start: int) -> Batch:
    ts = np.full(len(keys), start * SECOND, np.int64)
    columns = pa.RecordBatch.from_arrays([pa.array(keys), pa.array(keys % 7)], names=["b.k", "b.j"])
    return Batch(columns, ts, ts + 20 * SECOND)


@pytest.mark.parametrize("values", [40, 3_000, 50_000])
def test_sketches_estimate_distinct_values_of_large_and_small_batches(values: int) -> None:
    rng, monitor = np.random.default_rng(values), JoinMonitor(chain(), ShardState())
    empty = [Batch.empty(pa.schema([pa.field(n, pa.int64()) for n in names])) for names in NAMES]
    for step in range(6):
        monitor.arrived([empty[0], batch(rng.integers(0, values, 30_000), step), empty[2]], [0, 30_000, 0])
    found = distinct_of(monitor.found)
    assert found[0, 1] == pytest.approx(values, rel=0.2) and found[1, 1] == pytest.approx(7, rel=0.2)


def test_old_values_are_forgotten_within_two_windows() -> None:
    monitor = JoinMonitor(chain(), ShardState())
    empty = [Batch.empty(pa.schema([pa.field(n, pa.int64()) for n in names])) for names in NAMES]
    for step in range(0, 20, 5):
        monitor.arrived([empty[0], batch(np.arange(1000), step), empty[2]], [0, 0, 0])
    for step in range(20, 80, 5):
        monitor.arrived([empty[0], batch(np.arange(10), step), empty[2]], [0, 0, 0])
    assert distinct_of(monitor.found)[0, 1] == pytest.approx(10, rel=0.2)


def test_statistics_survive_in_the_state() -> None:
    state = ShardState()
    monitor = JoinMonitor(chain(), state)
    empty = [Batch.empty(pa.schema([pa.field(n, pa.int64()) for n in names])) for names in NAMES]
    monitor.arrived([empty[0], batch(np.arange(500), 1), empty[2]], [0, 500, 0])
    monitor.orders(0)
    monitor.save()
    again = JoinMonitor(chain(), state)
    assert again.found == monitor.found and again.found.lives[1] == 20.0
