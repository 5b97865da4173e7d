"""The relation that a query computes at an instant, node by node, from the contents of its windows and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cmp_to_key
from typing import Any

from muntin.core.errors import UnsupportedError
from muntin.core.time import NEVER
from muntin.plan.exprs import Agg, Call, Expr
from muntin.plan.nodes import (
    Aggregate,
    Apply,
    Distinct,
    Filter,
    Join,
    Node,
    OuterJoin,
    Output,
    Project,
    Rewindow,
    Scan,
    SemiJoin,
    SetOp,
    TableScan,
    TopK,
    within,
)
from muntin.plan.windows import QueryOptions, Unbounded, Window
from muntin.reference.aggregates import aggregate
from muntin.reference.inputs import Event, Inputs, Values
from muntin.reference.membership import Visit, contents, visits
from muntin.reference.rows import NOTHING, Held, Needs, Part, all_of, combine, join, nulls
from muntin.reference.scalar import eval_expr
from muntin.reference.values import canonical, compare

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Leaf:
    """A window of the query with the rows of its stream; ``prefix`` goes before the columns' names; ``stays``: the stay
    of each row that the window ever shows."""

    window: Window
    events: list[Event]
    prefix: str
    stays: list[Visit]


def leaf_of(window: Window, events: list[Event], prefix: str, options: QueryOptions) -> Leaf:
    """The leaf, with the stay of each row."""
    return Leaf(window, events, prefix, list(visits(window, events, options)))


@dataclass
class Seen:
    """A result over INTERNAL windows that was shown once: a row, how many there are of it, what it needs to stay."""

    row: Held
    count: int
    needs: Needs


@dataclass
class Relation:
    """Evaluates nodes at instants, which must not go back.

    INTERNAL windows (thesis 3.3.2: "the same results in the same order as in the case of external windows", but no
    result leaves because a row left an INTERNAL window; "state must be maintained as if external windows were used"):

    * What the query computes over the same windows read as external ones decides which results come, and when. A
      result is a combination of rows; it comes at the first instant at which all of them are there together, once.
    * It stays while the rows of its external windows and its rows of other constructs are there, whatever leaves the
      INTERNAL windows. Without any it stays for ever, as it does beside [UNBOUNDED] and tables that do not change.
    * A row that EXISTS, IN or a semi join lets pass is a result from its first partner on, and stays while itself, if
      its window is external, and one of the partners that it met stay.
    * Each new value of an aggregate over any INTERNAL window is a result of its own, which stays.
    * Rows of constructs over external windows alone (aggregates, DISTINCT, negation, set operations, outer joins,
      relations) come and go as such constructs show them, by value: of equal rows the oldest leaves first.

    ``leaves``: by ``id`` of the Scan or Rewindow node. ``traced``: whether a window is INTERNAL, so that rows have to
    be told apart. ``seen``: by node, the results over INTERNAL windows so far. ``ages``: by node, the rows of a
    construct by value, oldest first. ``there``: by node, the parts that are there now.
    """

    leaves: dict[int, Leaf]
    inputs: Inputs
    options: QueryOptions
    traced: bool = False
    seen: dict[int, dict[Key, Seen]] = field(default_factory=dict)
    ages: dict[int, dict[Key, list[int]]] = field(default_factory=dict)
    there: dict[int, set[Part]] = field(default_factory=dict)
    born: int = 0

    def at(self, node: Node, t: int) -> list[Held]:
        """The bag of rows of ``node`` at ``t``; results over INTERNAL windows stay."""
        if not has_internal(node):
            return self.now(node, t)
        match node:
            case Output(below, _):
                return self.at(below, t)
            case Filter(below, predicate):
                return _where(self.at(below, t), predicate)
            case Project(below, exprs):
                return _project(self.at(below, t), exprs)
            case SetOp(kind="union_all"):
                return self.at(node.left, t) + _renamed(node, self.at(node.right, t))
            case _:
                return self._kept(node, t)

    def _kept(self, node: Node, t: int) -> list[Held]:
        """What the node has shown so far over windows read as external, and what is still held."""
        seen = self.seen.setdefault(id(node), {})
        rows = self.now(node, t)
        count = Counter((r.lineage, _key(r)) for r in rows)
        for r in rows:
            key = (r.lineage, _key(r))
            found = seen.setdefault(key, Seen(r, 0, frozenset()))
            found.count, found.needs = max(found.count, count[key]), found.needs | r.needs
        there = set[Part]().union(*self.there.values())
        return [s.row for s in seen.values() if any(n <= there for n in s.needs) for _ in range(s.count)]

    def now(self, node: Node, t: int, version: int | None = None) -> list[Held]:
        """The bag of rows of ``node`` at ``t``, INTERNAL windows read as external ones; ``version``: the instant at
        which NRR tables are read (thesis 3.3.1; None: ``t``)."""
        match node:
            case Scan() | Rewindow():
                return self._window(node, t)
            case TableScan(table, alias):
                moment = version if version is not None and table.kind == "nrr" else t
                held = self.inputs.tables[table.name].at(moment)
                rows = [Held({f"{alias}.{c}": v for c, v in r.items()}) for r in held]
                return self._aged(node, rows) if table.kind == "relation" else self._numbered(node, rows)
            case Filter(below, predicate):
                return _where(self.now(below, t, version), predicate)
            case Project(below, exprs):
                return _project(self.now(below, t, version), exprs)
            case Output(below, _):
                return self.now(below, t, version)
            case Join():
                return self._join(node, t, version)
            case SemiJoin(anti=False, null_aware=None):
                return [_with_one_of(r, others) for r, others in self._with_partners(node, t, version) if others]
            case SetOp(kind="union_all"):
                return self.now(node.left, t, version) + _renamed(node, self.now(node.right, t, version))
            case _:
                return self._aged(node, self._construct(node, t, version))

    def _construct(self, node: Node, t: int, version: int | None) -> list[Held]:
        """Rows that are not combinations of rows."""
        match node:
            case Aggregate():
                return self._aggregate(self.now(node.input, t, version), node.groups, node.aggs)
            case Distinct(below):
                return _distinct(self.now(below, t, version))
            case SemiJoin():
                return [r for r, others in self._with_partners(node, t, version) if _keeps(node, r, others)]
            case OuterJoin():
                return list(self._outer(node, t, version))
            case SetOp():
                return self._set(node, t, version)
            case Apply(aggs=aggs):
                pairs = self._with_partners(node, t, version)
                return [replace(r, values=r.values | self._summary(others, aggs)) for r, others in pairs]
            case TopK():
                return _top(self.now(node.input, t, version), node)
        raise TypeError(f"not a plan node: {node!r}")

    def _window(self, node: Scan | Rewindow, t: int) -> list[Held]:
        leaf = self.leaves[id(node)]
        rows = [
            Held({leaf.prefix + c: x for c, x in e.values.items()}, e.ts, ((e.ts, *e.order),))
            for e in contents(leaf.window, leaf.events, t, self.options)
        ]
        stays = is_internal(leaf.window) or isinstance(leaf.window, Unbounded)
        return self._traced(node, rows, [r.order[0] for r in rows], needed=not stays)

    def _traced(self, node: Node, rows: list[Held], names: Sequence[Part], needed: bool) -> list[Held]:
        """The rows as parts of results under their ``names``; ``needed``: results go with them."""
        if not self.traced:
            return rows
        parts: list[Part] = [(id(node), *n) for n in names]
        self.there[id(node)] = set(parts)
        return [
            replace(r, lineage=(p,), needs=frozenset([frozenset([p])]) if needed else NOTHING)
            for r, p in zip(rows, parts, strict=True)
        ]

    def _numbered(self, node: Node, rows: list[Held]) -> list[Held]:
        """Rows of a table that no result waits for, equal ones by number."""
        before: Counter[Key] = Counter()
        names = []
        for key in map(_key, rows):
            names.append((*key, before[key]))
            before[key] += 1
        return self._traced(node, rows, names, needed=False)

    def _aged(self, node: Node, rows: list[Held]) -> list[Held]:
        """Rows that come and go by value: each has a number once it is there; the oldest of equal ones leaves first."""
        if not self.traced:
            return rows
        before, now = self.ages.get(id(node), {}), Counter(map(_key, rows))
        ages = {}
        for key, count in now.items():
            old = before.get(key, [])
            fresh = range(self.born, self.born + count - len(old))
            self.born += len(fresh)
            ages[key] = [*old[max(0, len(old) - count) :], *fresh]
        self.ages[id(node)] = ages
        left = {key: iter(numbers) for key, numbers in ages.items()}
        names = [(next(left[_key(r)]),) for r in rows]
        return self._traced(node, rows, names, needed=not has_internal(node))

    def _join(self, node: Join, t: int, version: int | None) -> list[Held]:
        """Every combination of rows for which the predicate is true."""
        timed = [p for p in node.parts if version is not None or not versioned(p)]
        late = [p for p in node.parts if p not in timed]
        rows = join([self.now(p, t, version) for p in timed], [p.schema.names for p in timed], node.predicate)
        if not late:
            return rows
        if not timed:
            return join([self.now(p, t) for p in late], [p.schema.names for p in late], node.predicate)
        found = []
        for row in rows:
            tables = [self.now(p, t, row.ts) for p in late]
            names = [tuple(row.values), *(p.schema.names for p in late)]
            found += join([[row], *tables], names, node.predicate)
        return found

    def _with_partners(
        self, node: SemiJoin | Apply, t: int, version: int | None
    ) -> Iterator[tuple[Held, list[Held]]]:
        """Each row of the left with those of the right that fit."""
        late = version is None and versioned(node.right)
        rights = [] if late else self.now(node.right, t, version)
        for row in self.now(node.left, t, version):
            others = self.now(node.right, t, row.ts) if late else rights
            yield row, [o for o in others if eval_expr(node.predicate, row.values | o.values) is True]

    def _outer(self, node: OuterJoin, t: int, version: int | None) -> Iterator[Held]:
        left_late, right_late = (version is None and versioned(p) for p in (node.left, node.right))
        if (left_late and node.side != "right") or (right_late and node.side != "left"):
            raise UnsupportedError("an outer join cannot keep the rows of a non-retroactive table that has no partner")
        lefts = [] if left_late else self.now(node.left, t, version)
        rights = [] if right_late else self.now(node.right, t, version)
        matched: set[int] = set()
        for row in [] if left_late else lefts:
            others = self.now(node.right, t, row.ts) if right_late else rights
            partners = [o for o in others if eval_expr(node.predicate, row.values | o.values) is True]
            matched |= {id(o) for o in partners}
            yield from (combine(row, o) for o in partners)
            if not partners and node.side != "right":
                yield replace(row, values=row.values | nulls(node.right.schema.names))
        if node.side == "left":
            return
        for other in rights:
            others = self.now(node.left, t, other.ts) if left_late else []
            partners = [o for o in others if eval_expr(node.predicate, o.values | other.values) is True]
            yield from (combine(o, other) for o in partners)
            if not partners and id(other) not in matched:
                yield replace(other, values=nulls(node.left.schema.names) | other.values)

    def _set(self, node: SetOp, t: int, version: int | None) -> list[Held]:
        left, right = self.now(node.left, t, version), _renamed(node, self.now(node.right, t, version))
        if node.kind in ("except", "intersect"):
            left = _distinct(left)
        there = Counter(_key(r) for r in right)
        kept = []
        for r in left:
            hit = there[_key(r)] > 0
            if hit and node.kind.endswith("_all"):
                there[_key(r)] -= 1
            if hit is node.kind.startswith("intersect"):
                kept.append(r)
        return kept

    def _aggregate(
        self, rows: list[Held], groups: Sequence[tuple[str, Expr]], aggs: Sequence[tuple[str, Agg]]
    ) -> list[Held]:
        """One row per group that has rows; exactly one when there is no GROUP BY, over no rows too."""
        members: dict[Key, list[Held]] = {} if groups else {(): []}
        for r in rows:
            members.setdefault(tuple(canonical(eval_expr(e, r.values)) for _, e in groups), []).append(r)
        out = []
        for key, group in members.items():
            values = {name: value for (name, _), value in zip(groups, key, strict=True)}
            newest = max((r.ts for r in group), default=NEVER)
            out.append(Held(values | self._summary(group, aggs), newest))
        return out

    def _summary(self, rows: list[Held], aggs: Sequence[tuple[str, Agg]]) -> Values:
        rows = sorted(rows, key=lambda r: (r.ts, r.order))
        found = {}
        for name, agg in aggs:
            if agg.fn in ("first", "last"):  # rows of one instant by value, NULL least
                kept = [r for r in rows if _filtered(agg, r)]
                values = [None if agg.arg is None else eval_expr(agg.arg, r.values) for r in kept]
                values = [v for _, v in sorted(zip((r.ts for r in kept), values, strict=True), key=_AT_AND_VALUE)]
            else:
                values = [None if agg.arg is None else eval_expr(agg.arg, r.values) for r in rows]
            found[name] = aggregate(agg, values, self.inputs.functions)
        return found


def _where(rows: list[Held], predicate: Expr) -> list[Held]:
    return [r for r in rows if eval_expr(predicate, r.values) is True]


def _project(rows: list[Held], exprs: Sequence[tuple[str, Expr]]) -> list[Held]:
    return [replace(r, values={n: eval_expr(e, r.values) for n, e in exprs}) for r in rows]


def _renamed(node: SetOp, rows: list[Held]) -> list[Held]:
    """Rows of the right under the names of the left."""
    names, own = node.left.schema.names, node.right.schema.names
    return [replace(r, values=dict(zip(names, (r.values[n] for n in own), strict=True))) for r in rows]


def _with_one_of(row: Held, partners: list[Held]) -> Held:
    """The row, which stays while one of the partners does."""
    return replace(row, needs=all_of(row.needs, frozenset[frozenset[Part]]().union(*(p.needs for p in partners))))


def _filtered(agg: Agg, row: Held) -> bool:
    """Whether the aggregate's FILTER, if it has one, keeps the row."""
    match agg.arg:
        case Call("only", (condition, _)):
            return eval_expr(condition, row.values) is True
        case _:
            return True


def _keeps(node: SemiJoin, row: Held, partners: list[Held]) -> bool:
    if node.null_aware is None:
        return bool(partners) != node.anti
    x, y = node.null_aware
    pairs = [(eval_expr(x, row.values), eval_expr(y, row.values | o.values)) for o in partners]
    return all(a is not None and b is not None and compare(a, b) != 0 for a, b in pairs)


def is_internal(window: Window) -> bool:
    """Whether results over the window stay when its rows expire."""
    return getattr(window, "internal", False)


def has_internal(node: Node) -> bool:
    """Whether a window below the node, not inside a windowed sub-query, is INTERNAL."""
    return any(is_internal(n.window) for n in within(node) if isinstance(n, Scan | Rewindow))


def versioned(node: Node) -> bool:
    """Whether the node reads tables only, one of them non-retroactive: it is read as of its partner's event time."""
    leaves = [n for n in within(node) if isinstance(n, Scan | Rewindow | TableScan)]
    return all(isinstance(n, TableScan) for n in leaves) and any(
        isinstance(n, TableScan) and n.table.kind == "nrr" for n in leaves
    )


def _key(row: Held) -> Key:
    return tuple(canonical(v) for v in row.values.values())


def _distinct(rows: list[Held]) -> list[Held]:
    seen: dict[Key, Held] = {}
    for r in rows:
        seen.setdefault(_key(r), r)
    return list(seen.values())


def _top(rows: list[Held], node: TopK) -> list[Held]:
    """The first rows of each group, ranked by counting the rows of the group that come before."""

    def before(a: tuple[list[Any], Held], b: tuple[list[Any], Held]) -> int:
        found = _by_keys(a[0], b[0], node.keys)
        pairs = zip(a[1].values.values(), b[1].values.values(), strict=True)
        return found or next((c for x, y in pairs if (c := compare_nulls(x, y))), 0)

    groups: dict[Key, list[tuple[list[Any], Held]]] = {}
    for r in rows:
        key = tuple(canonical(eval_expr(e, r.values)) for e in node.by)
        groups.setdefault(key, []).append(([eval_expr(e, r.values) for e, _, _ in node.keys], r))
    found = []
    for members in groups.values():
        ordered = sorted(members, key=cmp_to_key(before))
        for i, (own, r) in enumerate(ordered):
            less = [k for k, _ in ordered if _by_keys(k, own, node.keys) < 0]
            kinds = sum(all(_by_keys(k, other, node.keys) for other in less[:j]) for j, k in enumerate(less))
            end = node.offset + node.count
            if node.offset <= i and (i < end or (node.ties and len(less) < end)):
                ranks = {"row_number": i + 1, "rank": len(less) + 1, "dense_rank": kinds + 1}
                found.append(replace(r, values=r.values | {n: ranks[kind] for n, kind in node.ranks}))
    return found


def _by_keys(a: list[Any], b: list[Any], keys: Sequence[tuple[Expr, bool, bool]]) -> int:
    """-1, 0 or 1 for two rows by the values of their keys."""
    compared = (compare_nulls(x, y, d, first) for x, y, (_, d, first) in zip(a, b, keys, strict=True))
    return next((c for c in compared if c), 0)


def compare_nulls(a: Any, b: Any, descending: bool = False, nulls_first: bool = True) -> int:
    """-1, 0 or 1 for two values of an ORDER BY column."""
    if a is None or b is None:
        return (int(a is not None) - int(b is not None)) * (1 if nulls_first else -1)
    if isinstance(a, list | dict):  # some order, always the same
        a, b = repr(a), repr(b)
    return compare(a, b) * (-1 if descending else 1)


def _by_time_and_value(a: tuple[int, Any], b: tuple[int, Any]) -> int:
    return a[0] - b[0] or compare_nulls(a[1], b[1])


_AT_AND_VALUE = cmp_to_key(_by_time_and_value)
