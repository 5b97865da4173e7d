"""What a binder of one query text knows, and carries from sub-query to sub-query."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from muntin.cql.places import Place, place_of
from muntin.plan.catalog import Catalog, View
from muntin.plan.windows import QueryOptions


@dataclass(frozen=True)
class Context:
    """The text, the catalog, the options; ``opened``: the views whose texts are being bound, outermost first."""

    text: str
    catalog: Catalog
    options: QueryOptions
    opened: tuple[str, ...] = ()

    def at(self, node: exp.Expr) -> Place:
        """Where ``node`` stands in the text."""
        return place_of(node, self.text)

    def inside(self, view: View) -> Context:
        """The context of the view's own text."""
        return replace(self, text=view.text, opened=(*self.opened, view.name.lower()))
