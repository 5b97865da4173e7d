"""A text of a plan that stays the same while its meaning does, to name what is on disk."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields, is_dataclass
from decimal import Decimal
from functools import cache
from typing import Any

import pyarrow as pa


def stable_text(value: Any) -> str:
    """Class names, and the fields that are not at their defaults.

    A field that a later version adds with a default does not change the text, and neither does one that takes no part
    in comparisons (code: ``field(compare=False)``). Raises TypeError for values that have no such text.
    """
    match value:
        case None | bool() | int() | float() | str() | bytes() | Decimal():
            return repr(value)
        case tuple() | list():
            return f"({', '.join(map(stable_text, value))})"
        case pa.DataType():
            return str(value)
    if not is_dataclass(value) or isinstance(value, type):
        raise TypeError(f"{type(value).__name__} cannot be part of a signature: {value!r}")
    kept = ((f, getattr(value, f.name)) for f in _compared(type(value)))
    parts = [f"{f.name}={stable_text(v)}" for f, v in kept if not _default(f, v)]
    return f"{type(value).__name__}({', '.join(parts)})"


@cache
def _compared(kind: type[Any]) -> tuple[Field[Any], ...]:
    return tuple(f for f in fields(kind) if f.compare)


def _default(f: Field[Any], value: Any) -> bool:
    usual = f.default if f.default_factory is MISSING else f.default_factory()
    return usual is not MISSING and type(usual) is type(value) and bool(usual == value)
