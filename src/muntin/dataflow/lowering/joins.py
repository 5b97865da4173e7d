"""Planning of joins: of windows on shared keys, and with relations as of a row's start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from muntin.core.errors import UnsupportedError
from muntin.core.schema import Schema
from muntin.dataflow.graph import RelayedJoin, read_by
from muntin.dataflow.lowering.base import Base
from muntin.dataflow.lowering.join_layout import (
    Relay,
    Spread,
    graph_join,
    graph_keys,
    relay,
    relayed_is_cheaper,
    spread,
)
from muntin.dataflow.lowering.nodes import BOOL, columns, equality, leaves, names_of, renews
from muntin.dataflow.lowering.relays import Keyed, join_relayed
from muntin.dataflow.values import Loose, Names, Placed, Value, loose, table
from muntin.operators.as_of_join import AsOfJoin
from muntin.operators.rewind import Rewind
from muntin.operators.snap import Snap
from muntin.operators.time_window import meaning_of
from muntin.optimizer.estimate import flow_of
from muntin.optimizer.statistics import Statistics
from muntin.plan.exprs import Call, Expr, columns_of, conjunction, conjuncts
from muntin.plan.nodes import (
    Filter,
    Node,
    Project,
    Scan,
    TableScan,
)
from muntin.plan.windows import Range, Ticks, own_ticks


class Joins(Base):
    """Joins of any number of inputs; tables joined as their kind says."""

    def join_with_tables(self, parts: Sequence[Node], predicate: Expr, ticks: Ticks | None) -> Value:
        """Windows and retroactive relations first, then each non-retroactive relation as of its partner's start."""
        late = [p for p in parts if isinstance(p, TableScan) and p.table.kind == "nrr"]
        others = [p for p in parts if p not in late]
        if late:
            check_lasts(others)
        raw = self.at_event_time(others, ticks) if late else None
        first = [raw] if raw is not None else [self.visit(p, ticks, external=True) for p in others]
        if not first:
            raise UnsupportedError("a non-retroactive relation needs a stream to join: its own changes show nothing")
        conditions = conjuncts(predicate)
        have = {n for v in first for n in v.schema.names}
        inner = [c for c in conditions if names_of(c) <= have]
        value = (
            self.join(first, conjunction(inner), others)
            if len(first) > 1
            else self.build.filter(first[0], conjunction(inner))
        )
        rest = [c for c in conditions if c not in inner]
        for node in late:
            assert isinstance(node, TableScan)
            moment = ticks if raw is None else None
            value, rest = self.as_of(value, table(node, moment), rest, own_time=raw is not None)
        if raw is not None:
            value = self.moving(value, others[0], ticks)
        names = [f for p in parts for f in p.schema]
        return self.build.project(value, columns(Schema(tuple(names))))

    def at_event_time(self, parts: Sequence[Node], ticks: Ticks | None) -> Value | None:
        """One time window as if it did not slide, so that a relation is read at its rows' own event time; None where
        rows start at their event time anyway, or several windows meet (their newest part decides, as far as it shows).
        """
        if ticks is None or len(parts) != 1:
            return None
        match parts[0]:
            case Scan(window=Range() as window) as node:
                return loose(replace(node, window=replace(window, slide=None)), None)
            case Filter(child, predicate):
                below = self.at_event_time([child], ticks)
                return None if below is None else self.build.filter(below, predicate)
            case Project(child, exprs):
                below = self.at_event_time([child], ticks)
                return None if below is None else self.build.project(below, exprs)
            case _:
                return None

    def moving(self, value: Value, node: Node, ticks: Ticks | None) -> Value:
        """Rows of ``at_event_time`` with the validity that the window's SLIDE gives them."""
        (leaf,) = leaves(node)
        assert isinstance(leaf, Scan) and isinstance(leaf.window, Range) and ticks is not None
        here = self.build.place(value)
        own = own_ticks(leaf.window, self.query.options)
        if own is not None:
            # in a zone, and with months, the way from tick to tick is no fixed time
            shift = -1 if self.query.options.bounds == "start" else 0
            fixed = own.zone is None and isinstance(leaf.window.slide, int)
            op = Snap(own) if fixed else Rewind(leaf.window, meaning_of(self.query.options), shift)
            here = self.build.apply(op, [here], here.schema, here.signed)
        return self.build.apply(Snap(ticks), [here], here.schema, here.signed)

    def as_of(
        self, value: Value, relation: Value, conditions: list[Expr], outer: bool = False, own_time: bool = False
    ) -> tuple[Value, list[Expr]]:
        """Rows beside a non-retroactive relation as it is when they come to be, and the conditions that are left over.
        ``outer``: rows without a partner stay, with NULLs; ``own_time``: as of the rows' own event time."""
        mine, theirs = set(value.schema.names), set(relation.schema.names)
        own = [c for c in conditions if names_of(c) <= theirs]
        relation = self.build.filter(relation, conjunction(own))
        pairs = {c: p for c in conditions if (p := equality(c, mine, theirs)) is not None}
        usable: list[list[Expr]] = [
            [Call("is_not_null", (t,), BOOL) for t in side] for side in zip(*pairs.values(), strict=True)
        ]
        if usable:
            if not outer:
                value = self.build.filter(value, conjunction(usable[0]))
            relation = self.build.filter(relation, conjunction(usable[1]))
        value, left_keys = self.with_columns(value, [a for a, _ in pairs.values()])
        relation, right_keys = self.with_columns(relation, [b for _, b in pairs.values()])
        here, there = self.build.colocate([value, relation], [left_keys, right_keys])
        if here.signed:
            raise UnsupportedError(TAKEN_AWAY)
        schema = Schema(here.schema.fields + there.schema.fields)
        closing = [c for c in conditions if c not in pairs and c not in own and names_of(c) <= mine | theirs]
        lag = 1 if own_time and self.query.options.bounds == "start" else 0
        names = Names(here, there)
        on = (names.columns(left_keys), names.columns(right_keys))
        op = AsOfJoin(on, names.expr(conjunction(closing)), outer, lag)
        joined = self.build.apply(op, [here, there], schema, False)
        return joined, [c for c in conditions if c not in pairs and c not in own and c not in closing]

    def join(self, parts: Sequence[Value], predicate: Expr, nodes: Sequence[Node] = ()) -> Value:
        """n-way join. Inputs that all share a key meet in one operator by it; others in one operator over their join
        graph, or relayed through levels where that is cheaper by estimate (``nodes``: what the parts are)."""
        conditions = conjuncts(predicate)
        owner = {name: i for i, v in enumerate(parts) for name in v.schema.names}
        groups = _classes(conditions, owner)
        keys = [[g[i] for i in range(len(parts))] for g in groups if len(g) == len(parts)]
        if keys:
            return self._join_on_keys(list(parts), keys, conditions)
        keyed = self._keyed(parts, conditions)
        way = spread([v.schema.names for v in keyed.parts], keyed.classes, _rates(nodes, len(parts), self.known))
        plan = relay(keyed.classes, len(parts))
        known = len(nodes) == len(parts) and self.query.options.shed != "harvest"  # no level could be harvested
        if plan is not None and known and relayed_is_cheaper(nodes, predicate, way, plan, self.known):
            made = join_relayed(self.build, keyed, plan)
            self._on_one_level(keyed, plan, made)
            return made
        return self._join_graph(keyed, way)

    def _on_one_level(self, keyed: Keyed, plan: Relay, made: Placed) -> None:
        """Notes what a relayed join would be on one level, spread by what the streams bring whatever is selected: so
        it is laid out alike for queries that could share it."""
        parts = [p for p in keyed.parts if isinstance(p, Loose)]
        if len(parts) < len(keyed.parts):
            return
        rates = [self.known.rate(p.scan.stream.name, p.scan.stream.rate) for p in parts]
        whole = self._join_graph(keyed, spread([p.schema.names for p in parts], keyed.classes, rates))
        vertices, _ = read_by(self.build.vertices, [whole.edge.vertex])
        result, sent = self.build.vertices[made.edge.vertex].id, self.build.way_to(whole, made)
        self.build.relayed.append(RelayedJoin(result, vertices, plan.first, plan.second, plan.bridge, sent))

    def _join_graph(self, keyed: Keyed, way: Spread) -> Placed:
        """One operator over the join graph."""
        here = self.build.colocate(keyed.parts, way.keys)
        op = graph_join(here, keyed.classes, keyed.conditions)
        schema = Schema(tuple(f for p in here for f in p.schema))
        classes = [frozenset(c for _, c in k) for k in keyed.classes]
        return self.build.apply(
            op, here, schema, any(p.signed for p in here), lambda args: graph_keys(args, classes)
        )

    def _keyed(self, parts: Sequence[Value], conditions: list[Expr]) -> Keyed:
        """The parts with their own filters and plain columns for every key term, NULL keys filtered out."""
        spent: list[Expr] = []
        filtered: list[Value] = []
        for part in parts:
            part, own = self._own_filters(part, conditions, spent)
            filtered.append(part)
            spent += own
        owner = {name: i for i, v in enumerate(filtered) for name in v.schema.names}
        groups = _classes([c for c in conditions if c not in spent], owner)
        spent += [c for c in conditions if any(is_key(c, [list(g.values())]) for g in groups)]
        classes: list[list[tuple[int, str]]] = [[] for _ in groups]
        for i, part in enumerate(filtered):
            mine = [(n, g[i]) for n, g in enumerate(groups) if i in g]
            present: list[Expr] = [Call("is_not_null", (t,), BOOL) for _, t in mine]
            part, names = self.with_columns(self.build.filter(part, conjunction(present)), [t for _, t in mine])
            filtered[i] = part
            for (n, _), name in zip(mine, names, strict=True):
                classes[n].append((i, name))
        rest = tuple(c for c in conditions if c not in spent)
        return Keyed(filtered, tuple(tuple(c) for c in classes), rest)

    def _join_on_keys(self, parts: list[Value], keys: list[list[Expr]], conditions: list[Expr]) -> Value:
        """All inputs in one operator on the keys that they share."""
        spent = [c for c in conditions if is_key(c, keys)]
        here = [self._own_filters(p, conditions, spent) for p in parts]
        keyed, names = self._key_columns([p for p, _ in here], keys)
        spent += [c for _, cs in here for c in cs]
        split = self.query.options.skew == "split" and len(parts) == 2 and all(map(self._splits, keyed))
        joined = self.window_join(keyed, names, split=split)
        return self.build.filter(joined, conjunction([c for c in conditions if c not in spent]))

    def _splits(self, part: Value) -> bool:
        """Whether hot keys of the part can be split: rows must come to the join straight from their window."""
        return isinstance(part, Loose) and part.updates is None and not self.build.negates(part)

    def _own_filters(self, part: Value, conditions: list[Expr], spent: list[Expr]) -> tuple[Value, list[Expr]]:
        have = set(part.schema.names)
        own = [c for c in conditions if c not in spent and {x.name for x in columns_of(c)} <= have]
        return self.build.filter(part, conjunction(own)), own

    def _key_columns(self, parts: list[Value], keys: list[list[Expr]]) -> tuple[list[Value], list[tuple[str, ...]]]:
        """Parts with a plain column for each key term, NULL keys filtered out, and the columns' names."""
        found, names = [], []
        for i, part in enumerate(parts):
            terms = [k[i] for k in keys]
            part = self.build.filter(part, conjunction([Call("is_not_null", (t,), BOOL) for t in terms]))
            part, mine = self.with_columns(part, terms)
            found.append(part)
            names.append(mine)
        return found, names


TAKEN_AWAY = "a non-retroactive relation cannot join rows that may be taken away early, or in whose place others come"


def check_lasts(nodes: Sequence[Node]) -> None:
    """Raises UnsupportedError where a duplicate may come in a row's place: it would be joined anew, later."""
    if any(renews(n) for n in nodes):
        raise UnsupportedError(TAKEN_AWAY)


def _rates(nodes: Sequence[Node], n: int, known: Statistics) -> list[float]:
    """Rows per second of each input, as far as is known."""
    return [flow_of(x, known).rate for x in nodes] if len(nodes) == n else [1.0] * n


def _classes(conditions: list[Expr], owner: dict[str, int]) -> list[dict[int, Expr]]:
    """Groups of terms that are equal by the conditions: one term for each input."""
    groups: list[list[tuple[int, Expr]]] = []
    for c in conditions:
        match c:
            case Call("eq", (a, b)):
                sides = [(_owner(e, owner), e) for e in (a, b)]
                if any(o is None for o, _ in sides) or sides[0][0] == sides[1][0]:
                    continue
                known = [(o, e) for o, e in sides if o is not None]
                touching = [g for g in groups if any(t in g for t in known)]
                merged = [t for g in touching for t in g] + [t for t in known if not any(t in g for g in touching)]
                groups = [g for g in groups if g not in touching] + [merged]
    found = []
    for group in groups:
        terms: dict[int, Expr] = {}
        for o, e in group:
            terms.setdefault(o, e)
        found.append(terms)
    return found


def _owner(e: Expr, owner: dict[str, int]) -> int | None:
    owners = {owner.get(n) for n in names_of(e)}
    return owners.pop() if len(owners) == 1 else None


def is_key(condition: Expr, keys: list[list[Expr]]) -> bool:
    """Whether the condition says just what the keys say: both of its terms are terms of one key."""
    match condition:
        case Call("eq", (a, b)):
            return any(a in k and b in k for k in keys)
    return False
