"""Random queries over what the wide draw leaves out: FIRST and LAST, user-defined aggregates, INTERNAL windows, windows
on the output (Wstream), windows of time that slide by rows and of rows that slide in time.

A second generator, so that the cases of the first one's seeds stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from generate import NAMES
from generate_wide import (
    Draw,
    Shape,
    Updates,
    WideCase,
    WideQuery,
    WideSource,
    draw_around,
    draw_inner,
    draw_wide_query,
    is_inner,
    join,
    link,
    outer,
    semi,
    set_operation,
    spread,
    where_of,
)
from generate_wide import tables as table_forms
from user_aggregates import called


def draw_further_case(seed: int) -> WideCase:
    """The case of a seed."""
    return draw_around(Random(f"further {seed}"), seed, draw_further_query)


def draw_repeating_case(seed: int) -> WideCase:
    """The case of a seed: tables whose feeds say things twice, and take away what is not there; half of them keyed."""
    rng = Random(f"repeating {seed}")
    case = draw_around(rng, seed, repeating)
    key = "k" if rng.random() < 0.5 else None
    tables = {n: u if n == "T" else _unclean(rng, u, case.unit) for n, u in case.tables.items()}
    return replace(case, tables=tables, key=key)


def repeating(rng: Random) -> WideQuery:
    """A query over a table that changes."""
    while True:
        query = draw_wide_query(rng) if rng.random() < 0.3 else _over_table(rng)
        if any(s.window == "table" and s.of != "T" for s in query.sources):
            return query


def _over_table(rng: Random) -> WideQuery:
    form = rng.choice(("join", "join", "alone", "alone", "self", "except"))
    if form == "join":
        return _query(rng, table_forms, Draw(rng, deep=rng.random() < 0.3))
    kind = rng.choice(("Istream", "Dstream", "Rstream", None, None))
    sources = [WideSource("R", a, "table") for a in ("r", "q")[: 1 if form == "alone" else 2]]
    text = {
        "alone": rng.choice(
            (
                "SELECT COUNT(*) AS c0, SUM(r.v) AS c1 FROM {r}",
                "SELECT r.k AS c0, r.v AS c1 FROM {r} WHERE r.v > 20",
                "SELECT r.s AS c0, COUNT(*) AS c1, MAX(r.v) AS c2 FROM {r} GROUP BY r.s",
                "SELECT DISTINCT r.k AS c0 FROM {r}",
            )
        ),
        "self": "SELECT r.k AS c0, r.v AS c1, q.v AS c2 FROM {r} JOIN {q} ON "
        + rng.choice(("r.k = q.k", "r.s = q.s", "r.s = q.s AND r.k = q.k", "r.v = q.v + 10", "r.v < q.v")),
        "except": "SELECT r.k AS c0 FROM {r} WHERE r.v > 0 EXCEPT ALL SELECT q.k AS c0 FROM {q} WHERE q.s = 'p'",
    }[form]
    return WideQuery(text, tuple(sources), kind)


def _unclean(rng: Random, updates: Updates, unit: int) -> Updates:
    """The updates with some said again, at once or later, and with deletions of rows that are not there."""
    found = list(updates)
    for ts, op, row in updates:
        for _ in range(rng.choice((0, 0, 1, 1, 2))):
            later = ts + rng.choice((0, 0, 1, 3)) * unit
            other = rng.choice((row, row, {**row, "v": row["v"] + 100}, {**row, "k": 9}))
            found.append((later, op if other is row else "-", other))
    return sorted(found, key=lambda u: u[0])


def draw_further_query(rng: Random) -> WideQuery:
    """A query of one of the kinds."""
    return rng.choice((ordered, user_defined, internal, internal, output, output, mixed))(rng)


def _query(rng: Random, shape: Callable[[Random, Draw], Shape], draw: Draw, restore: bool = True) -> WideQuery:
    template, order = shape(rng, draw)
    kind = rng.choice(("Istream", "Dstream", "Rstream", None, None))
    if restore and all(s.timed and isinstance(s.of, str) and not s.mixed for s in draw.sources):
        kind = rng.choice((kind, kind, "Istream-restore", "Rstream-restore"))
    return WideQuery(template, tuple(draw.sources), kind, order)


# --- FIRST and LAST, user-defined aggregates --------------------------------------------------------------------------


def ordered(rng: Random) -> WideQuery:
    """FIRST and LAST: by event time (of a combination: the newest part's), at one instant by value, NULL least."""
    return _query(rng, lambda r, d: _aggregated(r, d, _by_time), Draw(rng, deep=rng.random() < 0.3))


def user_defined(rng: Random) -> WideQuery:
    """User-defined aggregates, alone, with others, under HAVING, and of a sub-query's rows."""
    return _query(rng, lambda r, d: _aggregated(r, d, _by_user), Draw(rng, deep=True))


Call = Callable[[Random, str, str, bool], str]
"""(alias, event time in DuckDB, whether only the columns of a sub-query are there) to a call in a template."""


def _by_time(rng: Random, a: str, at: str, few: bool) -> str:
    arg = rng.choice([f"{a}.v", f"{a}.s", f"{a}.k", f"{a}.v + {a}.k", *([] if few else [f"{a}.x", f"{a}.m"])])
    word = rng.choice(("FIRST", "LAST"))
    return f"<<{word}({arg})|{word}({arg} ORDER BY {at}, {arg} NULLS FIRST)>>"


def _by_user(rng: Random, a: str, at: str, few: bool) -> str:
    name = rng.choice(("squares", "joined", "runner_up"))
    return called(name, f"{a}.s" if name == "joined" else rng.choice((f"{a}.v", f"{a}.v", f"{a}.k")))


def _aggregated(rng: Random, draw: Draw, call: Call) -> Shape:
    form = rng.choice(("one", "one", "one", "join", "left", "table", "scalar", "top"))
    a = draw.source("a", timed=form == "table")
    few, tail = is_inner(a), rng.choice(("", "", " HAVING COUNT(*) > 1", " HAVING MAX(a.v) > 0"))
    group = rng.choice((None, "a.k", "a.k", "a.s"))
    source, where, alias, at = "{a}", where_of(rng, "a", few), "a", "a.moment"
    if form in ("join", "left"):
        b = draw.source("b")
        source = f"{{a}} {'LEFT ' if form == 'left' else ''}JOIN {{b}} ON {link(rng, 'a', 'b')}"
        alias, at, few = rng.choice("ab"), "greatest(a.moment, b.moment)", few or is_inner(b)
    elif form == "table":
        draw.table("r", rng.choice("TRN"))
        source = f"{{a}} JOIN {{r}} ON {rng.choice(('a.k = r.k', 'r.v > a.v'))} AND {{versions}}"
        alias = rng.choice("ar")
        few = few or alias == "r"
    elif form == "scalar":
        few = is_inner(draw.source("b"))
        on = rng.choice(("TRUE", "b.k = a.k", "b.k = a.k AND b.v < a.v"))
        value = f"(SELECT {call(rng, 'b', 'b.moment', few)} FROM {{b}} WHERE {on})"
        return f"SELECT a.k AS c0, a.v AS c1, {value} AS c2 FROM {{a}} WHERE {where}", None
    calls = [call(rng, alias, at, few) for _ in range(rng.randint(1, 3))] + rng.choice(([], [], ["COUNT(*)"]))
    if form == "top":
        text = f"SELECT a.k AS c0, {calls[0]} AS c1 FROM {{a}} WHERE {where} GROUP BY a.k"
        return text, (rng.choice(("c1 DESC", "c1 ASC NULLS LAST", "c1")), 2, rng.randint(1, 2))
    if rng.random() < 0.2:
        tail = f" HAVING {call(rng, alias, at, few)} IS NOT NULL"
    shown = [group, *calls] if group and rng.random() < 0.9 else calls
    items = ", ".join(f"{e} AS c{i}" for i, e in enumerate(shown))
    return f"SELECT {items} FROM {source} WHERE {where}{f' GROUP BY {group}' if group else ''}{tail}", None


# --- INTERNAL windows -------------------------------------------------------------------------------------------------


def internal(rng: Random, windows: Callable[[Random, int, bool], list[WideSource]] | None = None) -> WideQuery:
    """Results over INTERNAL windows stay: of selections, joins and aggregates (thesis 3.3.2). ``windows``: how many,
    and whether they are on results."""
    form = rng.choice(("select", "join", "join", "three", "exists", "union", "table", "result"))
    count = {"select": 1, "table": 1, "result": 1, "three": 3}.get(form, 2)
    sources = (windows or _internal_sources)(rng, count, form == "result")
    condition = {"three": f"{link(rng, 'a', 'b')} AND {link(rng, 'b', 'c')}", "table": "a.k = r.k"}.get(form, "TRUE")
    if count == 2:
        condition = rng.choice((link(rng, "a", "b"), "a.v < b.v", "b.v - a.v BETWEEN -1 AND 1"))
    if form == "table":
        sources.append(WideSource(rng.choice("TN"), "r", "table"))
        condition += " AND {versions}"
    where = f"{where_of(rng, 'a', form == 'result')} AND {condition}"
    valid = f"<<|AND {_together('abc'[:count])}>>" if count > 1 else ""
    tables = ", ".join(f"{{{s.alias}}}" for s in sources)
    kind = rng.choice(("Istream", "Dstream", "Rstream", None, None))
    appended = None
    if form == "exists":
        inside = f"EXISTS (SELECT 1 FROM {{b}} WHERE {condition} {valid})"
        text = f"SELECT a.k AS c0, a.v AS c1 FROM {{a}} WHERE {inside}"
    elif form == "union":
        parts = [f"SELECT {s}.k AS k, {s}.v AS v FROM {{{s}}} WHERE {where_of(rng, s, False)}" for s in "ab"]
        text = " UNION ALL ".join(parts)
    elif rng.random() < 0.5:
        text = f"SELECT a.k AS c0, a.v AS c1, {sources[-1].alias}.v AS c2 FROM {tables} WHERE {where} {valid}"
    else:
        text, appended = _appended(rng, tables, where, sources[-1].alias)
    return WideQuery(text, tuple(sources), kind, appended=appended)


def _internal_sources(rng: Random, count: int, results: bool) -> list[WideSource]:
    """INTERNAL windows, now and then one that is not among them; ``results``: on the output of a query."""
    share, slide, odd = rng.choice((0.0, 0.0, 1.0, 0.5)), rng.randint(1, 5), rng.random() < 0.1
    sources = []
    for alias, name in zip("abc"[:count], NAMES, strict=False):
        of: str | WideQuery = rng.choice(NAMES[:2]) if rng.random() < 0.2 else name
        of = draw_inner(rng, alias) if results else of
        own = (slide if rng.random() < 0.8 else rng.randint(1, 5)) if rng.random() < share else None
        inside = not odd or alias == "a" or rng.random() < 0.5
        sources.append(WideSource(of, alias, "range", rng.randint(2, 9), own, internal=inside))
    return sources


def _together(aliases: str) -> str:
    """Whether rows of all the aliases were in their windows at one instant."""
    starts, ends = (", ".join(f"{a}.{c}" for a in aliases) for c in ("enters", "leaves"))
    return f"greatest({starts}) < least({ends})"


def _appended(rng: Random, tables: str, where: str, other: str) -> tuple[str, str]:
    """An aggregate over INTERNAL windows: (the query, what DuckDB gathers over the instants)."""
    group = rng.choice((None, "a.k", "a.k"))
    choices = (f"SUM({other}.v)", "COUNT(*)", "MAX(a.v)", f"COUNT(DISTINCT {other}.k)", "MEDIAN(a.v)", "MIN(a.s)")
    aggs = rng.sample(choices, rng.randint(1, 2))
    items = ", ".join(f"{e} AS c{i}" for i, e in enumerate([*([group] if group else []), *aggs]))
    inside = f"SELECT {items} FROM {tables} WHERE {where}{f' GROUP BY {group}' if group else ''}"
    every = "SELECT * FROM {appended}"
    match rng.choice(("plain", "plain", "having", "derived", "above")):
        case "having":
            last = len(aggs) - (group is None)
            return f"<<{inside} HAVING {aggs[-1]} IS NOT NULL|{every} WHERE c{last} IS NOT NULL>>", inside
        case "derived":
            return f"SELECT q.c0 AS c0, 1 AS c1 FROM (<<{inside}|{every}>>) AS q WHERE q.c0 IS NOT NULL", inside
        case "above":  # an aggregate of aggregates: the outermost appends what it takes over external windows
            whole = f"SELECT MAX(q.c0) AS c0, COUNT(*) AS c1 FROM ({inside}) AS q"
            return f"<<{whole}|{every}>>", whole
        case _:
            return f"<<{inside}|{every}>>", inside


# --- windows on the output --------------------------------------------------------------------------------------------


def output(rng: Random) -> WideQuery:
    """``Wstream(query)[window]`` and its other forms (thesis 3.4): the latest results, or those of the last T."""
    form = rng.choice(("whole", "list", "from", "join", "nested", "inside"))
    inner = _inner(rng, aggregate=form in ("nested", "inside") or rng.random() < 0.3, one=form == "inside")
    if form == "nested":
        inner = replace(inner, sources=tuple(replace(s, internal=s.window == "range") for s in inner.sources))
    q = _on_output(rng, inner)
    kind = rng.choice(("Istream", "Dstream", "Rstream", None, None))
    match form:
        case "whole":
            text = "<<Wstream({q_bare}){q_spec}|SELECT k, j, s, v FROM {q}>>"
        case "list":
            text = f"<<{_in_list(inner)}|SELECT k, j, s, v FROM {{q}}>>"
            kind = None
        case "inside":
            return _inside_aggregate(rng, inner, q)
        case _:
            source = "({q_bare}){q_spec} AS q" if form == "nested" else "Wstream({q_bare}){q_spec} AS q"
            text = _over_output(rng, f"<<{source}|{{q}}>>", form == "join")
    sources = (q, *([WideSource("C", "c", "range", rng.randint(2, 9))] if form == "join" else []))
    return WideQuery(text, sources, kind)


def _over_output(rng: Random, source: str, joined: bool) -> str:
    if joined:
        return f"SELECT q.k AS c0, q.v AS c1, c.v AS c2 FROM {source}, {{c}} WHERE q.k = c.k"
    return rng.choice(
        (
            f"SELECT q.k AS c0, q.v AS c1 FROM {source} WHERE q.v > 0",
            f"SELECT SUM(q.v) AS c0, COUNT(*) AS c1 FROM {source}",
            f"SELECT q.k AS c0, MAX(q.v) AS c1, MIN(q.s) AS c2 FROM {source} GROUP BY q.k",
            f"SELECT DISTINCT q.k AS c0 FROM {source}",
        )
    )


def _inner(rng: Random, aggregate: bool, one: bool) -> WideQuery:
    """The query under the window: columns k, j, s, v; its output stream as ``streamed`` gives it."""
    slide = rng.choice((None, None, rng.randint(1, 4)))
    names = ("A",) if one or rng.random() < 0.6 else ("A", "B")
    sources = tuple(WideSource(n, f"q{n.lower()}", "range", rng.randint(2, 8), slide) for n in names)
    if not aggregate and rng.random() < 0.2:
        sources = (replace(sources[0], window="rows", length=rng.randint(1, 4), slide=None), *sources[1:])
    a, z = sources[0].alias, sources[-1].alias
    where = f" WHERE {z}.k = {a}.k" if len(sources) > 1 else ""
    tables = ", ".join(f"{{{s.alias}}}" for s in sources)
    periodic = aggregate and all(s.slide is not None for s in sources)
    if not aggregate:
        text = f"SELECT {a}.k AS k, {a}.j AS j, {z}.s AS s, {z}.v AS v FROM {tables}{where}"
    elif one or rng.random() < 0.4:
        text = f"SELECT MAX({a}.k) AS k, COUNT(*) AS j, MIN({z}.s) AS s, SUM({z}.v) AS v FROM {tables}{where}"
    else:
        text = f"SELECT {a}.k AS k, COUNT(*) AS j, MAX({z}.s) AS s, SUM({z}.v) AS v FROM {tables}{where} GROUP BY {a}.k"
    return WideQuery(text, sources, "Rstream" if periodic else "Istream")


def _on_output(rng: Random, inner: WideQuery) -> WideSource:
    if rng.random() < 0.6:
        by = rng.choice(((), (), (), ("k",)))
        slide = rng.choice((None, None, rng.randint(1, 3))) if not by else None
        return WideSource(inner, "q", "rows", rng.randint(1, 5), slide, by)
    window = rng.choice(("range", "range", "range", "unbounded"))
    slide = rng.choice((None, rng.randint(1, 4))) if window == "range" else None
    return WideSource(inner, "q", window, rng.randint(1, 8) if window == "range" else 0, slide)


def _in_list(inner: WideQuery) -> str:
    """``SELECT Wstream(x AS k, ...)[window] FROM ...``."""
    items, rest = inner.template.removeprefix("SELECT ").split(" FROM ", 1)
    return f"SELECT Wstream({items}){{q_spec}} FROM {rest}"


def _inside_aggregate(rng: Random, inner: WideQuery, q: WideSource) -> WideQuery:
    """``SELECT SUM(Wstream(SUM(x))[ROWS n]) FROM ...``."""
    (a,) = inner.sources
    first = rng.choice((f"SUM({a.alias}.v)", "COUNT(*)", f"MAX({a.alias}.v)"))
    second = rng.choice((None, f"MIN({a.alias}.k)"))
    template = f"SELECT {first} AS k, {second or 'NULL'} AS j, NULL AS s, NULL AS v FROM {{{a.alias}}}"
    q = replace(q, of=replace(inner, template=template), by=())
    outer_first, outer_second = rng.choice(("SUM", "MAX", "COUNT", "AVG")), rng.choice(("SUM", "MIN"))
    calls = [(outer_first, first, "k"), *([(outer_second, second, "j")] if second else [])]
    items = ", ".join(f"<<{agg}(Wstream({e}){{q_spec}})|{agg}({c})>> AS c{i}" for i, (agg, e, c) in enumerate(calls))
    kind = rng.choice(("Istream", "Rstream", None, None))
    return WideQuery(f"SELECT {items} FROM <<{{{a.alias}}}|{{q}}>>", (q,), kind)


# --- mixed jumping windows --------------------------------------------------------------------------------------------


class Mixed(Draw):
    """Draws windows of time that slide by rows, or windows of rows that slide in time, beside plain ones."""

    def source(self, alias: str, plain: bool = False, timed: bool = False) -> WideSource:
        rng = self.rng
        of = rng.choice(NAMES[:2]) if rng.random() < 0.2 else NAMES["abcd".index(alias)]
        by = rng.choice(((), (), ("k",), ("k", "j")))
        if rng.random() < 0.25:
            made = WideSource(of, alias, *rng.choice((("range", 6), ("unbounded",), ("rows", 3))))
        elif self.by_rows:
            made = rng.choice(
                (
                    WideSource(of, alias, "range", rng.randint(1, 10), rng.randint(1, 4), mixed=True),
                    WideSource(of, alias, "range", rng.randint(1, 10), rng.randint(1, 4), mixed=True),
                    WideSource(of, alias, "rows", rng.randint(1, 5), rng.randint(1, 4), by),
                )
            )
        else:
            made = rng.choice(
                (
                    WideSource(of, alias, "rows", rng.randint(1, 5), rng.randint(1, 5), by, mixed=True),
                    WideSource(of, alias, "rows", rng.randint(1, 5), rng.randint(1, 5), by, mixed=True),
                    WideSource(of, alias, "range", rng.randint(1, 10), rng.randint(1, 5)),
                )
            )
        self.sources.append(made)
        return made


def mixed(rng: Random) -> WideQuery:
    """Mixed jumping windows (thesis 2.1) in the shapes of the wide draw."""
    return _query(rng, rng.choice((semi, outer, set_operation, spread, join)), Mixed(rng, deep=False), restore=False)
