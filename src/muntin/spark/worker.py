"""What a Python worker does around its tasks: memory it keeps, and Spark's garbage collection after each of them."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pyarrow as pa

from muntin.core.allocation import keep_memory, release_excess
from muntin.spark.pack import Task

_TASKS_UNTIL_LOADED = 4
"""By then a worker has run tasks of both kinds: imported what they need, and compiled it."""

_ran = 0


def settled(task: Task) -> Task:
    """The task; at the end of a worker's first ones all that is loaded is set aside from garbage collection.

    A collection walks every object of Numba, NumPy and Arrow otherwise, which takes a tenth of a second between any
    two tasks. Memory that a task freed stays for the next one, within a bound (``core.allocation``).
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        keep_memory()
        yield from task(batches)
        _set_aside()
        release_excess()

    run.__name__ = task.__name__
    return run


def _set_aside() -> None:
    global _ran
    if _ran < _TASKS_UNTIL_LOADED:
        _ran += 1
        gc.collect()
        gc.freeze()
