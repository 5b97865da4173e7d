"""The same answers from DuckDB: one SQL query per instant, each window turned into a WHERE clause over event time.

Shares no parser, binder, evaluator or window code with Muntin: only the drawn pieces of text.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import chain
from typing import Any

import duckdb
from generate import Case, Source

Answer = tuple[int, list[tuple[Any, ...]]]


def duckdb_answers(case: Case, until: int | None = None) -> list[Answer]:
    """(instant in microseconds, bag of rows) for every instant at which the case's query answers."""
    connection = _connection()
    for name, rows in case.streams.items():
        _load(connection, case, name, rows)
    return [(t, connection.execute(_sql(case, t)).fetchall()) for t in _instants(case, until)]


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    """One per process (opening costs more than a case); x / 0 is NULL in it."""
    connection = duckdb.connect(":memory:", config={"threads": 1})
    connection.execute("SET ieee_floating_point_ops = false; SET error_on_division_by_zero = false")
    return connection


def _load(connection: duckdb.DuckDBPyConnection, case: Case, name: str, rows: list[dict[str, Any]]) -> None:
    connection.execute(
        f"CREATE OR REPLACE TABLE {name} (moment BIGINT, ts BIGINT, "
        "k BIGINT, j BIGINT, i INTEGER, s VARCHAR, x DOUBLE, m DECIMAL(9, 2), v BIGINT)"
    )
    values: list[Any] = []
    for row in rows:
        moment = case.moment(row)
        if moment is not None:
            values += [moment, moment if case.clock else row["ts"], *(v for c, v in row.items() if c != "ts")]
    if values:
        line = "(" + ", ".join("?" * 9) + ")"
        connection.execute(f"INSERT INTO {name} VALUES {', '.join([line] * (len(values) // 9))}", values)


def _sql(case: Case, t: int) -> str:
    tables = [f"(SELECT * FROM {s.stream} WHERE {_window(case, s, t)}) AS {s.alias}" for s in case.query.sources]
    return exact_averages(case.query.body(tables).replace(" DIV ", " // "))


_AVERAGE = re.compile(r"AVG\((DISTINCT )?(\w+\.m)\)")


def exact_averages(text: str) -> str:
    """AVG of the DECIMAL(9, 2) column as a DECIMAL(13, 6), rounded half up: DuckDB's own is a DOUBLE."""
    done = ""
    while (found := _AVERAGE.search(text)) is not None:
        done, text = done + text[: found.start()], text[found.end() :]
        keep, text = _filter_of(text)
        once, column = found.group(1) or "", found.group(2)
        units = f"(SUM({once}CAST({column} * 100 AS BIGINT)){keep} * 10000)"
        n = f"COUNT({once}{column}){keep}"
        rounded = f"sign({units}) * ((2 * abs({units}) + {n}) // (2 * {n}))"
        done += f"CAST(CAST({rounded} AS DECIMAL(18, 0)) * CAST(0.000001 AS DECIMAL(6, 6)) AS DECIMAL(13, 6))"
    return done + text


def _filter_of(text: str) -> tuple[str, str]:
    """FILTER (WHERE ...) at the start of a text, and what follows it."""
    if not text.startswith(" FILTER ("):
        return "", text
    depth = 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if c == ")" and depth == 0:
            return text[: i + 1], text[i + 1 :]
    raise ValueError(f"not closed: {text}")


def _window(case: Case, source: Source, t: int) -> str:
    options, length = case.options, source.length * case.unit
    if source.window == "unbounded":
        return f"moment <= {t}"
    if source.window == "now":
        return f"moment > {t - options.granule} AND moment <= {t}"
    if source.slide is not None:
        step, origin = _beat(case, source)
        t = origin + (t - origin) // step * step
    match options.bounds:
        case "half_open":
            return f"moment > {t - length} AND moment <= {t}"
        case "closed":
            return f"moment > {t - length - options.granule} AND moment <= {t}"
        case _:
            return f"moment >= {t - length} AND moment < {t}"


def _beat(case: Case, source: Source) -> tuple[int, int]:
    assert source.slide is not None
    shift = source.length * case.unit if case.options.bounds == "start" else 0
    return source.slide * case.unit, case.options.origin + shift


def _instants(case: Case, until: int | None) -> list[int]:
    """Every entry and expiry; with SLIDE the ticks from the first entry to the last expiry."""
    moves = [(s, *_stay(case, s, moment)) for s in case.query.sources for moment in case.moments(s.stream)]
    if not moves:
        return []
    if not case.query.slides:
        found = set(chain.from_iterable((come, come if gone is None else gone) for _, come, gone in moves))
        return sorted(t for t in found if until is None or t <= until)
    beats = [_beat(case, s) for s in case.query.sources if s.slide is not None]
    first = min(come for _, come, _ in moves)
    last = until
    if last is None:
        last = max(
            min(_ceil(come if gone is None else gone, *b) for b in ([_beat(case, s)] if s.slide else beats))
            for s, come, gone in moves
        )
    ticks = chain.from_iterable(range(_ceil(first, *b), last + 1, b[0]) for b in beats)
    return sorted(set(ticks))


def _ceil(t: int, step: int, origin: int) -> int:
    return origin - (origin - t) // step * step


def _stay(case: Case, source: Source, at: int) -> tuple[int, int | None]:
    """First instant that sees the row and first that does not (None: never), SLIDE apart."""
    length, granule = source.length * case.unit, case.options.granule
    match source.window, case.options.bounds:
        case "unbounded", _:
            return at, None
        case "now", _:
            return at, at + granule
        case _, "closed":
            return at, at + length + granule
        case _, "start":
            return at + 1, at + length + 1
        case _:
            return at, at + length
