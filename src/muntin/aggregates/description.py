"""What an aggregate function is: one frozen description, from its names in SQL to what it keeps.

Each function has a file with its description (or a few that are one family); ``aggregates.registry`` lists them, and
whoever meets an aggregate asks there. Descriptions name facts; how a call is parsed is the binder's business, and what
an answer *is* the reference evaluator says on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any
from typing import Literal as OneOf

import pyarrow as pa

from muntin.aggregates.accumulators import Accumulator
from muntin.plan.aggregates import Evaluate
from muntin.plan.exprs import Agg

if TYPE_CHECKING:
    from muntin.aggregates.moments import Moments

Functions = Mapping[str, Evaluate]
"""The code of user-defined aggregates by name."""

Build = Callable[[str, Agg, str, Functions], Accumulator]
"""The name under which state is kept, the aggregate, the column of its argument ("" for COUNT(*)), and user code, to
the accumulator."""

Summary = OneOf["", "lists", "sketches"]

_PLAIN = frozenset(["number", "string", "boolean", "timestamp", "date", "duration", "binary"])
_PLAIN_WORDS = "numbers, strings, booleans, dates or timestamps"


@dataclass(frozen=True)
class Takes:
    """The families of types (``cql.types.family``) of an argument, and what to call them in errors."""

    words: str
    families: frozenset[str]

    def allows(self, family: str, once: bool) -> bool:
        """Whether a value of the family will do; ``once``: each value counts once, so that values are told apart."""
        return family in self.families and not (once and family == "nested")

    @property
    def of_nulls(self) -> pa.DataType:
        """The type that a value which is always NULL is taken for."""
        if "string" in self.families:
            return pa.string()
        return pa.float64() if "number" in self.families else pa.bool_()


NUMBERS = Takes("numbers", frozenset(["number"]))
CONDITIONS = Takes("conditions (BOOLEAN)", frozenset(["boolean"]))
ORDERED = Takes(_PLAIN_WORDS, _PLAIN)
VALUES = Takes(_PLAIN_WORDS, _PLAIN | {"nested"})
ANYTHING = Takes(_PLAIN_WORDS, _PLAIN | {"nested", "null"})


@dataclass(frozen=True)
class Parameter:
    """A constant after the argument: a number in [``low``, ``high``], ``whole`` or not; ``words``: what it is, for
    errors."""

    low: float
    high: float
    words: str
    whole: bool = False


class Keeps(Enum):
    """What is kept of a group's rows, by which a batch costs (none follows the length of the window).

    ``COUNTERS``: numbers in the table of groups; a value is taken away by the inverse, at the cost of adding it.
    ``CANDIDATES``: the rows that can still become the answer, where rows leave at their expiry alone.
    ``MULTISET``: each value with its multiplicity, in order; a value taken away is a count less.
    ``STATES``: states of the user's code, merged beforehand; they have no inverse.
    """

    COUNTERS = "counters"
    CANDIDATES = "candidates"
    MULTISET = "multiset"
    STATES = "states"


def same(t: pa.DataType) -> pa.DataType:
    """The argument's type as the result's."""
    return t


def no_parts(agg: Agg) -> tuple[str, ...]:
    """Rows of a pane are kept as they are."""
    return ()


def partial_name(column: str, part: str) -> str:
    """The column that holds a partial of an argument."""
    return f"{column}.{part}" if column else ROWS


ROWS = "__n"
"""How many rows a partial stands for."""


@dataclass(frozen=True)
class Aggregate:
    """One aggregate function (see ``plan.exprs.Agg`` for a use of it)."""

    fn: str
    """``Agg.fn`` of its uses, without ``_distinct``. Several descriptions of one ``fn`` are spellings of one function;
    the first in the registry says how it is computed."""
    names: tuple[str, ...]
    """In SQL, lower case; the first stands in messages."""
    takes: Takes
    type: Callable[[pa.DataType], pa.DataType]
    """The argument's type to the result's."""
    build: Build
    """The accumulator of rows that leave at their expiry."""
    keeps: Keeps
    """What ``build`` keeps."""
    listed: str | None = None
    """How a list of the language's aggregates shows it (None: its first name; empty: with another one)."""
    spark: str | None = None
    """Its name in Spark SQL (None: ``fn`` in capitals; empty: the bare argument)."""
    signed: Build | None = None
    """The accumulator of signed rows, which may be taken away before their expiry (None: the same)."""
    distinct: OneOf["no", "yes", "always", "no difference"] = "no"
    """Whether DISTINCT goes with it: has a ``_distinct`` form, which the name alone asks for, or is the same."""
    of_distinct: Build | None = None
    """The accumulator of the ``_distinct`` form (None: ``build`` over values that come first and go last)."""
    counts: OneOf["", "rows", "conditions"] = ""
    """Of COUNT alone. ``rows``: takes ``*``, and several columns in DISTINCT; ``conditions``: its argument is the
    FILTER of the rows."""
    by: Takes | None = None
    """What it takes as a second argument, by which the rows are ordered: the plan has ``pair(by, value)`` for both, and
    skips a row by the NULL of ``by`` alone."""
    beside: Takes | None = None
    """What it takes as a second argument, of one row with the first: the plan has ``row(first, second)`` for both, so
    that a NULL of either leaves the row out."""
    parameter: Parameter | None = None
    needless: Parameter | None = None
    """A constant behind the others that may be given and changes nothing: an accuracy, where the answer is exact."""
    share: Parameter | None = None
    """What may follow the parameter."""
    nulls: bool = False
    """A NULL counts as a value (IGNORE NULLS goes with it); elsewhere NULLs are skipped."""
    empty: Any = None
    """The answer over nothing."""
    known: OneOf["no", "always", "like its argument"] = "no"
    """When an answer is never NULL; like its argument: of a group that has rows."""
    dated: bool = False
    """It takes the event time of the row beside its argument."""
    ordered: bool = False
    """The order of rows inside an instant may show."""
    parts: Callable[[Agg], tuple[str, ...]] = no_parts
    """Partials of its argument that stand for the rows of a pane (``aggregates.panes``); none: it has no partials."""
    merged: Build | None = None
    """The accumulator over ``parts`` of unsigned rows."""
    terms: tuple[str, ...] = ()
    """Sums of its argument that it is answered from, as doubles (``aggregates.moments``); none: it is not."""
    of_moments: Callable[[Agg, Moments], pa.Array] | None = None
    """The answers out of the sums of ``terms``."""
    summary: Summary = ""
    """Its rows are summarised before they are kept, sub-window by sub-window (``operators.sub_windows``): as lists of
    the most frequent values, or as sketches. ``build`` is then over the summaries."""
    exact: bool = True
    """The answer is that of the rows, rounded at most once; else it has an error bound."""

    @property
    def arity(self) -> int:
        """How many arguments a call is written with, at most."""
        parts = (self.by, self.beside, self.parameter, self.share, self.needless)
        return 1 + sum(part is not None for part in parts)

    @property
    def shown(self) -> str:
        """Its name in messages."""
        return self.names[0].upper()
