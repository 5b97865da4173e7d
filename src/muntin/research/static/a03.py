"""A3, Ayad & Naughton equations (1) to (6), observation 1: output rate and active window do not depend on the plan.

The simulation is the product over windows of rows, one row a second whose stream is drawn by the rates, so that
timestamps are unique as in the document (``n`` tells equal rows apart, which would else net out when one leaves as the
other comes); plans are the orders of FROM, and of the join graph.
"""

from __future__ import annotations

import random
from itertools import permutations

from muntin.optimizer.capacity.model import JoinCost, Source, flow
from muntin.optimizer.capacity.search import JoinQuery, left_deep
from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.product import Rows, bound, catalog, local

RATES, WINDOWS, VALUES = (0.2, 0.5, 0.3), (15, 10, 20), 5


def drawn(rng: random.Random) -> JoinQuery:
    """A random query of two to five streams."""
    n = rng.randint(2, 5)
    sources = tuple(Source(f"S{i}", rng.uniform(1, 1000), rows=rng.uniform(1, 1000)) for i in range(n))
    pairs = {(i, j): rng.uniform(0.001, 1) for i in range(n) for j in range(i + 1, n) if rng.random() < 0.6}
    return JoinQuery(sources, pairs, JoinCost.constant(0.001))


def spread(query: JoinQuery) -> float:
    """How far the plans' rates and windows are apart, relatively."""
    flows = [flow(left_deep(query, o), query.sources) for o in permutations(range(len(query.sources)))]
    return max(max(xs) / min(xs) - 1 for xs in ([f.rate for f in flows], [f.window for f in flows]))


def rows(seconds: int, seed: int) -> Rows:
    """A row a second, ``n`` its number; ``a`` joins A with B, ``b`` B with C, each of five values."""
    rng = random.Random(seed)
    given: dict[str, list[dict[str, int]]] = {"A": [], "B": [], "C": []}
    for t in range(seconds):
        name = rng.choices("ABC", RATES)[0]
        given[name].append({"ts": t, "a": rng.randrange(VALUES), "b": rng.randrange(VALUES), "n": t})
    return given


def text(order: tuple[str, ...]) -> str:
    """The query with its streams in this order."""
    windows = dict(zip("ABC", WINDOWS, strict=True))
    listed = ", ".join(f"{s} {s.lower()} [ROWS {windows[s]}]" for s in order)
    return f"SELECT Istream(a.n, b.n AS bn, c.n AS cn) FROM {listed} WHERE a.a = b.a AND b.b = c.b"


def judge(worst: float, ratio: float, answers: list[list[str]]) -> tuple[Check, ...]:
    """``ratio``: results counted by results predicted; ``answers``: of each plan, in order."""
    return (
        Check("all left-deep plans agree to 1e-9", f"plans differ by {worst:.1e}", worst < 1e-9),
        Check("simulated output rate within 5 % of (5)", f"counted / predicted {ratio:.3f}", abs(ratio - 1) <= 0.05),
        Check(
            "all plans give the same tuples, order and timestamps",
            f"{len(answers[0])} results, {len(answers)} plans",
            answers[0] != [] and all(a == answers[0] for a in answers),
        ),
    )


def run(setting: Setting) -> Outcome:
    """Random models; one simulation a plan."""
    rng = random.Random(3)
    worst = max(spread(drawn(rng)) for _ in range(20 if setting.smoke else 300))
    seconds = 6000 if setting.smoke else 30000
    sources = tuple(Source(n, r, rows=w) for n, r, w in zip("ABC", RATES, WINDOWS, strict=True))
    model = JoinQuery(sources, {(0, 1): 1 / VALUES, (1, 2): 1 / VALUES}, JoinCost.constant(0))
    streams, given = catalog(A="a b n", B="a b n", C="a b n"), rows(seconds, 5)
    orders = list(permutations("ABC"))[:: 5 if setting.smoke else 1]
    answers = [sorted(map(repr, local(bound(text(o), streams), given))) for o in orders]
    expected = flow(left_deep(model, (0, 1, 2)), sources).rate * seconds
    return Outcome(judge(worst, len(answers[0]) / expected, answers))


ENTRY = Entry(
    "A3",
    "observation 1: output rate and active window of an n-way join are plan independent",
    "all left-deep plans agree to 1e-9; simulated rate within 5 % of (5); all plans give the same tuples",
    run,
)
