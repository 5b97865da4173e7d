"""T27, thesis Figure 4.8: what a data rate that varies by up to 4 costs, in pages, at the same number of records."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from muntin.archive import Layout
from muntin.archive.layout import wave
from muntin.research.archive.workload import Run, figures, size
from muntin.research.archive.workload import run as through
from muntin.research.harness import Check, Entry, Outcome, Setting

INDICES: dict[str, Layout] = {
    **{f"Rebuild {g * g}": Layout(g, g) for g in (2, 5)},
    **{f"NoRebuild {g * g}": Layout(g, g, update="norebuild") for g in (2, 5)},
    **{f"{kind} {n}": wave(kind, n) for kind in ("R-ins", "D-ins") for n in (4, 25)},
}
MEAN = (
    "pages of an update are linear in the rows that it touches, and R-ins touches all of them at any rate: with as "
    "many records in all its mean cannot rise; what varies is the dearest update, which is given beside"
)


def judge(steady: Mapping[str, Run], varying: Mapping[str, Run]) -> tuple[Check, ...]:
    """Runs by name, under both rates."""
    rise = {name: varying[name].update / steady[name].update - 1 for name in steady}
    told = ", ".join(f"{name} {r:+.1%}" for name, r in rise.items())
    access = [varying[name].probe / steady[name].probe - 1 for name in steady]
    double, single = rise["Rebuild 4"], rise["R-ins 4"]
    grows = rise["Rebuild 25"] > rise["Rebuild 4"] and rise["NoRebuild 25"] > rise["NoRebuild 4"]
    falls = rise["R-ins 25"] < rise["R-ins 4"] and rise["D-ins 25"] < rise["D-ins 4"]
    hardy = rise["Rebuild 4"] <= rise["NoRebuild 4"] and rise["R-ins 4"] <= rise["D-ins 4"]
    return (
        Check("access a few % slower at most", f"{max(access):+.1%}", max(access) <= 0.1),
        Check("relative increase(double RR) < (R-ins) at n=4", told, double < single, MEAN),
        Check("double: more affected for large n", f"as above: {grows}", grows, MEAN),
        Check("R-ins, D-ins: more affected for small n", f"as above: {falls}", falls, MEAN),
        Check("Rebuild, R-ins more resilient", f"as above: {hardy}", hardy, MEAN),
    )


def run(setting: Setting) -> Outcome:
    """Every index under a steady and a varying rate, averaged over seeds."""
    records, seeds = size(setting.smoke), range(4, 5 if setting.smoke else 8)
    steady = {name: mean([through(x, records, 1.0, s) for s in seeds]) for name, x in INDICES.items()}
    varying = {name: mean([through(x, records, 4.0, s) for s in seeds]) for name, x in INDICES.items()}
    spread = ", ".join(f"{n} {varying[n].worst / steady[n].worst - 1:+.0%}" for n in INDICES)
    whole = {**{f"{n}, steady": r for n, r in steady.items()}, **{f"{n}, varying": r for n, r in varying.items()}}
    return Outcome(judge(steady, varying), (f"the dearest update: {spread}",), figures=figures(whole))


def mean(runs: list[Run]) -> Run:
    """Averages over seeds; the dearest of all updates."""
    update, probe, scan, touched, read = (
        float(np.mean([getattr(r, n) for r in runs])) for n in ("update", "probe", "scan", "touched", "read")
    )
    return Run(update, probe, scan, touched, max(r.worst for r in runs), read)


ENTRY = Entry(
    "T27",
    "Figure 4.8: rates that vary by up to 4: double indices adapt better than R-ins and D-ins, worse for large n, "
    "those worse for small n; Rebuild and R-ins are more resilient",
    "relative increase(double RR) < relative increase(R-ins) at n=4; the two trends in n",
    run,
)
