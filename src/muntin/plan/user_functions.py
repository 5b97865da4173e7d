"""Scalar functions of users: what a query knows of one, and where plans hold calls of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any
from typing import Literal as OneOf

import pyarrow as pa

from muntin.plan.exprs import USER, Call

OnNull = OneOf["null", "call"]


@dataclass(frozen=True)
class ScalarFunction:
    """A function over Arrow arrays, to be called in queries; made by ``muntin.function``.

    ``code`` takes as many arrays of one length as the function has arguments and gives one of that length and of type
    ``returns``; ``arguments``: the types that arguments are cast to (None: as they come). ``on_null``: ``"null"``, rows
    in which an argument is NULL have NULL for answer and are not shown to ``code``; ``"call"``, it is shown them.

    Equal arguments must give equal answers, row by row, whichever rows stand beside them: rows come in batches of any
    length and order, and may be asked about again. What a query means is told by ``name`` and ``version``, not by the
    code: give another version to a function that answers otherwise.
    """

    name: str
    returns: pa.DataType
    arguments: tuple[pa.DataType, ...] | None = None
    version: str = "1"
    on_null: OnNull = "null"
    code: Callable[..., Any] = field(default=lambda *args: None, compare=False, repr=False)

    def __call__(self, *arrays: Any) -> Any:
        return self.code(*arrays)

    @property
    def identity(self) -> str:
        """What tells it from another of its name."""
        return self.version if self.on_null == "null" else f"{self.version}, called with NULLs"


def user_calls(value: Any) -> Iterator[Call]:
    """The calls of users' functions in a plan, a graph's vertices, or an expression, with repeats."""
    match value:
        case tuple() | list():
            for v in value:
                yield from user_calls(v)
        case Call(fn) if fn.startswith(USER):
            yield value
            yield from user_calls(value.args)
        case _ if is_dataclass(value) and not isinstance(value, type):
            for f in fields(value):
                if f.compare:
                    yield from user_calls(getattr(value, f.name))


def code_of(calls: Iterable[Call]) -> dict[tuple[str, str], ScalarFunction]:
    """The functions of calls that have their code, by name and version."""
    return {(c.fn, c.version): c.code for c in calls if c.code is not None}


def with_code(value: Any, known: Mapping[tuple[str, str], ScalarFunction]) -> Any:
    """The plan with the code of its users' functions (a plan is stored without)."""
    match value:
        case tuple():
            items = tuple(with_code(v, known) for v in value)
            return value if all(a is b for a, b in zip(items, value, strict=True)) else items
        case Call(fn) if fn.startswith(USER):
            return replace(value, args=with_code(value.args, known), code=known.get((fn, value.version)))
    if not is_dataclass(value) or isinstance(value, type):
        return value
    held = {f.name: getattr(value, f.name) for f in fields(value) if f.init and f.compare}
    changed = {n: new for n, v in held.items() if (new := with_code(v, known)) is not v}
    return replace(value, **changed) if changed else value
