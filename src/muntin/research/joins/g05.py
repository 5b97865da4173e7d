"""G5, Golab & Ozsu Figure 2: EAGER MULTI-WAY against NAIVE MULTI-WAY by number of windows.

The axis range is not in the text; formulas are evaluated for 2 to 8 windows, work is counted for 2 to 6.
"""

from __future__ import annotations

from muntin.optimizer.multiway.cost import eager, eager_naive
from muntin.research.harness import Check, Entry, Outcome, Plot, Setting
from muntin.research.joins.measured import Work, load_of, work
from muntin.research.joins.parameters import equal
from muntin.research.joins.setting import by_origin, fixed

RECOMPUTED = {
    2: (200, 200),
    3: (900, 10_800),
    4: (2_800, 42_400),
    5: (7_500, 116_400),
    6: (18_600, 276_000),
    7: (44_100, 608_400),
    8: (101_600, 1_289_600),
}
"""Windows -> what MULTI-WAY and NAIVE cost, worked out apart from the model."""

Costs = dict[int, tuple[float, float]]


def formulas() -> Costs:
    """MULTI-WAY and NAIVE by the model."""
    return {n: (eager(equal(n), range(n)), eager_naive(equal(n), range(n))) for n in RECOMPUTED}


def counted(smoke: bool) -> dict[int, tuple[Work, Work]]:
    """The same on generated streams, over some time after the windows have filled."""
    found = {}
    for n in range(2, 7):
        load = load_of(equal(n), 20 if smoke else 400, 5)
        found[n] = (work(load, by_origin(range(n))), work(load, fixed(range(n))))
    return found


def judge(model: Costs, measured: dict[int, tuple[Work, Work]]) -> tuple[Check, ...]:
    """Formula values, and the counted ratio."""
    closed = all(multi == n * 100 * (2 ** (n - 1) - 1) for n, (multi, _) in model.items())
    ratios = {n: naive.comparisons / multi.comparisons for n, (multi, naive) in measured.items()}
    sides = list(zip(*model.values(), strict=True))
    told = ", ".join(f"{n}: {r:.1f}" for n, r in ratios.items())
    same = all(multi.results == naive.results for multi, naive in measured.values())
    return (
        Check(
            "exact formula values",
            ", ".join(f"{n}: {a:g}/{b:g}" for n, (a, b) in model.items()),
            model == RECOMPUTED,
        ),
        Check("MULTI-WAY costs n*100*(2^(n-1)-1)", "closed form holds", closed),
        Check("both grow", "both grow", all(list(side) == sorted(set(side)) for side in sides)),
        Check(
            "counted NAIVE/MULTI-WAY >= 8 for 3 to 6 windows",
            f"counted ratio {told}",
            all(ratios[n] >= 8 for n in range(3, 7)),
        ),
        Check("counted ratio 1 for 2 windows", f"{ratios[2]:g} for two", ratios[2] == 1),
        Check("equal results", "equal results", same),
    )


def run(setting: Setting) -> Outcome:
    """Formulas, then counts."""
    model, measured = formulas(), counted(setting.smoke)
    off = max(abs(w.comparisons / m - 1) for n in measured for w, m in zip(measured[n], model[n], strict=True))
    curves = {
        name: [(float(n), costs[side]) for n, costs in model.items()]
        for side, name in enumerate(("MULTI-WAY", "NAIVE"))
    }
    for side, name in enumerate(("MULTI-WAY counted", "NAIVE counted")):
        curves[name] = [(float(n), pair[side].comparisons) for n, pair in measured.items()]
    note = f"counted comparisons are within {off:.1%} of the model"
    plot = Plot("Figure 2", "windows", "comparisons per unit time", curves)
    return Outcome(judge(model, measured), (note,), (plot,))


ENTRY = Entry(
    "G5",
    "eager MULTI-WAY scales considerably better with the number of windows than NAIVE",
    "exact formula values; counted work ratio naive/multiway >= 8 for 3<=n<=6, and = 1 for n=2; both grow, multiway "
    "cost = n*100*(2^(n-1)-1)",
    run,
)
