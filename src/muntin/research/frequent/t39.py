"""T39, thesis Figure 6.1: the winner of each minute does not tell the winner of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from muntin.research.frequent.made import answers, counts
from muntin.research.harness import Check, Entry, Outcome, Setting

FIGURE = "GGECEECGCCEE"
SITES = {"G": 0, "C": 1, "E": 2, "other": 3}
STATED = {"E": 5, "C": 4, "G": 3}


def minutes(winner: str) -> list[list[int]]:
    """Visits of each minute that agree with the figure, and of which ``winner`` has most in all."""
    found = []
    for first in FIGURE:
        visits = {first: 40 if first == winner else 10}
        if winner == "other":
            visits["other"] = 9
        found.append([SITES[site] for site, n in visits.items() for _ in range(n)])
    return found


def judge(lists: Mapping[str, Sequence[int]], overall: Mapping[str, int]) -> tuple[Check, ...]:
    """By constructed winner: the winners of the minutes as the product tells them, and the exact winner of all."""
    names = {n: s for s, n in SITES.items()}
    told = {w: {s: [names[x] for x in by].count(s) for s in STATED} for w, by in lists.items()}
    wrong = [w for w, by in lists.items() if "".join(names[x] for x in by) != FIGURE]
    found = {w: names[x] for w, x in overall.items()}
    return (
        Check(
            "the same winners of minutes: 5 E, 4 C, 3 G",
            f"{told}",
            not wrong and all(t == STATED for t in told.values()),
        ),
        Check("each of the three, or a fourth, wins overall", f"{found}", all(w == s for w, s in found.items())),
    )


def run(setting: Setting) -> Outcome:
    """Four fillings of the figure through the product: FREQUENT(x, 1) of single minutes, and of all."""
    lists, overall = {}, {}
    for winner in SITES:
        made = minutes(winner)
        single = answers("FREQUENT(x, 1)", made, 1)
        lists[winner] = [next(iter(counts(single[at]))) for at in range(1, len(FIGURE) + 1)]
        overall[winner] = next(iter(counts(answers("FREQUENT(x, 1)", made, len(FIGURE))[len(FIGURE)])))
    return Outcome(judge(lists, overall))


ENTRY = Entry(
    "T39",
    "Figure 6.1: G G E C E E C G C C E E: eBay in 5, CNN 4, Google 3 minutes; the overall winner cannot be inferred",
    "construct full counts where each of the three (or a fourth) item wins overall",
    run,
)
