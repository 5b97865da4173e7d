"""Binding: query text and catalog to a plan (see ``plan.nodes`` for its canonical shape)."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from sqlglot import exp

from muntin.core.errors import ConfigError, QueryError
from muntin.core.zones import zone_name
from muntin.cql.arguments import every_argument_read
from muntin.cql.context import Context
from muntin.cql.ctes import written_out
from muntin.cql.dialect import ToStream
from muntin.cql.edges import edges_of, in_brackets, stray, taken_out
from muntin.cql.notes import notes_of
from muntin.cql.output_windows import check_internal
from muntin.cql.parse import parse
from muntin.cql.query import relation
from muntin.cql.rules import check_plan
from muntin.cql.session_windows import sessions_written_out
from muntin.cql.shape import unwrapped
from muntin.cql.wstream import stream_of_list
from muntin.cql.zones import in_zone
from muntin.plan.catalog import Catalog
from muntin.plan.nodes import BoundQuery, Node, Output, OutputKind, windows_of
from muntin.plan.windows import QueryOptions, Range, Rows, Session

_DEFAULT_OPTIONS = QueryOptions()


def bind(text: str, catalog: Catalog, options: QueryOptions = _DEFAULT_OPTIONS) -> BoundQuery:
    """The plan of a CQL query over the streams, tables and views of ``catalog``.

    Raises:
        QueryError: the text is wrong; line, column and token say where.
        UnsupportedError: the text is valid CQL beyond this version.
        ConfigError: the options name a time zone that there is not.
    """
    options = _in_known_zones(options)
    try:
        return _bind(text, catalog, options)
    except RecursionError:
        raise QueryError("the query is nested too deeply: split it, or use IN (...) for long chains of OR") from None
    except QueryError as e:
        e.text = text
        raise


def _bind(text: str, catalog: Catalog, options: QueryOptions) -> BoundQuery:
    # what is bound are scalar expressions: their zone is that of the session where the options name none
    parsed = parse(text)
    with every_argument_read(parsed, text, catalog):
        whole, unused = written_out(parsed, text)
        sessions_written_out(whole, text, catalog)
        options, foreign = in_brackets(whole, text, options, catalog)
        ctx = Context(text, catalog, replace(options, zone=options.scalar_zone))
        tree = stream_of_list(unwrapped(whole))
        kind, body = _wrapper(tree)
        edges = taken_out(body, foreign)
        if (error := stray(body, text)) is not None:
            raise error
        node = relation(ctx, body)
        for other in unused:
            relation(ctx, _wrapper(stream_of_list(unwrapped(other)))[1])
    check_internal(ctx, tree, node)
    shown = Output(node, kind or _default_kind(node))
    root = in_zone(replace(shown, edges=edges_of(ctx, edges, shown, options)), options.scalar_zone)
    query = BoundQuery(text, root, options)
    check_plan(ctx, tree, query.root)
    return replace(query, notes=notes_of(tree, text, query.root, catalog))


def _in_known_zones(options: QueryOptions) -> QueryOptions:
    """The options with zones as plans keep them. A zone that is given wins over the session's, UTC too."""
    try:
        given, session = zone_name(options.zone), zone_name(options.session_zone)
    except ValueError as e:
        raise ConfigError(f"option zone: {e}") from None
    return replace(options, zone=given, session_zone=session if options.zone is None else None)


def _wrapper(tree: exp.Expr) -> tuple[OutputKind | None, exp.Expr]:
    if isinstance(tree, ToStream) and tree.args["kind"] != "wstream":
        return cast(OutputKind, tree.args["kind"]), tree.this
    return None, tree


def _default_kind(node: Node) -> OutputKind:
    """A bare SELECT: the whole answer at each evaluation when one of its own windows (not one inside a windowed
    sub-query) has SLIDE, else the changes."""
    windows = windows_of(node)
    sliding = any(isinstance(w, Range | Rows) and w.slide is not None for w in windows)
    sliding = sliding or any(isinstance(w, Session) or (isinstance(w, Rows) and w.every is not None) for w in windows)
    return "rstream" if sliding else "changes"
