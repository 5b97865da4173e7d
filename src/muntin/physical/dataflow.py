"""Planning of any query: each node becomes operators over weighted interval rows.

Everything reduces to a few linear operators. With L - X for a merge of L and X with weight -1::

    L semi R       L join distinct(keys of R)                  (equality), or
                   L join distinct(L columns of (L join R))    (any predicate)
    L anti R       L - (L semi R)
    L left R       (L join R) + (L anti R, padded with NULLs)
    L except all R multiplicity max(l - r, 0) of each row, from counts by row
    scalar query   L left (aggregate of (distinct(L columns used) join R)), counts defaulting to 0

so one join, one aggregate and one way to expire rows serve the whole language, and a retraction is a row of weight -1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import pyarrow as pa

from muntin.core.errors import UnsupportedError
from muntin.core.schema import Field, Schema
from muntin.physical.drafts import Drafts, Loose, Named, Placed, Value, loose, table
from muntin.physical.stage import (
    AsOfJoin,
    GroupAggregate,
    Materialize,
    Merge,
    Net,
    OneSign,
    PhysicalQuery,
    Repeat,
    Restore,
    Rewind,
    RowsWindow,
    Snap,
    TopRows,
    WindowJoin,
)
from muntin.plan.exprs import TRUE, Agg, Call, Column, Expr, Literal, columns_of, conjunction, conjuncts, map_columns
from muntin.plan.nodes import (
    Aggregate,
    Apply,
    BoundQuery,
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
    ticks_of,
    within,
)
from muntin.plan.windows import Range, Rows, Ticks, Unbounded, tick_origin

_INT, _BOOL = pa.int64(), pa.bool_()
ONE = Literal(1, _INT)


def plan_dataflow(query: BoundQuery) -> PhysicalQuery:
    """The stages of any bound query. Raises UnsupportedError for what no operator does yet."""
    return _Planner(query).run()


class _Planner:
    def __init__(self, query: BoundQuery) -> None:
        self.query = query
        self.drafts = Drafts(query.options)
        self.names = 0

    def run(self) -> PhysicalQuery:
        root = self.query.root
        result = self.output(root)
        return self.drafts.finish(result, ticks_of(root, self.query.options), root.kind == "changes")

    def fresh(self, stem: str) -> str:
        self.names += 1
        return f"__{stem}{self.names}"

    # -- outputs

    def output(self, node: Output) -> Placed:
        """What the query shows: snapshots, or changes of one sign or both."""
        ticks = ticks_of(node, self.query.options)
        value = self.visit(node.input, ticks)
        names = value.schema.names
        match node.kind:
            case "rstream" if ticks is not None:
                return self._materialize(self.drafts.place(value), "snapshots", ticks, [])
            case "rstream":
                marks = self._marks(node.input)
                placed = self.drafts.colocate([value, *marks], [()] * (1 + len(marks)))
                return self._materialize(placed[0], "snapshots", None, placed[1:])
            case "changes" | "istream" | "dstream":
                here = self.drafts.colocate([value], [names])[0]
                changes = self._materialize(here, "changes", ticks, [])
                if node.kind == "changes":
                    return changes
                one = OneSign(1 if node.kind == "istream" else -1)
                return self.drafts.apply(one, [changes], changes.schema, True, changes.keys)
            case "istream_restore" | "rstream_restore":
                return self._restored(node, ticks)

    def _restored(self, node: Output, ticks: Ticks | None) -> Placed:
        """The same query without SLIDE, reported at the evaluation instants."""
        assert ticks is not None
        value = self.visit(_continual(node.input), None)
        here = self.drafts.colocate([value], [value.schema.names])[0]
        changes = self._materialize(here, "changes", None, [])
        whole = node.kind == "rstream_restore"
        return self.drafts.apply(Restore(ticks, whole), [changes], changes.schema, not whole, changes.keys)

    def _materialize(self, value: Placed, emit: str, ticks: Ticks | None, marks: Sequence[Placed]) -> Placed:
        op = Materialize(emit, ticks)  # type: ignore[arg-type]
        return self.drafts.apply(op, [value, *marks], value.schema, emit == "changes", value.keys)

    def _marks(self, node: Node) -> list[Value]:
        """The windows and relations of the query, without columns: their rows' comings and goings mark instants."""
        found: list[Value] = []
        for leaf in (n for n in _leaves(node) if not _is_nrr(n)):
            value = self.drafts.project(self.visit(leaf, None), ())
            if isinstance(value, Loose):
                value = replace(value, marks=True)
            if value not in found:
                found.append(value)
        return found

    # -- nodes

    def visit(self, node: Node, ticks: Ticks | None, external: bool = False) -> Value:
        """The value of a relation; ``ticks``: the evaluation instants of the enclosing output; ``external``: INTERNAL
        windows are read as external ones (inside what keeps their results itself)."""
        match node:
            case Scan(window=Rows() as window):
                return self.rows_window(self._unbounded(node), window, f"{node.alias}.", ticks, node.stream.order_by)
            case Scan(window=Range(internal=True) as window):
                plain = loose(replace(node, window=replace(window, internal=False)), ticks)
                return self._lasting(plain) if not external else plain
            case Scan():
                return loose(node, ticks)
            case Filter(child, predicate):
                return self.drafts.filter(self.visit(child, ticks, external), predicate)
            case Project(child, exprs):
                return self.drafts.project(self.visit(child, ticks, external), exprs)
            case Join(parts, predicate):
                joined = self.join_with_tables(parts, predicate, ticks, [_has_internal(p) for p in parts])
                return self._lasting(joined) if not external and all(_has_internal(p) for p in parts) else joined
            case Aggregate():
                value = self.aggregate(self.visit(node.input, ticks, external=True), node, ticks, _fires(node.input))
                if external or not _has_internal(node.input):
                    return value
                shown = self.drafts.apply(OneSign(1), [value], value.schema, True, value.keys)
                return self._lasting(shown)
            case Distinct(child):
                return self.distinct(self.visit(child, ticks))
            case SemiJoin():
                return self.semi_join(node, ticks)
            case OuterJoin():
                return self.outer_join(node, ticks)
            case SetOp():
                return self.set_op(node, ticks)
            case Apply():
                return self.apply(node, ticks)
            case TopK(child, keys, count):
                here = self.drafts.colocate([self.visit(child, ticks)], [()])
                return self.drafts.apply(TopRows(keys, count), here, node.schema, True, ())
            case Rewindow():
                return self.rewindow(node, ticks)
            case TableScan():
                return table(node, ticks)
            case Output():
                raise UnsupportedError(
                    "a query's output inside another query needs a window: add [ROWS n] or [RANGE t]"
                )

    def _lasting(self, value: Value) -> Placed:
        """Results over INTERNAL windows: once there, they stay (thesis 3.3.2)."""
        here = self.drafts.place(value)
        op = Rewind(Unbounded(), self.query.options)
        return self.drafts.apply(op, [here], here.schema, False, here.keys)

    def _unbounded(self, scan: Scan) -> Loose:
        return loose(replace(scan, window=Unbounded()), None)

    def rows_window(
        self, value: Value, window: Rows, prefix: str, ticks: Ticks | None, order_by: str | None = None
    ) -> Placed:
        by = tuple(prefix + b for b in window.by)
        (here,) = self.drafts.colocate([value], [by])
        op = RowsWindow(window.count, window.slide, by, prefix + order_by if order_by else None)
        rows = self.drafts.apply(op, [here], here.schema, True, here.keys)
        return rows if ticks is None else self.drafts.apply(Snap(ticks), [rows], rows.schema, True, rows.keys)

    def rewindow(self, node: Rewindow, ticks: Ticks | None) -> Value:
        """A window over a query's output stream."""
        shown = self.output(node.input)
        inner = ticks_of(node.input, self.query.options)
        shift = -1 if self.query.options.bounds == "start" and inner is not None else 0
        entry = Unbounded() if isinstance(node.window, Rows) else node.window
        rows = self.drafts.apply(Rewind(entry, self.query.options, shift), [shown], shown.schema, False, shown.keys)
        if isinstance(node.window, Rows):
            return self.rows_window(rows, node.window, "", ticks)
        return rows if ticks is None else self.drafts.apply(Snap(ticks), [rows], rows.schema, False, rows.keys)

    # -- joins

    def join_with_tables(
        self, parts: Sequence[Node], predicate: Expr, ticks: Ticks | None, internal: Sequence[bool]
    ) -> Value:
        """Windows and retroactive relations first, then each non-retroactive relation as of its partner's start."""
        late = [p for p in parts if isinstance(p, TableScan) and p.table.kind == "nrr"]
        if any(internal) and not all(internal):
            raise UnsupportedError(
                "INTERNAL and external windows in one join cannot run yet: make all or none INTERNAL"
            )
        others = [p for p in parts if p not in late]
        raw = self._at_event_time(others, ticks) if late else None
        first = [raw] if raw is not None else [self.visit(p, ticks, external=True) for p in others]
        if not first:
            raise UnsupportedError("a non-retroactive relation needs a stream to join: its own changes show nothing")
        conditions = conjuncts(predicate)
        have = {n for v in first for n in v.schema.names}
        inner = [c for c in conditions if _names(c) <= have]
        value = (
            self.join(first, conjunction(inner)) if len(first) > 1 else self.drafts.filter(first[0], conjunction(inner))
        )
        rest = [c for c in conditions if c not in inner]
        for node in late:
            assert isinstance(node, TableScan)
            moment = ticks if raw is None else None
            value, rest = self._as_of(value, table(node, moment), rest, own_time=raw is not None)
        if raw is not None:
            value = self._moving(value, others[0], ticks)
        names = [f for p in parts for f in p.schema]
        return self.drafts.project(value, _columns(Schema(tuple(names))))

    def _at_event_time(self, parts: Sequence[Node], ticks: Ticks | None) -> Value | None:
        """One time window as if it did not slide, so that a relation is read at its rows' own event time; None where
        rows start at their event time anyway, or several windows meet (their newest part decides, as far as it shows).
        """
        if ticks is None or len(parts) != 1:
            return None
        match parts[0]:
            case Scan(window=Range() as window) as node:
                return loose(replace(node, window=replace(window, slide=None)), None)
            case Filter(child, predicate):
                below = self._at_event_time([child], ticks)
                return None if below is None else self.drafts.filter(below, predicate)
            case Project(child, exprs):
                below = self._at_event_time([child], ticks)
                return None if below is None else self.drafts.project(below, exprs)
            case _:
                return None

    def _moving(self, value: Value, node: Node, ticks: Ticks | None) -> Value:
        """Rows of ``_at_event_time`` with the validity that the window's SLIDE gives them."""
        (leaf,) = _leaves(node)
        assert isinstance(leaf, Scan) and isinstance(leaf.window, Range) and ticks is not None
        here = self.drafts.place(value)
        if leaf.window.slide is not None:
            origin = tick_origin(leaf.window, self.query.options) % leaf.window.slide
            own = Ticks((leaf.window.slide,), (origin,))
            here = self.drafts.apply(Snap(own), [here], here.schema, here.signed, here.keys)
        return self.drafts.apply(Snap(ticks), [here], here.schema, here.signed, here.keys)

    def _as_of(
        self, value: Value, relation: Value, conditions: list[Expr], outer: bool = False, own_time: bool = False
    ) -> tuple[Value, list[Expr]]:
        mine, theirs = set(value.schema.names), set(relation.schema.names)
        own = [c for c in conditions if _names(c) <= theirs]
        relation = self.drafts.filter(relation, conjunction(own))
        pairs = {c: p for c in conditions if (p := _equality(c, mine, theirs)) is not None}
        usable: list[list[Expr]] = [
            [Call("is_not_null", (t,), _BOOL) for t in side] for side in zip(*pairs.values(), strict=True)
        ]
        if usable:
            if not outer:
                value = self.drafts.filter(value, conjunction(usable[0]))
            relation = self.drafts.filter(relation, conjunction(usable[1]))
        value, left_keys = self._with_columns(value, [a for a, _ in pairs.values()])
        relation, right_keys = self._with_columns(relation, [b for _, b in pairs.values()])
        here, there = self.drafts.colocate([value, relation], [left_keys, right_keys])
        if here.signed:
            raise UnsupportedError("a non-retroactive relation cannot join rows that may be taken away early")
        schema = Schema(here.schema.fields + there.schema.fields)
        closing = [c for c in conditions if c not in pairs and c not in own and _names(c) <= mine | theirs]
        lag = 1 if own_time and self.query.options.bounds == "start" else 0
        op = AsOfJoin((left_keys, right_keys), conjunction(closing), outer, lag)
        joined = self.drafts.apply(op, [here, there], schema, False, here.keys)
        return joined, [c for c in conditions if c not in pairs and c not in own and c not in closing]

    def join(self, parts: Sequence[Value], predicate: Expr) -> Value:
        """n-way join: inputs that share a key in one operator, then the next key; cross products last."""
        waiting = list(parts)
        conditions = conjuncts(predicate)
        done: Value | None = None
        while done is None or waiting:
            chosen, keys = _choose(done, waiting, conditions)
            waiting = [w for w in waiting if not any(w is c for c in chosen)]
            done, conditions = self._join_step(chosen, keys, conditions)
        return done

    def _join_step(
        self, parts: list[Value], keys: list[list[Expr]], conditions: list[Expr]
    ) -> tuple[Value, list[Expr]]:
        spent = [c for c in conditions if _is_key(c, keys)]
        here = [self._own_filters(p, conditions, spent) for p in parts]
        keyed, names = self._key_columns([p for p, _ in here], keys)
        spent += [c for _, cs in here for c in cs]
        joined = self._window_join(keyed, names)
        have = set(joined.schema.names)
        closing = [c for c in conditions if c not in spent and {x.name for x in columns_of(c)} <= have]
        left = [c for c in conditions if c not in spent and c not in closing]
        return self.drafts.filter(joined, conjunction(closing)), left

    def _own_filters(self, part: Value, conditions: list[Expr], spent: list[Expr]) -> tuple[Value, list[Expr]]:
        have = set(part.schema.names)
        own = [c for c in conditions if c not in spent and {x.name for x in columns_of(c)} <= have]
        return self.drafts.filter(part, conjunction(own)), own

    def _key_columns(self, parts: list[Value], keys: list[list[Expr]]) -> tuple[list[Value], list[tuple[str, ...]]]:
        """Parts with a plain column for each key term, NULL keys filtered out, and the columns' names."""
        found, names = [], []
        for i, part in enumerate(parts):
            terms = [k[i] for k in keys]
            part = self.drafts.filter(part, conjunction([Call("is_not_null", (t,), _BOOL) for t in terms]))
            part, mine = self._with_columns(part, terms)
            found.append(part)
            names.append(mine)
        return found, names

    def _with_columns(self, part: Value, terms: Sequence[Expr]) -> tuple[Value, tuple[str, ...]]:
        extra = {t: self.fresh("key") for t in terms if not isinstance(t, Column)}
        if extra:
            part = self.drafts.project(part, (*_all(part), *((n, e) for e, n in extra.items())))
        return part, tuple(t.name if isinstance(t, Column) else extra[t] for t in terms)

    def _window_join(self, parts: list[Value], keys: list[tuple[str, ...]], null_safe: bool = False) -> Placed:
        here = self.drafts.colocate(parts, keys)
        schema = Schema(tuple(f for p in here for f in p.schema))
        signed = any(p.signed for p in here)
        op = WindowJoin(tuple(keys), null_safe)
        return self.drafts.apply(op, here, schema, signed, _joined_keys(here, keys))

    # -- aggregates and distinct

    def aggregate(self, value: Value, node: Aggregate, ticks: Ticks | None, fires: Node | None = None) -> Placed:
        """Changes of each group's row; ``fires``: where the windows are whose first row comes later than the
        streams'."""
        node = self._dated(node)
        arguments = list(dict.fromkeys(a.arg for _, a in node.aggs if a.arg is not None))
        names = {e: self.fresh("x") for e in arguments}
        computed = node.groups + tuple((names[e], e) for e in arguments)
        aggs = tuple(
            (n, replace(a, arg=None if a.arg is None else Column(names[a.arg], a.arg.type))) for n, a in node.aggs
        )
        groups: Named = tuple((n, Column(n, e.type)) for n, e in node.groups)
        marks = self._marks(fires) if fires is not None and not groups else []
        keys = [tuple(n for n, _ in groups), *(() for _ in marks)]
        here = self.drafts.colocate([self.drafts.project(value, computed), *marks], keys)
        op = GroupAggregate(groups, aggs, "changes", ticks, bool(marks))
        return self.drafts.apply(op, here, node.schema, True, here[0].keys)

    def _dated(self, node: Aggregate) -> Aggregate:
        """FIRST and LAST take the row's event time beside their argument: the latest of its parts'."""
        if not any(a.fn in ("first", "last") for _, a in node.aggs):
            return node
        times = [
            Column(f"{n.alias}.{n.stream.ts}", n.schema.get(f"{n.alias}.{n.stream.ts}").type)  # type: ignore[union-attr]
            for n in _leaves(node.input)
            if isinstance(n, Scan)
        ]
        have = set(node.input.schema.names)
        if not times or any(t.name not in have for t in times) or len({t.type for t in times}) > 1:
            raise UnsupportedError(
                "FIRST and LAST need the event time of every window below them: do not project it away"
            )
        at: Expr = times[0] if len(times) == 1 else Call("greatest", tuple(times), times[0].type)
        aggs = tuple(
            (n, replace(a, arg=_pair(at, a.arg)) if a.fn in ("first", "last") and a.arg is not None else a)
            for n, a in node.aggs
        )
        return replace(node, aggs=aggs)

    def distinct(self, value: Value) -> Placed:
        """Each row once: groups by all columns, without aggregates."""
        (here,) = self.drafts.colocate([value], [value.schema.names])
        return self._kinds(here)

    def _kinds(self, rows: Placed) -> Placed:
        """The distinct rows of a value whose equal rows are on one shard already."""
        op = GroupAggregate(_all(rows), (), "changes")
        return self.drafts.apply(op, [rows], rows.schema, True, rows.keys)

    # -- negation and what is built on it

    def semi_join(self, node: SemiJoin, ticks: Ticks | None) -> Value:
        left, right = self.visit(node.left, ticks), self.visit(node.right, ticks)
        if node.null_aware is not None:
            return self._not_in(left, right, node)
        left, matched = self._matched(left, right, node.predicate)
        return self._minus(left, matched) if node.anti else matched

    def _not_in(self, left: Value, right: Value, node: SemiJoin) -> Value:
        """x NOT IN (y): fails for an equal y, and while there are candidates also for a NULL x or any NULL y."""
        assert node.null_aware is not None
        x, y = node.null_aware
        rest = conjunction([c for c in conjuncts(node.predicate) if c != Call("eq", (x, y), _BOOL)])
        parts = [Call("eq", (x, y), _BOOL), Call("is_null", (x,), _BOOL), Call("is_null", (y,), _BOOL)]
        unknown = reduce(lambda a, b: Call("or", (a, b), _BOOL), parts)
        left, matched = self._matched(left, right, conjunction([c for c in (unknown, rest) if c != TRUE]))
        return self._minus(left, matched)

    def _matched(self, left: Value, right: Value, predicate: Expr) -> tuple[Placed, Placed]:
        """(left, those of its rows that some row of ``right`` matches), in one stage."""
        mine, theirs = set(left.schema.names), set(right.schema.names)
        conditions = conjuncts(predicate)
        own_right = [c for c in conditions if {x.name for x in columns_of(c)} <= theirs]
        right = self.drafts.filter(right, conjunction(own_right))
        rest = [c for c in conditions if c not in own_right]
        pairs = [p for p in (_equality(c, mine, theirs) for c in rest) if p is not None]
        if len(pairs) == len(rest):
            return self._matched_by_key(left, right, pairs)
        return self._matched_by_row(left, right, conjunction(rest))

    def _matched_by_key(self, left: Value, right: Value, pairs: list[tuple[Expr, Expr]]) -> tuple[Placed, Placed]:
        left, left_keys = self._with_columns(left, [a for a, _ in pairs])
        named = tuple((self.fresh("match"), b) for _, b in pairs) or ((self.fresh("any"), ONE),)
        usable = conjunction([Call("is_not_null", (b,), _BOOL) for _, b in pairs])
        right = self.drafts.project(self.drafts.filter(right, usable), named)
        right_keys = tuple(n for n, _ in named[: len(pairs)])
        here, there = self.drafts.colocate([left, right], [left_keys, right_keys])
        kinds = self._kinds(there)
        joined = self._window_join([here, kinds], [left_keys, right_keys])
        matched = self.drafts.project(joined, _all(here))
        assert isinstance(matched, Placed)
        return here, matched

    def _matched_by_row(self, left: Value, right: Value, predicate: Expr) -> tuple[Placed, Placed]:
        """Any predicate: the distinct left rows that have a partner, then the left rows equal to one of them."""
        left = self.drafts.place(left)
        pairs = self.join([left, right], predicate)
        wide = self.drafts.project(pairs, tuple((f"__m.{n}", e) for n, e in _all(left)))
        names = tuple(f"__m.{n}" for n in left.schema.names)
        here, there = self.drafts.colocate([left, wide], [left.schema.names, names])
        kinds = self._kinds(there)
        joined = self._window_join([here, kinds], [left.schema.names, names], null_safe=True)
        matched = self.drafts.project(joined, _all(here))
        assert isinstance(matched, Placed)
        return here, matched

    def _minus(self, left: Placed, taken: Placed) -> Placed:
        """Left rows without those in ``taken`` (each of which is a left row), in their stage."""
        return self.drafts.apply(Merge((1, -1)), [left, taken], left.schema, True, left.keys)

    def _plus(self, parts: Sequence[Value], schema: Schema) -> Placed:
        """All rows of values of equal types; spread over shards as they come."""
        placed = [self.drafts.place(p) for p in parts]
        if len({p.stage for p in placed}) > 1:
            placed = self.drafts.colocate(placed, [p.schema.names for p in placed])
        keys = placed[0].keys if len({p.keys for p in placed}) == 1 else None
        signed = any(p.signed for p in placed)
        return self.drafts.apply(Merge((1,) * len(placed)), placed, schema, signed, keys)

    def outer_join(self, node: OuterJoin, ticks: Ticks | None) -> Value:
        if _is_nrr(node.right) and node.side == "left":
            return self._outer_as_of(node.left, node.right, node, ticks)
        if _is_nrr(node.left) and node.side == "right":
            return self._outer_as_of(node.right, node.left, node, ticks)
        left, right = self.visit(node.left, ticks), self.visit(node.right, ticks)
        left, right = self.drafts.place(left), self.drafts.place(right)
        whole: list[Value] = [self.drafts.project(self.join([left, right], node.predicate), _columns(node.schema))]
        if node.side in ("left", "full"):
            whole.append(self._unmatched(left, right, node))
        if node.side in ("right", "full"):
            whole.append(self._unmatched(right, left, node))
        return self._plus(whole, node.schema)

    def _outer_as_of(self, kept: Node, relation: Node, node: OuterJoin, ticks: Ticks | None) -> Value:
        """An outer join with a non-retroactive relation: the row with NULLs stays, whatever comes later."""
        assert isinstance(relation, TableScan)
        raw = self._at_event_time([kept], ticks)
        value = raw if raw is not None else self.visit(kept, ticks)
        moment = ticks if raw is None else None
        conditions = conjuncts(node.predicate)
        joined, _ = self._as_of(value, table(relation, moment), conditions, outer=True, own_time=raw is not None)
        if raw is not None:
            joined = self._moving(joined, kept, ticks)
        return self.drafts.project(joined, _columns(node.schema))

    def _unmatched(self, kept: Placed, other: Placed, node: OuterJoin) -> Value:
        names = kept.schema.names
        own = [c for c in conjuncts(node.predicate) if {x.name for x in columns_of(c)} <= set(names)]
        if own:  # a row that fails its own condition has no partner, but stays
            here, matched = self._matched_by_row(kept, other, node.predicate)
        else:
            here, matched = self._matched(kept, other, node.predicate)
        alone = self._minus(here, matched)
        padded = tuple(
            (f.name, Column(f.name, f.type) if f.name in names else Literal(None, f.type)) for f in node.schema
        )
        return self.drafts.project(alone, padded)

    def set_op(self, node: SetOp, ticks: Ticks | None) -> Value:
        left, right = self.visit(node.left, ticks), self.visit(node.right, ticks)
        right = self.drafts.project(
            right, tuple((a.name, Column(b.name, b.type)) for a, b in zip(left.schema, right.schema, strict=True))
        )
        if node.kind == "union_all":
            return self._plus([left, right], node.schema)
        ours, theirs = self.fresh("l"), self.fresh("r")
        sides = [
            self.drafts.project(v, (*_all(v), (ours, Literal(a, _INT)), (theirs, Literal(1 - a, _INT))))
            for v, a in ((left, 1), (right, 0))
        ]
        here = self.drafts.colocate(sides, [node.schema.names, node.schema.names])
        both = self.drafts.apply(Merge((1, 1)), here, here[0].schema, any(h.signed for h in here), here[0].keys)
        aggs = tuple((n, Agg("sum", Column(n, _INT), _INT)) for n in (ours, theirs))
        counted = Schema((*node.schema.fields, Field(ours, _INT), Field(theirs, _INT)))
        op = GroupAggregate(_columns(node.schema), aggs, "changes")
        counts = self.drafts.apply(op, [both], counted, True, both.keys)
        times = _multiplicity(node.kind, Column(ours, _INT), Column(theirs, _INT))
        repeated = self.drafts.apply(Repeat(times), [counts], counted, True, counts.keys)
        rows = self.drafts.project(repeated, _columns(node.schema))
        assert isinstance(rows, Placed)
        return self.drafts.apply(Net(), [rows], rows.schema, True, rows.keys)

    # -- scalar sub-queries

    def apply(self, node: Apply, ticks: Ticks | None) -> Value:
        left, right = self.visit(node.left, ticks), self.visit(node.right, ticks)
        mine = set(left.schema.names)
        used = tuple(dict.fromkeys(c.name for c in columns_of(node.predicate) if c.name in mine))
        if not used:
            return self._apply_global(left, right, node, ticks)
        left = self.drafts.place(left)
        outer = self.drafts.project(left, tuple((f"__o.{n}", Column(n, left.schema.get(n).type)) for n in used))  # type: ignore[union-attr]
        kinds = self.distinct(outer)
        renamed = {n: f"__o.{n}" for n in used}
        predicate = _renamed_columns(node.predicate, renamed)
        pairs = self.join([kinds, right], predicate)
        groups = tuple((f"__g.{n}", Column(renamed[n], left.schema.get(n).type)) for n in used)  # type: ignore[union-attr]
        grouped = self.aggregate(pairs, Aggregate(_Shape(pairs.schema), groups, node.aggs), ticks)  # type: ignore[arg-type]
        keys = tuple(n for n, _ in groups)
        here, there = self.drafts.colocate([left, grouped], [used, keys])
        joined = self._window_join([here, there], [used, keys], null_safe=True)
        found = self.drafts.project(joined, _columns(node.schema))
        matched = self.drafts.project(joined, _all(here))
        assert isinstance(matched, Placed)
        alone = self._minus(here, matched)
        defaults = self.drafts.project(alone, (*_all(here), *((n, _default(a)) for n, a in node.aggs)))
        return self._plus([found, defaults], node.schema)

    def _apply_global(self, left: Value, right: Value, node: Apply, ticks: Ticks | None) -> Value:
        """No correlation: one row of aggregates beside every left row."""
        right = self.drafts.filter(right, node.predicate)
        one = self.aggregate(right, Aggregate(_Shape(right.schema), (), node.aggs), ticks)  # type: ignore[arg-type]
        joined = self._window_join([left, one], [(), ()])
        return self.drafts.project(joined, _columns(node.schema))


class _Shape:
    """Stands for an input of which only the schema matters."""

    inputs: tuple[Node, ...] = ()

    def __init__(self, schema: Schema) -> None:
        self.schema = schema


def _pair(at: Expr, value: Expr) -> Expr:
    return Call("pair", (at, value), pa.struct([("at", at.type), ("value", value.type)]))


def _is_nrr(node: Node) -> bool:
    return isinstance(node, TableScan) and node.table.kind == "nrr"


def _has_internal(node: Node) -> bool:
    return any(isinstance(n, Scan) and isinstance(n.window, Range) and n.window.internal for n in within(node))


def _continual(node: Node) -> Node:
    """The query with its windows' SLIDE forgotten."""
    match node:
        case Scan(window=Range() as window) | Rewindow(window=Range() as window):
            return replace(node, window=replace(window, slide=None))
        case Scan() | TableScan() | Rewindow():
            return node
        case Join(parts):
            return replace(node, parts=tuple(_continual(p) for p in parts))
        case SemiJoin() | OuterJoin() | SetOp() | Apply():
            return replace(node, left=_continual(node.left), right=_continual(node.right))
        case _:
            return replace(node, input=_continual(node.input))


def _leaves(node: Node) -> list[Node]:
    if isinstance(node, Scan | TableScan | Rewindow):
        return [node]
    return [leaf for child in node.inputs for leaf in _leaves(child)]


def _fires(node: Node) -> Node | None:
    """The node if some of its windows get their first row later than the streams below: windows of rows with SLIDE are
    empty until they first fire, windows on an output until something comes out."""
    late = [
        n
        for n in _leaves(node)
        if isinstance(n, Rewindow)
        or (isinstance(n, Scan) and isinstance(n.window, Rows) and n.window.slide is not None)
    ]
    return node if late else None


def _all(value: Value) -> Named:
    return _columns(value.schema)


def _columns(schema: Schema) -> Named:
    return tuple((f.name, Column(f.name, f.type)) for f in schema)


def _names(e: Expr) -> set[str]:
    return {c.name for c in columns_of(e)}


def _renamed_columns(e: Expr, names: dict[str, str]) -> Expr:
    return map_columns(e, lambda c: Column(names.get(c.name, c.name), c.type))


def _default(agg: Agg) -> Expr:
    return Literal(0 if agg.fn in ("count", "count_distinct") else None, agg.type)


def _multiplicity(kind: str, ours: Expr, theirs: Expr) -> Expr:
    zero = Literal(0, _INT)
    extra = Call("sub", (ours, theirs), _INT)
    both = Call("least", (ours, theirs), _INT)
    match kind:
        case "except_all":
            return Call("greatest", (extra, zero), _INT)
        case "except":  # one row on the right takes every copy away
            none = Call("eq", (theirs, zero), _BOOL)
            return Call("case", (none, Call("least", (ours, ONE), _INT), zero), _INT)
        case "intersect_all":
            return both
        case _:
            return Call("least", (both, ONE), _INT)


def _equality(condition: Expr, mine: set[str], theirs: set[str]) -> tuple[Expr, Expr] | None:
    """(left term, right term) of an equality between the two sides."""
    match condition:
        case Call("eq", (a, b)) if _names(a) and _names(b):
            if _names(a) <= mine and _names(b) <= theirs:
                return a, b
            if _names(b) <= mine and _names(a) <= theirs:
                return b, a
    return None


def _choose(done: Value | None, waiting: list[Value], conditions: list[Expr]) -> tuple[list[Value], list[list[Expr]]]:
    """Inputs of the next join and its keys (a term for each input): as many inputs on one key as possible."""
    pool = ([done] if done is not None else []) + waiting
    owner = {name: i for i, v in enumerate(pool) for name in v.schema.names}
    best: dict[int, Expr] = {}
    for group in _classes(conditions, owner):
        if done is not None and 0 not in group:
            continue
        if len(group) > len(best):
            best = group
    if not best:
        return pool[:2], []
    members = sorted(best)
    keys = [[g[m] for m in members] for g in _classes(conditions, owner) if set(members) <= set(g)]
    return [pool[m] for m in members], keys


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
    owners = {owner.get(n) for n in _names(e)}
    return owners.pop() if len(owners) == 1 else None


def _is_key(condition: Expr, keys: list[list[Expr]]) -> bool:
    """Whether the condition says just what the keys say: both of its terms are terms of one key."""
    match condition:
        case Call("eq", (a, b)):
            return any(a in k and b in k for k in keys)
    return False


def _joined_keys(parts: Sequence[Placed], keys: Sequence[tuple[str, ...]]) -> tuple[frozenset[str], ...] | None:
    """The spread of a join's result: each part of the first input's, with the columns that the join makes equal."""
    first = parts[0].keys
    if first is None:
        return None
    equal = [frozenset(k[i] for k in keys) for i in range(len(keys[0]))]
    return tuple(part | frozenset(n for e in equal if e & part for n in e) for part in first)
