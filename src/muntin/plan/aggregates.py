"""User-defined aggregates: the protocol that their authors follow, and what the engine runs of it."""

from __future__ import annotations

import hmac
import pickle
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import cloudpickle
import pyarrow as pa

from muntin.core.errors import ConfigError, StoreError

_SIGNED, _CODE_BYTES = b"M", 16
"""How a state with a code begins (a pickle begins otherwise), and the length of the code that follows."""


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
    checkpoints too (see ``Evaluate.key``): a class that is changed must still read the states it had. The object itself
    is sent to the workers in the same way, so its class is importable there or defined in the main module or a
    notebook.
    """

    def init(self) -> Any: ...

    def add(self, state: Any, value: Any) -> Any: ...

    def merge(self, a: Any, b: Any) -> Any: ...

    def finish(self, state: Any) -> Any: ...


@dataclass(frozen=True)
class Evaluate:
    """The values of a group to the aggregate's answer; over no values it is ``finish(init())``.

    ``key``: states are stored with an authentication code (HMAC-SHA-256, 16 bytes of it) under this key, and a stored
    state is read only where its code is right: to read a pickle is to run what it says. None: without.
    """

    aggregate: UserAggregate
    key: bytes | None = None

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

    def pack(self, state: Any) -> bytes:
        """A state as it is stored."""
        plain = bytes(cloudpickle.dumps(state))
        return plain if self.key is None else _SIGNED + self._code(plain) + plain

    def unpack(self, stored: bytes) -> Any:
        """A stored state, a new one each time. Raises StoreError for one that was not stored under the key."""
        signed = stored[:1] == _SIGNED
        plain = stored[1 + _CODE_BYTES :] if signed else stored
        code = stored[1 : 1 + _CODE_BYTES] if signed else b""
        if self.key is not None and not hmac.compare_digest(code, self._code(plain)):
            raise StoreError(
                f"a stored state of {type(self.aggregate).__name__} was not written under this pipeline's key: the "
                "checkpoint was changed by somebody else, or its key file (.muntin.key) or MUNTIN_STATE_KEY is "
                "another one. Restore them; MUNTIN_STATE_KEY=off reads states without asking, which runs any code "
                "that is in them"
            )
        return pickle.loads(plain)

    def _code(self, plain: bytes) -> bytes:
        return hmac.digest(self.key or b"", plain, "sha256")[:_CODE_BYTES]


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
