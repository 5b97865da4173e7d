"""G16, Golab & Ozsu 6.6: the lessons, from what G11, G12 and G13 measured."""

from __future__ import annotations

from muntin.experiments.harness import Check, Entry, Outcome, Setting
from muntin.experiments.joins import g11, g12, g13


def run(setting: Setting) -> Outcome:
    """The same runs, which are kept if they have been made already; then all their checks."""
    parts = {e.id: e.run(setting) for e in (g11.ENTRY, g12.ENTRY, g13.ENTRY)}
    checks = [Check(f"{name}: {c.criterion}", c.measured, c.ok) for name, p in parts.items() for c in p.checks]
    failed = [c for c in checks if not c.ok]
    return Outcome((*failed, Check("G11 to G13 pass", f"{len(checks) - len(failed)}/{len(checks)} checks", not failed)))


ENTRY = Entry(
    "G16",
    "hash >> NLJ; more buckets help with diminishing returns, more of them for larger windows; larger tables prefer "
    "longer intervals",
    "G11-G13",
    run,
)
