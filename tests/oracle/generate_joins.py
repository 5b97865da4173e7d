"""Random joins of two to six inputs over join graphs of every form: what ``generate_wide`` draws for two, widened.

An edge of the graph is one condition or several between two inputs. Inputs are windows, tables, and sub-queries whose
rows may be taken away again (negative tuples).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from random import Random

from generate import UNIT_WORDS, _as_time, draw_rows
from generate_wide import (
    INNER_COLUMNS,
    TABLE_COLUMNS,
    WideCase,
    WideQuery,
    WideSource,
    _streams,
    _tables,
    draw_inner,
    draw_options,
    draw_updates,
)

ALIASES = "abcdef"
STREAMS = ("A", "B", "C", "D", "E", "F")
STREAM_COLUMNS = ("k", "j", "i", "s", "x", "m", "v")
KEYS = ("k", "k", "k", "j", "j", "s", "s", "i", "x", "m")
"""Columns that equalities compare; few values more often, so that joins of many inputs find something."""
STRATEGIES = ("upa", "upa", "nt", "direct")
MOST_ROWS = {2: 14, 3: 10, 4: 7, 5: 6, 6: 5}
"""Rows of a stream by number of inputs: what the naive evaluator can still enumerate at every instant."""
AGREE = {2: 0.1, 3: 0.45, 4: 0.65, 5: 0.8, 6: 0.85}
"""How often a value is the common one: the more inputs, the more rows must agree for a result."""
GRAPHS = ("one", "one", "chain", "chain", "star", "cycle", "clique", "tree", "theta", "cross")

Edge = tuple[int, int]


@dataclass(frozen=True)
class Part:
    """An input: its text with places for windows, and the columns that conditions may use."""

    alias: str
    text: str
    columns: tuple[str, ...]


@dataclass
class _Draw:
    """Draws the inputs of one join. ``share``: how many of its windows slide; ``nested``: how many are sub-queries."""

    rng: Random
    share: float = 0.0
    nested: float = 0.0
    slide: int = 1
    by_rows: bool = False
    sources: list[WideSource] = field(default_factory=list)
    tabled: bool = False

    def window(self, alias: str, of: str | WideQuery) -> WideSource:
        """A window on a stream, or on the results of a query."""
        rng = self.rng
        if rng.random() < self.share:
            made = WideSource(of, alias, "range", rng.randint(3, 14), self.slide)
        else:
            rows = 3 if isinstance(of, str) else 0
            window = rng.choices(("range", "now", "unbounded", "rows"), (6, 0.3, 2, rows))[0]
            length = {"range": rng.randint(4, 14), "rows": rng.randint(2, 6)}.get(window, 0)
            by = rng.choice(((), ("k",), ("s",), ("k", "j"))) if window == "rows" else ()
            counted = window == "rows" and not by and self.by_rows and self.share == 0.0
            made = WideSource(of, alias, window, length, rng.randint(1, 3) if counted else None, by)
        self.sources.append(made)
        return made

    def stream(self, number: int) -> str:
        """The stream of an input; one of those before it (a self-join) now and then."""
        return STREAMS[self.rng.randrange(number + 1)] if self.rng.random() < 0.2 else STREAMS[number]

    def part(self, number: int) -> Part:
        """The input of this number."""
        alias, rng = ALIASES[number], self.rng
        if number and not self.tabled and rng.random() < 0.08:
            self.tabled = True
            self.sources.append(WideSource(rng.choice("TTR"), alias, "table"))
            return Part(alias, f"{{{alias}}}", TABLE_COLUMNS)
        if rng.random() < self.nested:
            return self.subquery(alias, number)
        if number < 4 and rng.random() < 0.04:
            self.window(alias, draw_inner(rng, alias))
            return Part(alias, f"{{{alias}}}", INNER_COLUMNS)
        self.window(alias, self.stream(number))
        return Part(alias, f"{{{alias}}}", STREAM_COLUMNS)

    def subquery(self, alias: str, number: int) -> Part:
        """A query in place of a window: its rows may be taken away before they expire."""
        p, q = f"{alias}p", f"{alias}q"
        self.window(p, self.stream(number))
        form = self.rng.choice(("distinct", "distinct", "negation", "negation", "groups", "filter"))
        match form:
            case "distinct":
                columns, text = ("k", "s", "v"), f"SELECT DISTINCT {p}.k AS k, {p}.s AS s, {p}.v % 2 AS v FROM {{{p}}}"
            case "groups":
                columns, text = ("k", "v"), f"SELECT {p}.k AS k, COUNT(*) AS v FROM {{{p}}} GROUP BY {p}.k"
            case _:
                columns = STREAM_COLUMNS
                text = f"SELECT {', '.join(f'{p}.{c} AS {c}' for c in columns)} FROM {{{p}}} WHERE "
                text += f"{p}.v > -2" if form == "filter" else self._negation(p, q, number)
        return Part(alias, f"({text}) AS {alias}", columns)

    def _negation(self, p: str, q: str, number: int) -> str:
        self.window(q, self.stream((number + 1) % len(STREAMS)))
        on = self.rng.choice((f"{q}.k = {p}.k", f"{q}.j = {p}.k", f"{q}.s = {p}.s AND {q}.v > {p}.v"))
        return f"NOT EXISTS (SELECT 1 FROM {{{q}}} WHERE {on})"


def draw_join_case(seed: int, disorder: int = 0) -> WideCase:
    """The case of a seed. ``disorder``: time units by which rows may come later than the declared slack."""
    rng = Random(f"joins {seed}")
    unit = rng.choice(list(UNIT_WORDS))
    clock = rng.random() < 0.2
    query = draw_join_query(rng)
    used = sorted(set(_streams(query)))
    slack = {n: rng.choice((0, 0, 1, 4)) for n in used}
    base = rng.choice((0, 7, -6, 1_700_000_000))
    size = min(6, max(2, len(query.sources)))
    common = {"k": 1, "j": 1, "i": 1, "s": "p", "x": rng.choice((1.0, 1.0, float("nan"))), "m": Decimal("1.00")}
    streams = {}
    for n in used:
        rows = draw_rows(rng, rng.randint(3, MOST_ROWS[size]), base, 9, slack[n] + disorder)
        rows = [r | {c: v for c, v in common.items() if rng.random() < AGREE[size]} for r in rows]
        streams[n] = [{**r, "ts": _as_time(r["ts"], unit, clock)} for r in rows]
    tables = {n: draw_updates(rng, n, base, unit) for n in sorted(set(_tables(query)))}
    options = replace(draw_options(rng, query, unit), strategy=rng.choice(STRATEGIES))
    return WideCase(seed, unit, clock, streams, slack, query, options, tables)


def draw_join_query(rng: Random) -> WideQuery:
    """A join of the inputs over one of the graphs; with or without DISTINCT or groups above."""
    graph = rng.choice(GRAPHS)
    count = rng.randint(2, 3) if graph == "cross" else rng.choices((2, 3, 4, 5, 6), (2, 5, 4, 1, 0.5))[0]
    nested = rng.choice((0.0, 0.0, 0.35)) if count < 5 else 0.0
    draw = _Draw(rng, rng.choice((0.0, 0.0, 0.0, 1.0, 0.5)), nested, rng.randint(1, 5), rng.random() < 0.3)
    parts = [draw.part(i) for i in range(count)]
    conditions = draw_conditions(rng, graph, parts)
    template = f"SELECT {draw_items(rng, parts)}".replace("FROM", from_clause(rng, parts, conditions))
    return WideQuery(template, tuple(draw.sources), rng.choice(("Istream", "Dstream", "Rstream", None, None)))


# --- conditions -------------------------------------------------------------------------------------------------------


def draw_conditions(rng: Random, graph: str, parts: list[Part]) -> list[tuple[str, int]]:
    """(condition, number of the last input that it names)."""
    found: list[tuple[str, int]] = []
    shared = [c for c in KEYS if all(c in p.columns for p in parts)]
    one = rng.choice(shared) if shared else None
    for a, b in edges(rng, graph, len(parts)):
        if graph == "one" and one:
            same = one if one == "s" or rng.random() < 0.9 else number(rng, parts[b])
            found.append((f"{parts[a].alias}.{one} = {parts[b].alias}.{same}", max(a, b)))
            continue
        plain = graph != "theta" or rng.random() < 0.25
        texts = equalities(rng, parts[a], parts[b]) if plain else [inequality(rng, parts[a], parts[b])]
        found += [(text, max(a, b)) for text in texts]
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        a, b = sorted(rng.sample(range(len(parts)), 2))
        found.append((inequality(rng, parts[a], parts[b]) if rng.random() < 0.6 else local(rng, parts[b]), b))
    if len(parts) > 2 and rng.random() < 0.15:
        a, b, c = (p.alias for p in parts[:3])
        found.append((rng.choice((f"{a}.v + {b}.v > {c}.v", f"({a}.v < {b}.v OR {b}.v < {c}.v)")), 2))
    return found


def edges(rng: Random, graph: str, count: int) -> list[Edge]:
    """The pairs of inputs that a condition connects."""
    every = range(1, count)
    match graph:
        case "chain":
            return [(i - 1, i) for i in every]
        case "star":
            centre = rng.randrange(count)
            return [(centre, i) for i in range(count) if i != centre]
        case "cycle":
            return [(i - 1, i) for i in every] + ([(count - 1, 0)] if count > 2 else [])
        case "clique":
            return [(a, b) for b in every for a in range(b)]
        case "cross":
            return [(0, 1)] if count > 2 else []
        case _:
            return [(rng.randrange(i), i) for i in every]


def equalities(rng: Random, a: Part, b: Part) -> list[str]:
    """One equality or several; sides in either order; now and then of an expression, or with a band beside it."""
    texts = []
    for _ in range(rng.choice((1, 1, 1, 1, 1, 2, 2, 3))):
        x, y = pair(rng, a, b)
        sides = [f"{a.alias}.{x}", f"{b.alias}.{y}"]
        if x not in ("s", "x") and rng.random() < 0.08:
            sides[0] = f"{sides[0]} + 1"
        texts.append(" = ".join(sides if rng.random() < 0.7 else sides[::-1]))
    if rng.random() < 0.12:
        texts.append(inequality(rng, a, b))
    return texts


def pair(rng: Random, a: Part, b: Part) -> tuple[str, str]:
    """Two columns that can be compared: mostly of one name, else numbers of two types."""
    shared = [c for c in KEYS if c in a.columns and c in b.columns]
    if shared and rng.random() < 0.8:
        name = rng.choice(shared)
        return name, name
    return number(rng, a), number(rng, b)


def number(rng: Random, p: Part) -> str:
    """A column of numbers."""
    return rng.choice([c for c in "kjixm" if c in p.columns])


def inequality(rng: Random, a: Part, b: Part) -> str:
    """A condition that no hash index serves."""
    x, y = f"{a.alias}.v", f"{b.alias}.v"
    width = rng.randint(0, 4)
    return rng.choice(
        (
            f"ABS({x} - {y}) <= {width}",
            f"{x} - {y} BETWEEN -{width} AND {width + 1}",
            f"{x} < {y}",
            f"{x} >= {y}",
            f"{x} <> {y}",
            f"{a.alias}.k <= {b.alias}.k",
        )
    )


def local(rng: Random, p: Part) -> str:
    """A condition on one input."""
    return rng.choice((f"{p.alias}.v > 0", f"{p.alias}.k IS NOT NULL", f"({p.alias}.k = 1 OR {p.alias}.v < 4)"))


# --- text -------------------------------------------------------------------------------------------------------------


def from_clause(rng: Random, parts: list[Part], conditions: list[tuple[str, int]]) -> str:
    """FROM and WHERE, or FROM with JOIN ... ON."""
    if rng.random() < 0.65:
        where = " AND ".join(c for c, _ in conditions)
        return f"FROM {', '.join(p.text for p in parts)}" + (f" WHERE {where}" if where else "")
    text = f"FROM {parts[0].text}"
    for i, p in enumerate(parts[1:], 1):
        on = " AND ".join(c for c, last in conditions if last == i)
        text += f" JOIN {p.text} ON {on or 'TRUE'}"
    early = " AND ".join(c for c, last in conditions if last == 0)
    return text + (f" WHERE {early}" if early else "")


def draw_items(rng: Random, parts: list[Part]) -> str:
    """The list of SELECT, FROM (a place for it), and GROUP BY."""
    columns = [f"{p.alias}.{rng.choice(p.columns)}" for p in rng.choices(parts, k=rng.randint(1, 4))]
    form = rng.random()
    if form < 0.6:
        return ", ".join(f"{c} AS c{i}" for i, c in enumerate(columns)) + " FROM"
    if form < 0.72:
        kept = [c for c in columns if not c.endswith((".x", ".m"))] or [f"{parts[0].alias}.k"]
        return "DISTINCT " + ", ".join(f"{c} AS c{i}" for i, c in enumerate(kept)) + " FROM"
    last = parts[-1].alias
    if form < 0.85:
        return f"COUNT(*) AS c0, SUM({last}.v) AS c1 FROM"
    group = rng.choice(parts).alias
    return f"{group}.k AS c0, COUNT(*) AS c1, MAX({last}.v) AS c2 FROM GROUP BY {group}.k"
