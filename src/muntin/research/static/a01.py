"""A1, Ayad & Naughton Figure 1: two selections, of whose two orders one is feasible."""

from __future__ import annotations

from muntin.optimizer.capacity.model import Leaf, Select, Source, flow, works
from muntin.research.harness import Check, Entry, Outcome, Setting

SOURCE = (Source("S", 1000, rows=1),)
A = Select(Select(Leaf(0), 0.25, 0.0005), 0.5, 0.001)
B = Select(Select(Leaf(0), 0.5, 0.001), 0.25, 0.0005)


def judge(a: list[float], b: list[float]) -> tuple[Check, ...]:
    """Seconds of work a second of each selection, in the order that they run."""
    return (
        Check("plan A: 500 + 250 ms, 75 %", f"A {a[0]:.3f} + {a[1]:.3f} = {sum(a):.3f}", a == [0.5, 0.25]),
        Check("plan B: 1000 + 250 ms, infeasible", f"B {b[0]:.3f} + {b[1]:.3f} = {sum(b):.3f}", b == [1.0, 0.25]),
    )


def run(setting: Setting) -> Outcome:
    """Both plans."""
    verdict = Check(
        "A is feasible, B is not", "A feasible, B not", flow(A, SOURCE).feasible and not flow(B, SOURCE).feasible
    )
    return Outcome((*judge(works(A, SOURCE), works(B, SOURCE)), verdict))


ENTRY = Entry("A1", "Figure 1: plan A 500+250 ms = 75 % feasible; plan B 1000+250 ms infeasible", "exact", run)
