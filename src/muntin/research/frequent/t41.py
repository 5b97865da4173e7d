"""T41, thesis 6.2.2: space, no false positives, and when the counts are exact; the product beside the algorithm."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass

from muntin.research.frequent.lists import Frequent
from muntin.research.frequent.made import answers, counts
from muntin.research.harness import Check, Entry, Outcome, Setting


@dataclass
class Tally:
    """What was seen over random runs: answers, false positives and negatives, answers of the product that differ,
    counters beyond the bound, bounds of the product that do not hold."""

    answers: int = 0
    false_positives: int = 0
    false_negatives: int = 0
    unlike: int = 0
    beyond: int = 0
    broken: int = 0
    inexact: int = 0
    """Windows whose sub-windows have at most k values, and whose counters are not the true counts; or whose delta is
    not 0 though they have fewer."""


def one(rng: random.Random, tally: Tally) -> None:
    """A random stream, k and sub-window size."""
    k, size, length = rng.choice([1, 2, 3, 5]), rng.choice([5, 8, 20]), rng.choice([3, 6])
    kinds = rng.choice([k, k + 2, 30])
    drawn = [[min(int(rng.expovariate(4 / kinds)), kinds - 1) for _ in range(size)] for _ in range(3 * length)]
    engine, found = Frequent(k, length), answers(f"FREQUENT_LISTS(x, {k})", drawn, length)
    for at, part in enumerate(drawn, 1):
        answer = engine.sub_window(part)
        if answer is None:
            continue
        true = Counter(x for p in drawn[at - length : at] for x in p)
        over = {x for x, n in true.items() if n > engine.delta}
        tally.answers += 1
        tally.false_positives += len(set(answer) - over)
        tally.false_negatives += len(over - set(answer))
        tally.unlike += (found[at]["threshold"], counts(found[at])) != (engine.delta, answer)
        tally.broken += any(not i["count"] <= true[i["item"]] <= i["at_most"] for i in found[at]["items"])
        parts = [len(set(p)) for p in drawn[at - length : at]]
        if max(parts) <= k:
            tally.inexact += engine.counters != true or (max(parts) < k and engine.delta != 0)
    d = max(len(set(p)) for p in drawn)
    tally.beyond += engine.peak > d + 2 * k * (length + 1)


def judge(tally: Tally, runs: int) -> tuple[Check, ...]:
    """Over ``runs`` random runs."""
    return (
        Check("counters <= d + 2kN/b", f"beyond it in {tally.beyond} of {runs} runs", tally.beyond == 0),
        Check(
            "no false positive", f"{tally.false_positives} in {tally.answers} answers ({tally.false_negatives} false "
            "negatives)", tally.false_positives == 0,
        ),
        Check("false negatives occur", f"{tally.false_negatives}", tally.false_negatives > 0),
        Check(
            "exact counts where every sub-window has <= k values, delta 0 where fewer", f"{tally.inexact} inexact",
            tally.inexact == 0,
        ),
        Check("the product gives the same answers", f"{tally.unlike} differ", tally.unlike == 0),
        Check("the product's count and at_most hold", f"{tally.broken} answers where not", tally.broken == 0),
    )  # fmt: skip


def run(setting: Setting) -> Outcome:
    """Random runs."""
    tally, runs = Tally(), 12 if setting.smoke else 80
    for seed in range(runs):
        one(random.Random(seed), tally)
    note = "the queue holds one list more while a new one comes and the oldest has not gone, as line 19 has it"
    return Outcome(judge(tally, runs), (note,))


ENTRY = Entry(
    "T41",
    "6.2.2: space O(d log b + kN/b (log b + log N)); false negatives possible, false positives never; exact counts "
    "when b is only slightly greater than k",
    "counters <= d + 2kN/b; no false positive in randomised runs; exact counts when every sub-window has <= k distinct "
    "values (delta_i must then be 0)",
    run,
)
