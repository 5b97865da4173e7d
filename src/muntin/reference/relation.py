"""The relation that a query computes at an instant, node by node, from the contents of its windows and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cmp_to_key
from typing import Any

from muntin.core.errors import UnsupportedError
from muntin.core.time import FOREVER, NEVER
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
from muntin.plan.windows import QueryOptions, Window
from muntin.reference.aggregates import aggregate
from muntin.reference.inputs import Event, Inputs, Values
from muntin.reference.membership import Visit, contents, visits
from muntin.reference.rows import Held, combine, join, nulls
from muntin.reference.scalar import eval_expr
from muntin.reference.values import canonical, compare

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Leaf:
    """A window of the query with the rows of its stream; ``prefix`` goes before the columns' names.

    ``stays``: of each row that the window ever shows; ``shown``: as its own SLIDE shows it, by ``id`` of the event.
    """

    window: Window
    events: list[Event]
    prefix: str
    stays: list[Visit]
    shown: dict[int, Visit]


def leaf_of(window: Window, events: list[Event], prefix: str, options: QueryOptions) -> Leaf:
    """The leaf, with the stay of each row."""
    stays = list(visits(window, events, options))
    return Leaf(window, events, prefix, stays, {id(v.event): v.shown() for v in stays})


@dataclass
class Relation:
    """Evaluates nodes at instants, which must not go back.

    ``leaves``: by ``id`` of the Scan or Rewindow node. ``appended``: by node, what an aggregate over INTERNAL windows
    has shown so far (thesis 3.3.2: results stay; state expires).
    """

    leaves: dict[int, Leaf]
    inputs: Inputs
    options: QueryOptions
    appended: dict[int, tuple[Counter[Key], list[Held]]] = field(default_factory=dict)

    def at(self, node: Node, t: int, version: int | None = None, external: bool = False) -> list[Held]:
        """The bag of rows of ``node`` at ``t``.

        ``version``: the instant at which NRR tables are read (thesis 3.3.1; None: ``t``). ``external``: read INTERNAL
        windows as external.
        """
        match node:
            case Scan() | Rewindow():
                return self._window(self.leaves[id(node)], t, external)
            case TableScan(table, alias):
                moment = version if version is not None and table.kind == "nrr" else t
                rows = self.inputs.tables[table.name].at(moment)
                return [Held({f"{alias}.{c}": v for c, v in r.items()}) for r in rows]
            case Filter(below, predicate):
                return [r for r in self.at(below, t, version, external) if eval_expr(predicate, r.values) is True]
            case Project(below, exprs):
                rows_below = self.at(below, t, version, external)
                return [replace(r, values={n: eval_expr(e, r.values) for n, e in exprs}) for r in rows_below]
            case Join():
                return self._join(node, t, version, external)
            case Aggregate():
                if has_internal(node) and not external:
                    return self._append(node, t, version)
                return self._aggregate(self.at(node.input, t, version, external), node.groups, node.aggs)
            case Distinct(below):
                return _distinct(self.at(below, t, version, external))
            case SemiJoin():
                return [r for r, others in self._with_partners(node, t, version, external) if _keeps(node, r, others)]
            case OuterJoin():
                return list(self._outer(node, t, version, external))
            case SetOp():
                return self._set(node, t, version, external)
            case Apply(aggs=aggs):
                pairs = self._with_partners(node, t, version, external)
                return [replace(r, values=r.values | self._summary(others, aggs)) for r, others in pairs]
            case TopK(below, keys, count):
                return _top(self.at(below, t, version, external), keys, count)
            case Output(below, _):
                return self.at(below, t, version, external)
        raise TypeError(f"not a plan node: {node!r}")

    def _window(self, leaf: Leaf, t: int, external: bool) -> list[Held]:
        if is_internal(leaf.window) and not external:
            every = leaf.shown.values()
            there = [v for v in every if v.enters <= t and (v.leaves is None or v.enters < v.leaves)]
        else:
            there = [leaf.shown[id(e)] for e in contents(leaf.window, leaf.events, t, self.options)]
        return [
            Held(
                {leaf.prefix + c: x for c, x in v.event.values.items()},
                v.event.ts,
                ((v.event.ts, *v.event.order),),
                v.enters,
                FOREVER if v.leaves is None else v.leaves,
            )
            for v in there
        ]

    def _join(self, node: Join, t: int, version: int | None, external: bool) -> list[Held]:
        """Every combination of rows that are (INTERNAL: were) valid together and for which the predicate is true."""
        timed = [p for p in node.parts if version is not None or not versioned(p)]
        late = [p for p in node.parts if p not in timed]
        rows = join([self.at(p, t, version, external) for p in timed], [p.schema.names for p in timed], node.predicate)
        if not late:
            return rows
        if not timed:
            return join([self.at(p, t) for p in late], [p.schema.names for p in late], node.predicate)
        found = []
        for row in rows:
            tables = [self.at(p, t, row.ts) for p in late]
            names = [tuple(row.values), *(p.schema.names for p in late)]
            found += join([[row], *tables], names, node.predicate)
        return found

    def _with_partners(
        self, node: SemiJoin | Apply, t: int, version: int | None, external: bool
    ) -> Iterator[tuple[Held, list[Held]]]:
        """Each row of the left with those of the right that are (INTERNAL: were) valid with it and fit."""
        late = version is None and versioned(node.right)
        rights = [] if late else self.at(node.right, t, version, external)
        for row in self.at(node.left, t, version, external):
            others = self.at(node.right, t, row.ts) if late else rights
            pairs = [(o, combine(row, o)) for o in others]
            yield row, [o for o, b in pairs if b.start < b.end and eval_expr(node.predicate, b.values) is True]

    def _outer(self, node: OuterJoin, t: int, version: int | None, external: bool) -> Iterator[Held]:
        left_late, right_late = (version is None and versioned(p) for p in (node.left, node.right))
        if (left_late and node.side != "right") or (right_late and node.side != "left"):
            raise UnsupportedError("an outer join cannot keep the rows of a non-retroactive table that has no partner")
        lefts = [] if left_late else self.at(node.left, t, version, external)
        rights = [] if right_late else self.at(node.right, t, version, external)
        matched: set[int] = set()
        for row in [] if left_late else lefts:
            others = self.at(node.right, t, row.ts) if right_late else rights
            partners = [o for o in others if eval_expr(node.predicate, row.values | o.values) is True]
            matched |= {id(o) for o in partners}
            yield from (combine(row, o) for o in partners)
            if not partners and node.side != "right":
                yield replace(row, values=row.values | nulls(node.right.schema.names))
        if node.side == "left":
            return
        for other in rights:
            others = self.at(node.left, t, other.ts) if left_late else []
            partners = [o for o in others if eval_expr(node.predicate, o.values | other.values) is True]
            yield from (combine(o, other) for o in partners)
            if not partners and id(other) not in matched:
                yield replace(other, values=nulls(node.left.schema.names) | other.values)

    def _set(self, node: SetOp, t: int, version: int | None, external: bool) -> list[Held]:
        names = node.left.schema.names
        left = self.at(node.left, t, version, external)
        right = [
            replace(r, values=dict(zip(names, (r.values[n] for n in node.right.schema.names), strict=True)))
            for r in self.at(node.right, t, version, external)
        ]
        if node.kind == "union_all":
            return left + right
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

    def _append(self, node: Aggregate, t: int, version: int | None) -> list[Held]:
        """Every value that the aggregate over the same external windows has taken at an instant so far."""
        before, shown = self.appended.get(id(node), (Counter(), []))
        rows = self.at(node, t, version, external=True)
        left = Counter(before)
        for r in rows:
            if left[_key(r)] > 0:
                left[_key(r)] -= 1
            else:
                shown = [*shown, r]
        self.appended[id(node)] = (Counter(_key(r) for r in rows), shown)
        return shown


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


def _top(rows: list[Held], keys: Sequence[tuple[Expr, bool, bool]], count: int) -> list[Held]:
    def before(a: tuple[list[Any], Held], b: tuple[list[Any], Held]) -> int:
        for x, y, (_, descending, nulls_first) in zip(a[0], b[0], keys, strict=True):
            if found := compare_nulls(x, y, descending, nulls_first):
                return found
        pairs = zip(a[1].values.values(), b[1].values.values(), strict=True)
        return next((c for x, y in pairs if (c := compare_nulls(x, y))), 0)

    keyed = [([eval_expr(e, r.values) for e, _, _ in keys], r) for r in rows]
    return [r for _, r in sorted(keyed, key=cmp_to_key(before))][:count]


def compare_nulls(a: Any, b: Any, descending: bool = False, nulls_first: bool = True) -> int:
    """-1, 0 or 1 for two values of an ORDER BY column."""
    if a is None or b is None:
        return (int(a is not None) - int(b is not None)) * (1 if nulls_first else -1)
    return compare(a, b) * (-1 if descending else 1)


def _by_time_and_value(a: tuple[int, Any], b: tuple[int, Any]) -> int:
    return a[0] - b[0] or compare_nulls(a[1], b[1])


_AT_AND_VALUE = cmp_to_key(_by_time_and_value)
