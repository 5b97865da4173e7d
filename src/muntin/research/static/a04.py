"""A4, Ayad & Naughton Example 1 and Figure 3: three plans, three speeds of the machine."""

from __future__ import annotations

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.static import example


def judge(sums: list[float], used: dict[float, list[float]], rates: list[float]) -> tuple[Check, ...]:
    """Of plans a, b, c: tuples a second that joins take in; utilisation at 0.5, 3, 5 ms a tuple; output rates."""
    a, b, _ = sums
    fast, slow, slowest = ([round(x, 9) for x in used[c]] for c in (0.5, 3, 5))
    return (
        Check("sums 500, 280, 400", ", ".join(f"{s:g}" for s in sums), [round(s, 6) for s in sums] == [500, 280, 400]),
        Check("25, 14, 20 % at 0.5 ms", ", ".join(f"{x:.0%}" for x in fast), fast == [0.25, 0.14, 0.2]),
        Check("150, 84, 120 % at 3 ms", ", ".join(f"{x:.0%}" for x in slow), slow == [1.5, 0.84, 1.2]),
        Check("all infeasible at 5 ms", ", ".join(f"{x:.0%}" for x in slowest), min(slowest) >= 1),
        Check("final rate 1000/s", f"{rates[0]:g}/s", [round(r, 6) for r in rates] == [1000.0] * 3),
        Check("plan a needs 78.6 % more than b (printed 170 %)", f"{a / b - 1:.1%}", round(a / b - 1, 3) == 0.786),
    )


def run(setting: Setting) -> Outcome:
    """The model."""
    plans = example.PLANS
    sums = [example.full(p, 1000).work for p in plans]
    used = {c: [example.full(p, c).work for p in plans] for c in (0.5, 3, 5)}
    return Outcome(judge(sums, used, [example.full(p, 1).rate for p in plans]))


ENTRY = Entry(
    "A4",
    "Example 1: sums 500, 280, 400; 25, 14, 20 % at 0.5 ms; 150, 84, 120 % at 3 ms; infeasible at 5 ms",
    "exact (the 170 % more of plan a is 78.6 %)",
    run,
)
