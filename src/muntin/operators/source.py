"""A source: rows of a registered stream, filtered and projected before they are sent to shards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from muntin.core.batch import Batch
from muntin.core.errors import InternalError
from muntin.operators.context import Context
from muntin.operators.operator import Described, Show
from muntin.plan.catalog import Stream
from muntin.plan.exprs import TRUE, Expr
from muntin.plan.patterns import Pattern
from muntin.state.shard_state import ShardState


@dataclass(frozen=True)
class Source(Described):
    """Rows of ``stream`` for which ``keep`` is true, as ``columns`` (name c0, c1, ... and expression).

    Expressions are over the stream's own columns. Computed by Spark SQL, or by ``engine.source`` in one process. Rows
    that fail ``keep`` are not sent, but count for progress.
    """

    stream: Stream
    keep: Expr
    columns: tuple[tuple[str, Expr], ...]

    def identity(self) -> Any:
        """The stream by its name: its options are the checkpoint's business, and its place among others is nobody's."""
        return ("Source", self.stream.name, self.keep, self.columns)

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        """Never called: the runtime reads sources."""
        raise InternalError("a source is read by the runtime")

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """Rows are only added."""
        return Pattern.MON

    def words(self, show: Show) -> str:
        where = "" if self.keep == TRUE else f" where {show(self.keep)}"
        text = f"{self.stream.name}{where}: {', '.join(show(e) for _, e in self.columns) or 'event times'}"
        share = self.stream.sample
        if share is None or share == 1:
            return text
        return f"{text}; {share:.3g} of its rows admitted, answers are not exact"
