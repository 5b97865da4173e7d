"""G16, Golab & Ozsu 6.6: the lessons, from what G11, G12 and G13 measured."""

from __future__ import annotations

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.joins import g11, g12, g13


def run(setting: Setting) -> Outcome:
    """The same runs, which are kept if they have been made already; then all their checks."""
    parts = {
        "G11": g11.checks(setting),
        "G12": g12.judge(g12.rates_of(setting), g12.expiry_shares(4000)),
        "G13": g13.judge(g13.rates_of(setting)[0]),
    }
    checks = [Check(f"{n}: {c.criterion}", c.measured, c.ok, c.reason) for n, part in parts.items() for c in part]
    missed = [c for c in checks if not c.ok]
    wrong = [c for c in missed if not c.reason]
    held = f"{len(checks) - len(missed)}/{len(checks)} checks hold"
    return Outcome((*missed, Check("no check of G11 to G13 fails", held, not wrong)))


ENTRY = Entry(
    "G16",
    "hash >> NLJ; more buckets help with diminishing returns, more of them for larger windows; larger tables prefer "
    "longer intervals",
    "G11-G13",
    run,
)
