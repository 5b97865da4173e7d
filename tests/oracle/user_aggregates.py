"""User-defined aggregates of the random queries: as the engine runs them, as the evaluator does, and as SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from muntin.dataflow.graph import QueryPlan
from muntin.plan.aggregates import evaluator
from muntin.plan.catalog import AggregateFunction


@dataclass(frozen=True)
class Folded:
    """An aggregate whose state is the list of its values."""

    answer: Callable[[Sequence[Any]], Any]

    def init(self) -> list[Any]:
        return []

    def add(self, state: list[Any], value: Any) -> list[Any]:
        return [*state, value]

    def merge(self, a: list[Any], b: list[Any]) -> list[Any]:
        return a + b

    def finish(self, state: list[Any]) -> Any:
        return self.answer(sorted(state)) if state else None


class Taken(Folded):
    """The same, and values can be taken away: one that is not there is an error."""

    def subtract(self, state: list[Any], value: Any) -> list[Any]:
        state.remove(value)
        return state


FUNCTIONS = (
    AggregateFunction("squares", pa.int64(), pa.int64(), inverse=True),
    AggregateFunction("joined", pa.string(), pa.string()),
    AggregateFunction("runner_up", pa.int64(), pa.int64()),
)
PLAIN: dict[str, Callable[[Sequence[Any]], Any]] = {
    "squares": lambda values: sum(v * v for v in values),
    "joined": "".join,
    "runner_up": lambda values: values[-2] if len(values) > 1 else None,
}
"""From the values in order, at least one, to the answer: what the evaluator calls."""
CODE = {f.name: evaluator(f.name, (Taken if f.inverse else Folded)(PLAIN[f.name])) for f in FUNCTIONS}


def called(name: str, arg: str) -> str:
    """A call in a template: CQL, and the same in DuckDB."""
    sql = {
        "squares": f"SUM({arg} * {arg})",
        "joined": f"string_agg({arg}, '' ORDER BY {arg})",
        "runner_up": f"list_sort(list({arg}) FILTER ({arg} IS NOT NULL), 'DESC')[2]",
    }[name]
    return f"<<{name}({arg})|{sql}>>"


def with_code(query: QueryPlan) -> QueryPlan:
    """The query with the code of every aggregate."""
    return replace(query, functions=tuple(CODE.items()))
