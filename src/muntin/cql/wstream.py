"""Relation-to-stream operators in the select list: ``SELECT Istream(*)``, and Wstream inside an aggregate."""

from __future__ import annotations

from sqlglot import exp

from muntin.cql.context import Context
from muntin.cql.dialect import ToStream, WstreamCall

_WORDS = {"group": "GROUP BY", "having": "HAVING", "distinct": "DISTINCT"}


def stream_of_list(tree: exp.Expr) -> exp.Expr:
    """``SELECT Istream(x, ...) FROM ...`` as ``Istream(SELECT x, ... FROM ...)``; other queries as they are."""
    if not isinstance(tree, exp.Select) or not tree.expressions or "to_stream" not in tree.expressions[0].meta:
        return tree
    kind, window, start, end = tree.expressions[0].meta.pop("to_stream")
    whole = ToStream(this=tree, kind=kind, window=window)
    whole.meta.update(start=start, end=end)
    return whole


def unnested(ctx: Context, select: exp.Select) -> exp.Select:
    """``SELECT SUM(Wstream(SUM(a))[ROWS 10]) FROM S [...]`` as its nested form (thesis 3.4)::

        SELECT SUM(w0) FROM (Wstream(SELECT SUM(a) AS w0 FROM S [...])) [ROWS 10]

    Raises:
        QueryError: several windows, or no window.
        UnsupportedError: with GROUP BY or HAVING.
    """
    calls = [c for e in select.expressions for c in e.find_all(WstreamCall)]
    if not calls:
        return select
    window = calls[0].args.get("window")
    for call in calls:
        if call.args.get("window") is None:
            raise ctx.at(call).error("Wstream takes a window after it, as in SUM(Wstream(SUM(x))[ROWS 10])")
        if call.args["window"] != window:
            raise ctx.at(call).error("one query has one window on its results: the Wstream(...) windows differ")
        if len(call.expressions) != 1:
            raise ctx.at(call).error("Wstream inside an aggregate takes one expression")
    select.set("expressions", [_named(e) for e in select.expressions])
    calls = [c for e in select.expressions for c in e.find_all(WstreamCall)]
    clause = next((k for k in ("group", "having", "distinct") if select.args.get(k)), None)
    if clause is not None:
        raise ctx.at(calls[0]).unsupported(
            f"Wstream inside an aggregate does not go with {_WORDS[clause]}, which could be meant of the inner query, "
            "of the outer one or of both, and the window for all results or for those of each group. Write the nested "
            "form, which says it: SELECT ... FROM (SELECT ... FROM s [RANGE t SLIDE t INTERNAL] GROUP BY k) "
            "[PARTITION BY k ROWS n] GROUP BY k"
        )
    inner = exp.Select(**{k: v for k, v in select.args.items() if k in ("from_", "joins", "where")})
    outer = exp.Select(**{k: v for k, v in select.args.items() if k in ("order", "limit", "offset", "qualify")})
    items: list[exp.Expr] = []
    for n, call in enumerate(calls):
        items.append(exp.alias_(call.expressions[0].copy(), f"w{n}"))
        call.replace(exp.column(f"w{n}"))
    inner.set("expressions", items)
    for part in (inner, outer):
        part.meta.update(select.meta)
    outer.set("expressions", select.expressions)
    wrapped = ToStream(this=inner, kind="wstream", window=window)
    wrapped.meta.update(calls[0].meta)
    outer.set("from_", exp.From(this=exp.Subquery(this=wrapped)))
    return outer


def _named(item: exp.Expr) -> exp.Expr:
    """The item under the name that its text gives, before Wstream is taken out of it."""
    if isinstance(item, exp.Alias) or not list(item.find_all(WstreamCall)):
        return item
    shown = item.transform(lambda n: exp.func("wstream", *n.expressions) if isinstance(n, WstreamCall) else n)
    name = shown.sql(dialect="spark", normalize_functions="lower")
    return exp.alias_(item.copy(), name, quoted=True)
