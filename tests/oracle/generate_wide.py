"""Random queries over the whole language: windows of rows and on results, tables, sub-queries, outer joins, sets.

A query is a text with a place ``{a}`` for each source: ``WideQuery.cql`` fills in windows, ``duckdb_wide`` sub-selects.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import pyarrow as pa
from generate import NAMES, UNIT_WORDS, Case, _as_time, draw_filter, draw_rows
from user_aggregates import FUNCTIONS

from muntin.core.schema import Schema
from muntin.plan.catalog import Catalog, Table
from muntin.plan.windows import QueryOptions

COLUMNS = ("ts", "k", "j", "i", "s", "x", "m", "v")
INNER_COLUMNS = ("k", "j", "s", "v")
TABLE_COLUMNS = ("k", "s", "v")
TABLE_KINDS = {"T": "static", "R": "relation", "N": "nrr"}
SPLIT = re.compile(r"<<(.*?)\|(.*?)>>")
Updates = list[Any]


@dataclass(frozen=True)
class WideSource:
    """A leaf of FROM. ``of``: a stream's or a table's name, or the query whose results are windowed.

    ``window``: range | now | unbounded | rows | table; lengths and slides in time units, or in rows. ``mixed``: a
    window of time that slides by rows, or of rows that slides in time. ``internal``: results stay (thesis 3.3.2).
    ``view``: the name under which the query is registered ("": it stands in the text). ``delay``: of windows of time,
    in time units.
    """

    of: str | WideQuery
    alias: str
    window: str
    length: int = 0
    slide: int | None = None
    by: tuple[str, ...] = ()
    mixed: bool = False
    internal: bool = False
    view: str = ""
    delay: int = 0

    @property
    def stream(self) -> str:
        """The name of the table that holds the rows in DuckDB."""
        return self.of if isinstance(self.of, str) else f"inner_{self.alias}"

    @property
    def timed(self) -> bool:
        """Whether the window slides in time."""
        return self.slide is not None and (self.window == "range") != self.mixed

    def cql(self, unit: int) -> str:
        """The source as CQL writes it."""
        text = self.of if isinstance(self.of, str) else self.view or f"({self.of.cql(unit)})"
        return f"{text}{self.spec(unit)} AS {self.alias}"

    def places(self, unit: int) -> dict[str, str]:
        """What a template may say of the source: ``{a}``; of a query also ``{a_bare}``, its relation, ``{a_spec}``, its
        window, and the sources of the query."""
        found = {self.alias: self.cql(unit)}
        if isinstance(self.of, WideQuery):
            for s in self.of.sources:
                found |= s.places(unit)
            found |= {
                f"{self.alias}_bare": replace(self.of, kind=None).cql(unit),
                f"{self.alias}_spec": self.spec(unit),
            }
        return found

    def spec(self, unit: int) -> str:
        """The window as CQL writes it."""
        word = UNIT_WORDS[unit]
        slide = f" SLIDE {self.slide}{f' {word}' if self.timed else ''}" if self.slide else ""
        stays = " INTERNAL" if self.internal else ""
        stays = f" DELAY {self.delay} {word}{stays}" if self.delay else stays
        match self.window:
            case "table":
                return ""
            case "now":
                return f" [NOW{stays}]"
            case "unbounded":
                return f" [UNBOUNDED{stays}]"
            case "rows":
                head = f"PARTITION BY {', '.join(self.by)} " if self.by else ""
                return f" [{head}ROWS {self.length}{slide}{stays}]"
            case _:
                return f" [RANGE {self.length} {word}{slide}{stays}]"


@dataclass(frozen=True)
class WideQuery:
    """A query: its text with places for its sources and, for DuckDB, the full order of ORDER BY ... LIMIT.

    ``<<x|y>>`` in the text is ``x`` in CQL and ``y`` in DuckDB. ``top``: (keys as CQL writes them, the number of
    columns, LIMIT), or None. ``appended``: a template whose rows, of all instants so far, are DuckDB's ``{appended}``.
    """

    template: str
    sources: tuple[WideSource, ...]
    kind: str | None
    top: tuple[str, int, int] | None = None
    appended: str | None = None

    def cql(self, unit: int) -> str:
        places = {"versions": "TRUE"}
        for s in self.sources:
            places |= s.places(unit)
        text = SPLIT.sub(r"\1", self.template).format(**places)
        text += f" ORDER BY {self.top[0]} LIMIT {self.top[2]}" if self.top else ""
        return f"{self.kind}({text})" if self.kind else text

    @property
    def slides(self) -> bool:
        """Whether one of its own windows has a SLIDE in time."""
        return any(s.timed for s in self.sources)


@dataclass(frozen=True)
class WideCase(Case):
    """``tables``: by name the rows that are always there, or updates (microseconds, op, row)."""

    tables: dict[str, Updates] = field(default_factory=dict)
    key: str | None = None
    """The column of which each value has one row in the tables that change; None where tables are bags."""

    def last_instant(self) -> int:
        if self.streams:
            return super().last_instant()
        return max((ts for updates in self.tables.values() for ts, _, _ in updates), default=0)

    @property
    def catalog(self) -> Catalog:
        schema = Schema.of(k=pa.int64(), s=pa.string(), v=pa.int64())
        tables = tuple(
            Table(n, schema, TABLE_KINDS[n], key=(self.key,) if self.key and n != "T" else ()) for n in self.tables
        )
        catalog = Catalog(super().catalog.streams, tables, functions=FUNCTIONS)
        for name, text in views_of(self.query, self.unit) if isinstance(self.query, WideQuery) else ():
            catalog = catalog.with_view(name, text)
        return catalog


def draw_wide_case(seed: int) -> WideCase:
    """The case of a seed."""
    return draw_around(Random(f"wide {seed}"), seed, draw_wide_query)


def shaped(shape: Callable[[Random, Draw], Shape]) -> Callable[[Random], WideQuery]:
    """Draws queries over the sources that ``shape`` draws, of any kind of answer."""

    def query(rng: Random) -> WideQuery:
        draw = Draw(rng, deep=False)
        template, order = shape(rng, draw)
        kind = rng.choice(("Istream", "Dstream", "Rstream", None, None))
        return WideQuery(template, tuple(draw.sources), kind, order)

    return query


def draw_around(rng: Random, seed: int, draw_query: Callable[[Random], WideQuery]) -> WideCase:
    """A case whose query comes from ``draw_query``: streams, tables and options that fit it."""
    unit = rng.choice(list(UNIT_WORDS))
    clock = rng.random() < 0.2
    query = with_views(draw_query(rng), Random(f"views {seed}"))
    used = sorted(set(_streams(query)))
    slack = {n: rng.choice((0, 0, 1, 4)) for n in used}
    base = rng.choice((0, 7, -6, 1_700_000_000))
    streams = {}
    for n in used:
        rows = draw_rows(rng, rng.randint(1, 14 if len(used) < 3 else 8), base, 12, slack[n])
        streams[n] = [{**r, "ts": _as_time(r["ts"], unit, clock)} for r in rows]
    tables = {n: draw_updates(rng, n, base, unit) for n in sorted(set(_tables(query)))}
    return WideCase(seed, unit, clock, streams, slack, query, draw_options(rng, query, unit), tables)


def with_views(query: WideQuery, rng: Random) -> WideQuery:
    """The query with some of its sub-queries as views, sub-queries of views too."""
    sources = []
    for s in query.sources:
        if isinstance(s.of, WideQuery):
            name = f"view_{rng.randrange(10**6)}" if rng.random() < 0.3 else ""
            s = replace(s, of=with_views(s.of, rng), view=name)
        sources.append(s)
    return replace(query, sources=tuple(sources))


def views_of(query: WideQuery, unit: int) -> Iterator[tuple[str, str]]:
    """Names and texts of the views, those inside a view before it."""
    for s in query.sources:
        if isinstance(s.of, WideQuery):
            yield from views_of(s.of, unit)
            if s.view:
                yield s.view, s.of.cql(unit)


def _streams(query: WideQuery) -> list[str]:
    found: list[str] = []
    for s in query.sources:
        found += _streams(s.of) if isinstance(s.of, WideQuery) else [s.of] if s.window != "table" else []
    return found


def _tables(query: WideQuery) -> list[str]:
    found: list[str] = []
    for s in query.sources:
        found += _tables(s.of) if isinstance(s.of, WideQuery) else [s.of] if s.window == "table" else []
    return found


def draw_options(rng: Random, query: WideQuery, unit: int) -> QueryOptions:
    def sliding(q: WideQuery) -> bool:
        own = [s for s in q.sources if s.window != "table"]
        return all(s.slide is not None and s.window == "range" and not s.mixed for s in own) and all(
            sliding(s.of) for s in own if isinstance(s.of, WideQuery)
        )

    bounds = rng.choice(("half_open", "half_open", "closed"))
    if rng.random() < 0.5 and sliding(query):
        bounds = "start"
    return QueryOptions(bounds=bounds, origin=rng.choice((0, 0, 1, -2)) * unit, granule=rng.choice((1, unit)))


def draw_updates(rng: Random, name: str, base: int, unit: int) -> Updates:
    """A table without equal rows: three rows that are always there, or inserts, deletes and updates over time."""
    rows = [{"k": k, "s": rng.choice(("p", "q", None)), "v": rng.randint(-2, 5)} for k in (1, 2, 3)]
    if name == "T":
        return [r for r in rows if rng.random() < 0.8]
    moments = sorted(base + rng.randint(-3, 12) for _ in range(rng.randint(2, 8)))
    there: dict[int, dict[str, Any]] = {}
    updates: Updates = []
    for n, moment in enumerate(moments):
        row = rng.choice(rows)
        old = there.pop(row["k"], None)
        if old is not None:
            updates.append((moment * unit, "-", old))
        if old is None or rng.random() < 0.5:
            there[row["k"]] = {**row, "v": 10 * n + row["v"]}
            updates.append((moment * unit, "+", there[row["k"]]))
    return updates


# --- queries ----------------------------------------------------------------------------------------------------------


class Draw:
    """Draws the sources of one query: time SLIDE or SLIDE by rows, never both."""

    def __init__(self, rng: Random, deep: bool) -> None:
        self.rng = rng
        self.share = rng.choice((0.0, 0.0, 0.0, 1.0, 0.5))
        self.by_rows = rng.random() < 0.5
        self.slide = rng.randint(1, 5)
        self.deep = deep
        self.sources: list[WideSource] = []

    def source(self, alias: str, plain: bool = False, timed: bool = False) -> WideSource:
        """A window; ``plain``: on a stream with all its columns; ``timed``: besides, not of rows."""
        rng = self.rng
        of: str | WideQuery = rng.choice(NAMES[:2]) if rng.random() < 0.2 else NAMES["abcd".index(alias)]
        inner = self.deep and not plain and not timed and rng.random() < 0.18
        if inner:
            of = draw_inner(rng, alias)
        if rng.random() < self.share:
            made = WideSource(of, alias, "range", rng.randint(1, 10), self.slide)
        else:
            window = rng.choices(("range", "now", "unbounded", "rows"), (6, 1, 1.5, 0 if inner or timed else 4))[0]
            length = {"range": rng.randint(2, 10), "rows": rng.randint(1, 5)}.get(window, 0)
            by = rng.choice(((), (), ("k",), ("s",), ("k", "j"))) if window == "rows" else ()
            slide = rng.randint(1, 4) if window == "rows" and not by and self.by_rows and self.share == 0.0 else None
            made = WideSource(of, alias, window, length, slide, by)
        self.sources.append(made)
        return made

    def table(self, alias: str, name: str) -> None:
        self.sources.append(WideSource(name, alias, "table"))


def draw_inner(rng: Random, alias: str) -> WideQuery:
    """A query with the columns k, j, s, v whose results are windowed."""
    draw = Draw(rng, deep=False)
    draw.source("d", plain=True)
    (source,) = draw.sources
    source = WideSource(source.of, f"{alias}d", source.window, source.length, source.slide, source.by)
    d = source.alias
    template = rng.choice(
        (
            f"SELECT {d}.k AS k, {d}.j AS j, {d}.s AS s, {d}.v AS v FROM {{{d}}} WHERE {d}.v > -2",
            f"SELECT {d}.k AS k, {d}.k AS j, MAX({d}.s) AS s, COUNT(*) AS v FROM {{{d}}} GROUP BY {d}.k",
            f"SELECT {d}.j AS k, {d}.k AS j, {d}.s AS s, SUM({d}.v) AS v FROM {{{d}}} GROUP BY {d}.j, {d}.k, {d}.s",
        )
    )
    return WideQuery(template, (source,), rng.choice(("Istream", "Istream", "Rstream", "Dstream")))


def draw_wide_query(rng: Random) -> WideQuery:
    """A query of one of the shapes."""
    shape = rng.choice(
        (semi, semi, member, outer, outer, set_operation, scalar, distinct, top, spread, derived, tables, join)
    )
    draw = Draw(rng, deep=True)
    template, order = shape(rng, draw)
    kind = rng.choice(("Istream", "Dstream", "Rstream", None, None))
    if all(s.slide is not None and s.window == "range" and isinstance(s.of, str) for s in draw.sources):
        kind = rng.choice((kind, kind, "Istream-restore", "Rstream-restore"))
    return WideQuery(template, tuple(draw.sources), kind, order)


Shape = tuple[str, tuple[str, int, int] | None]


def link(rng: Random, a: str, b: str) -> str:
    """A condition between two sources."""
    equal = rng.choice(
        (f"{b}.k = {a}.k", f"{b}.k = {a}.k", f"{b}.k = {a}.j", f"{a}.s = {b}.s", f"{b}.j = {a}.j AND {b}.k = {a}.k")
    )
    return equal + rng.choice(("", "", "", f" AND {b}.v > {a}.v", f" AND {b}.v + {a}.v > 2", f" AND {b}.v < 4"))


def where_of(rng: Random, a: str, inner: bool) -> str:
    """A condition on one source, or TRUE."""
    if rng.random() < 0.6:
        return "TRUE"
    simple = (f"{a}.v > 1", f"{a}.s = 'p'", f"({a}.j IS NULL OR {a}.v >= 0)")
    return rng.choice(simple) if inner else draw_filter(rng, [a])


def is_inner(source: WideSource) -> bool:
    return isinstance(source.of, WideQuery)


def semi(rng: Random, draw: Draw) -> Shape:
    a, b = draw.source("a"), draw.source("b")
    word = rng.choice(("", "NOT ", "NOT "))
    filters = where_of(rng, "a", is_inner(a))
    inside = where_of(rng, "b", is_inner(b))
    if rng.random() < 0.3:
        join = rng.choice(("LEFT SEMI JOIN", "LEFT ANTI JOIN"))
        return f"SELECT a.k AS c0, a.v AS c1 FROM {{a}} {join} {{b}} ON {link(rng, 'a', 'b')} WHERE {filters}", None
    exists = f"{word}EXISTS (SELECT 1 FROM {{b}} WHERE {link(rng, 'a', 'b')} AND {inside})"
    if rng.random() < 0.2:
        draw.source("c")
        exists += f" AND {rng.choice(('', 'NOT '))}EXISTS (SELECT 1 FROM {{c}} WHERE {link(rng, 'a', 'c')})"
    items = rng.choice(("a.k AS c0, a.v AS c1", "a.s AS c0", "COUNT(*) AS c0, SUM(a.v) AS c1"))
    return f"SELECT {items} FROM {{a}} WHERE {filters} AND {exists}", None


def member(rng: Random, draw: Draw) -> Shape:
    a = draw.source("a")
    draw.source("b")
    x, y = rng.choice((("a.k", "b.k"), ("a.k", "b.j"), ("a.s", "b.s"), ("a.v", "b.v")))
    inside = rng.choice(("TRUE", "b.v > 0", "b.v > 0", "b.j = a.j"))
    word = rng.choice(("", "NOT ", "NOT "))
    where = where_of(rng, "a", is_inner(a))
    within = f"{x} {word}IN (SELECT {y} FROM {{b}} WHERE {inside})"
    return f"SELECT a.k AS c0, a.s AS c1, a.v AS c2 FROM {{a}} WHERE {where} AND {within}", None


def outer(rng: Random, draw: Draw) -> Shape:
    draw.source("a")
    draw.source("b")
    side = rng.choice(("LEFT", "RIGHT", "FULL"))
    joined = f"FROM {{a}} {side} JOIN {{b}} ON {link(rng, 'a', 'b')}"
    tail = rng.choice(("", "", " WHERE b.k IS NULL", " WHERE a.v IS NOT NULL", " WHERE COALESCE(a.v, b.v) > 0"))
    if rng.random() < 0.3:
        return f"SELECT a.k AS c0, COUNT(b.v) AS c1, COUNT(*) AS c2 {joined}{tail} GROUP BY a.k", None
    return f"SELECT a.k AS c0, a.v AS c1, b.k AS c2, b.s AS c3 {joined}{tail}", None


def set_operation(rng: Random, draw: Draw) -> Shape:
    a, b = draw.source("a"), draw.source("b")
    op = rng.choice(("UNION ALL", "UNION", "EXCEPT", "EXCEPT ALL", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL"))
    columns = rng.choice((("k",), ("k",), ("k", "s"), ("j", "k"), ("v",)))
    left = ", ".join(f"a.{c} AS c{i}" for i, c in enumerate(columns))
    right = ", ".join(f"b.{c}" for c in columns)
    filters = [where_of(rng, s.alias, is_inner(s)) for s in (a, b)]
    return f"SELECT {left} FROM {{a}} WHERE {filters[0]} {op} SELECT {right} FROM {{b}} WHERE {filters[1]}", None


def scalar(rng: Random, draw: Draw) -> Shape:
    draw.source("a")
    draw.source("b")
    value = rng.choice(("MAX(b.v)", "COUNT(*)", "SUM(b.v)", "AVG(b.v)", "MIN(b.s)", "COUNT(DISTINCT b.k)"))
    where = rng.choice(("TRUE", "b.k = a.k", "b.k = a.k", "b.k = a.k AND b.v < a.v", "b.s = a.s"))
    query = f"(SELECT {value} FROM {{b}} WHERE {where})"
    if value != "MIN(b.s)" and rng.random() < 0.5:
        compare = rng.choice(("<", ">=", "="))
        return f"SELECT a.k AS c0, a.v AS c1 FROM {{a}} WHERE a.v {compare} {query}", None
    return f"SELECT a.k AS c0, a.v AS c1, {query} AS c2 FROM {{a}}", None


def distinct(rng: Random, draw: Draw) -> Shape:
    a = draw.source("a")
    items = rng.choice(("a.k AS c0", "a.k AS c0, a.s AS c1", "a.v AS c0", "a.v % 2 AS c0, a.j AS c1"))
    if rng.random() < 0.4:
        draw.source("b")
        return f"SELECT DISTINCT {items} FROM {{a}}, {{b}} WHERE {link(rng, 'a', 'b')}", None
    return f"SELECT DISTINCT {items} FROM {{a}} WHERE {where_of(rng, 'a', is_inner(a))}", None


def top(rng: Random, draw: Draw) -> Shape:
    draw.source("a")
    order = rng.choice(("c1 DESC", "c1", "c1 DESC NULLS FIRST", "c0, c1 DESC", "c1 ASC NULLS LAST"))
    limit = rng.randint(1, 3)
    if rng.random() < 0.4:
        return "SELECT a.k AS c0, COUNT(*) AS c1 FROM {a} GROUP BY a.k", (order, 2, limit)
    if rng.random() < 0.3:
        draw.source("b")
        return f"SELECT a.k AS c0, b.v AS c1 FROM {{a}}, {{b}} WHERE {link(rng, 'a', 'b')}", (order, 2, limit)
    return "SELECT a.s AS c0, a.v AS c1, a.k AS c2 FROM {a}", (order, 3, limit)


def spread(rng: Random, draw: Draw) -> Shape:
    a = draw.source("a")
    choices = ["MEDIAN(a.v)", "QUANTILE(a.v, 0.25)", "QUANTILE(a.v, 0.9)", "STDDEV(a.v)", "STDDEV_POP(a.v)"]
    choices += [
        "VAR_SAMP(a.v)",
        "VAR_POP(a.v)",
        "COLLECT(a.v)",
        "COLLECT(a.s)",
        "COUNT(DISTINCT a.s)",
        "MIN(a.s)",
        "COUNT(*)",
    ]
    if not is_inner(a):
        choices += ["MEDIAN(a.x)", "STDDEV_SAMP(a.m)", "MAX(a.x)", "SUM(a.x)", "AVG(a.m)"]
    aggs = [rng.choice(choices) for _ in range(rng.randint(1, 3))]
    group = rng.choice((None, "a.k", "a.s"))
    items = ", ".join(f"{e} AS c{i}" for i, e in enumerate([*([group] if group else []), *aggs]))
    tail = f" GROUP BY {group}" if group else ""
    having = rng.choice(("", "", " HAVING COUNT(*) > 1", " HAVING MEDIAN(a.v) > 0"))
    return f"SELECT {items} FROM {{a}} WHERE {where_of(rng, 'a', is_inner(a))}{tail}{having}", None


def derived(rng: Random, draw: Draw) -> Shape:
    draw.source("a")
    inside = rng.choice(
        (
            "SELECT a.k AS k, SUM(a.v) AS n FROM {a} GROUP BY a.k",
            "SELECT a.k AS k, a.v AS n FROM {a} WHERE a.v > 0",
            "SELECT DISTINCT a.k AS k, a.v AS n FROM {a}",
            "SELECT MAX(a.k) AS k, COUNT(*) AS n FROM {a}",
        )
    )
    if rng.random() < 0.5:
        draw.source("b")
        items = rng.choice(("q.n AS c0, b.v AS c1", "q.k AS c0, b.s AS c1", "COUNT(*) AS c0, MAX(q.n) AS c1"))
        return f"SELECT {items} FROM ({inside}) AS q, {{b}} WHERE q.k = b.k", None
    text = rng.choice(
        (
            f"SELECT MAX(q.n) AS c0, COUNT(*) AS c1 FROM ({inside}) AS q",
            f"SELECT q.n AS c0, COUNT(q.k) AS c1 FROM ({inside}) AS q GROUP BY q.n",
            f"SELECT q.k AS c0, q.n AS c1 FROM ({inside}) AS q WHERE q.n > 1",
        )
    )
    return text, None


def tables(rng: Random, draw: Draw) -> Shape:
    name = rng.choice(("T", "R", "R", "N", "N"))
    a = draw.source("a", timed=name == "N")
    draw.table("r", name)
    where = where_of(rng, "a", is_inner(a))
    on = rng.choice(("a.k = r.k", "a.k = r.k", "a.k = r.k AND a.s = r.s", "r.v > a.v"))
    forms = [
        f"SELECT a.k AS c0, r.v AS c1, a.v AS c2 FROM {{a}}, {{r}} WHERE {where} AND {on} AND {{versions}}",
        f"SELECT r.k AS c0, COUNT(*) AS c1, MAX(r.v) AS c2 FROM {{a}} JOIN {{r}} ON {on} AND {{versions}} GROUP BY r.k",
        f"SELECT a.k AS c0, r.v AS c1 FROM {{a}} LEFT JOIN {{r}} ON {on} AND {{versions}} WHERE {where}",
    ]
    if name != "N":
        exists = f"NOT EXISTS (SELECT 1 FROM {{r}} WHERE {on})"
        forms.append(f"SELECT a.k AS c0, a.v AS c1 FROM {{a}} WHERE {where} AND {exists}")
    if name == "R":
        forms.append(f"SELECT r.k AS c0, r.v AS c1 FROM {{r}} WHERE r.k NOT IN (SELECT a.k FROM {{a}} WHERE {where})")
        forms.append("SELECT r.k AS c0, (SELECT COUNT(*) FROM {a} WHERE a.k = r.k) AS c1 FROM {r}")
    return rng.choice(forms), None


def join(rng: Random, draw: Draw) -> Shape:
    """Joins whose point is the windows: of rows, on results, without equalities."""
    draw.source("a")
    draw.source("b")
    on = rng.choice((link(rng, "a", "b"), "a.v < b.v", "b.v - a.v BETWEEN -1 AND 1", "a.k <> b.k"))
    if rng.random() < 0.5:
        return f"SELECT a.k AS c0, a.v AS c1, b.v AS c2 FROM {{a}}, {{b}} WHERE {on}", None
    return f"SELECT a.k AS c0, COUNT(*) AS c1, SUM(b.v) AS c2 FROM {{a}} JOIN {{b}} ON {on} GROUP BY a.k", None
