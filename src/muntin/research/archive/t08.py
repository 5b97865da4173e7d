"""T8, thesis 2.3.4 and Figure 2.6: a wave index in four sub-indices, and why lifetimes that vary break it.

The product's archive, partitioned by insertion time alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from muntin.archive.layout import wave
from muntin.research.archive.made import steady
from muntin.research.harness import Check, Entry, Outcome, Setting

FIGURE = {18: ("I1",), 20: ("I1",), 22: ("I2",), 24: ("I2",)}


def judge(equal: Mapping[int, tuple[str, ...]], varying: Mapping[int, tuple[str, ...]]) -> tuple[Check, ...]:
    """Sub-indices touched by the time of the update, for equal lifetimes and for others."""
    traced = {t: equal.get(t) for t in FIGURE}
    ones = [t for t, cells in equal.items() if len(cells) != 1]
    most = max((len(c) for c in varying.values()), default=0)
    return (
        Check("exact trace at 18, 20, 22, 24", f"{traced}", traced == FIGURE),
        Check(
            "one sub-index an update for equal lifetimes", f"updates with another number: {ones or 'none'}", not ones
        ),
        Check("4 of 4 touched with variable lifetimes", f"at most {most} of 4", most == 4),
    )


def run(setting: Setting) -> Outcome:
    """Both, over a window of 16 that is updated every 2."""
    by_kind = [{u.at: u.touched for u in steady(wave("R-ins", 4), 2, 16, 40, lives)} for lives in ("equal", "all")]
    return Outcome(judge(*by_kind))


ENTRY = Entry(
    "T8",
    "Figure 2.6: wave index, window 16, update 2, 4 sub-indices: times 18 and 20 touch only I1, 22 and 24 only I2",
    "exact trace; one sub-index per update for equal lifetimes; 4 of 4 touched with variable lifetimes",
    run,
)
