"""T24, thesis Theorem 4.1 and Appendix A: sub-indices of round robin are closer in size than chronological ones.

Enumerated with the product's layouts: one unit of rows for each pair of a slot of insertion and one of expiry, as the
proof takes it. What the thesis calls variance is the sum of squared deviations.
"""

from __future__ import annotations

import numpy as np

from muntin.archive import Layout
from muntin.archive.layout import Order
from muntin.research.harness import Check, Entry, Outcome, Setting

STATED = {(4, 8): (52, 12), (9, 12): (232, 32), (16, 16): (540, 60)}


def deviations(n: int, p: int, order: Order) -> list[float]:
    """The sum of squared deviations of sizes after each of the updates of a cycle."""
    side = int(n**0.5)
    layout = Layout(side, side, order)
    inserted = np.concatenate([np.full(j, j - 1 - p) for j in range(1, p + 1)])
    expires = np.concatenate([np.arange(j) for j in range(1, p + 1)])
    found = []
    for update in range(4 * p, 5 * p):
        cells = layout.cells(inserted + update, expires + update, p)
        sizes = np.bincount(cells, minlength=n)
        found.append(float(((sizes - sizes.mean()) ** 2).sum()))
    return found


def judge(found: dict[tuple[int, int], tuple[list[float], list[float]]]) -> tuple[Check, ...]:
    """By (n, p): chronological and round robin, update by update."""
    means = {at: (float(np.mean(ch)), float(np.mean(rr))) for at, (ch, rr) in found.items()}
    wrong = [at for at, (ch, rr) in means.items() if not ch > rr]
    told = ", ".join(f"n={n} p={p} {ch:g}/{rr:g}" for (n, p), (ch, rr) in means.items())
    exact = {at: means[at] for at in STATED if at in means}
    uneven = [(n, p) for (n, p), (_, rr) in found.items() if {round(x, 9) for x in rr} != {p * p * (1 - 1 / n) / 4}]
    ratio = means[4, 8][0] / means[4, 8][1]
    return (
        Check("Ch/RR > 1 for n >= 4, p >= 2 sqrt n", f"{told}; not: {wrong or 'none'}", not wrong),
        Check("the enumerated values", str(exact), all(exact[at] == STATED[at] for at in exact)),
        Check("RR is p^2 (1 - 1/n) / 4 after every update", f"not so: {uneven or 'none'}", not uneven),
        Check("Ch/RR >= 3 at n=4, p=8", f"{ratio:.2f}", ratio >= 3),
    )


def run(setting: Setting) -> Outcome:
    """Square n, p a multiple of its side."""
    sides = (2, 3, 4) if setting.smoke else (2, 3, 4, 5, 6)
    pairs = {(s * s, s * m) for s in sides for m in range(2, 6)} | set(STATED)
    found = {(n, p): (deviations(n, p, "chronological"), deviations(n, p, "round_robin")) for n, p in sorted(pairs)}
    note = (
        "Lemma A.2 prints p^2/2 (1/2 + 1/2n + 1/(n sqrt n)); its own sum has - before the last term, and the sizes "
        "give p^2/4 (1 - 1/n)"
    )
    return Outcome(judge(found), (note,))


ENTRY = Entry(
    "T24",
    "Theorem 4.1: the average variance of sub-index sizes is lower with round robin than chronologically",
    "Ch/RR ratio > 1 on every update cycle; >= 3 at n=4,p=8",
    run,
)
