"""T11, thesis Figure 3.4: what periodic evaluation reports late, and what it never reports.

The product runs a join (WK), a negation (STR) and a selection (WKS) continuously and every 7 seconds, with and without
restore; the continuous change stream says what the periodic ones must show. Windows are 10 seconds.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.product import Row, bound, catalog, local

SLIDE = 7
END = 105
_S = "[RANGE 10 SECONDS]"

BODIES: dict[str, tuple[str, str]] = {
    "join (WK)": ("S.a, T.a AS c", f"FROM S {_S}, T {_S} WHERE S.b = T.b"),
    "negation (STR)": ("S.a", f"FROM S {_S} WHERE NOT EXISTS (SELECT 1 FROM T {_S} WHERE T.b = S.b)"),
    "selection (WKS)": ("S.a", f"FROM S {_S} WHERE S.b > 0"),
}
"""Select list and the rest, without SLIDE."""

Bag = Counter[tuple[object, ...]]


@dataclass(frozen=True)
class Periodic:
    """What a query shows: ``changes`` continuously; ``plain``, ``restored`` (Rstream), ``inserted``,
    ``all_inserted`` (Istream)
    at every evaluation."""

    changes: list[Row]
    plain: list[Row]
    restored: list[Row]
    inserted: list[Row]
    all_inserted: list[Row]


def ask(name: str) -> Periodic:
    """The product's answers."""
    columns, rest = BODIES[name]
    streams, rng = catalog(S="a b", T="a b"), random.Random(11)
    rows = {
        n: [{"ts": t, "a": 10 * t + i, "b": rng.randrange(4)} for t in sorted(rng.sample(range(1, END - 14), 55))]
        for i, n in enumerate(("S", "T"))
    }
    sliding = rest.replace(_S, f"[RANGE 10 SECONDS SLIDE {SLIDE} SECONDS]")

    def periodic(form: str) -> list[Row]:
        return local(bound(f"SELECT {form}({columns}) {sliding}", streams), rows, until=END)

    forms = [periodic(f) for f in ("Rstream", "Rstream-restore", "Istream", "Istream-restore")]
    return Periodic(local(bound(f"SELECT {columns} {rest}", streams), rows, live=True, until=END), *forms)


def judge(name: str, p: Periodic) -> tuple[Check, ...]:
    """Every evaluation against the continuous changes. ``name`` ends in the query's pattern."""
    snapshot = union = shown = True
    lost = late = 0
    for tick in range(SLIDE, END + 1, SLIDE):
        before, now = _answer(p.changes, tick - SLIDE), _answer(p.changes, tick)
        came = Counter(r.values for r in p.changes if r.op == "+" and tick - SLIDE < r.ts <= tick)
        late += sum(r.ts < tick for r in p.changes if tick - SLIDE < r.ts <= tick)
        snapshot &= _at(p.plain, tick) == now and _at(p.inserted, tick) == now - before
        union &= _at(p.all_inserted, tick) == came
        shown &= _at(p.restored, tick) == now + (came - (now - before))
        lost += (came - _at(p.inserted, tick)).total()
    weakest = name.endswith("(WKS)")
    return (
        Check(
            f"{name}: no-restore answer = snapshot at each evaluation",
            f"{name}: snapshot {snapshot}, {late} changes late",
            snapshot and late > 0,
        ),
        Check(
            f"{name}: restore answer = union of all results since the last",
            f"restore {union and shown}",
            union and shown,
        ),
        Check(
            f"{name}: {'loses none' if weakest else 'loses short-lived results'} without restore",
            f"{lost} lost",
            (lost == 0) == weakest,
        ),
    )


def _answer(changes: list[Row], second: int) -> Bag:
    bag: Bag = Counter()
    for r in changes:
        if r.ts <= second:
            bag[r.values] += 1 if r.op == "+" else -1
    return +bag


def _at(rows: list[Row], tick: int) -> Bag:
    return Counter(r.values for r in rows if r.ts == tick)


def run(setting: Setting) -> Outcome:
    """The three queries."""
    return Outcome(tuple(c for name in BODIES for c in judge(name, ask(name))))


ENTRY = Entry(
    "T11",
    "periodic re-evaluation: late report of arrivals, late report of expiry, missing short-lived results "
    "(only WK and STR)",
    "no-restore answer = snapshot of Def 3.1 at each evaluation; restore answer = union of all continuous results "
    "since the last; WKS loses none when Delta < window",
    run,
)
