"""H1, Hammad et al. 2.2 and Figure 1: answers of smaller windows are in those of larger ones; a shared join gives every
query the stream that it has alone.

By nested loops and by hash, windows of time and of rows, under the three policies, on random rows and random
interleavings of arrivals and units; and by the product, whose queries of one signature share a join that is done slice
by slice.
"""

from __future__ import annotations

from collections import Counter
from random import Random

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.shared_joins.pairs import SharedJoin, Tuple, alone
from muntin.research.shared_joins.product import HASH, LOOPS, ROWS, TIME, differing_queries
from muntin.scheduling.policies import POLICIES

METHODS = (("hash", HASH), ("NLJ", LOOPS))


def draw(rng: Random) -> tuple[list[Tuple], int, tuple[float, ...], str]:
    """(rows in order of arrival, how many are history, windows, what they count)."""
    times = sorted(rng.sample(range(200), rng.randint(10, 40)))
    rows = [Tuple(rng.randint(0, 1), float(t), rng.randint(1, 3)) for t in times]
    by = rng.choice(("time", "rows"))
    most = 60 if by == "time" else 12
    windows = sorted(rng.sample(range(1, most), rng.randint(1, 5)))
    return rows, rng.randint(0, 5), tuple(map(float, windows)), by


def violations(cases: int) -> tuple[int, int, int]:
    """(streams compared, those that differ from the isolated run, answers that are in no larger window's)."""
    compared, wrong, outside = 0, 0, 0
    for seed in range(cases):
        rng = Random(f"H1 {seed}")
        rows, history, windows, by = draw(rng)
        for policy in POLICIES.values():
            for access in ("hash", "nlj"):
                join = SharedJoin(policy, windows, access, by)  # type: ignore[arg-type]
                own = alone(windows, rows, history, join)
                pace = [rng.randint(0, 3) for _ in rows]
                streams = join.run(rows, history, pace.__getitem__).streams
                compared += len(windows)
                wrong += sum(streams[q] != own[q] for q in own)
                pairs = zip(list(own.values()), list(own.values())[1:], strict=False)
                outside += sum(bool(Counter(small) - Counter(large)) for small, large in pairs)
    return compared, wrong, outside


def run(setting: Setting) -> Outcome:
    """Random cases, and the product's queries."""
    compared, wrong, outside = violations(12 if setting.smoke else 400)
    kinds = {f"{n} by {m}": (of, on) for n, of in (("time", TIME), ("rows", ROWS)) for m, on in METHODS}
    product = {k: differing_queries(1 if setting.smoke else 6, *own) for k, own in kinds.items()}
    queries, differing = (sum(found[i] for found in product.values()) for i in (0, 2))
    joins = ", ".join(f"{found[1]} of {kind}" for kind, found in product.items())
    return Outcome(
        (
            Check("answers of smaller windows are sub-multisets", f"{outside} of them are not", outside == 0),
            Check(
                "streams equal isolated runs, content and order (LWO, SWF, Greedy; hash, NLJ; time, rows)",
                f"{compared - wrong} of {compared} streams equal",
                wrong == 0,
            ),
            Check(
                "the product's queries that share a join answer as alone (LWO, SWF, Greedy within budgets; hash, NLJ; "
                "time, rows)",
                f"{queries - differing} of {queries} queries equal, over joins of windows of {joins}",
                differing == 0 and all(found[1] for found in product.values()),
            ),
        )
    )


ENTRY = Entry(
    "H1",
    "the smaller window's answer is contained in the larger one's; each query's stream is that of its isolated run",
    "answer(w1) is a sub-multiset of answer(w2); for every scheduler each query's output stream is identical in "
    "content and order to its isolated run",
    run,
)
