"""T61, thesis Figures 8.3 and 8.4: BIJ, IJ and RJ synopses over join results, and the generalised BIJ (b = 8, g = 2).

Results of joins of two windows of 8 sub-windows with 1 to 3 rows in each; every answer is compared with those of the
results that are in the (n1 s, n2 s)-join.

The text keeps three values in an interval of the generalised BIJ: all results, those without what is flagged as old in
the first window, and in the second. That tells which tuple is the older one, not how old the other is, so where the
windows differ by two sub-windows or more it counts results whose other tuple has left the shorter window. With the age
of the younger tuple, as far as it lies in the g oldest sub-windows (2g + 1 values), all answers are right.
"""

from __future__ import annotations

from random import Random

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.synopses.data import COUNT, MAX, SUM, Data
from muntin.research.synopses.joins import (
    BasicIntervalJoin,
    GeneralisedBij,
    IntervalJoin,
    Result,
    RunningJoin,
)

B, G = 8, 2


def results(units: int, seed: int = 61) -> list[list[Result]]:
    """What a join of two windows of B sub-windows gives in each of them."""
    rng = Random(seed)
    sizes = [(rng.randint(1, 3), rng.randint(1, 3)) for _ in range(units)]
    found = []
    for now in range(units):
        alive = range(max(0, now - B + 1), now + 1)
        new = [(a, c) for a in alive for c in alive if now in (a, c)]
        found.append([(a, c, rng.randint(0, 9)) for a, c in new for _ in range(sizes[a][0] * sizes[c][1])])
    return found


def brute(data: Data, given: list[list[Result]], now: int, n1: int, n2: int) -> object:
    """The answer from the results themselves."""
    return data.of(v for part in given[: now + 1] for a, c, v in part if a > now - n1 and c > now - n2)


def equal_windows(given: list[list[Result]]) -> tuple[int, int]:
    """(answers of BIJ, IJ and RJ that are wrong over all n, fewest intervals of BIJ that changed at an update)."""
    wrong, changed = 0, B
    for data in (SUM, COUNT, MAX):
        bij, ij = BasicIntervalJoin(data, B), IntervalJoin(data, B)
        rj = RunningJoin(data, B) if data.subtract is not None else None
        for now, new in enumerate(given):
            moved = bij.update(new)
            ij.update(new)
            if data is COUNT and now >= B:
                changed = min(changed, moved)
            if rj is not None:
                rj.update(new)
            for n in range(1, B + 1):
                expected = brute(data, given, now, n, n)
                wrong += sum(s.answer(n) != expected for s in (bij, ij, rj) if s is not None)
    return wrong, changed


def two_lengths(given: list[list[Result]], exact: bool) -> set[tuple[int, int]]:
    """The (n1, n2) for which the generalised BIJ is wrong at some time."""
    wrong = set()
    pairs = [(n, n) for n in range(1, B + 1)] + [(x, y) for x in (6, 7, 8) for y in (6, 7, 8)]
    for data in (SUM, COUNT):
        synopsis = GeneralisedBij(data, B, G, exact)
        for now, new in enumerate(given):
            synopsis.update(new)
            wrong |= {p for p in pairs if synopsis.answer(*p) != brute(data, given, now, *p)}
    return wrong


def without_subtrahend(given: list[list[Result]]) -> set[int]:
    """The windows that RJ answers wrongly at some time when the prefix that the text removes is gone."""
    rj, wrong = RunningJoin(COUNT, B, keep_subtrahend=False), set()
    for now, new in enumerate(given):
        rj.update(new)
        wrong |= {n for n in range(1, B + 1) if rj.answer(n) != brute(COUNT, given, now, n, n)}
    return wrong


def judge(
    equal: tuple[int, int], exact: set[tuple[int, int]], three: set[tuple[int, int]], removed: set[int]
) -> tuple[Check, ...]:
    """All answers, what an update touches, and what the text's structures lack."""
    reason = (
        "three values tell which tuple is the older one, not whether the younger one is still in the shorter window: "
        f"of windows that differ by two sub-windows it may not be; wrong for {sorted(three)}"
    )
    return (
        Check("BIJ, IJ, RJ answer (ns, ns)-joins", f"{equal[0]} wrong", equal[0] == 0),
        Check("all intervals change at every update", f"{equal[1]} of {B}", equal[1] == B),
        Check("generalised BIJ, 2g + 1 values: 6 <= n1, n2 <= 8", f"{len(exact)} pairs wrong", not exact),
        Check(f"RJ needs the prefix that the text removes for n = {B}", f"wrong without: {removed}", removed == {B}),
        Check("three values answer 6 <= n1, n2 <= 8", f"{len(three)} pairs wrong", not three, reason),
    )


def run(setting: Setting) -> Outcome:
    """Updates until every interval was dropped several times."""
    given = results(20 if setting.smoke else 60)
    exact, three = (two_lengths(given, e) for e in (True, False))
    return Outcome(judge(equal_windows(given), exact, three, without_subtrahend(given)))


ENTRY = Entry(
    "T61",
    "BIJ, IJ and RJ synopses answer joins of windows of one length, the generalised BIJ of two",
    "answers equal brute force; all intervals change at every update; RJ needs b + 1 prefixes",
    run,
)
