"""T44, thesis Figure 7.2: four access paths of two sums over windows of 6 and 10 sub-windows, by sub-windows read."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from muntin.research.harness import Check, Entry, Outcome, Setting

SIZES = (6, 10)
"""Sub-windows of the windows of sum1 and sum2."""
N = max(SIZES)

Tally = dict[str, tuple[list[int], int]]
"""By access path the two sums, and how many sub-windows or summaries a refresh has read."""


@dataclass
class Parts:
    """Sub-windows or their summaries from the oldest to the youngest (0); ``read``: how many were looked at."""

    values: Sequence[int]
    read: int = 0

    def of(self, age: int) -> int:
        """What one of them adds up to."""
        self.read += 1
        return self.values[-1 - age]


def scanned(parts: Parts) -> list[int]:
    """Both sums on one way from the youngest to the oldest, the shorter window's in passing."""
    total, answers = 0, []
    for age in range(N):
        total += parts.of(age)
        answers += [total] if age + 1 in SIZES else []
    return answers


def refreshed(parts: Parts, before: Sequence[int]) -> list[int]:
    """Each sum from the one before: the youngest comes, what has left its window goes (for sum1 four to the right of
    the one that sum2 loses)."""
    return [old + parts.of(0) - parts.of(size) for size, old in zip(SIZES, before, strict=True)]


def refresh(raw: Sequence[Sequence[int]], before: Sequence[int]) -> Tally:
    """One refresh. ``raw``: sub-windows from the oldest, which has just expired from the longer window, to the youngest
    (N + 1); ``before``: the sums of the refresh before. Summaries are kept from the time that a sub-window came."""
    found: Tally = {}
    for names in (("WS", "IS"), ("SS", "ISS")):  # raw sub-windows, summaries
        for name in names:
            parts = Parts([sum(s) for s in raw])
            found[name] = scanned(parts) if name == names[0] else refreshed(parts, before), parts.read
    return found


def judge(tallies: Sequence[Tally], expected: Sequence[Sequence[int]]) -> tuple[Check, ...]:
    """Every refresh."""
    unlike = sum(
        answers != list(right) for t, right in zip(tallies, expected, strict=True) for answers, _ in t.values()
    )
    reads = {name: {t[name][1] for t in tallies} for name in ("WS", "IS", "SS", "ISS")}
    stated = {"WS": {10}, "IS": {4}, "SS": {10}, "ISS": {4}}
    return (
        Check(
            "all four give equal sums", f"{unlike} differ in {len(tallies)} refreshes", unlike == 0 and bool(tallies)
        ),
        Check("sub-windows read: WS 10 shared, IS 2 a sum, SS 10 summaries, ISS 2 a sum", f"{reads}", reads == stated),
    )


def run(setting: Setting) -> Outcome:
    """Random sub-windows."""
    rng = random.Random(44)
    stream = [[rng.randrange(100) for _ in range(rng.randrange(8))] for _ in range(60)]
    tallies, expected = [], []
    for at in range(N + 1, len(stream) + 1):
        raw = stream[at - N - 1 : at]
        before = [sum(map(sum, raw[-1 - size : -1])) for size in SIZES]
        tallies.append(refresh(raw, before))
        expected.append([sum(map(sum, raw[-size:])) for size in SIZES])
    return Outcome(judge(tallies, expected))


ENTRY = Entry(
    "T44",
    "Figure 7.2: access paths WS, IS, SS, ISS of two sums over windows of 6t and 10t",
    "all four give equal sums; sub-windows read per refresh: WS 10 (shared), IS new+expired raw sub-windows, SS 10 "
    "summaries, ISS 2 per query",
    run,
)
