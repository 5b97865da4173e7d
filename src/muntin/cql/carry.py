"""Columns from further out: what a sub-query inside a sub-query needs of the queries around both.

In ``EXISTS (SELECT 1 FROM B b WHERE b.k = a.k AND NOT EXISTS (SELECT 1 FROM C c WHERE c.j = a.j AND c.v = b.v))`` the
inner sub-query stands on rows of B, which have no ``a.j``. So B is joined with the values that ``a`` has, each once
(``d``); the inner sub-query uses ``d.j`` instead, and the outer one takes the rows of which ``d`` is its own ``a``::

    EXISTS (SELECT 1 FROM B b, (SELECT DISTINCT k, j FROM A) d
            WHERE b.k = d.k AND NOT EXISTS (... c.j = d.j AND c.v = b.v) AND d.k = a.k AND d.j <=> a.j)

which is the dependent join of query unnesting, written out with joins. The more of the outer conditions go into the
join, the fewer rows it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from muntin.cql.operators import TypeClash, compare
from muntin.cql.scopes import free_alias
from muntin.cql.sources import renamed
from muntin.cql.types import family
from muntin.plan.exprs import Call, Column, Expr, columns_of, conjunction, conjuncts, map_columns
from muntin.plan.nodes import Distinct, Filter, Join, Node, Project

Domains = Mapping[str, Node]
"""By name of a column of an enclosing query: what that query has after FROM and WHERE, which has the column."""


@dataclass(frozen=True)
class Carried:
    """``node`` beside the values of outer columns; ``columns``: what stands for each; ``conditions``: that they are the
    enclosing queries' own, and the outer conditions that are still to be asked."""

    node: Node
    columns: Mapping[Column, Expr]
    conditions: list[Expr]

    def inside(self, e: Expr) -> Expr:
        """The expression over ``node`` instead of outer columns."""
        return map_columns(e, lambda c: self.columns.get(c, c))


def carry(node: Node, used: Iterable[Expr], outer: list[Expr], domains: Domains, taken: set[str]) -> Carried | None:
    """``node`` with the outer columns that the expressions ``used`` on it need; None where they need none.

    ``outer``: conditions of ``node``'s rows that name outer columns. ``taken``: lower-case aliases that are not free.

    Raises:
        TypeClash: a column of a nested type.
    """
    wanted = [c for e in used for c in columns_of(e) if c.name in domains]
    if not wanted:
        return None
    nested = next((c for c in wanted if family(c.type) == "nested"), None)
    if nested is not None:
        raise TypeClash(f"{nested.name} ({nested.type}) cannot be used two levels further in: only plain values can")
    bases = {id(domains[c.name]): domains[c.name] for c in wanted}
    wanted += [c for e in outer for c in columns_of(e) if c.name in domains and id(domains[c.name]) in bases]
    tables: list[Node] = []
    stands: dict[Column, Expr] = {}
    for base in bases.values():
        columns = [c for c in dict.fromkeys(wanted) if domains[c.name] is base]
        alias = free_alias("outer", taken)
        taken = taken | {alias}
        names = [f"c{i}" for i in range(len(columns))]
        tables.append(renamed(Distinct(Project(base, tuple(zip(names, columns, strict=True)))), alias))
        stands |= {c: Column(f"{alias}.{n}", c.type) for n, c in zip(names, columns, strict=True)}
    ready = [e for e in outer if all(c in stands for c in columns_of(e) if c.name in domains)]
    joined = _joined(node, tables, [map_columns(e, lambda c: stands.get(c, c)) for e in ready])
    keys = {c for e in ready for part in conjuncts(e) for c in _compared(part)}
    own = [compare("eq" if c in keys else "eq_null_safe", d, c) for c, d in stands.items()]
    return Carried(joined, stands, [e for e in outer if e not in ready] + own)


def _joined(node: Node, tables: list[Node], conditions: list[Expr]) -> Node:
    """FROM and WHERE with more tables and conditions."""
    match node:
        case Join(parts, predicate):
            return Join((*parts, *tables), conjunction(conjuncts(predicate) + conditions))
        case Filter(part, predicate):
            return Join((part, *tables), conjunction(conjuncts(predicate) + conditions))
        case _:
            return Join((node, *tables), conjunction(conditions))


def _compared(condition: Expr) -> list[Column]:
    """The columns that cannot be NULL where an equality is true."""
    match condition:
        case Call("eq", args):
            return [a for a in args if isinstance(a, Column)]
        case _:
            return []
