"""T2, thesis Figure 1.3 and query Q3: the output of a window join is not first-in-first-out.

The product runs the join of Q3 (the input of its MAX) fed second by second, with the expiry of each result.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.product import Row, bound, catalog, local, naive

JOIN = "SELECT S.a, T.a AS c FROM S [RANGE 60 SECONDS], T [RANGE 60 SECONDS] WHERE S.b = T.b"
Q3 = "SELECT MAX(S.a) AS m FROM S [RANGE 60 SECONDS], T [RANGE 60 SECONDS] WHERE S.b = T.b"


def overtakings(results: Sequence[Row]) -> int:
    """Results that expire before one that was produced earlier."""
    last, count = float("-inf"), 0
    for row in results:
        if row.op == "+" and row.exp is not None:
            count += row.exp < last
            last = max(last, row.exp)
    return count


def rows(seed: int, count: int) -> dict[str, list[dict[str, int]]]:
    """Two random streams with five values to join on."""
    rng = random.Random(seed)
    return {
        name: [{"ts": t, "a": t, "b": rng.randrange(5)} for t in sorted(rng.sample(range(1, 6 * count), count))]
        for name in ("S", "T")
    }


def run(setting: Setting) -> Outcome:
    """Random streams; a selection over one window as the contrast; Q3 itself against the naive evaluator."""
    streams = catalog(S="a b", T="a b")
    seeds = range(1 if setting.smoke else 4)
    joins = [overtakings(local(bound(JOIN, streams, exp=True), rows(s, 40), live=True)) for s in seeds]
    single = bound("SELECT a FROM S [RANGE 60 SECONDS] WHERE b > 1", streams, exp=True)
    selections = [overtakings(local(single, rows(s, 40), live=True)) for s in seeds]
    query = bound(Q3, streams)
    same = all(local(query, rows(s, 40), live=True) == naive(query, rows(s, 40)) for s in seeds)
    found = (
        f"{min(joins)} to {max(joins)} results of a run expire before an earlier one, {max(selections)} of a selection"
    )
    return Outcome(
        (
            Check("an output tuple expires before an earlier one", found, min(joins) > 0 and max(selections) == 0),
            Check("MAX over the join is right all the same", f"Q3 right: {same}", same),
        )
    )


ENTRY = Entry(
    "T2",
    "MAX over a join: join output is not FIFO",
    "property test finds an output tuple that expires before an earlier one",
    run,
)
