"""FROM: streams, tables, views and sub-queries with windows and aliases to sources; joins to join nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, cast

from sqlglot import exp

from muntin.cql.context import Context
from muntin.cql.expressions import ExprBinder
from muntin.cql.functions import build
from muntin.cql.operators import TypeClash, compare
from muntin.cql.scopes import Merged, Scope, Source, free_alias, listing
from muntin.cql.sources import Sources
from muntin.plan.exprs import Column, Expr, conjunction
from muntin.plan.nodes import Join, Node, OuterJoin

_SIDES = ("LEFT", "RIGHT", "FULL")
_Side = Literal["left", "right", "full"]
_INNER = ("", "INNER", "CROSS")
_SEMI = {"LEFT SEMI": False, "SEMI": False, "LEFT ANTI": True, "ANTI": True}


@dataclass(frozen=True)
class SemiItem:
    """``LEFT SEMI JOIN item ON on`` or ANTI: becomes what EXISTS or NOT EXISTS in WHERE would."""

    item: exp.Expr
    on: exp.Expr
    anti: bool


@dataclass
class FromClause:
    """A bound FROM: the parts of the join, the bound ON conditions of inner joins, and the semi-joins."""

    scope: Scope
    parts: list[Node] = field(default_factory=list)
    on: list[Expr] = field(default_factory=list)
    semis: list[SemiItem] = field(default_factory=list)


def bind_from(ctx: Context, sources: Sources, select: exp.Select, outer: Scope | None) -> FromClause:
    """The sources and joins of a SELECT.

    Raises:
        QueryError: no FROM, unknown names, wrong windows, repeated aliases, ON where it cannot be.
        UnsupportedError: forms of joins and sources beyond this version.
    """
    clause = select.args.get("from_")
    if clause is None:
        raise ctx.at(select).error("FROM is missing: name at least one stream, as in FROM s [RANGE 10 MINUTES]")
    joins: list[exp.Join] = list(select.args.get("joins") or [])
    visible = [clause.this, *(j.this for j in joins if _words(j) not in _SEMI)]
    bound = _bind_items(ctx, sources, visible, outer)
    whole = FromClause(Scope(tuple(bound), ctx.text, outer))
    todo = iter(bound)
    for group in _groups(clause.this, joins):
        _Group(ctx, whole, todo).bind(group)
    return whole


def _bind_items(ctx: Context, sources: Sources, items: list[exp.Expr], outer: Scope | None) -> list[Source]:
    written = [sources.alias_of(i).lower() for i in items]
    bound: list[Source] = []
    for item, alias in zip(items, written, strict=True):
        if any(b.alias.lower() == alias for b in bound):
            name = item.name if isinstance(item, exp.Table) else "(SELECT ...)"
            raise ctx.at(item.args.get("alias") or item).error(
                f"{sources.alias_of(item)!r} appears twice in FROM: give each its own alias, as in {name} "
                f"{'[RANGE 1 MINUTE] ' if isinstance(item, exp.Table) else ''}AS x"
            )
        others = {a for a in written if a != alias} | {b.plan_alias.lower() for b in bound}
        taken = others | set(outer.aliases() if outer is not None else ())
        bound.append(sources.bind(item, free_alias(sources.alias_of(item), taken)))
    return bound


def _words(join: exp.Join) -> str:
    return " ".join(str(join.args[k]) for k in ("method", "side", "kind") if join.args.get(k)).upper()


def _groups(first: exp.Expr, joins: list[exp.Join]) -> Iterator[list[tuple[str, exp.Expr, exp.Join | None]]]:
    """The items between commas: a comma binds weaker than JOIN."""
    group: list[tuple[str, exp.Expr, exp.Join | None]] = [("", first, None)]
    for join in joins:
        if join.meta.get("comma"):
            yield group
            group = [("", join.this, None)]
        else:
            group.append((_words(join), join.this, join))
    yield group


@dataclass
class _Group:
    """One item and the joins that follow it, folded from left to right."""

    ctx: Context
    whole: FromClause
    todo: Iterator[Source]
    parts: list[Node] = field(default_factory=list)
    on: list[Expr] = field(default_factory=list)
    seen: list[Source] = field(default_factory=list)
    semis: list[SemiItem] = field(default_factory=list)
    strict: bool = False

    def bind(self, items: list[tuple[str, exp.Expr, exp.Join | None]]) -> None:
        self.strict = any(words.split(" ")[0] in _SIDES and words not in _SEMI for words, _, _ in items)
        for words, item, join in items:
            if join is None:
                self._take()
            else:
                self._join(words, item, join)
        self.whole.parts += self.parts
        self.whole.on += self.on
        self.whole.semis += self.semis

    def _take(self) -> Source:
        source = next(self.todo)
        self.seen.append(source)
        self.parts.append(source.node)
        return source

    def _join(self, words: str, item: exp.Expr, join: exp.Join) -> None:
        place = self.ctx.at(item)
        on, using = join.args.get("on"), list(join.args.get("using") or [])
        side = words.removesuffix(" OUTER")
        if words in _INNER:
            source = self._take()
            if on is not None:
                self.on.append(self._condition(on))
            self.on += self._using(using, source, "left")
        elif words in _SEMI:
            if using:
                raise self.ctx.at(using[0]).unsupported(f"{words} JOIN takes no USING: write ON a.x = b.x")
            if on is None:
                raise place.error(f"{words} JOIN takes a condition: write ON after it")
            self.semis.append(SemiItem(item, on, _SEMI[words]))
        elif side in _SIDES:
            if on is None and not using:
                raise place.error(f"{side} JOIN takes a condition: write ON after it, or use CROSS JOIN")
            if self.semis and side != "LEFT":
                how = "put what comes before into a sub-query in FROM"
                raise place.unsupported(f"{side} JOIN after a SEMI or ANTI JOIN is not supported: {how}")
            self._outer(cast(_Side, side.lower()), on, using)
        else:
            if words.startswith("NATURAL"):
                raise place.unsupported("NATURAL JOIN is not supported: name the columns, as in JOIN ... USING (x)")
            known = "use a comma, [INNER] JOIN, CROSS JOIN, or LEFT, RIGHT, FULL, SEMI or ANTI JOIN ... ON"
            raise place.unsupported(f"{words} JOIN is not supported: {known}")

    def _outer(self, side: _Side, on: exp.Expr | None, using: list[exp.Expr]) -> None:
        left = self.parts[0] if len(self.parts) == 1 else Join(tuple(self.parts), conjunction(self.on))
        right = self._take()
        equal = self._using(using, right, side)
        self.parts, condition = [], conjunction(equal) if on is None else self._condition(on)
        self.on = []
        self.parts.append(OuterJoin(left, right.node, condition, side))

    def _using(self, names: list[exp.Expr], right: Source, side: _Side) -> list[Expr]:
        """The equalities of USING; each name then stands for one column."""
        return [self._merged(name, right, side) for name in names]

    def _merged(self, name: exp.Expr, right: Source, side: _Side) -> Expr:
        before, left = self._left_of(name, right)
        column = self._one(name, right.named(name.name), [right], f"in {right.alias}")
        value = left if before is None else before.value
        try:
            values = {"left": value, "right": column, "full": value}
            values["full"] = build("coalesce", (value, column)) if side == "full" else value
            equal = compare("eq", value, column)
        except TypeClash as e:
            raise self.ctx.at(name).error(str(e)) from None
        known = self.whole.scope.merged
        made = Merged(name.name, values[side], frozenset([*(before.parts if before is not None else [left]), column]))
        self.whole.scope = replace(self.whole.scope, merged=(*(m for m in known if m is not before), made))
        return equal

    def _left_of(self, name: exp.Expr, right: Source) -> tuple[Merged | None, Column]:
        """The column of an earlier USING that the name is, and one of the columns that it stands for."""
        left = [s for s in self.seen if s is not right]
        mine = [c for s in left for c in s.named(name.name)]
        before = next((m for m in self.whole.scope.merged if m.parts & {*mine}), None)
        rest = mine if before is None else [c for c in mine if c not in before.parts] or mine[:1]
        return before, self._one(name, rest, left, "before it")

    def _one(self, name: exp.Expr, found: list[Column], sources: list[Source], where: str) -> Column:
        if len(found) == 1:
            return found[0]
        what = "is no column" if not found else "are several columns"
        columns = [n for s in sources for n, _ in s.columns]
        raise self.ctx.at(name).error(
            f"JOIN ... USING: there {what} {name.name!r} {where}. Columns: {listing(columns)}"
        )

    def _condition(self, on: exp.Expr) -> Expr:
        """ON sees every source of FROM; in a group with an outer join only those read so far."""
        scope = replace(self.whole.scope, sources=tuple(self.seen)) if self.strict else self.whole.scope
        return ExprBinder(scope, self.ctx.text, "ON", self.ctx.options.zone, catalog=self.ctx.catalog).condition(on)
