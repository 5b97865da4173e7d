"""A7, Ayad & Naughton Figure 6: the most that the three plans give over the cost of a join."""

from __future__ import annotations

from muntin.research.harness import Check, Entry, Outcome, Plot, Setting
from muntin.research.static import example

VALUES = {5: (500, 733.3, 818.2), 10: (333.3, 400, 727.3), 20: (250, 233.3, 500), 50: (200, 133.3, 200)}


def saturated(plan: str) -> float:
    """Milliseconds a tuple from which the plan has to shed."""
    return 1 / example.full(plan, 1).work


def gap(milliseconds: float) -> tuple[float, float]:
    """(difference, ratio) of the best plan's output to that of the plan with the lowest utilisation."""
    outputs = {p: example.most(p, milliseconds) for p in example.PLANS}
    return max(outputs.values()) - outputs["b"], max(outputs.values()) / outputs["b"]


def judge(at: dict[float, tuple[float, ...]], limits: list[float]) -> tuple[Check, ...]:
    """Outputs of a, b, c by milliseconds; where a, c and b saturate."""
    told = "; ".join(f"{c:g} ms {', '.join(f'{v:.1f}' for v in at[c])}" for c in VALUES)
    grid = [c / 20 for c in range(20, 2001)]
    peak = max(grid, key=lambda c: gap(c)[0])
    switch = next(c for c in grid if at_most("c", c) > at_most("b", c))
    worst = next(c for c in grid if at_most("b", c) < at_most("a", c) and c > 5)
    together = next(c for c in grid if c > 20 and abs(at_most("a", c) - at_most("c", c)) < 1e-6)
    difference, ratio = gap(peak)
    return (
        Check("outputs of a/b/c to 4 digits", told, all(_near(at[c], v) for c, v in VALUES.items())),
        Check(
            "saturated from 2.0, 2.5, 3.571 ms",
            ", ".join(f"{x:.3f}" for x in limits),
            _near(limits, (2, 2.5, 3.571), 5e-4),
        ),
        Check("b to c between 4 and 4.5 ms", f"at {switch:.2f} ms", 4 < switch < 4.5),
        Check(
            "the gap is largest at about 14 ms, the best then more than twice b",
            f"{difference:.1f} t/s at {peak:.2f} ms, {ratio:.3f} times",
            13.5 < peak < 15 and round(ratio, 2) == 2.33 and round(difference) == 400,
        ),
        Check("b is worst from 17 ms", f"from {worst:.2f} ms", 16.6 < worst < 17),
        Check("a and c meet at 50 ms", f"at {together:.2f} ms", abs(together - 50) < 0.1),
        Check("all equal at 100 ms", ", ".join(f"{v:.1f}" for v in at[100]), _near(at[100], (100, 100, 100))),
    )


def at_most(plan: str, milliseconds: float) -> float:
    """Output with the best boxes."""
    return example.most(plan, milliseconds)


def _near(found: tuple[float, ...] | list[float], stated: tuple[float, ...], within: float = 0.05) -> bool:
    return all(abs(f - s) <= within for f, s in zip(found, stated, strict=True))


def run(setting: Setting) -> Outcome:
    """The figure."""
    at = {float(c): tuple(at_most(p, c) for p in example.PLANS) for c in (*VALUES, 100)}
    grid = [0.5, 1, 2, 3, 4, 5, 7, 10, 14, 17, 20, 30, 50, 70, 100]
    plot = Plot(
        "throughput over join cost", "milliseconds a tuple", "results a second",
        {p: [(c, at_most(p, c)) for c in grid] for p in example.PLANS}, log=False,
    )  # fmt: skip
    return Outcome(judge(at, [saturated(p) for p in "acb"]), plots=(plot,))


ENTRY = Entry(
    "A7",
    "Figure 6: plans saturate in order a, c, b; b to c between 4 and 4.5 ms; gap until 14 ms; b worst from 17 ms",
    "500/733.3/818.2, 333.3/400/727.3, 250/233.3/500, 200/133.3/200 at 5, 10, 20, 50 ms, to 4 digits",
    run,
)
