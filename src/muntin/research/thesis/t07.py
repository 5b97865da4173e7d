"""T7, thesis Figure 2.5: running, interval and basic interval synopses of b = 8 sub-windows, probed for a window of 7s.

The figure's window is aligned so that the interval synopsis takes 3 probes. Over all phases and lengths its worst case
is 2 log2 b - 2, and it keeps 2b - 1 values. The sub-window values are 5, 9, 2, 7, 1, 8, 3, 6.
"""

from __future__ import annotations

from math import log2
from random import Random

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.synopses.data import EVERY, MAX, SUM, Data
from muntin.research.synopses.windows import BasicInterval, Interval, Running

VALUES = (5, 9, 2, 7, 1, 8, 3, 6)
KINDS = (Running, Interval, BasicInterval)


def drawn() -> dict[str, tuple[int, int]]:
    """By synopsis (SUM of the last 7 sub-windows, probes)."""
    found = {}
    for kind in KINDS:
        synopsis = kind(SUM, 8)
        for value in VALUES:
            synopsis.update(value)
        found[kind.__name__] = synopsis.answer(7), synopsis.probes
    return found


def wrong(data: Data, b: int, updates: int) -> int:
    """Answers that differ from recomputation, over all lengths and phases."""
    rng = Random(b)
    parts = [[rng.randint(0, 9) for _ in range(rng.randint(0, 3))] for _ in range(updates)]
    kinds = [k(data, b) for k in KINDS if data.subtract is not None or k is not Running]
    count = 0
    for at, part in enumerate(parts):
        for synopsis in kinds:
            synopsis.update(data.of(part))
        for n in range(1, b + 1):
            expected = data.of(v for p in parts[max(0, at + 1 - n) : at + 1] for v in p)
            count += sum(s.answer(n) != expected for s in kinds)
    return count


def worst_probes(b: int) -> tuple[int, int]:
    """(most probes of an interval synopsis over all lengths and phases, most values that it keeps)."""
    synopsis, probes, size = Interval(SUM, b), 0, 0
    for at in range(3 * b):
        synopsis.update(1)
        size = max(size, synopsis.size)
        if at >= b:
            probes = max(probes, *(len(synopsis.cover(n)) for n in range(1, b + 1)))
    return probes, size


def judge(
    figure: dict[str, tuple[int, int]], best: int, differing: int, worst: dict[int, tuple[int, int]]
) -> tuple[Check, ...]:
    """The figure, all answers, and the number of probes."""
    probes, sums = {k: p for k, (_, p) in figure.items()}, {s for s, _ in figure.values()}
    found = ", ".join(f"{b}: {p} probes, {s} values" for b, (p, s) in worst.items())
    bound = all(p <= 2 * log2(b) and s <= 2 * b - 1 for b, (p, s) in worst.items())
    return (
        Check("answers equal recomputation for all n <= b and all phases", f"{differing} differ", differing == 0),
        Check("SUM of the last 7 is 36, MAX is 9", f"{figure}, MAX {best}", (sums, best) == ({36}, 9)),
        Check("probes 2, 3, 7 as drawn", str(probes), list(probes.values()) == [2, 3, 7]),
        Check("interval: at most 2 log2 b probes and 2b - 1 values", found, bound),
    )  # fmt: skip


def run(setting: Setting) -> Outcome:
    """All kinds of data; b of 8, 16, 32 and 64."""
    largest = BasicInterval(MAX, 8)
    for value in VALUES:
        largest.update(value)
    differing = sum(wrong(data, 8, 24 if setting.smoke else 80) for data in EVERY)
    worst = {b: worst_probes(b) for b in (8, 16, 32, 64)}
    return Outcome(judge(drawn(), largest.answer(7), differing, worst))


ENTRY = Entry(
    "T7",
    "synopses of b = 8 sub-windows, window 7s: running 2 probes, interval 3, basic interval 7",
    "answers equal recomputation; probes: running 2, interval <= 2 log2 b, basic interval n",
    run,
)
