"""One-time queries while batches are committed: of which state each isolation's answers are."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection
from copy import deepcopy
from typing import Any

import pytest
from test_history import JOINED, SHOWN, data
from test_one_time import OVER_A, OVER_BOTH, at_work, by_duckdb, rounded

from muntin.local import pane_reads
from muntin.local.one_time import Isolation, OneTimeAnswer, OvertakenError, one_time
from muntin.local.runtime import LocalPipeline
from muntin.state.shard_state import ShardState
from muntin.state.snapshots import Snapshot

TEXTS = [*OVER_A[:5], *OVER_BOTH]


class Committing:
    """Versions of a local pipeline, which takes in a batch wherever ``when`` (asked again and again) says so."""

    def __init__(self, pipeline: LocalPipeline, batches: list[Any], done: int, when: Callable[[], bool]) -> None:
        self.pipeline, self.batches, self.done, self.when = pipeline, batches, done, when

    def newest(self) -> int:
        self.step()
        return self.done - 1

    def open(self, vertices: Collection[str]) -> Snapshot | None:
        cells: dict[str, dict[int, ShardState]] = {}
        for name, state in self.pipeline.cells().items():
            id, _, shard = name.rpartition("/")
            chunks = {n: list(c) for n, c in state.chunks.items()}
            cells.setdefault(id, {})[int(shard)] = ShardState(chunks, deepcopy(state.heads))
        return Snapshot(self.done - 1, cells)

    def step(self) -> None:
        if self.done < len(self.batches) and self.when():
            self.pipeline.push_all(self.batches[self.done])
            self.done += 1


def asked(text: str, seed: int, when: Callable[[], bool], isolation: Isolation) -> tuple[OneTimeAnswer, Committing]:
    running = [SHOWN] if text in OVER_A else [JOINED.replace("a.j AS x", "a.k AS k, a.j AS x")]
    batches = data(seed)
    plan, pipeline = at_work(running, batches[:6])
    versions = Committing(pipeline, batches, 6, when)
    return one_time(text, plan, versions, isolation=isolation), versions


@pytest.mark.parametrize("text", TEXTS)
def test_the_newest_state_while_batches_are_committed(text: str) -> None:
    caught = 0
    for seed in (1, 2, 3):
        rng = random.Random(seed)
        found, versions = asked(text, seed, lambda r=rng: r.random() < 0.15, "latest")
        rows = Counter(rounded(r.values()) for r in found.rows.to_pylist())
        assert rows == by_duckdb(text, versions.batches, found.at)
        assert found.batch + found.newer == versions.done - 1
        assert found.newer == 0 or versions.done == len(versions.batches)
        caught += found.caught_up
    assert caught > 0


def test_every_state_that_is_read_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch after each read: what was read before it and is replaced is read again, and nothing else."""
    reads: list[Any] = []
    part_of = pane_reads.part_of
    monkeypatch.setattr(pane_reads, "part_of", lambda *a: reads.append(a[0]) or part_of(*a))
    found, versions = asked(OVER_A[0], 4, lambda: True, "latest")
    assert versions.done == len(versions.batches) and found.newer == 0
    assert Counter(rounded(r.values()) for r in found.rows.to_pylist()) == by_duckdb(
        OVER_A[0], versions.batches, found.at
    )
    now = versions.open(())
    assert now is not None
    lists = [own for shards in now.cells.values() for state in shards.values() for own in state.chunks.values()]
    held = {id(c) for own in lists for c in own}
    assert len(set(map(id, reads))) == len(reads), "a chunk is read once"
    assert found.again == len([c for c in reads if id(c) not in held]) > 0


def test_the_state_when_it_was_asked() -> None:
    found, versions = asked(OVER_A[0], 5, lambda: True, "window")
    assert found.batch == 5 and found.newer == 1 and found.caught_up == 0
    assert Counter(rounded(r.values()) for r in found.rows.to_pylist()) == by_duckdb(
        OVER_A[0], versions.batches, found.at
    )


def test_in_between_two_batches_or_not_at_all() -> None:
    left = [True, False, False]
    found, versions = asked(OVER_A[0], 6, lambda: left.pop(0), "serial")
    assert found.batch == 6 and found.newer == 0 and versions.done == 7
    with pytest.raises(OvertakenError, match="each of 4 attempts"):
        asked(OVER_A[0], 6, lambda: True, "serial")
