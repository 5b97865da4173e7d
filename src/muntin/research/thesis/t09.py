"""T9, thesis 3.2 and Figure 3.1: the update pattern of every operator, seen at run time.

Each operator runs as a query of the product, fed second by second, so that its output cannot depend on what comes
later; a
monitor classifies what comes out. DISTINCT is seen in the product and, as operators, in its weak (delta, delta*) and
strict (counters) forms. A join with a retroactive table runs on the naive evaluator, since the local runtime reads no
tables; the expiry of its results is that of the stream's row.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pyarrow as pa

from muntin.core.schema import Schema
from muntin.core.time import SECOND
from muntin.cql.binder import bind
from muntin.plan.catalog import Table
from muntin.plan.patterns import Pattern, pattern
from muntin.plan.windows import QueryOptions
from muntin.reference import run as run_naive
from muntin.research.engines.deltas import CountingDelta, Delta, DeltaStar, NaiveDelta, replay
from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.monitor import observed
from muntin.research.product import Row, bound, catalog, local

MON, WKS, WK, STR = Pattern.MON, Pattern.WKS, Pattern.WK, Pattern.STR
_W = "[RANGE 10 SECONDS]"

QUERIES: tuple[tuple[str, str, Pattern], ...] = (
    ("projection", f"SELECT a, b FROM S {_W}", WKS),
    ("selection", f"SELECT a, b FROM S {_W} WHERE b > 1", WKS),
    ("merge-union", f"SELECT a FROM S {_W} UNION ALL SELECT a FROM T {_W}", WKS),
    ("join", f"SELECT S.a, T.a AS c FROM S {_W}, T {_W} WHERE S.b = T.b", WK),
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
    changes = [Row(e.ts, e.op, (e.value,), e.exp) for e in emitted]
    natural = [Row(e.exp, "-", (e.value,)) for e in emitted if e.op == "+" and e.exp is not None]
    return observed(sorted([*changes, *natural], key=lambda r: (r.ts, r.op == "+")))


def of_table_join() -> Pattern:
    """The class of a join with a retroactive table: a row is deleted while results have it."""
    table = Table("R", Schema.of(b=pa.int64(), name=pa.int64()), "relation")
    streams = replace(catalog(S="a b"), tables=(table,))
    query = bind(f"SELECT S.a, S.ts AS at FROM S {_W}, R WHERE S.b = R.b", streams, QueryOptions(granule=SECOND))
    row = {"b": 1, "name": 7}
    updates = [(0, "+", row), (33 * SECOND, "-", row), (34 * SECOND, "+", row)]
    found = run_naive(query, {"S": rows()["S"]}, tables={"R": updates})
    at = [n.lower() for n in query.root.schema.names].index("at")
    return observed([Row(t // SECOND, op, values, values[at] + 10) for t, op, values in found])


def judge(found: dict[str, Pattern], expected: dict[str, tuple[Pattern, ...]]) -> tuple[Check, ...]:
    """Every operator shows one of its classes."""
    wrong = [f"{n} is {found[n].name}" for n, allowed in expected.items() if found[n] not in allowed]
    told = ", ".join(f"{n} {p.name}" for n, p in found.items())
    return (Check("every operator shows its class", told if not wrong else "; ".join(wrong), not wrong),)


def run(setting: Setting) -> Outcome:
    """All operators; and the product's static labels, which must not promise more than what is seen."""
    streams, fed = catalog(S="a b", T="a b"), rows(40 if setting.smoke else 100)
    found = {name: observed(local(bound(text, streams, exp=True), fed, live=True)) for name, text, _ in QUERIES}
    expected: dict[str, tuple[Pattern, ...]] = {name: (p,) for name, _, p in QUERIES}
    forms: dict[str, tuple[Delta, Pattern]] = {
        "delta": (NaiveDelta(), WK),
        "delta*": (DeltaStar(), WK),
        "DISTINCT by counters": (CountingDelta(), STR),
    }
    for name, (operator, form) in forms.items():
        found[name], expected[name] = of_delta(operator), (form,)
    distinct = bound(f"SELECT DISTINCT b FROM S {_W}", streams, exp=True)
    found["DISTINCT of the product"] = observed(local(distinct, fed, live=True))
    expected["DISTINCT of the product"] = (WK, STR)
    found["retroactive join"], expected["retroactive join"] = of_table_join(), (STR,)
    labels = {name: pattern(bound(text, streams).root.input) for name, text, _ in QUERIES}
    wrong = [n for n in labels if labels[n] < found[n]]
    wider = tuple(
        f"static label of {n}: {labels[n].name}, seen {found[n].name}" for n in labels if labels[n] > found[n]
    )
    safe = Check(
        "no static label promises more than is seen", f"labels that promise too much: {wrong or 'none'}", not wrong
    )
    return Outcome((*judge(found, expected), safe), wider)


ENTRY = Entry(
    "T9",
    "projection, selection, merge-union over time windows = WKS; join = WK; delta = WK or STR; negation, group-by, "
    "count windows, retroactive-relation join = STR; over streams/internal = monotonic",
    "run-time monitor classifies each operator's output: WKS -> expiry order = generation order and constant lifetime; "
    "WK -> exp known at generation, no negatives; STR -> at least one premature expiry on a suitable input",
    run,
)
