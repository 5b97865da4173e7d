"""SUM, COUNT and AVG over what drop boxes admit: estimates of the full answer, with the error that each may have.

A row that was admitted with probability p stands for w = 1 / p rows of its stream, whatever p was in its batch (Horvitz
and Thompson 1952). With d = w - 1 the full sum of x is estimated by SUM(x) + SUM(d x), whose variance SUM(w d x^2)
estimates without bias, since rows are admitted independently; AVG is a ratio of two such sums, its variance that of the
linear part. Where all rows were admitted d is 0: the answer is the exact one, and so is its type.

Beside each estimate a column ``<name>_error``: half of an interval that holds the full answer in 95 of 100 cases, 0
where it is exact, NULL where fewer than ``FEW`` rows stand behind it (then nothing is known of the error).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from muntin.core.errors import UnsupportedError
from muntin.plan.exprs import Agg, Call, Column, Expr, Literal, columns_of, conjuncts
from muntin.plan.nodes import Aggregate, BoundQuery, Filter, Join, Node, Output, Project, Scan, TableScan, walk
from muntin.plan.windows import Range, Unbounded, Window

FEW = 10
"""Admitted rows below which the error of an estimate is not known."""

TWO_SIDED = 1.96
"""Standard deviations within which 95 of 100 normally distributed values lie."""

ERROR = "_error"
"""What names of errors end with."""

DOUBLE = pa.float64()
ZERO, ONE, NULL = Literal(0.0, DOUBLE), Literal(1.0, DOUBLE), Literal(None, DOUBLE)


def scales(query: BoundQuery) -> bool:
    """Whether a query that drops rows has aggregates, whose values are to be scaled."""
    return query.options.shed == "drop" and any(isinstance(n, Aggregate) for n in walk(query.root))


def scaled(query: BoundQuery) -> BoundQuery:
    """The query with its aggregates as estimates, and their errors behind the columns that it names.

    Raises UnsupportedError where no sound estimate is known: other aggregates than SUM, COUNT and AVG of numbers, these
    within expressions or conditions (HAVING), over joins of streams (whose results are not independent) or with tables
    of which a row may meet several, windows of rows and INTERNAL windows, sub-queries.
    """
    exprs, node = _shown(query.root)
    if isinstance(node, Filter):
        raise refused("a condition on an estimate (HAVING) keeps other groups than one on the full answer")
    if not isinstance(node, Aggregate):
        raise refused("an aggregate within a larger query")
    weight, below = _weighed(node.input)
    found = {name: _estimate(name, agg, weight) for name, agg in node.aggs}
    aggs = tuple(dict.fromkeys(a for e in found.values() for a in e.aggs))
    shown = dict(exprs)
    taken = set(shown)
    errors = []
    for name, e in exprs:
        if isinstance(e, Column) and e.name in found:
            shown[name] = found[e.name].value
            errors.append((_free(name + ERROR, taken), found[e.name].error))
        elif any(c in found for c in _names(e)):
            raise refused(f"column {name} computes with an aggregate; name SUM, COUNT and AVG alone, and compute later")
    root = Project(Aggregate(below, node.groups, aggs), (*shown.items(), *errors))
    return replace(query, root=replace(query.root, input=root))


def refused(reason: str) -> UnsupportedError:
    """What an aggregate that cannot be scaled raises."""
    return UnsupportedError(f"shed='drop' would give wrong values that cannot be scaled: {reason}. Use shed='never'")


def _shown(root: Output) -> tuple[tuple[tuple[str, Expr], ...], Node]:
    if root.kind not in ("rstream", "istream", "dstream", "changes"):
        raise refused("results that are restored")
    match root.input:
        case Project(below, exprs):
            return exprs, below
        case node:
            return tuple((f.name, Column(f.name, f.type)) for f in node.schema), node


def _names(e: Expr) -> Iterator[str]:
    match e:
        case Column(name, _):
            yield name
        case Call(_, args):
            for a in args:
                yield from _names(a)


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name = "_" + name
    taken.add(name)
    return name


def _weighed(node: Node) -> tuple[Column, Node]:
    """The rows below an aggregate with their weights."""
    match node:
        case Scan(stream, _, window) if not stream.static and _plain(window):
            made = replace(node, weighed=True)
            last = made.schema.fields[-1]
            return Column(last.name, last.type), made
        case Filter(child, _):
            weight, below = _weighed(child)
            return weight, replace(node, input=below)
        case Project(child, exprs):
            weight, below = _weighed(child)
            return weight, replace(node, input=below, exprs=(*exprs, (weight.name, weight)))
        case Join():
            return _looked_up(node)
        case Scan(stream, _, _):
            raise refused(f"the window on {stream.name} is none of time alone")
    raise refused("an aggregate over another query")


def _looked_up(node: Join) -> tuple[Column, Node]:
    """A join in which each row of one stream has at most one result: its results are admitted as independently as its
    rows are. In any other a row takes all of its results with it, and what these add up to is in no sum here."""
    own = [k for k, p in enumerate(node.parts) if _streams(p)]
    if len(own) != 1:
        raise refused(
            "in a join of streams a row that is left out takes all its results with it, so that these are not "
            "independent and no error is known. Shed the join alone, in a query of its own (shed='harvest' or 'drop'), "
            "and aggregate what it gives, which is then a part"
        )
    stream = node.parts[own[0]]
    tables = [t for p in node.parts if (t := _table(p)) is not None]
    if len(tables) < len(node.parts) - 1:
        raise refused("a join with a query over tables, of which a row may meet several results")
    if (many := _many(tables, conjuncts(node.predicate), set(stream.schema.names))) is not None:
        raise refused(
            f"a row may meet several of table {many.table.name}; register it with the key= by which they are joined"
        )
    weight, below = _weighed(stream)
    return weight, replace(node, parts=(*node.parts[: own[0]], below, *node.parts[own[0] + 1 :]))


def _table(node: Node) -> TableScan | None:
    """The table of which a node has some rows and columns, by their names."""
    match node:
        case TableScan():
            return node
        case Filter(child, _):
            return _table(child)
        case Project(child, exprs) if all(isinstance(e, Column) and e.name == name for name, e in exprs):
            return _table(child)
    return None


def _many(tables: list[TableScan], conditions: list[Expr], known: set[str]) -> TableScan | None:
    """A table of which more than one row may fulfil equalities with columns that are known; None if there is none."""
    left = list(tables)
    while left:
        found = next((t for t in left if t.table.key and _said(t, conditions) <= known), None)
        if found is None:
            return left[0]
        left.remove(found)
        known |= set(found.schema.names)
    return None


def _said(t: TableScan, conditions: list[Expr]) -> set[str]:
    """The columns that say by equalities what a table's key is; itself where nothing does."""
    found = set[str]()
    for key in (f"{t.alias}.{k}" for k in t.table.key):
        equal = (c.args for c in conditions if isinstance(c, Call) and c.fn == "eq")
        others = [o for x, y in equal for one, o in ((x, y), (y, x)) if isinstance(one, Column) and one.name == key]
        found |= {c.name for o in others[:1] for c in columns_of(o)} if others else {key}
    return found


def _streams(node: Node) -> bool:
    return any(isinstance(n, Scan) for n in walk(node))


def _plain(window: Window) -> bool:
    return isinstance(window, Unbounded) or (isinstance(window, Range) and window.rows is None and not window.internal)


@dataclass(frozen=True)
class Estimate:
    """An aggregate as others that are computed, its value and its error over them."""

    aggs: tuple[tuple[str, Agg], ...]
    value: Expr
    error: Expr


def _estimate(name: str, agg: Agg, weight: Column) -> Estimate:
    number = agg.arg is not None and (pa.types.is_integer(agg.arg.type) or pa.types.is_floating(agg.arg.type))
    if agg.distinct or agg.base not in ("count", "sum", "avg") or (agg.base != "count" and not number):
        raise refused(f"{agg.base.upper()} {'of distinct values ' if agg.distinct else ''}is no sum of numbers")
    sums = _Sums(name, agg, weight)
    match agg.base:
        case "count":
            return sums.count()
        case "sum":
            return sums.sum()
        case _:
            return sums.average()


class _Sums:
    """The sums behind one estimate."""

    def __init__(self, name: str, agg: Agg, weight: Column) -> None:
        self.name, self.agg = name, agg
        self.counted: Expr = Literal(True, pa.bool_()) if agg.arg is None else _call("is_not_null", agg.arg)
        self.extra = _minus(weight, ONE)
        self.spread = _times(weight, self.extra)
        self.weight = weight
        self.value = ONE if agg.arg is None else _call("cast", agg.arg, type=DOUBLE)
        self.aggs: dict[str, Agg] = {}

    def of(self, stem: str, fn: str, arg: Expr | None, type: pa.DataType) -> Column:
        """One more of them, as a column."""
        name = f"{self.name}.{stem}"
        self.aggs[name] = Agg(fn, arg, type)
        return Column(name, type)

    def total(self, stem: str, e: Expr) -> Column:
        """The sum of an expression over the rows that the aggregate counts."""
        return self.of(stem, "sum", _case(self.counted, e, NULL), DOUBLE)

    def made(self, value: Expr, variance: Expr) -> Estimate:
        """Exact where every row of the group was admitted for sure, counted or not."""
        rows = self.of("rows", "count", self.agg.arg, pa.int64())
        known = _case(_call("lt", rows, Literal(FEW, pa.int64())), NULL, _half(variance))
        whole = Column(".spread", DOUBLE)
        aggs = (*self.aggs.items(), (whole.name, Agg("sum", self.spread, DOUBLE)))
        return Estimate(aggs, value, _case(_zero(whole), ZERO, known))

    def count(self) -> Estimate:
        own = self.of("own", "count", self.agg.arg, self.agg.type)
        more, spread = self.total("more", self.extra), self.total("spread", self.spread)
        value = _call("add", own, _whole(_call("coalesce", more, ZERO, type=DOUBLE), own.type), type=own.type)
        return self.made(value, spread)

    def sum(self) -> Estimate:
        own = self.of("own", "sum", self.agg.arg, self.agg.type)
        more = self.total("more", _times(self.extra, self.value))
        squares = self.total("squares", _times(self.spread, _times(self.value, self.value)))
        extra = more if pa.types.is_floating(own.type) else _whole(more, own.type)
        value = _call("add", own, extra, type=own.type)
        return self.made(value, squares)

    def average(self) -> Estimate:
        """Of the mean m: SUM(w d (x - m)^2) / SUM(w)^2."""
        own = self.of("own", "avg", self.agg.arg, self.agg.type)
        many, much = self.total("many", self.weight), self.total("much", _times(self.weight, self.value))
        spread = self.total("spread", self.spread)
        firsts = self.total("firsts", _times(self.spread, self.value))
        squares = self.total("squares", _times(self.spread, _times(self.value, self.value)))
        mean = _over(much, many)
        off = _call("sub", squares, _times(_times(Literal(2.0, DOUBLE), mean), firsts), type=DOUBLE)
        off = _call("add", off, _times(_times(mean, mean), spread), type=DOUBLE)
        return self.made(_case(_zero(spread), own, mean), _over(_over(off, many), many))


def _call(fn: str, *args: Expr, type: pa.DataType | None = None) -> Call:
    return Call(fn, args, pa.bool_() if type is None else type)


def _times(a: Expr, b: Expr) -> Call:
    return _call("mul", a, b, type=DOUBLE)


def _minus(a: Expr, b: Expr) -> Call:
    return _call("sub", a, b, type=DOUBLE)


def _over(a: Expr, b: Expr) -> Call:
    """a / b; NULL where b is 0."""
    return _call("try", _call("div", a, b, type=DOUBLE), type=DOUBLE)


def _case(condition: Expr, then: Expr, other: Expr) -> Call:
    return _call("case", condition, then, other, type=DOUBLE)


def _zero(e: Expr) -> Call:
    return _call("eq", e, ZERO)


def _whole(e: Expr, type: pa.DataType) -> Call:
    """A double as the nearest integer."""
    return _call("cast", _call("round", e, type=DOUBLE), type=type)


def _half(variance: Expr) -> Call:
    """Half of the interval; rounding may leave a variance a little below 0."""
    root = _call("sqrt", _call("greatest", variance, ZERO, type=DOUBLE), type=DOUBLE)
    return _times(Literal(TWO_SIDED, DOUBLE), root)
