"""T9, thesis 3.2 and Figure 3.1: the update pattern of every operator, seen at run time.

Each operator runs as a query of the product, fed second by second, so that its output cannot depend on what comes
later; a monitor classifies what comes out. DISTINCT is the product's delta operator; its forms of the thesis, weak
(delta, delta*) and strict (counters), are seen beside it. Every query also runs under nt, direct and auto, counted by
the meter.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pyarrow as pa

from muntin.core.schema import Schema
from muntin.core.time import SECOND
from muntin.cql.binder import bind
from muntin.plan.catalog import Table
from muntin.plan.nodes import BoundQuery
from muntin.plan.patterns import Pattern, pattern
from muntin.plan.windows import QueryOptions
from muntin.research.engines.deltas import CountingDelta, Delta, DeltaStar, NaiveDelta, replay
from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.monitor import observed
from muntin.research.product import Metered, Row, bound, catalog, metered

MON, WKS, WK, STR = Pattern.MON, Pattern.WKS, Pattern.WK, Pattern.STR
STRATEGIES = ("upa", "nt", "direct", "auto")
_W = "[RANGE 10 SECONDS]"

QUERIES: tuple[tuple[str, str, Pattern], ...] = (
    ("projection", f"SELECT a, b FROM S {_W}", WKS),
    ("selection", f"SELECT a, b FROM S {_W} WHERE b > 1", WKS),
    ("merge-union", f"SELECT a FROM S {_W} UNION ALL SELECT a FROM T {_W}", WKS),
    ("join", f"SELECT S.a, T.a AS c FROM S {_W}, T {_W} WHERE S.b = T.b", WK),
    ("DISTINCT", f"SELECT DISTINCT b FROM S {_W}", WK),
    ("negation", f"SELECT S.a FROM S {_W} WHERE NOT EXISTS (SELECT 1 FROM T {_W} WHERE T.b = S.b)", STR),
    ("negation of bags", f"SELECT b FROM S {_W} EXCEPT ALL SELECT b FROM T {_W}", STR),
    ("group-by", f"SELECT b, COUNT(*) AS n FROM S {_W} GROUP BY b", STR),
    ("count window", "SELECT a FROM S [ROWS 4]", STR),
    ("join of count windows", "SELECT S.a, T.a AS c FROM S [ROWS 6], T [ROWS 6] WHERE S.b = T.b", STR),
    ("stream", "SELECT a FROM S", MON),
    (
        "join of internal windows",
        "SELECT S.a, T.a AS c FROM S [RANGE 10 SECONDS INTERNAL], T [RANGE 10 SECONDS INTERNAL] WHERE S.b = T.b",
        MON,
    ),
)
"""Operator, query, and its class by thesis 3.2.2."""


def rows(span: int = 100) -> dict[str, list[dict[str, int]]]:
    """Two streams over ``span`` seconds, rows in three of five, with four values to join on; ``a`` tells rows apart."""
    rng = random.Random(9)
    return {
        name: [
            {"ts": t, "a": t * 10 + i, "b": rng.randrange(4)} for t in sorted(rng.sample(range(1, span), 3 * span // 5))
        ]
        for i, name in enumerate(("S", "T"))
    }


def of_delta(operator: Delta) -> Pattern:
    """The class of a form of DISTINCT, over a window of 10 seconds."""
    items = [(r["ts"], r["ts"] + 10, r["b"]) for r in rows()["S"]]
    emitted = replay(operator, items, 120).emitted
    return of_intervals([Row(e.ts, e.op, (e.value,), e.exp) for e in emitted])


def of_intervals(changes: list[Row]) -> Pattern:
    """The class of rows that leave when their expiry, if they have one, is there."""
    natural = [Row(int(r.exp), "-", r.values) for r in changes if r.op == "+" and r.exp is not None]
    return observed(sorted([*changes, *natural], key=lambda r: (r.ts, r.op == "+")))


def table_join() -> tuple[BoundQuery, dict[str, list[dict[str, int]]]]:
    """A join with a retroactive table, and its feed: a row is deleted while results have it, and comes back."""
    table = Table("R", Schema.of(b=pa.int64(), name=pa.int64()), "relation")
    streams = replace(catalog(S="a b"), tables=(table,))
    text = f"SELECT S.a, S.ts AS at FROM S {_W}, R WHERE S.b = R.b"
    query = bind(text, streams, QueryOptions(granule=SECOND, exp=True))
    return query, {"R": [{"ts": t, "__at": t * SECOND, "b": 1, "name": 7, "__add": t != 33} for t in (0, 33, 34)]}


def judge(found: dict[str, Pattern], expected: dict[str, tuple[Pattern, ...]]) -> tuple[Check, ...]:
    """Every operator shows one of its classes."""
    wrong = [f"{n} is {found[n].name}" for n, allowed in expected.items() if found[n] not in allowed]
    told = ", ".join(f"{n} {p.name}" for n, p in found.items())
    return (Check("every operator shows its class", told if not wrong else "; ".join(wrong), not wrong),)


def judge_labels(labels: dict[str, Pattern], found: dict[str, Pattern]) -> Check:
    """The product's static labels promise no more than what is seen."""
    wrong = [n for n in labels if labels[n] < found[n]]
    told = f"labels that promise too much: {wrong or 'none'} of {len(labels)}"
    return Check("no static label promises more than is seen", told, not wrong)


def judge_strategies(runs: dict[str, dict[str, Metered]]) -> tuple[Check, ...]:
    """``runs``: by operator, by strategy. One answer; and negative tuples where a strategy has them."""
    unlike = [n for n, by in runs.items() if len({_sorted(m) for m in by.values()}) > 1]
    windowed = [n for n in runs if n in ("projection", "selection", "merge-union", "join", "DISTINCT")]
    inside = {n: {s: _negatives(m, s == "nt") for s, m in runs[n].items()} for n in windowed}
    wrong = [n for n, by in inside.items() if by["upa"] or by["direct"] or not by["nt"]]
    told = ", ".join(f"{n} {by['upa']}/{by['nt']}/{by['direct']}" for n, by in inside.items())
    return (
        Check("one answer under upa, nt, direct, auto", f"other answers: {unlike or 'none'}", not unlike),
        Check(
            "WKS and WK operators have negative tuples under nt alone",
            f"negative tuples below the answer, upa/nt/direct: {told}",
            bool(windowed) and not wrong,
        ),
    )


def _sorted(run: Metered) -> tuple[str, ...]:
    return tuple(sorted(repr((r.ts, r.op, r.values)) for r in run.changes))


def _negatives(run: Metered, windows: bool) -> int:
    """Negative tuples that operators give out below what shows the answer; ``windows``: those of the windows too."""
    shown = () if windows else ("Materialize", "Endless", "Net")
    return sum(c.negative for name, c in run.counters[:-1] if name not in shown)


def run(setting: Setting) -> Outcome:
    """All operators; the product's static labels; and all strategies, counted."""
    streams, fed = catalog(S="a b", T="a b"), rows(40 if setting.smoke else 100)
    queries = {name: bound(text, streams, exp=True) for name, text, _ in QUERIES}
    expected: dict[str, tuple[Pattern, ...]] = {name: (p,) for name, _, p in QUERIES}
    retroactive, feed = table_join()
    queries["retroactive join"], expected["retroactive join"] = retroactive, (STR,)
    feeds = {"retroactive join": feed}
    runs = {
        name: {s: metered(q, fed, s, s == "upa", tables=feeds.get(name), watch="Distinct") for s in STRATEGIES}
        for name, q in queries.items()
    }
    found = {name: observed(by["upa"].changes) for name, by in runs.items()}
    # what is shown of DISTINCT nets a row and the duplicate that takes its place; the operator gives out both
    found["DISTINCT as shown"], expected["DISTINCT as shown"] = found["DISTINCT"], (STR,)
    found["DISTINCT"] = of_intervals(runs["DISTINCT"]["upa"].given_out)
    forms: dict[str, tuple[Delta, Pattern]] = {
        "delta": (NaiveDelta(), WK),
        "delta*": (DeltaStar(), WK),
        "DISTINCT by counters": (CountingDelta(), STR),
    }
    labels = {name: pattern(q.root.input) for name, q in queries.items()}
    safe = judge_labels(labels, found)
    wider = tuple(
        f"static label of {n}: {labels[n].name}, seen {found[n].name}" for n in labels if labels[n] > found[n]
    )
    for name, (operator, form) in forms.items():
        found[name], expected[name] = of_delta(operator), (form,)
    figures = {n: {s: m.plain for s, m in by.items()} for n, by in runs.items()}
    return Outcome((*judge(found, expected), safe, *judge_strategies(runs)), wider, figures=figures)


ENTRY = Entry(
    "T9",
    "projection, selection, merge-union over time windows = WKS; join = WK; delta = WK or STR; negation, group-by, "
    "count windows, retroactive-relation join = STR; over streams/internal = monotonic",
    "run-time monitor classifies each operator's output: WKS -> expiry order = generation order and constant lifetime; "
    "WK -> exp known at generation, no negatives; STR -> at least one premature expiry on a suitable input",
    run,
)
