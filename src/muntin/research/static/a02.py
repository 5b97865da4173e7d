"""A2, Ayad & Naughton Figure 2 and equation (2): a selection below a window of rows leaves f W active.

The product keeps a window of rows below the selection whichever way the text is written: the filter in WHERE, or in a
sub-query that the window stands in. The wrong reading, a window of the last W that passed, is a window on the
sub-query's output.
"""

from __future__ import annotations

import random

from muntin.optimizer.capacity.model import Join, JoinCost, Leaf, Select, Source, flow
from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.product import Row, Rows, bound, catalog, local, naive

ABOVE = "SELECT Istream(a.k, a.x, b.y) FROM A a [ROWS 20], B b [ROWS 5] WHERE a.k = b.k AND a.x < 2"
BELOW = "SELECT Istream(a.k, a.x, b.y) FROM (SELECT k, x FROM A [ROWS 20] WHERE x < 2) a, B b [ROWS 5] WHERE a.k = b.k"
SURVIVORS = (
    "SELECT Istream(a.k, a.x, b.y) FROM (SELECT k, x FROM A [ROWS 20] WHERE x < 2) [ROWS 20] a, B b [ROWS 5] "
    "WHERE a.k = b.k"
)


def rows(seconds: int) -> Rows:
    """A row a second, of A or of B in turn; ``x`` is 0 ... 9, so f = 0.2."""
    rng = random.Random(2004)
    a = [{"ts": t, "k": rng.randrange(4), "x": rng.randrange(10)} for t in range(0, seconds, 2)]
    b = [{"ts": t, "k": rng.randrange(4), "y": t} for t in range(1, seconds, 2)]
    return {"A": a, "B": b}


def judge(above: list[Row], below: list[Row], survivors: list[Row], naive: list[Row]) -> tuple[Check, ...]:
    """The plans' results."""
    return (
        Check("both plans give identical results", f"{len(above)} and {len(below)} results", above == below != []),
        Check("which are those of the definition", f"{len(naive)} results", above == naive),
        Check(
            "the last W_A survivors would give others",
            f"{len(survivors)} results with them",
            len(survivors) > len(above),
        ),
    )


def run(setting: Setting) -> Outcome:
    """The product under three texts, and the model."""
    streams, given = catalog(A="k x", B="k y"), rows(200 if setting.smoke else 2000)
    answers = [sorted(local(bound(text, streams), given), key=repr) for text in (ABOVE, BELOW, SURVIVORS)]
    exact = sorted(naive(bound(ABOVE, streams), given), key=repr)
    sources = (Source("A", 1, rows=20), Source("B", 1, rows=5))
    below = Select(Leaf(0), 0.2)
    window = flow(below, sources).window
    both = flow(Join(below, Leaf(1), 0.25, JoinCost()), sources).rate
    other = flow(Select(Join(Leaf(0), Leaf(1), 0.25, JoinCost()), 0.2), sources).rate
    model = Check(
        "the active window is f W_A = 4", f"{window:g} rows; {both:g} results a row", window == 4 and both == other
    )
    return Outcome((*judge(answers[0], answers[1], answers[2], exact), model))


ENTRY = Entry(
    "A2",
    "Figure 2: a selection pushed below a window of W_A rows makes the active window f W_A",
    "join over the last W_A arrivals in both plans, identical results; the last W_A survivors differ",
    run,
)
