"""T23, thesis 4.3.2: an update touches G + E - 1 sub-indices, least where G = E. Counted in the product's archive."""

from __future__ import annotations

from collections.abc import Mapping

from muntin.archive import Layout
from muntin.archive.layout import Update
from muntin.research.archive.made import steady
from muntin.research.harness import Check, Entry, Outcome, Setting

STATED = {(2, 2): 3, (3, 3): 5, (4, 4): 7, (5, 5): 9, (2, 8): 9, (8, 2): 9}
EVERY, SPAN = 1, 16


def judge(found: Mapping[tuple[int, int], set[int]]) -> tuple[Check, ...]:
    """Numbers of sub-indices that updates touched, by grid."""
    told = ", ".join(f"{g}x{e} {sorted(n)} of {g * e}" for (g, e), n in found.items())
    right = all(n == {g + e - 1} == {STATED[g, e]} for (g, e), n in found.items())
    square = [max(found[k], default=0) for k in ((4, 4), (2, 8), (8, 2)) if k in found]
    return (
        Check("counter equals G + E - 1", told, right),
        Check("least at G = E", f"16 sub-indices as 4x4, 2x8, 8x2: {square}", square[0] == min(square) < max(square)),
    )


def run(setting: Setting) -> Outcome:
    """Every grid, rebuilt and not, after the first span."""
    upto = SPAN + (3 if setting.smoke else SPAN)
    updates: tuple[Update, ...] = ("rebuild",) if setting.smoke else ("rebuild", "norebuild")
    checks: list[Check] = []
    for update in updates:
        found = {
            (g, e): {len(u.touched) for u in steady(Layout(g, e, update=update), EVERY, SPAN, upto)} for g, e in STATED
        }
        checks += judge(found)
    return Outcome(tuple(checks))


ENTRY = Entry(
    "T23",
    "4.3.2: G + E - 1 sub-indices touched: 2x2 3 of 4, 3x3 5 of 9, 4x4 7 of 16, 5x5 9 of 25, 2x8 and 8x2 9 of 16",
    "counter equals G+E-1",
    run,
)
