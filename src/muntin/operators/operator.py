"""What every operator offers: its description is a frozen dataclass with these methods, and nothing else knows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from muntin.core.batch import Batch
from muntin.operators.context import Context
from muntin.operators.naming import is_number
from muntin.plan.exprs import Column, Expr, map_columns
from muntin.plan.patterns import Pattern
from muntin.state.shard_state import ShardState


@dataclass(frozen=True)
class Show:
    """Renders an operator's expressions for people, who know the columns c0, c1, ... of its inputs as ``names`` (a name
    that is not there stays as it is). ``render``: an expression as text."""

    render: Callable[[Expr], str]
    names: tuple[str, ...] = ()

    def __call__(self, e: Expr) -> str:
        return self.render(map_columns(e, lambda c: Column(self.column(c.name), c.type)))

    def column(self, name: str) -> str:
        """A column of the inputs by its name for people."""
        known = is_number(name) and int(name[1:]) < len(self.names)
        return self.names[int(name[1:])] if known else name

    def columns(self, names: Sequence[str]) -> tuple[str, ...]:
        """Several columns."""
        return tuple(map(self.column, names))


Begins = tuple[tuple[str, int], ...]
"""What begins a query: its streams, and by how much after its event time a first row enters (microseconds)."""


class Operator(Protocol):
    """A frozen description. Columns of its inputs are called c0, c1, ... (consecutively over all inputs of a join)."""

    @property
    def stateful(self) -> bool:
        """Whether it remembers rows or numbers from step to step."""
        ...

    @property
    def timeless(self) -> bool:
        """Whether a step looks at its inputs alone: neither at time nor at state."""
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

    def current(self, inputs: Sequence[Batch], state: ShardState, at: int, ctx: Context) -> Batch | None:
        """The rows that are valid at ``at``, the last instant that the operator answered, as its state has them; None
        where the state alone does not tell. ``inputs``: no rows, of the inputs' kinds; ``ctx.low``: the query's last
        instant. The state may be changed, and is of no further use."""
        ...

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """The update pattern of its output."""
        ...

    def words(self, show: Show) -> str:
        """What it does, for EXPLAIN."""
        ...

    def keeps(self, inputs: Sequence[Pattern], show: Show) -> str:
        """What it remembers, for EXPLAIN; "" for nothing."""
        ...


class Described:
    """Defaults of an operator without state that keeps its first input's pattern."""

    stateful = False
    timeless: ClassVar[bool] = False
    begins: ClassVar[Begins] = ()

    def identity(self) -> Any:
        """Itself: every field says what it does."""
        return self

    def current(self, inputs: Sequence[Batch], state: ShardState, at: int, ctx: Context) -> Batch | None:
        """Its state does not tell."""
        return None

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """As the first input's."""
        return inputs[0]

    def keeps(self, inputs: Sequence[Pattern], show: Show) -> str:
        """Nothing."""
        return ""
