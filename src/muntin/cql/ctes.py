"""WITH: each name that a common table expression gives is written out as a sub-query where FROM names it.

Equal parts of a plan are one operator, so an expression that is named twice is worked out once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from muntin.cql.dialect import StreamRef
from muntin.cql.places import place_of

_MOST = 200
"""So many names are written out in one text: two that name each other's double at every step."""


def written_out(tree: exp.Expr, text: str) -> tuple[exp.Expr, list[exp.Expr]]:
    """The tree without WITH, and the expressions that nothing names (to be looked at for errors all the same).

    Raises:
        QueryError: a name given twice in one WITH, an expression that names itself.
        UnsupportedError: RECURSIVE and what else Muntin's WITH does not have.
    """
    found = _Expansion(text)
    return found.within(tree, {}), list(found.unused())


@dataclass
class _Expression:
    """One expression, already without WITH and names of others; ``columns``: names that its list gives."""

    name: str
    body: exp.Expr
    columns: list[exp.Expr]
    used: int = 0


@dataclass
class _Expansion:
    text: str
    every: list[_Expression] = field(default_factory=list)
    done: int = 0

    def within(self, node: exp.Expr, known: Mapping[str, _Expression]) -> exp.Expr:
        """The node with the names in ``known`` written out."""
        clause = node.args.get("with_")
        if clause is not None:
            known = self._opened(clause, known)
            node.set("with_", None)
        if isinstance(node, StreamRef):
            found = known.get(node.name.lower()) if not node.args.get("db") else None
            return node if found is None else self._sub_query(node, found)
        for child in list(node.iter_expressions()):
            made = self.within(child, known)
            if made is not child:
                child.replace(made)
        return node

    def _opened(self, clause: exp.Expr, known: Mapping[str, _Expression]) -> dict[str, _Expression]:
        """What is known inside the query of a WITH: an expression sees those before it."""
        if clause.args.get("recursive"):
            raise place_of(clause, self.text).unsupported(
                "WITH RECURSIVE is not supported: write each step as an expression of its own"
            )
        inside, own = dict(known), set[str]()
        for cte in clause.expressions:
            name = cte.alias.lower()
            if name in own:
                raise place_of(cte.args["alias"], self.text).error(f"WITH names {cte.alias!r} twice")
            own.add(name)
            columns = list(cte.args["alias"].args.get("columns") or [])
            inside[name] = _Expression(cte.alias, self.within(cte.this, inside), columns)
            self.every.append(inside[name])
        return inside

    def _sub_query(self, ref: StreamRef, found: _Expression) -> exp.Subquery:
        self.done += 1
        if self.done > _MOST:
            raise place_of(ref, self.text).error(
                f"the names of WITH are written out more than {_MOST} times: register some of them as views"
            )
        found.used += 1
        given = ref.args.get("alias")
        alias = given.copy() if given is not None else exp.TableAlias(this=ref.this.copy())
        if found.columns and not alias.args.get("columns"):
            alias.set("columns", [c.copy() for c in found.columns])
        body = found.body
        while isinstance(body, exp.Subquery) and not any(v for k, v in body.args.items() if k != "this"):
            body = body.this
        made = exp.Subquery(this=body.copy(), alias=alias)
        for key in ("window", "sample", "pivots"):
            made.set(key, ref.args.get(key))
        return made

    def unused(self) -> Iterator[exp.Expr]:
        return (e.body for e in self.every if not e.used)
