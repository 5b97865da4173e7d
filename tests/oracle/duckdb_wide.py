"""Wide cases answered by DuckDB: one SQL query per instant over the rows that the windows and tables hold then."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import duckdb
from duckdb_oracle import Answer, _ceil, _connection, _load, exact_averages
from generate_wide import INNER_COLUMNS, SPLIT, TABLE_KINDS, WideCase, WideQuery, WideSource

FOREVER = 2**62
NEVER_LEAVES = 10**17
"""An instant (microseconds) after every one of a case."""
Stay = tuple[WideSource, int, int | None]
Result = tuple[int, str | None, tuple[Any, ...]]
_NAN = float("nan")


def wide_answers(case: WideCase, until: int | None = None) -> list[Answer]:
    """(instant in microseconds, bag of rows) for every instant at which the case's query answers."""
    connection = _connection()
    for name, rows in case.streams.items():
        _load(connection, case, name, rows)
        connection.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT rowid AS pos, * FROM {name}")
    for name, updates in case.tables.items():
        _load_versions(connection, name, updates, case.key)
    return _Level(case, connection, case.query, until).answers()


def wide_rows(case: WideCase, found: list[Answer], until: int | None = None) -> list[Result]:
    """(instant, op, row) as the case's query shows them; ``found``: its answers."""
    kind = _kind(case.query)
    if kind.endswith("-restore"):
        sources = tuple(replace(s, slide=None) for s in case.query.sources)
        continual = replace(case, query=replace(case.query, sources=sources))
        return _restored(kind, [t for t, _ in found], wide_answers(continual, until))
    out: list[Result] = []
    before = Counter[tuple[Any, ...]]()
    for t, rows in found:
        now = Counter(_hashable(r) for r in rows)
        parts = {"Istream": [(None, now - before)], "Dstream": [(None, before - now)], "Rstream": [(None, now)]}
        parts["changes"] = [("-", before - now), ("+", now - before)]
        out += [(t, op, row) for op, counts in parts[kind] for row in counts.elements()]
        before = now
    return out


def _kind(query: WideQuery) -> str:
    """What the query shows; a bare SELECT the whole answer if a window slides, else changes."""
    sliding = any(s.slide is not None and not (s.mixed and s.window == "range") for s in query.sources)
    return query.kind or ("Rstream" if sliding else "changes")


def _restored(kind: str, ticks: list[int], steps: list[Answer]) -> list[Result]:
    """Every row of a continual evaluation is followed: of equal rows, the first to come is the first to go."""
    out: list[Result] = []
    alive: list[tuple[tuple[Any, ...], int]] = []
    at, i = -FOREVER, 0
    for tick in ticks:
        came, short = [], []
        while i < len(steps) and steps[i][0] <= tick:
            t, rows = steps[i]
            now = Counter(_hashable(r) for r in rows)
            there = Counter(row for row, _ in alive)
            for row in (there - now).elements():
                gone = next(entry for entry in alive if entry[0] == row)
                alive.remove(gone)
                short += [row] if gone[1] > at else []
            fresh = list((now - there).elements())
            came += fresh
            alive += [(row, t) for row in fresh]
            i += 1
        shown = came if kind == "Istream-restore" else [*short, *(row for row, _ in alive)]
        out += [(tick, None, row) for row in shown]
        at = tick
    return out


def _hashable(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arrays as tuples, one NaN, no negative zero: equal rows are equal keys."""
    return tuple(tuple(v) if isinstance(v, list) else _plain(v) for v in row)


def _plain(value: Any) -> Any:
    return (_NAN if math.isnan(value) else value + 0.0) if isinstance(value, float) else value


def _load_versions(connection: duckdb.DuckDBPyConnection, name: str, updates: list[Any], key: str | None) -> None:
    """A table's rows with the span [since, before) in which each is there."""
    spans = versions_of(updates, key)
    connection.execute(f"CREATE OR REPLACE TABLE {name} (since BIGINT, before BIGINT, k BIGINT, s VARCHAR, v BIGINT)")
    for since, before, row in spans:
        connection.execute(f"INSERT INTO {name} VALUES (?, ?, ?, ?, ?)", [since, before, row["k"], row["s"], row["v"]])


def versions_of(updates: list[Any], key: str | None) -> list[tuple[int, int, dict[str, Any]]]:
    """(since, before, row) for each row that is ever there.

    A deletion of a row that is not there is nothing; with a key a row takes the place of its key's. A row that is there
    again at the instant at which it went never went."""
    open_: list[tuple[int, dict[str, Any]]] = []
    closed: list[tuple[int, int, dict[str, Any]]] = []
    for update in updates:
        ts, op, row = update if isinstance(update, tuple) else (-FOREVER, "+", update)
        same = [i for i, (_, r) in enumerate(open_) if (r[key] == row[key] if key else r == row)]
        at = same[-1] if same else None  # the newest goes: one that came at this instant was never there
        if at is not None and (key or op == "-"):
            since, old = open_.pop(at)
            closed.append((since, ts, old))
        if op == "+":
            again = next((i for i, (_, before, r) in enumerate(closed) if before == ts and r == row), None)
            open_.append((ts if again is None else closed.pop(again)[0], row))
    return [span for span in (*closed, *((since, FOREVER, row) for since, row in open_)) if span[0] < span[1]]


@dataclass
class _Level:
    """One query: the whole one, or the inside of a window on results."""

    case: WideCase
    connection: duckdb.DuckDBPyConnection
    query: WideQuery
    until: int | None

    def __post_init__(self) -> None:
        self._open()
        if self.until is None and self.moments and (end := self.end()) is not None:
            self.until = end
            self._open()

    def _open(self) -> None:
        """Inner queries answer to the end of the outermost one's time."""
        self.moments: dict[str, list[tuple[int, tuple[Any, ...]]]] = {}
        self.ends: dict[str, int | None] = {}
        for source in self.query.sources:
            if isinstance(source.of, WideQuery):
                self._load_inner(source, source.of)

    def answers(self) -> list[Answer]:
        if self.query.appended is None:
            return [(t, self.connection.execute(self.sql(t)).fetchall()) for t in self.instants()]
        return list(self._appending(self.query.appended))

    def _appending(self, template: str) -> Iterator[Answer]:
        """The query over what ``template``, over the same windows, has come to show so far (thesis 3.3.2)."""
        before = Counter[tuple[Any, ...]]()
        for i, t in enumerate(self.instants()):
            inside = self.filled(template, t, external=True)
            if i == 0:
                self.connection.execute(f"CREATE OR REPLACE TABLE appended AS SELECT * FROM ({inside}) LIMIT 0")
            now = Counter(self.connection.execute(inside).fetchall())
            for row in (now - before).elements():
                self.connection.execute(f"INSERT INTO appended VALUES ({', '.join('?' * len(row))})", list(row))
            before = now
            yield t, self.connection.execute(self.sql(t)).fetchall()

    def emitted(self) -> list[tuple[int, tuple[Any, ...]]]:
        """The query's output stream: (event time, row)."""
        ended = self.case.options.bounds == "start" and self.query.slides
        out, before = [], Counter[tuple[Any, ...]]()
        for t, rows in self.answers():
            now = Counter(rows)
            shown = {"Istream": now - before, "Dstream": before - now, "Rstream": now}[str(self.query.kind)]
            out += [(t - ended, row) for row in shown.elements()]
            before = now
        return out

    def _load_inner(self, source: WideSource, inner: WideQuery) -> None:
        """INTERNAL inside only says that results stay: as a stream of insertions they do (thesis 3.4)."""
        inner = replace(inner, sources=tuple(replace(s, internal=False) for s in inner.sources))
        level = _Level(self.case, self.connection, inner, self.until)
        rows = level.emitted()
        self.moments[source.alias] = rows
        self.ends[source.alias] = level.end()
        rows.sort(key=lambda r: (r[0], [(v is not None, v or (0 if v == 0 else "")) for v in r[1]]))
        self.connection.execute(
            f"CREATE OR REPLACE TABLE {source.stream} "
            "(pos BIGINT, moment BIGINT, k BIGINT, j BIGINT, s VARCHAR, v BIGINT)"
        )
        line = "(" + ", ".join("?" * (2 + len(INNER_COLUMNS))) + ")"
        if rows:
            values = list(chain.from_iterable((i, t, *row) for i, (t, row) in enumerate(rows)))
            self.connection.execute(f"INSERT INTO {source.stream} VALUES {', '.join([line] * len(rows))}", values)

    def filled(self, template: str, t: int, external: bool = False) -> str:
        """The template over the windows' contents at ``t``; ``external``: INTERNAL is not seen."""
        places = {s.alias: f"({self._visible(s, t, external)}) AS {s.alias}" for s in self.query.sources}
        kinds = {s.of: s for s in self.query.sources if s.window == "table"}
        versions = "r.since <= a.moment AND a.moment < r.before" if "N" in kinds else "TRUE"
        text = SPLIT.sub(r"\2", template).format(**places, versions=versions, appended="appended")
        return _in_duckdb(text)

    def sql(self, t: int) -> str:
        text = self.filled(self.query.template, t)
        if self.query.top is None:
            return text
        keys, width, limit = self.query.top
        order = [k if "NULLS" in k else f"{k} NULLS {'LAST' if 'DESC' in k else 'FIRST'}" for k in keys.split(", ")]
        order += [f"c{i} ASC NULLS FIRST" for i in range(width)]
        return f"SELECT * FROM ({text}) ORDER BY {', '.join(order)} LIMIT {limit}"

    def _visible(self, s: WideSource, t: int, external: bool) -> str:
        """The contents; beside INTERNAL windows with the span [enters, leaves) in which the window shows each row."""
        if external or s.window == "table" or not any(o.internal for o in self.query.sources):
            return self._contents(s, t)
        enters, leaves = self._span(s)
        if s.timed:
            step, origin = self._beat(s)
            enters, leaves = (_tick(e, step, origin) for e in (enters, leaves))
        if beats := [self._beat(o) for o in self.query.sources if _sliding(o)]:
            enters, leaves = (f"least({', '.join(_tick(e, *b) for b in beats)})" for e in (enters, leaves))
        spans = f"SELECT *, {enters} AS enters, {leaves} AS leaves FROM {s.stream}"
        there = "" if s.internal else f" AND {t} < leaves"
        return f"SELECT * FROM ({spans}) WHERE enters <= {t} AND enters < leaves{there}"

    def _span(self, s: WideSource) -> tuple[str, str]:
        """When a row enters a window and leaves it, SLIDE in time apart."""
        options = self.case.options
        match s.window:
            case "unbounded":
                return "moment", str(NEVER_LEAVES)
            case "now":
                return "moment", f"moment + {options.granule}"
            case "rows":
                part = f"PARTITION BY {', '.join(s.by)}" if s.by else ""
                later = f"lead(moment, {s.length}) OVER ({part} ORDER BY moment, pos)"
                return "moment", f"coalesce({later}, {NEVER_LEAVES})"
        tick = 1 if options.bounds == "start" else 0
        last = options.granule if options.bounds == "closed" else tick
        return f"moment + {tick}", f"moment + {s.length * self.case.unit + last}"

    def _contents(self, s: WideSource, t: int) -> str:
        options, length = self.case.options, s.length * self.case.unit
        match s.window:
            case "table":
                there = "TRUE" if TABLE_KINDS[str(s.of)] == "nrr" else f"since <= {t} AND {t} < before"
                return f"SELECT * FROM {s.of} WHERE {there}"
            case "rows":
                return self._latest(s, t)
            case "unbounded":
                return f"SELECT * FROM {s.stream} WHERE moment <= {t}"
            case "now":
                return f"SELECT * FROM {self._rows(s)} WHERE moment > {t - options.granule} AND moment <= {t}"
        if s.timed:
            t = self._last_tick(s, t)
        if s.mixed:
            return self._fired(s, t)
        return f"SELECT * FROM {self._rows(s)} WHERE {self._within(length, str(t))}"

    def _rows(self, s: WideSource) -> str:
        """The rows of a source, so much younger as its DELAY says."""
        delay = s.delay * self.case.unit
        return s.stream if not delay else f"(SELECT * REPLACE (moment + {delay} AS moment) FROM {s.stream})"

    def _last_tick(self, s: WideSource, t: int) -> int:
        step, origin = self._beat(s)
        return origin + (t - origin) // step * step

    def _within(self, length: int, t: str) -> str:
        """Whether a window of time holds a row at the instant ``t``."""
        options = self.case.options
        low, high = {
            "half_open": (f"> {t} - {length}", f"<= {t}"),
            "closed": (f"> {t} - {length + options.granule}", f"<= {t}"),
            "start": (f">= {t} - {length}", f"< {t}"),
        }[options.bounds]
        return f"moment {low} AND moment {high}"

    def _fired(self, s: WideSource, t: int) -> str:
        """A window of time as of the last row whose number is a multiple of the SLIDE; rows of its instant included."""
        seen = f"SELECT *, row_number() OVER (ORDER BY moment, pos) AS nr FROM {s.stream} WHERE moment <= {t}"
        fired = f"(SELECT MAX(moment) FROM ({seen}) WHERE nr % {s.slide} = 0)"
        return f"SELECT * EXCLUDE (nr) FROM ({seen}) WHERE {self._within(s.length * self.case.unit, fired)}"

    def _latest(self, s: WideSource, t: int) -> str:
        if s.timed:
            t = self._last_tick(s, t)
        part = f"PARTITION BY {', '.join(s.by)}" if s.by else ""
        numbered = (
            f"SELECT *, row_number() OVER ({part} ORDER BY moment, pos) AS nr, count(*) OVER ({part}) AS cnt "
            f"FROM {s.stream} WHERE moment <= {t}"
        )
        last = f"cnt - cnt % {1 if s.timed else s.slide or 1}"
        return f"SELECT * EXCLUDE (nr, cnt) FROM ({numbered}) WHERE nr <= {last} AND nr > {last} - {s.length}"

    def _beat(self, s: WideSource) -> tuple[int, int]:
        assert s.slide is not None
        options = self.case.options
        starts = options.bounds == "start" and s.window == "range"
        return s.slide * self.case.unit, options.origin + (s.length * self.case.unit if starts else 0)

    def instants(self) -> list[int]:
        stays = list(chain.from_iterable(self._stays(s) for s in self.query.sources))
        if not stays and not self._passed():
            return []
        beats = [self._beat(s) for s in self.query.sources if _sliding(s)]
        if not beats:
            # A whole answer is shown again only when something of the query changes.
            stays = stays if _kind(self.query) == "Rstream" else [*stays, *self._passed()]
            found = {come for _, come, _ in stays} | {gone for _, _, gone in stays if gone is not None}
            return sorted(t for t in found if self.until is None or t <= self.until)
        last = self.end() if self.until is None else self.until
        assert last is not None
        first = min(come for _, come, _ in [*stays, *self._passed()])
        return sorted(set(chain.from_iterable(range(_ceil(first, *b), last + 1, b[0]) for b in beats)))

    def end(self) -> int | None:
        """The last thing that a row can do: leave a finite window, enter another; results may come to the inner end."""
        stays = [*chain.from_iterable(self._stays(s) for s in self.query.sources), *self._passed()]
        beats = [self._beat(s) for s in self.query.sources if _sliding(s)]
        for s in self.query.sources:
            inner_end = self.ends.get(s.alias)
            if inner_end is not None and s.window != "rows":
                assert isinstance(s.of, WideQuery)
                stays += self._time_stays(s, [inner_end - (self.case.options.bounds == "start" and s.of.slides)])
        lasts = [(s, come if gone is None else gone) for s, come, gone in stays]
        return max(
            (min((_ceil(t, *b) for b in ([self._beat(s)] if _sliding(s) else beats)), default=t) for s, t in lasts),
            default=None,
        )

    def _stays(self, s: WideSource) -> list[Stay]:
        """(source, first instant that sees the row, first that does not), SLIDE in time apart."""
        if s.window == "table":
            if TABLE_KINDS[str(s.of)] != "relation":
                return []
            spans = versions_of(self.case.tables[str(s.of)], self.case.key)
            return [(s, t, None) for t in {t for since, before, _ in spans for t in (since, before) if t != FOREVER}]
        if s.window == "rows":
            return self._row_stays(s)
        inner = self.moments.get(s.alias)
        moments = self.case.moments(str(s.of)) if inner is None else [t for t, _ in inner]
        if not s.mixed:
            return self._time_stays(s, moments)
        fires = sorted(moments)[s.slide - 1 :: s.slide]  # type: ignore[operator]
        spans = [
            tuple(next((f for f in fires if f >= t), None) for t in (come, gone or FOREVER))
            for _, come, gone in self._time_stays(s, moments)
        ]
        return [(s, come, gone) for come, gone in spans if come is not None and come != gone]

    def _passed(self) -> list[Stay]:
        """Updates that change nothing: time has come that far all the same."""
        relations = [s for s in self.query.sources if s.window == "table" and TABLE_KINDS[str(s.of)] == "relation"]
        return [(s, ts, None) for s in relations for ts, _, _ in self.case.tables[str(s.of)]]

    def _time_stays(self, s: WideSource, moments: list[int]) -> list[Stay]:
        length, granule = s.length * self.case.unit, self.case.options.granule
        moments = [at + s.delay * self.case.unit for at in moments]
        match s.window, self.case.options.bounds:
            case "unbounded", _:
                return [(s, at, None) for at in moments]
            case "now", _:
                return [(s, at, at + granule) for at in moments]
            case _, "closed":
                return [(s, at, at + length + granule) for at in moments]
            case _, "start":
                return [(s, at + 1, at + length + 1) for at in moments]
            case _:
                return [(s, at, at + length) for at in moments]

    def _row_stays(self, s: WideSource) -> list[Stay]:
        """Instants at which the contents of a window of rows move."""
        parts: dict[tuple[Any, ...], list[int]] = {}
        inner = self.moments.get(s.alias)
        rows = (
            [(self.case.moment(r), r) for r in self.case.streams[s.stream]]
            if inner is None
            else [(t, dict(zip(INNER_COLUMNS, r, strict=True))) for t, r in inner]
        )
        for moment, row in rows:
            if moment is not None:
                parts.setdefault(tuple(row[c] for c in s.by), []).append(moment)
        step = 1 if s.timed else s.slide or 1
        return [(s, t, None) for moments in parts.values() for t in sorted(moments)[step - 1 :: step]]


def _sliding(s: WideSource) -> bool:
    return s.timed


def _tick(t: str, step: int, origin: int) -> str:
    """The first multiple at or after an instant, in SQL."""
    return f"{t} + (({origin} - ({t})) % {step} + {step}) % {step}"


_DECIMAL_ORDER = re.compile(r"((?:MEDIAN|QUANTILE_CONT)\()(DISTINCT )?(\w+\.m)\b")
"""Between two decimals DuckDB's own is a DECIMAL of their scale, cut; here it is a DOUBLE."""


def _in_duckdb(text: str) -> str:
    text = exact_averages(text).replace(" DIV ", " // ").replace("QUANTILE(", "QUANTILE_CONT(")
    text = _DECIMAL_ORDER.sub(r"\1\2CAST(\3 AS DOUBLE)", text)
    text = text.replace("LEFT SEMI JOIN", "SEMI JOIN").replace("LEFT ANTI JOIN", "ANTI JOIN")
    return re.sub(r"COLLECT\((\S+?)\)", r"COALESCE(list_sort(list(\1) FILTER (\1 IS NOT NULL)), [])", text)
