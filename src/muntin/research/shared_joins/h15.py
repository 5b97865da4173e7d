"""H15, Hammad et al. section 7: the headline, from H8, H11 and H13."""

from __future__ import annotations

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.shared_joins import h08, h09, h11, h13
from muntin.research.shared_joins.study import NAMES, by_clock


def judge(means: list[dict[str, float]], memory: float) -> tuple[Check, ...]:
    """``means``: by policy, of every workload; ``memory``: waiting rows and held ones in the join buffer's."""
    less = {o: max(1 - m["greedy"] / m[o] for m in means) for o in ("lwo", "swf")}
    longer = {o: max(m[o] / m["greedy"] - 1 for m in means) for o in ("lwo", "swf")}
    best = all(m["greedy"] <= min(m.values()) for m in means)
    shown = ", ".join(
        f"up to {less[o]:.0%} less than {o.upper()} ({o.upper()} up to {longer[o]:.0%} more)" for o in less
    )
    return (
        Check("Greedy best on every workload", shown, best),
        Check(
            "up to 80 % better (35 % less, or another 50 % more)",
            f"{max(less.values()):.0%} less, {max(longer.values()):.0%} more",
            max(less.values()) >= 0.35 or max(longer.values()) >= 0.5,
        ),
        Check("memory overhead < 10 %", f"{memory:.2%}", memory < 0.1),
    )  # fmt: skip


def run(setting: Setting) -> Outcome:
    """All workloads of H8 and H11; memory of H13."""
    bursts = [{p: f.over_windows(p) for p in NAMES} for f in h11.found_of(setting).values()]
    memory = max(sum(part) for p, part in h13.shares(h09.found_of(setting)).items() if p != "lwo")
    return Outcome(by_clock(setting, judge([*h08.means_of(setting).values(), *bursts], memory)))


ENTRY = Entry(
    "H15",
    "Greedy up to 80% better average response than the other two; memory overhead < 10%",
    "covered by H8, H11, H13",
    run,
)
