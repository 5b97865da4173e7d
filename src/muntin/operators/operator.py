"""What every operator offers: its description is a frozen dataclass with these methods, and nothing else knows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

from muntin.core.batch import Batch
from muntin.operators.context import Context
from muntin.plan.exprs import Expr
from muntin.plan.patterns import Pattern
from muntin.state.shard_state import ShardState

Show = Callable[[Expr], str]
"""Renders an expression for people."""


Begins = tuple[tuple[str, int], ...]
"""What begins a query: its streams, and by how much after its event time a first row enters (microseconds)."""


class Operator(Protocol):
    """A frozen description. Columns of its inputs are called c0, c1, ... (consecutively over all inputs of a join)."""

    @property
    def stateful(self) -> bool:
        """Whether it remembers rows or numbers from step to step."""
        ...

    @property
    def begins(self) -> Begins:
        """The streams whose first row begins its answers (``Context.first``); () where that does not matter."""
        ...

    def identity(self) -> Any:
        """What the operator does, for ids: plain values and frozen dataclasses; hints are left out."""
        ...

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        """Rows that arrived up to the watermark in, rows out; ``state`` is the operator's own on this shard."""
        ...

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """The update pattern of its output."""
        ...

    def words(self, show: Show) -> str:
        """What it does, for EXPLAIN."""
        ...

    def keeps(self, inputs: Sequence[Pattern]) -> str:
        """What it remembers, for EXPLAIN; "" for nothing."""
        ...


class Described:
    """Defaults of an operator without state that keeps its first input's pattern."""

    stateful = False
    begins: ClassVar[Begins] = ()

    def identity(self) -> Any:
        """Itself: every field says what it does."""
        return self

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """As the first input's."""
        return inputs[0]

    def keeps(self, inputs: Sequence[Pattern]) -> str:
        """Nothing."""
        return ""
