"""States merged beforehand: each block's state is that of its items, and few of them make up any tail of a run."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from muntin.aggregates.state_runs import FAN, StateRuns, _Tail, block_end
from muntin.plan.aggregates import Evaluate


class Listed:
    """The values themselves, in the order in which they are merged."""

    def init(self) -> list[Any]:
        return []

    def add(self, state: list[Any], value: Any) -> list[Any]:
        state.append(value)
        return state

    def merge(self, a: list[Any], b: list[Any]) -> list[Any]:
        a.extend(b)
        return a

    def finish(self, state: list[Any]) -> list[Any]:
        return state


RUNS = StateRuns("s", Evaluate(Listed()), Listed().add)


@pytest.mark.parametrize("count", [1, 2, FAN - 1, FAN, FAN + 1, FAN**2, FAN**2 + 3, 700])
def test_the_state_at_a_place_is_that_of_its_block(count: int) -> None:
    states = RUNS._states(list(range(count)))
    for place, stored in enumerate(states):
        assert Evaluate(Listed()).unpack(stored) == list(range(place, block_end(place, count)))
    assert block_end(0, count) == count


@pytest.mark.parametrize("seed", range(5))
def test_a_tail_is_a_few_states(seed: int) -> None:
    rng = Random(seed)
    group = np.sort(np.array([rng.randint(1, 3) for _ in range(900)]))
    exp = np.array([rng.randint(0, 500) for _ in range(900)])
    run = RUNS._run(pa.array(range(900)), group, exp)
    for wanted in (1, 2, 3):
        begin, end = np.searchsorted(run["__g"].to_numpy(), [wanted, wanted + 1])
        tail = _Tail(run, run["__exp"].to_numpy(), int(begin), int(begin), int(end))
        for now in sorted(rng.sample(range(-1, 502), 30)):
            found = [Evaluate(Listed()).unpack(s) for s in tail.states(now)]
            valid = sorted(i for i in range(900) if group[i] == wanted and exp[i] > now)
            assert sorted(v for part in found for v in part) == valid
            assert len(found) <= 1 + np.log(900) / np.log(FAN)
