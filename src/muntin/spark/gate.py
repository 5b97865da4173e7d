"""The gate that the batches of a run pass: it holds the next one where the streaming query is to end between two."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

HOLD_SECONDS = 30
"""How long a batch is held at most: ``StreamingQuery.stop`` interrupts it long before."""


class CutOff(Exception):
    """Ends a batch that was interrupted. Spark tells that from a failure by the text, which it searches with a pattern
    that recurs at every character: the texts that Py4J makes of an interruption overflow the JVM's stack."""

    def __str__(self) -> str:
        return "py4j.protocol.Py4JJavaError: An error occurred while calling it off: java.lang.InterruptedException"


@dataclass
class Gate:
    """``stopping``: the run is to end; ``pausing``: its streaming query is to end and to be followed by another;
    ``held``: a batch waits at the gate, nothing of which has been done. ``thread``: who runs a batch now."""

    stopping: threading.Event = field(default_factory=threading.Event)
    pausing: threading.Event = field(default_factory=threading.Event)
    held: threading.Event = field(default_factory=threading.Event)
    thread: int | None = None

    def enter(self, spark: SparkSession) -> None:
        """A batch begins; where the query is to end, it is held until ``StreamingQuery.stop`` interrupts its thread, or
        until the query is to go on after all."""
        for _ in range(HOLD_SECONDS * 10):
            if not (self.stopping.is_set() or self.pausing.is_set()):
                self.held.clear()
                return
            self.held.set()
            spark.sparkContext._jvm.java.lang.Thread.sleep(100)  # type: ignore[union-attr]
        raise RuntimeError("the run was asked to stop")

    def drain(self, query: StreamingQuery, given_up: Callable[[], bool]) -> None:
        """Wait until no batch is under way, or the next one is held."""
        while query.isActive and query.status["isTriggerActive"] and not given_up():
            if self.held.wait(0.02):
                break

    def drain_until(self, query: StreamingQuery, timeout: float) -> None:
        """``drain`` for at most ``timeout`` seconds."""
        deadline = time.monotonic() + timeout
        self.drain(query, lambda: time.monotonic() >= deadline)

    def reopen(self) -> None:
        """Let the batches of the next query pass; the one before has ended."""
        self.pausing.clear()
        self.held.clear()
