"""The description of a join over a join graph, and how a window is entered from the inputs that are bound already.

A combination grows one window at a time, from the input whose row is new (Golab & Ozsu, 3.2, 5.4: joins on different
attributes follow the join graph). A window is entered through a hash index where an equality ties it to a bound input,
through a sorted index where only a band does, and is read through otherwise (hybrid access, their 3.5).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from muntin.core.batch import Batch
from muntin.operators.context import Context
from muntin.operators.joins.slices import Slices, words_of
from muntin.operators.naming import combined
from muntin.operators.operator import Described, Show
from muntin.operators.structures import INDEXED
from muntin.plan.exprs import Expr, columns_of
from muntin.plan.patterns import Pattern
from muntin.state.shard_state import ShardState

Index = tuple[int, ...]
"""A hash index of one window: the numbers of the key classes whose columns it hashes, ascending."""


@dataclass(frozen=True)
class Band:
    """``low <= input.column - partner.other <= high`` follows from the conditions (None: unbounded). Numbers only:
    event times are microseconds."""

    input: int
    column: str
    partner: int
    other: str
    low: float | None
    high: float | None


@dataclass(frozen=True)
class GraphJoin(Described):
    """n-way join over a join graph, in one operator; nothing is kept but the inputs' windows.

    ``classes``: columns that the condition makes equal, at most one of each input, by input number. ``conditions``:
    what else a combination must satisfy, each over several inputs; checked as soon as they are bound. ``columns``:
    by input, the names that conditions may use. ``bands``: ranges implied by the conditions, in both directions.
    ``indexes``: the hash indexes of each input's window; without one it is read through.
    """

    columns: tuple[tuple[str, ...], ...]
    classes: tuple[tuple[tuple[int, str], ...], ...]
    conditions: tuple[Expr, ...] = ()
    bands: tuple[Band, ...] = ()
    indexes: tuple[tuple[Index, ...], ...] = ()
    origins: tuple[int, ...] | None = None
    """The inputs whose new rows are combined here (None: all of them)."""
    passing: tuple[int, ...] = ()
    """Inputs whose rows are combined when they come and not kept."""
    relayed: bool = False
    """Whether other vertices combine the same inputs' rows, too: a row that comes and goes in one step then stays two
    signed rows, since what is one interval here may be two rows elsewhere."""
    slices: Slices | None = None
    """Those that it is done in, for several queries (None: it is done whole)."""
    ways: dict[tuple[frozenset[int], int], Way] = field(default_factory=dict, compare=False, repr=False)
    """Ways that were worked out before (a memo)."""

    stateful = True

    def step(self, inputs: Sequence[Batch], state: ShardState, ctx: Context) -> Batch:
        from muntin.operators.joins.graph_join import graph_join  # which knows this description

        return graph_join(self, state, combined(inputs), ctx)

    def pattern(self, inputs: Sequence[Pattern]) -> Pattern:
        """A result leaves with the first of its parts, which need not be the part that came first."""
        hardest = max(inputs)
        return hardest if hardest in (Pattern.MON, Pattern.STR) else Pattern.WK

    def words(self, show: Show) -> str:
        edges = [" = ".join(show.column(c) for _, c in k) for k in self.classes] + [show(c) for c in self.conditions]
        passing = f", input {self.passing[0]} passing through" if self.passing else ""
        new = "" if self.origins is None else f", for new rows of {', '.join(map(str, self.origins))} alone"
        graph = "; ".join(edges) or "(cross product)"
        return f"join of {len(self.columns)} inputs over the graph {graph}{passing}{new}{words_of(self.slices)}"

    def keeps(self, inputs: Sequence[Pattern], show: Show) -> str:
        expiry = ", ".join(INDEXED[p] for p in inputs)
        return f"panes of each input, {self._entries(show)} (expiry: {expiry})"

    def _entries(self, show: Show) -> str:
        """The indexes of each input, in words."""
        found = []
        for i, indexes in enumerate(self.indexes):
            hashed = [f"hash({', '.join(show.columns(self.index_columns(i, x)))})" for x in indexes]
            sorted_by = [f"sorted({show.column(c)})" for c in self.band_columns(i)]
            found.append(" + ".join(hashed + sorted_by) or "scanned")
        return "; ".join(found)

    def inputs_of(self, condition: int) -> set[int]:
        """The inputs whose columns a condition compares."""
        owner = {name: i for i, names in enumerate(self.columns) for name in names}
        return {owner[c.name] for c in columns_of(self.conditions[condition])}

    def column(self, number: int, input: int) -> str | None:
        """The column of an input in a class."""
        return next((c for i, c in self.classes[number] if i == input), None)

    def index_columns(self, input: int, index: Index) -> tuple[str, ...]:
        """The columns that an index hashes."""
        found = (self.column(c, input) for c in index)
        return tuple(c for c in found if c is not None)

    def band_columns(self, input: int) -> tuple[str, ...]:
        """The columns by which an input's window is sorted."""
        return tuple(sorted({b.column for b in self.bands if b.input == input}))


@dataclass(frozen=True)
class Way:
    """How input ``input`` is entered from bound inputs: through ``index`` (its number among the input's indexes) with
    the key columns of ``partners`` (input, column), through a sorted column with ``band``, or read through.

    ``equal``: (column of the input, bound input, its column) that must be equal. ``closing``: positions of the
    conditions that can be checked then. ``kind``: a name for hops that apply the same equalities and conditions.
    """

    input: int
    index: int | None
    partners: tuple[tuple[int, str], ...] = ()
    band: tuple[Band, ...] = ()
    equal: tuple[tuple[str, int, str], ...] = ()
    closing: tuple[int, ...] = ()
    kind: str = ""


def way_into(op: GraphJoin, bound: frozenset[int], input: int) -> Way:
    """The widest hash index that the bound inputs can fill, else a band, else none."""
    known = op.ways.get((bound, input))
    if known is None:
        known = op.ways[bound, input] = _way(op, bound, input)
    return known


def _way(op: GraphJoin, bound: frozenset[int], input: int) -> Way:
    shared = {n: _partner(op, n, bound) for n in range(len(op.classes)) if op.column(n, input) is not None}
    known = {n: p for n, p in shared.items() if p is not None}
    usable = [(len(x), -k) for k, x in enumerate(op.indexes[input]) if x and known.keys() >= set(x)]
    number = -max(usable)[1] if usable else None
    index = op.indexes[input][number] if number is not None else ()
    partners = tuple(known[n] for n in index)
    equal = tuple((op.column(n, input) or "", *p) for n, p in known.items())
    band = () if number is not None else _band(op, bound, input)
    needs = [op.inputs_of(n) for n in range(len(op.conditions))]
    closing = tuple(n for n, need in enumerate(needs) if input in need and need <= bound | {input})
    kind = f"{input}:" + ",".join([*(f"c{n}" for n in known), *(f"p{n}" for n in closing)])
    return Way(input, number, partners, band, equal, closing, kind)


def _partner(op: GraphJoin, number: int, bound: frozenset[int]) -> tuple[int, str] | None:
    return next(((i, c) for i, c in op.classes[number] if i in bound), None)


def _band(op: GraphJoin, bound: frozenset[int], input: int) -> tuple[Band, ...]:
    """The bands on one column (the one with most of them)."""
    by: dict[str, list[Band]] = {}
    for b in op.bands:
        if b.input == input and b.partner in bound:
            by.setdefault(b.column, []).append(b)
    most = max((len(bands) for bands in by.values()), default=0)
    return next((tuple(bands) for bands in by.values() if len(bands) == most), ())


def edge_indexes(classes: tuple[tuple[tuple[int, str], ...], ...], inputs: int) -> tuple[tuple[Index, ...], ...]:
    """An index for each set of classes that an input shares with one other: what its neighbours can fill."""
    return tuple(tuple(dict.fromkeys(_edges(classes, i, inputs))) for i in range(inputs))


def _edges(classes: tuple[tuple[tuple[int, str], ...], ...], mine: int, inputs: int) -> Iterator[Index]:
    for other in range(inputs):
        shared = tuple(n for n, c in enumerate(classes) if {mine, other} <= {i for i, _ in c})
        if other != mine and shared:
            yield shared


@lru_cache(maxsize=256)
def common_key(keys: tuple[tuple[str, ...], ...], columns: tuple[tuple[str, ...], ...]) -> GraphJoin:
    """The graph of a join on one key: ``keys[i]`` are input i's key columns, aligned."""
    width, n = len(keys[0]), len(keys)
    classes = tuple(tuple((i, keys[i][k]) for i in range(n)) for k in range(width))
    return GraphJoin(columns, classes, indexes=((tuple(range(width)),),) * n)
