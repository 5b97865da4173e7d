"""User-defined aggregates: the protocol that their authors follow, and the callable that the engine runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from muntin.core.errors import ConfigError


@runtime_checkable
class UserAggregate(Protocol):
    """An aggregate in four steps, over Python values; NULLs are left out before it sees them.

    ``init`` makes the state of no values; ``add`` returns the state with one value more (it may change and return the
    one it is given); ``merge`` returns the state of the values of both; ``finish`` gives the answer (None: NULL) and
    must leave the state as it is. Optional: ``subtract(state, value)``, the state with one such value less.

    The answer must depend on the values alone, not on their order (they come in order of value). The object is sent to
    the workers by cloudpickle, so its class is importable there or defined in the main module or a notebook.
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
        state = self.aggregate.init()
        for value in values.to_pylist():
            state = self.aggregate.add(state, value)
        return self.aggregate.finish(state)


def evaluator(name: str, aggregate: Any) -> Evaluate:
    """The callable of an aggregate, given as an object or as a class to be made without arguments.

    Raises ConfigError for one that lacks a method.
    """
    made = aggregate() if isinstance(aggregate, type) else aggregate
    missing = [m for m in ("init", "add", "merge", "finish") if not callable(getattr(made, m, None))]
    if missing:
        raise ConfigError(
            f"aggregate {name!r}: {type(made).__name__} has no method {missing[0]}(); an aggregate has init(), "
            "add(state, value), merge(a, b) and finish(state)"
        )
    return Evaluate(made)
