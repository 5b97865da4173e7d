"""T6, thesis Figures 2.2 and 2.3: the negative tuple approach against the direct approach.

The product runs the plan of the figures, a selection on one of two windows, a join, and an aggregate (MAX) on top,
under its strategies nt and direct; its meter counts what every operator takes in and gives out. Timestamps are unique
within a stream, and time runs on until all windows are empty, so that every tuple has had its negative one.
"""

from __future__ import annotations

import random

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.product import Metered, bound, catalog, metered

WINDOW = 30
TEXT = (
    f"SELECT MAX(S.a + T.a) AS m FROM S [RANGE {WINDOW} SECONDS], T [RANGE {WINDOW} SECONDS] "
    "WHERE S.b = T.b AND S.a % 3 > 0"
)
LEVELS = {"join": ("WindowJoin", "GraphJoin"), "aggregate": ("GroupAggregate",)}


def rows(count: int) -> dict[str, list[dict[str, int]]]:
    """Two streams of one tuple a second, with eight values to join on."""
    rng = random.Random(2)
    drawn = [(t, name, rng.randrange(8)) for t in range(count) for name in ("S", "T")]
    return {name: [{"ts": t, "a": t, "b": b} for t, n, b in drawn if n == name] for name in ("S", "T")}


def processed(run: Metered) -> dict[str, int]:
    """Tuples that the operators take in, negative ones included."""
    return {level: sum(c.rows_in for c in run.of(*names)) for level, names in LEVELS.items()}


def judge(nt: Metered, direct: Metered) -> tuple[Check, ...]:
    """Counts of both approaches."""
    mine, other = processed(nt), processed(direct)
    told = ", ".join(f"{level} {mine[level]}/{other[level]}" for level in LEVELS)
    (joined,), (plain,) = nt.of(*LEVELS["join"]), direct.of(*LEVELS["join"])
    why = (
        f"the join gives {joined.rows_out - joined.negative} positive and {joined.negative} negative tuples for "
        f"{plain.rows_out} results: a window keeps a tuple beside its negative one until both are cancelled, so what "
        "arrives in between meets both, and the two results undo each other"
    )
    same = nt.changes == direct.changes
    return (
        Check(
            "NT processes exactly 2x the tuples of direct",
            f"NT/direct {told}",
            all(mine[level] == 2 * other[level] > 0 for level in LEVELS),
            why,
        ),
        Check("results equal", f"equal answers: {same}", same and bool(nt.changes)),
        Check(
            "an expired base tuple gives a negative tuple for each join result that it ends",
            f"{joined.negative} negative results for {plain.rows_out} results",
            joined.negative == plain.rows_out,
            why,
        ),
        Check(
            "every result of the join is undone by a negative tuple, direct has none",
            f"{joined.negative} of {joined.rows_out} are negative, {plain.negative} in direct",
            2 * joined.negative == joined.rows_out > 0 and plain.negative == 0,
        ),
    )


def run(setting: Setting) -> Outcome:
    """Both approaches over the same streams."""
    query, fed = bound(TEXT, catalog(S="a b", T="a b")), rows(60 if setting.smoke else 300)
    runs = {s: metered(query, fed, s) for s in ("nt", "direct", "upa", "auto")}
    return Outcome(judge(runs["nt"], runs["direct"]), figures={s: r.plain for s, r in runs.items()})


ENTRY = Entry(
    "T6",
    "one expired base tuple produces a negative tuple per join result it took part in; direct produces none",
    "NT processes exactly 2x the tuples of direct for time windows (every tuple has one negative); results equal",
    run,
)
