"""User-defined aggregates: the protocol that their authors follow, and what the engine runs of it."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import cloudpickle
import pyarrow as pa

from muntin.core.errors import ConfigError


@runtime_checkable
class UserAggregate(Protocol):
    """An aggregate in four steps, over Python values; NULLs are left out before it sees them.

    ``init`` makes the state of no values; ``add`` returns the state with one value more; ``merge`` returns the state of
    the values of both (each may change and return the first it is given, and must leave the second alone); ``finish``
    gives the answer (None: NULL) and must leave the state as it is. Optional: ``subtract(state, value)``, the state
    with one such value less (it may change and return the one it is given).

    The answer must depend on the values alone, not on their order. With ``subtract`` one state a group is kept and
    moved on, at the cost of what enters and leaves; without it windows that slide by steps keep one state a pane and
    merge those, and other windows go through their values for each answer. States are kept with cloudpickle, in
    checkpoints too: a class that is changed must still read the states it had. The object itself is sent to the workers
    in the same way, so its class is importable there or defined in the main module or a notebook.
    """

    def init(self) -> Any: ...

    def add(self, state: Any, value: Any) -> Any: ...

    def merge(self, a: Any, b: Any) -> Any: ...

    def finish(self, state: Any) -> Any: ...


@dataclass(frozen=True)
class Evaluate:
    """The values of a group to the aggregate's answer; over no values it is ``finish(init())``."""

    aggregate: UserAggregate

    def __call__(self, values: pa.Array) -> Any:
        return self.aggregate.finish(self.state_of(values))

    @property
    def invertible(self) -> bool:
        """Whether values can be taken away."""
        return callable(getattr(self.aggregate, "subtract", None))

    def state_of(self, values: pa.Array) -> Any:
        """The state of an array's values, which are not NULL."""
        state = self.aggregate.init()
        for value in values.to_pylist():
            state = self.aggregate.add(state, value)
        return state


def to_bytes(state: Any) -> bytes:
    """A state as it is stored."""
    return bytes(cloudpickle.dumps(state))


def from_bytes(stored: bytes) -> Any:
    """A stored state, a new one each time."""
    return pickle.loads(stored)


def evaluator(name: str, aggregate: Any) -> Evaluate:
    """The callable of an aggregate, given as an object or as a class to be made without arguments.

    Raises ConfigError for one that lacks a method.
    """
    made = aggregate() if isinstance(aggregate, type) else aggregate
    missing = [m for m in ("init", "add", "merge", "finish") if not callable(getattr(made, m, None))]
    if missing:
        raise ConfigError(
            f"aggregate {name!r}: {type(made).__name__} has no method {missing[0]}(); an aggregate has init(), "
            "add(state, value), merge(a, b), finish(state) and, where values can be taken away, subtract(state, value)"
        )
    return Evaluate(made)
