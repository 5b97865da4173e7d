"""Random streams, queries and batch cuts from a seeded generator: the same seed gives the same case everywhere.

A query is drawn as pieces of text (``QuerySpec``); ``cql()`` renders it for Muntin, and ``duckdb_oracle`` renders the
same pieces for DuckDB, so the second oracle shares neither parser nor binder with the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

from muntin.core.schema import Schema
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.windows import QueryOptions

UNIT_WORDS = {1: "MICROSECONDS", 1_000: "MILLISECONDS", 1_000_000: "SECONDS"}
WORDS = UNIT_WORDS | {60_000_000: "MINUTES", 3_600_000_000: "HOURS", 86_400_000_000: "DAYS"}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NAMES = ("A", "B", "C", "D")


@dataclass(frozen=True)
class Source:
    """One entry of FROM. ``window``: range | now | unbounded; ``length`` and ``slide`` in the case's time units."""

    stream: str
    alias: str
    window: str
    length: int = 0
    slide: int | None = None
    style: int = 0

    def cql(self, unit: int) -> str:
        """``A [RANGE 5 SECONDS] AS a`` and its other spellings."""
        word = WORDS[unit]
        match self.window:
            case "now":
                window = " [NOW]"
            case "unbounded":
                window = (" [UNBOUNDED]", " [RANGE UNBOUNDED]", "")[self.style % 3]
            case _:
                head = "WINDOW" if self.slide is not None and self.style % 5 == 0 else "RANGE"
                tail = f" SLIDE {self.slide} {word}" if self.slide is not None else ""
                window = f" [{head} {self.length} {word}{tail}]"
        return (
            f"{self.stream} {self.alias}{window}" if self.style % 4 == 1 else f"{self.stream}{window} AS {self.alias}"
        )


@dataclass(frozen=True)
class QuerySpec:
    """The pieces of a query, in the words that CQL and DuckDB share (DIV apart)."""

    sources: tuple[Source, ...]
    on: tuple[tuple[str, ...], ...]
    """Conditions that belong to each source after the first (its ON clause, or part of WHERE)."""
    comma: bool
    where: tuple[str, ...]
    groups: tuple[str, ...]
    items: tuple[tuple[str, str], ...]
    having: str | None
    kind: str | None

    def body(self, sources: list[str]) -> str:
        """The SELECT over the given FROM entries."""
        select = "SELECT " + ", ".join(f"{e} AS {n}" for e, n in self.items)
        where = list(self.where)
        if self.comma:
            where = [c for conditions in self.on for c in conditions] + where
            tables = ", ".join(sources)
        else:
            joined = [f" JOIN {s} ON {' AND '.join(c) or 'TRUE'}" for s, c in zip(sources[1:], self.on, strict=True)]
            tables = sources[0] + "".join(joined)
        text = f"{select} FROM {tables}"
        text += f" WHERE {' AND '.join(where)}" if where else ""
        text += f" GROUP BY {', '.join(self.groups)}" if self.groups else ""
        return text + (f" HAVING {self.having}" if self.having else "")

    def cql(self, unit: int) -> str:
        text = self.body([s.cql(unit) for s in self.sources])
        return f"{self.kind}({text})" if self.kind else text

    @property
    def slides(self) -> bool:
        return any(s.slide is not None for s in self.sources)


@dataclass(frozen=True)
class Case:
    """One drawn case.

    ``streams``: rows in arrival order; ``ts`` counts ``unit`` microseconds, or is a datetime if ``clock``.
    """

    seed: int
    unit: int
    clock: bool
    streams: dict[str, list[dict[str, Any]]]
    slack: dict[str, int]
    query: QuerySpec
    options: QueryOptions

    @property
    def text(self) -> str:
        return self.query.cql(self.unit)

    @property
    def catalog(self) -> Catalog:
        schema = Schema.of(
            ts=pa.timestamp("us", "UTC") if self.clock else pa.int64(),
            k=pa.int64(),
            j=pa.int64(),
            i=pa.int32(),
            s=pa.string(),
            x=pa.float64(),
            m=pa.decimal128(9, 2),
            v=pa.int64(),
        )
        ts_unit = 1 if self.clock else self.unit
        streams = [
            Stream(n, schema, "ts", slack=self.slack[n] * self.unit, ts_unit=ts_unit, order=i)
            for i, n in enumerate(self.streams)
        ]
        return Catalog(tuple(streams))

    def moment(self, row: dict[str, Any]) -> int | None:
        """Event time of a row in microseconds."""
        ts = row["ts"]
        if isinstance(ts, datetime):
            return (ts - EPOCH) // timedelta(microseconds=1)
        return None if ts is None else ts * self.unit

    def moments(self, stream: str) -> list[int]:
        """Event times of a stream's rows in arrival order, without the rows that have none."""
        return [t for t in map(self.moment, self.streams[stream]) if t is not None]

    def last_instant(self) -> int:
        """Event time of the newest row, microseconds (0 without rows)."""
        return max((t for n in self.streams for t in self.moments(n)), default=0)

    def cuts(self, rng: Random, most: int = 5) -> list[dict[str, list[dict[str, Any]]]]:
        """The rows cut into 1..``most`` batches at random places; a batch may lack some streams, or all."""
        n = rng.randint(1, most)
        batches: list[dict[str, list[dict[str, Any]]]] = [{} for _ in range(n)]
        for name, rows in self.streams.items():
            marks = [0, *sorted(rng.randint(0, len(rows)) for _ in range(n - 1)), len(rows)]
            for batch, low, high in zip(batches, marks, marks[1:], strict=False):
                if high > low:
                    batch[name] = rows[low:high]
        return batches


def draw_case(seed: int, size: int = 1, disorder: int = 0) -> Case:
    """The case of a seed.

    ``size``: times as many rows over as much more time, over at most two windows. ``disorder``: time units by which
    rows may come later than the declared slack.
    """
    rng = Random(seed)
    unit = rng.choice(list(UNIT_WORDS))
    clock = rng.random() < 0.3
    query = draw_query(rng, 2 if size > 1 else 4)
    used = sorted({s.stream for s in query.sources})
    base = rng.choice((0, 0, 7, -6, 1_700_000_000))
    slack = {n: rng.choice((0, 0, 1, 4)) for n in used}
    few, many = {1: (0, 16), 2: (1, 14), 3: (3, 11), 4: (4, 9)}[len(query.sources)]
    streams = {}
    for n in used:
        rows = draw_rows(rng, size * rng.randint(few, many), base, 12 * size, slack[n] + disorder)
        streams[n] = [{**r, "ts": _as_time(r["ts"], unit, clock)} for r in rows]
    return Case(seed, unit, clock, streams, slack, query, draw_options(rng, query, unit))


def draw_options(rng: Random, query: QuerySpec, unit: int) -> QueryOptions:
    bounds = rng.choice(("half_open", "half_open", "closed"))
    if rng.random() < 0.4 and all(s.slide is not None for s in query.sources):
        bounds = "start"
    origin = rng.choice((0, 0, 1, -2)) * unit
    return QueryOptions(bounds=bounds, origin=origin, granule=rng.choice((1, unit)))


def draw_rows(rng: Random, count: int, base: int, span: int, slack: int) -> list[dict[str, Any]]:
    """Rows over ``span`` time units with ties, each at most ``slack`` units behind a newer one; few without a time."""
    times = sorted(base + rng.randint(0, span) for _ in range(count))
    arrival: list[int | None] = sorted(times, key=lambda t: t + rng.random() * slack)
    if rng.random() < 0.1:
        arrival.insert(rng.randint(0, count), None)
    keys = rng.randint(1, 3)
    return [{"ts": t, **_values(rng, keys)} for t in arrival]


def _as_time(ts: int | None, unit: int, clock: bool) -> Any:
    return EPOCH + timedelta(microseconds=ts * unit) if clock and ts is not None else ts


def _values(rng: Random, keys: int) -> dict[str, Any]:
    values = {
        "k": rng.randint(1, keys),
        "j": rng.randint(1, 2),
        "i": rng.randint(0, 2),
        "s": rng.choice(("p", "p", "q", "r")),
        "x": rng.choice((0.0, -0.0, 0.5, 1.25, -2.0, 1.0, float("nan"))),
        "m": rng.choice((Decimal("0.00"), Decimal("0.50"), Decimal("1.00"), Decimal("-2.25"))),
        "v": rng.randint(-3, 6),
    }
    return {c: None if rng.random() < 0.08 else v for c, v in values.items()}


# --- queries ----------------------------------------------------------------------------------------------------------


def draw_query(rng: Random, most: int = 4) -> QuerySpec:
    """A query over 1 to ``most`` windows."""
    count = min(most, rng.choices((1, 2, 3, 4), (8, 8, 4, 2))[0])
    sources = draw_sources(rng, count)
    aliases = [s.alias for s in sources]
    on = tuple(draw_join(rng, aliases, i) for i in range(1, count))
    where = tuple(draw_filter(rng, aliases) for _ in range(rng.choice((0, 0, 0, 1, 2))))
    kind = rng.choice(("Istream", "Dstream", "Rstream", None, None))
    comma = rng.random() < 0.6
    if rng.random() < 0.5:
        return QuerySpec(sources, on, comma, where, (), draw_items(rng, aliases), None, kind)
    groups = tuple(dict.fromkeys(draw_group(rng, aliases) for _ in range(rng.choice((0, 1, 1, 2)))))
    shown = [g for g in groups if rng.random() < 0.85]
    aggs = [draw_aggregate(rng, aliases) for _ in range(rng.randint(0 if shown else 1, 3))]
    items = tuple((e, f"c{i}") for i, e in enumerate([*shown, *aggs]))
    having = draw_having(rng, aliases) if rng.random() < 0.25 else None
    return QuerySpec(sources, on, comma, where, groups, items, having, kind)


def draw_sources(rng: Random, count: int) -> tuple[Source, ...]:
    """Streams may repeat (self-joins). With SLIDE: in all windows, or in some."""
    slide_share = rng.choice((0.0, 0.0, 1.0, 0.5))
    one_slide = rng.randint(1, 5)
    sources = []
    for i in range(count):
        stream = rng.choice(NAMES[: max(count, 2)]) if rng.random() < 0.2 else NAMES[i]
        alias, style = "abcd"[i], rng.randint(0, 59)
        if rng.random() < slide_share:
            slide = one_slide if rng.random() < 0.7 else rng.randint(1, 5)
            sources.append(Source(stream, alias, "range", rng.randint(1, 10), slide, style))
        else:
            window = rng.choices(("range", "now", "unbounded"), (7, 1, 1.5))[0]
            sources.append(Source(stream, alias, window, rng.randint(2, 10) if window == "range" else 0, None, style))
    return tuple(sources)


def draw_join(rng: Random, aliases: list[str], i: int) -> tuple[str, ...]:
    """Conditions that tie source ``i`` to an earlier one: equalities on one or two attributes, and a residual."""
    new, old = aliases[i], rng.choice(aliases[:i])
    if len(aliases) == 2 and rng.random() < 0.06:
        return ()
    pairs = rng.choice(
        (
            [("k", "k")],
            [("k", "k")],
            [("k", "j")],
            [("j", "k")],
            [("s", "s")],
            [("x", "x")],
            [("i", "k")],
            [("k", "x")],
            [("m", rng.choice(("m", "k", "x")))],
            [("k", "k"), ("s", "s")],
            [("j", "j"), ("k", "k")],
        )
    )
    conditions = [f"{old}.{a} = {new}.{b}" if rng.random() < 0.7 else f"{new}.{b} = {old}.{a}" for a, b in pairs]
    if rng.random() < 0.06:
        conditions = [f"{old}.v % 3 = {new}.k"]
    if rng.random() < 0.2:
        conditions.append(
            rng.choice(
                (
                    f"{old}.v < {new}.v",
                    f"{old}.x <> {new}.x",
                    f"{old}.v + {new}.v > 3",
                    f"({old}.v > 2 OR {new}.v > 2)",
                    f"{old}.ts <= {new}.ts",
                    f"{new}.i - {old}.k BETWEEN -1 AND 1",
                )
            )
        )
    return tuple(conditions)


def draw_filter(rng: Random, aliases: list[str]) -> str:
    a = rng.choice(aliases)
    return rng.choice(
        (
            f"{a}.v > 1",
            f"{a}.v % 2 = 0",
            f"{a}.s = 'p'",
            f"{a}.s <> 'q'",
            f"{a}.s IN ('p', 'r')",
            f"{a}.s LIKE 'p%'",
            f"{a}.x IS NOT NULL",
            f"{a}.x >= 0",
            f"{a}.m <> 0.5",
            f"{a}.i < {a}.k",
            f"NOT {a}.x > 1",
            f"{a}.k / NULLIF({a}.v, 0) > 0.4",
            f"{a}.v DIV 2 = 1",
            f"({a}.j IS NULL OR {a}.v >= 0)",
            f"{a}.v BETWEEN 0 AND 4",
            f"COALESCE({a}.v, 9) > 3",
            f"CASE WHEN {a}.x > 0.25 THEN {a}.v ELSE {a}.k END >= 2",
        )
    )


def draw_items(rng: Random, aliases: list[str]) -> tuple[tuple[str, str], ...]:
    expressions = []
    for _ in range(rng.randint(1, 4)):
        a, b = rng.choice(aliases), rng.choice(aliases)
        expressions.append(
            rng.choice(
                (
                    f"{a}.k",
                    f"{a}.s",
                    f"{a}.x",
                    f"{a}.v",
                    f"{a}.ts",
                    f"{a}.v + {b}.k",
                    f"{a}.m",
                    f"{a}.m * 2 + {b}.i",
                    f"{a}.i + {b}.x",
                    f"{a}.v * 2 - 1",
                    f"{a}.x / NULLIF({b}.v, 0)",
                    f"{a}.v DIV 2",
                    f"-{a}.v",
                    f"COALESCE({a}.s, 'none')",
                    f"CASE WHEN {a}.v > {b}.j THEN 1 WHEN {a}.v IS NULL THEN 2 END",
                    "1",
                )
            )
        )
    return tuple((e, f"c{i}") for i, e in enumerate(expressions))


def draw_group(rng: Random, aliases: list[str]) -> str:
    a = rng.choice(aliases)
    return rng.choice((f"{a}.k", f"{a}.k", f"{a}.s", f"{a}.x", f"{a}.j", f"{a}.m", f"{a}.i", f"{a}.v % 2"))


def draw_aggregate(rng: Random, aliases: list[str]) -> str:
    a, b = rng.choice(aliases), rng.choice(aliases)
    return rng.choice(
        (
            "COUNT(*)",
            "COUNT(*)",
            f"COUNT({a}.v)",
            f"COUNT(DISTINCT {a}.k)",
            f"COUNT(DISTINCT {a}.x)",
            f"COUNT(DISTINCT {a}.s)",
            f"COUNT(DISTINCT {a}.m)",
            f"SUM({a}.m)",
            f"AVG({a}.m)",
            f"MAX({a}.m)",
            f"SUM({a}.i)",
            f"AVG({a}.i * 3)",
            f"MIN({a}.ts)",
            f"SUM({a}.v)",
            f"SUM({a}.x)",
            f"SUM({a}.v * 2 + {b}.k)",
            f"AVG({a}.v)",
            f"AVG({a}.x)",
            f"MIN({a}.v)",
            f"MAX({a}.v)",
            f"MIN({a}.x)",
            f"MAX({a}.x)",
            f"MIN({a}.s)",
            f"MAX({a}.s)",
            f"SUM({a}.v) / COUNT(*)",
            f"MAX({a}.v) - MIN({a}.v)",
            f"COALESCE(SUM({a}.v), 0) + 1",
            f"COUNT(CASE WHEN {a}.v > 1 THEN 1 END)",
        )
    )


def draw_having(rng: Random, aliases: list[str]) -> str:
    a = rng.choice(aliases)
    return rng.choice(
        (
            "COUNT(*) > 1",
            f"SUM({a}.v) > 4",
            f"MAX({a}.x) >= 0.5",
            f"COUNT(DISTINCT {a}.k) = 1",
            f"COUNT(*) > 1 AND MIN({a}.v) < 3",
        )
    )
