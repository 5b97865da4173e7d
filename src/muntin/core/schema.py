"""Schemas: ordered, typed names. Types are Arrow's own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa


@dataclass(frozen=True)
class Field:
    """One named, typed column."""

    name: str
    type: pa.DataType


@dataclass(frozen=True)
class Schema:
    """Ordered fields with unique names."""

    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        names = [f.name for f in self.fields]
        if len(set(names)) != len(names):
            raise ValueError(f"duplicate column names: {names}")

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(f.name for f in self.fields)

    def get(self, name: str) -> Field | None:
        """The field of that name, or None."""
        return next((f for f in self.fields if f.name == name), None)

    def to_arrow(self) -> pa.Schema:
        """The same in Arrow, made once."""
        return self._arrow

    @cached_property
    def _arrow(self) -> pa.Schema:
        return pa.schema([(f.name, f.type) for f in self.fields])

    @staticmethod
    def of(**types: pa.DataType) -> Schema:
        """A schema of names and Arrow types."""
        return Schema(tuple(Field(n, t) for n, t in types.items()))
