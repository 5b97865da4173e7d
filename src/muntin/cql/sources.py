"""Items of FROM: a stream, a table, a view or a sub-query, with its window, under an alias."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from muntin.core.errors import QueryError, UnsupportedError
from muntin.cql.arguments import every_argument_read
from muntin.cql.context import Context
from muntin.cql.ctes import written_out
from muntin.cql.dialect import StreamRef, ToStream
from muntin.cql.edges import in_brackets
from muntin.cql.instead import ARRAYS, for_function, not_here
from muntin.cql.output_windows import Relation, streamed
from muntin.cql.parse import parse
from muntin.cql.places import Place
from muntin.cql.scopes import Source, listing, unknown_stream
from muntin.cql.session_windows import sessions_written_out
from muntin.cql.unparse import quote
from muntin.cql.window_syntax import WindowSpec
from muntin.cql.windows import bind_window, window_of
from muntin.plan.catalog import Stream, View
from muntin.plan.exprs import Column
from muntin.plan.nodes import Node, Output, Project, Rewindow, Scan, TableScan

_DECORATIONS = (
    ("sample", "TABLESAMPLE"),
    ("pivots", "PIVOT"),
    ("laterals", "LATERAL"),
    ("joins", "a nested join"),
)


@dataclass(frozen=True)
class Sources:
    """Binds items of FROM; ``relation`` binds a query to the relation that it computes."""

    ctx: Context
    relation: Relation

    def alias_of(self, item: exp.Expr) -> str:
        """The alias, written or implied.

        Raises:
            QueryError: a sub-query without one, an alias with a dot.
            UnsupportedError: sources of other kinds.
        """
        self._check_form(item)
        given = item.args.get("alias")
        if given is None and not isinstance(item, StreamRef):
            return "q"
        alias = given.name if given is not None else self._registered(item)
        if "." in alias:
            example = f"{quote(item.name)} AS x" if isinstance(item, StreamRef) else "(SELECT ...) AS x"
            at = self.ctx.at(given if given is not None else item.this)
            raise at.error(f"{alias!r} cannot be an alias: give one without dots, as in {example}")
        return str(alias)

    def bind(self, item: exp.Expr, alias: str) -> Source:
        """The source, with columns ``alias.column``, under the names that a list after the alias gives them."""
        source = self._bind(item, alias)
        given = item.args.get("alias")
        names = list(given.args.get("columns") or []) if given is not None else []
        return source if not names else replace(source, node=self._listed(source, names))

    def _listed(self, source: Source, names: list[exp.Expr]) -> Node:
        """The source's columns under other names."""
        plain = [n.name for n in names]
        if len(plain) != len(source.columns):
            raise self.ctx.at(names[0]).error(
                f"{source.alias} has {len(source.columns)} columns, and the list after it names {len(plain)}: "
                f"{listing([n for n, _ in source.columns])}"
            )
        twice = next((n for i, n in enumerate(names) if n.name.lower() in map(str.lower, plain[:i])), None)
        if twice is not None:
            raise self.ctx.at(twice).error(f"the list of columns names {twice.name!r} twice")
        inner = Project(source.node, tuple((n, c) for n, (_, c) in zip(plain, source.columns, strict=True)))
        return renamed(inner, source.plan_alias)

    def _bind(self, item: exp.Expr, alias: str) -> Source:
        written = self.alias_of(item)
        if isinstance(item, StreamRef):
            return self._named(item, written, alias)
        spec = window_of(item)
        tree: exp.Expr = item.this
        if isinstance(tree, ToStream) and tree.args["kind"] == "wstream":
            spec = spec or tree.args.get("window")
        if spec is None and isinstance(tree, ToStream) and tree.args["kind"] == "wstream":
            raise self.ctx.at(tree).error("Wstream takes a window after it, as in Wstream(SELECT ...)[ROWS 10]")
        if spec is not None or isinstance(tree, ToStream):
            node: Node = self._windowed(streamed(self.ctx, tree, False, self.relation), spec, self.ctx.at(tree))
        else:
            node = self.relation(self.ctx, tree)
        return Source(renamed(node, alias), written, alias)

    def _named(self, item: StreamRef, written: str, alias: str) -> Source:
        catalog, spec, at = self.ctx.catalog, window_of(item), self.ctx.at(item.this)
        if (stream := catalog.stream(item.name)) is not None:
            self._check_time(spec, stream)
            window = bind_window(spec, at, self.ctx.text, self.ctx.options, stream.schema, stream.name)
            return Source(Scan(stream, alias, window), written, alias, "stream", stream.name)
        if (table := catalog.table(item.name)) is not None:
            self._no_window(spec, f"{table.name} is a table, and tables have no window", table.name)
            return Source(TableScan(table, alias), written, alias, "table", table.name)
        if (view := catalog.view(item.name)) is not None:
            return Source(renamed(self._view(view, spec, at), alias), written, alias, "view", view.name)
        raise at.error(unknown_stream(item.name, catalog))

    def _view(self, view: View, spec: WindowSpec | None, at: Place) -> Node:
        if view.name.lower() in self.ctx.opened:
            raise at.error(f"view {view.name} uses itself, directly or through another view")
        inside = self.ctx.inside(view)
        try:
            tree = parse(view.text)
            with every_argument_read(tree, view.text, self.ctx.catalog):
                tree, _ = written_out(tree, view.text)
                sessions_written_out(tree, view.text, self.ctx.catalog)
                asked, _ = in_brackets(tree, view.text, self.ctx.options, self.ctx.catalog)
                if asked.bounds != self.ctx.options.bounds:
                    raise at.error(f'view {view.name} has windows of [start, end): give the query bounds="start"')
                if isinstance(tree, ToStream) and tree.args["kind"] != "wstream":
                    return self._windowed(streamed(inside, tree, False, self.relation), spec, at)
                node = self.relation(inside, tree)
        except UnsupportedError as e:
            raise at.unsupported(f"in view {view.name}: {e}") from None
        except QueryError as e:
            raise at.error(f"in view {view.name}: {e}") from None
        what = f"{view.name} is a relation: only a stream, as the view Istream(SELECT ...), has a window"
        self._no_window(spec, what, view.name)
        return node

    def _windowed(self, output: Output, spec: WindowSpec | None, at: Place) -> Rewindow:
        ctx = self.ctx
        return Rewindow(output, bind_window(spec, at, ctx.text, ctx.options, output.schema, "the sub-query"))

    def _check_time(self, spec: WindowSpec | None, stream: Stream) -> None:
        """A window of another dialect names the column that it is over: here there is one."""
        time = spec.args.get("time") if spec is not None else None
        named = () if time is None else time.find_all(exp.Column)
        other = next((c for c in named if c.name.lower() != stream.ts.lower()), None)
        if other is not None:
            raise self.ctx.at(other).error(
                f"windows of {stream.name} are over its event time, column {stream.ts}, not over {other.name}: name "
                f'that, or register the stream with ts="{other.name}"'
            )

    def _no_window(self, spec: WindowSpec | None, what: str, name: str) -> None:
        if spec is not None:
            raise self.ctx.at(spec).error(f"{what}: write {name} without [...]")

    def _registered(self, item: exp.Expr) -> str:
        catalog = self.ctx.catalog
        found = catalog.stream(item.name) or catalog.table(item.name) or catalog.view(item.name)
        return found.name if found is not None else item.name

    def _check_form(self, item: exp.Expr) -> None:
        """Raise unless ``item`` is a plain name or a query, with at most a window and an alias."""
        place = self.ctx.at(item)
        plain = isinstance(item, StreamRef) and isinstance(item.this, exp.Identifier)
        called = str(item.this.name) if isinstance(item.this, exp.Func) else ""
        words = for_function(called)
        if words is not None:
            raise place.unsupported(not_here(called, words))
        if any(isinstance(part, exp.Unnest | exp.Lateral) for part in (item, item.this)):
            raise place.unsupported(f"UNNEST and LATERAL are not supported: {ARRAYS}")
        if not plain and not (isinstance(item, exp.Subquery) and isinstance(item.this, exp.Query | ToStream)):
            raise place.unsupported(
                "this kind of source is not supported: FROM takes streams, tables, views, sub-queries"
            )
        for key, word in _DECORATIONS:
            if item.args.get(key):
                raise place.unsupported(f"{word} is not supported in FROM")
        if item.args.get("db"):
            known = listing([s.name for s in self.ctx.catalog.streams])
            raise place.error(f"streams have plain names without dots. Registered streams: {known}")


def renamed(node: Node, alias: str) -> Project:
    """The node's columns as ``alias.column``: a derived table."""
    return Project(node, tuple((f"{alias}.{f.name}", Column(f.name, f.type)) for f in node.schema))
