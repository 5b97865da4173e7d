"""T28, thesis Figures 4.9 to 4.11: ten times the data."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from muntin.archive import Layout
from muntin.archive.layout import wave
from muntin.research.archive.workload import SQUARES, Run, figures, size
from muntin.research.archive.workload import run as through
from muntin.research.harness import Check, Entry, Outcome, Setting

ROUNDING = (
    "by pages the two differ by half-filled pages and buckets, whose share falls as there are more records to a key; "
    "the thesis times seeks between buckets that grow apart"
)


def indices(squares: tuple[int, ...]) -> dict[str, Layout]:
    """By name."""
    return {
        **{f"Rebuild {g * g}": Layout(g, g) for g in squares},
        **{f"NoRebuild {g * g}": Layout(g, g, update="norebuild") for g in squares},
        **{f"R-ins {g * g}": wave("R-ins", g * g) for g in squares},
    }


def judge(small: Mapping[str, Run], large: Mapping[str, Run], squares: tuple[int, ...]) -> tuple[Check, ...]:
    """Runs by name, of both sizes."""
    sizes = [g * g for g in squares]
    ratio = {n: [d[f"R-ins {n}"].update / d[f"Rebuild {n}"].update for d in (small, large)] for n in sizes}
    most = max(b for _, b in ratio.values())
    grows = sum(b for _, b in ratio.values()) > sum(a for a, _ in ratio.values())
    falling = [large[f"Rebuild {n}"].update for n in sizes]
    gaps = {n: [d[f"Rebuild {n}"].update / d[f"NoRebuild {n}"].update for d in (small, large)] for n in sizes}
    probes = {n: [d[f"NoRebuild {n}"].probe / d[f"Rebuild {n}"].probe for d in (small, large)] for n in sizes}
    wider = all(b >= a for a, b in (*gaps.values(), *probes.values()))
    return (
        Check("update ratio R-ins/double grows with size", _pairs(ratio), grows),
        Check("up to 3 times as fast", f"{most:.2f}", most >= 2),
        Check(
            "no turning point up to n=25", ", ".join(f"{u:,.0f}" for u in falling),
            all(a > b for a, b in pairwise(falling)),
        ),
        Check(
            "gaps between Rebuild and NoRebuild are wider", f"updates {_pairs(gaps)}; probes {_pairs(probes)}", wider,
            ROUNDING,
        ),
    )  # fmt: skip


def _pairs(found: Mapping[int, list[float]]) -> str:
    return ", ".join(f"n={n} {a:.3f} to {b:.3f}" for n, (a, b) in found.items())


def run(setting: Setting) -> Outcome:
    """Both sizes."""
    squares = (2, 5) if setting.smoke else SQUARES
    runs = [
        {name: through(x, size(setting.smoke, large)) for name, x in indices(squares).items()}
        for large in (False, True)
    ]
    whole = {f"{name}, {what}": r for what, d in zip(("small", "large"), runs, strict=True) for name, r in d.items()}
    return Outcome(judge(runs[0], runs[1], squares), figures=figures(whole))


ENTRY = Entry(
    "T28",
    "Figures 4.9-4.11: on ten times the data double indices are up to 3 times as fast to update, still falling at "
    "n=25; the gaps between Rebuild and NoRebuild are wider",
    "update ratio grows with data size; no turning point up to n=25; Rebuild/NoRebuild gaps larger than at 500 MB",
    run,
)
