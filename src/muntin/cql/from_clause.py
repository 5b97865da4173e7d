"""FROM: stream names with windows and aliases to scans, and the ON conditions of the joins."""

from __future__ import annotations

from sqlglot import exp

from muntin.cql.dialect import StreamRef
from muntin.cql.places import place_of
from muntin.cql.scopes import listing, unknown_stream
from muntin.cql.unparse import quote
from muntin.cql.windows import bind_window, check_slides, window_of
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.nodes import Scan
from muntin.plan.windows import QueryOptions

_DECORATIONS = (
    ("sample", "TABLESAMPLE"),
    ("pivots", "PIVOT"),
    ("laterals", "LATERAL"),
    ("joins", "a nested join"),
)


def bind_from(
    select: exp.Select, catalog: Catalog, options: QueryOptions, text: str
) -> tuple[tuple[Scan, ...], list[exp.Expr]]:
    """The scans in text order, and the ON conditions.

    Raises:
        QueryError: no FROM, unknown streams, wrong windows, repeated aliases.
        UnsupportedError: sub-queries, tables, outer joins and other join forms.
    """
    clause = select.args.get("from_")
    if clause is None:
        raise place_of(select, text).error("FROM is missing: name at least one stream, as in FROM s [RANGE 10 MINUTES]")
    joins: list[exp.Join] = list(select.args.get("joins") or [])
    items = [clause.this, *(j.this for j in joins)]
    check_slides([i for i in items if isinstance(i, StreamRef)], text)
    scans: list[Scan] = []
    for item in items:
        scans.append(_scan(item, catalog, options, text, scans))
    return tuple(scans), [on for j in joins if (on := _condition(j, text)) is not None]


def _condition(join: exp.Join, text: str) -> exp.Expr | None:
    words = " ".join(str(join.args[k]) for k in ("method", "side", "kind") if join.args.get(k)).upper()
    place = place_of(join.this, text)
    if words not in ("", "INNER", "CROSS"):
        raise place.unsupported(f"{words} JOIN is not supported yet: use a comma, [INNER] JOIN ... ON or CROSS JOIN")
    if join.args.get("using"):
        raise place.unsupported("JOIN ... USING is not supported: write ON a.x = b.x")
    on = join.args.get("on")
    return on if isinstance(on, exp.Expr) else None


def _scan(item: exp.Expr, catalog: Catalog, options: QueryOptions, text: str, before: list[Scan]) -> Scan:
    _check_form(item, catalog, text)
    stream = _stream(item, catalog, text)
    given = item.args.get("alias")
    alias = given.name if given is not None else stream.name
    at = place_of(given if given is not None else item.this, text)
    if given is not None and given.args.get("columns"):
        raise at.unsupported("column lists after an alias are not supported: name columns in SELECT")
    if "." in alias:
        raise at.error(f"{alias!r} cannot be an alias: give one without dots, as in {quote(stream.name)} AS x")
    if any(s.alias.lower() == alias.lower() for s in before):
        example = f"{stream.name} [RANGE 1 MINUTE] AS x"
        raise at.error(f"{alias!r} appears twice in FROM: give each its own alias, as in {example}")
    return Scan(stream, alias, bind_window(window_of(item), place_of(item.this, text), text, options))


def _check_form(item: exp.Expr, catalog: Catalog, text: str) -> None:
    """Raise unless ``item`` is a plain name with at most a window and an alias."""
    place = place_of(item, text)
    if not isinstance(item, StreamRef) or not isinstance(item.this, exp.Identifier):
        what = "sub-queries in FROM are" if isinstance(item, exp.Query) else "this kind of source is"
        raise place.unsupported(f"{what} not supported yet: FROM takes names of registered streams")
    for key, word in _DECORATIONS:
        if item.args.get(key):
            raise place.unsupported(f"{word} is not supported in FROM")
    if item.args.get("db"):
        known = listing([s.name for s in catalog.streams])
        raise place.error(f"streams have plain names without dots. Registered streams: {known}")


def _stream(item: exp.Expr, catalog: Catalog, text: str) -> Stream:
    """The stream that ``item`` names; tables are told apart in the message."""
    stream, table, spec = catalog.stream(item.name), catalog.table(item.name), window_of(item)
    if stream is not None:
        return stream
    place = place_of(item.this, text)
    if table is None:
        raise place.error(unknown_stream(item.name, catalog))
    if spec is not None:
        message = f"{table.name} is a table, and tables have no window: write {table.name} without [...]"
        raise place_of(spec, text).error(message)
    raise place.unsupported(f"{table.name} is a table: joins with tables are not supported yet, only streams")
