"""The select list: expansion of ``*``, output names, and what GROUP BY may refer to."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from muntin.cql.places import place_of
from muntin.cql.scopes import Scope
from muntin.plan.exprs import Expr


@dataclass(frozen=True)
class Item:
    """One output column. ``column`` is set (to its value) where ``*`` stood; ``alias`` only when written."""

    name: str
    node: exp.Expr
    column: Expr | None = None
    alias: str | None = None


def expand(select: exp.Select, scope: Scope) -> list[Item]:
    """The output columns in order; ``*`` and ``alias.*`` give all columns of their streams.

    Raises:
        QueryError: an empty select list.
    """
    if not select.expressions:
        raise place_of(select, scope.text).error("the select list is empty: name columns, or write *")
    items: list[Item] = []
    for node in select.expressions:
        if node.is_star and isinstance(node, exp.Star | exp.Column):
            _check_star(node, scope)
            items += [Item(name, node, column) for name, column in scope.columns(node)]
        elif isinstance(node, exp.Alias):
            items.append(Item(node.alias, node.this, alias=node.alias))
        elif isinstance(node, exp.Aliases):
            raise place_of(node, scope.text).unsupported("one expression has one name: write AS name")
        else:
            items.append(Item(_name(node), node))
    return items


def _check_star(node: exp.Expr, scope: Scope) -> None:
    star = node if isinstance(node, exp.Star) else node.this
    if any(star.args.values()):
        raise place_of(node, scope.text).unsupported("* takes no EXCEPT, REPLACE or RENAME: list the columns")


def _name(node: exp.Expr) -> str:
    """The name of a column, or the text of an expression much as Spark shows it."""
    if isinstance(node, exp.Column):
        return node.name
    if any(isinstance(n, exp.Query) for n in node.walk()):
        return ""
    plain = node.transform(lambda n: exp.column(n.name) if isinstance(n, exp.Column) and not n.is_star else n)
    return plain.sql(dialect="spark", normalize_functions="lower").replace("count(*)", "count(1)")


def named(items: list[Item], text: str) -> list[str]:
    """The output names.

    Raises:
        QueryError: two columns have the same name (case does not matter).
    """
    seen: set[str] = set()
    for item in items:
        if not item.name:
            raise place_of(item.node, text).error("this output column has no name: add AS name")
        if item.name.lower() in seen:
            hint = "list the columns instead of * and rename one with AS" if item.column else "add AS with another name"
            raise place_of(item.node, text).error(f"two output columns are called {item.name!r}: {hint}")
        seen.add(item.name.lower())
    return [i.name for i in items]


def group_nodes(select: exp.Select, scope: Scope, items: list[Item]) -> list[Item]:
    """The GROUP BY expressions, with ordinals and select aliases replaced by what they stand for (a column of the
    streams wins over an alias of the same name, as in Spark).

    Raises:
        QueryError: an ordinal outside the select list.
    """
    group = select.args.get("group")
    return [_group_node(n, scope, items) for n in (group.expressions if group else [])]


def _group_node(node: exp.Expr, scope: Scope, items: list[Item]) -> Item:
    if isinstance(node, exp.Literal) and not node.is_string and str(node.this).isdigit():
        position = int(node.this)
        if not 1 <= position <= len(items):
            raise place_of(node, scope.text).error(
                f"GROUP BY {position}: the select list has positions 1 to {len(items)}"
            )
        return items[position - 1]
    if isinstance(node, exp.Column) and not node.table and not _is_column(node, scope):
        found = [i for i in items if i.alias and i.alias.lower() == node.name.lower()]
        if found:
            return found[0]
    return Item("", node)


def _is_column(node: exp.Column, scope: Scope) -> bool:
    return bool(scope.hits(node))
