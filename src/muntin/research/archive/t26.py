"""T26, thesis Figures 4.5 to 4.7: doubly partitioned indices against wave indices, in pages, on the small data.

Beside the thesis' indices page by page, the product's archive runs under four layouts; its bytes are compared with its
own bytes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping

import numpy as np

from muntin.archive import Layout
from muntin.archive.layout import wave
from muntin.research.archive.made import archive_of, rows_of, told
from muntin.research.archive.pages import UPDATES
from muntin.research.archive.workload import SQUARES, Run, arrivals, compared, figures, size
from muntin.research.harness import Check, Entry, Outcome, Plot, Setting

LINEAR = (
    "pages are linear in the size of a sub-index, and over a cycle the sub-indices that an update touches hold on "
    "average the same share of the rows in both orders, (2 sqrt n - 1) / n (T24 counts their spread); what the thesis "
    "gains by like sizes is time that grows faster than size"
)
BUCKETS = (
    "every bucket of a sub-index that expires loses rows, so it is written anew as Rebuild does; what NoRebuild spares "
    "are full buckets of sub-indices that are only inserted into, and its half-empty pages, which weigh the more the "
    "fewer records a bucket has, cost about as much"
)


def judge(found: Mapping[str, Run], squares: tuple[int, ...]) -> tuple[Check, ...]:
    """Runs by name and number of sub-indices."""
    sizes = [g * g for g in squares]
    rr = {n: found[f"Rebuild {n}"] for n in sizes}
    chronological = {n: rr[n].update / found[f"Rebuild chr {n}"].update for n in sizes}
    wave_ratio = {n: found[f"R-ins {n}"].update / rr[n].update for n in sizes}
    del_ratio = {n: found[f"D-ins {n}"].update / found[f"NoRebuild {n}"].update for n in sizes}
    over = {n: rr[n].update / found[f"NoRebuild {n}"].update for n in sizes}
    probes = {n: (rr[n].probe, found[f"NoRebuild {n}"].probe) for n in sizes}
    share = max(r.probe / r.scan for r in found.values())
    at_best = min(found[f"R-ins {n}"].update for n in sizes) / min(r.update for r in rr.values())
    growing = all(a.probe <= b.probe for a, b in zip(rr.values(), list(rr.values())[1:], strict=False))
    return (
        Check("double < R-ins at equal n", _ratios(wave_ratio), min(wave_ratio.values()) > 1),
        Check("double < D-ins at equal n (NoRebuild)", _ratios(del_ratio), min(del_ratio.values()) > 1),
        Check("R-ins/double >= 1.5, each at its best n", f"{at_best:.2f}", at_best >= 1.5),
        Check(
            "RR/chr in [0.75, 0.97] (Rebuild)", _ratios(chronological),
            all(0.75 <= r <= 0.97 for r in chronological.values()), LINEAR,
        ),
        Check("update: Rebuild >= NoRebuild", _ratios(over), min(over.values()) >= 1, BUCKETS),
        Check(
            "probe: Rebuild <= NoRebuild", ", ".join(f"n={n} {a:.1f}/{b:.1f}" for n, (a, b) in probes.items()),
            all(a <= b for a, b in probes.values()),
        ),
        Check("probe pages non-decreasing in n", ", ".join(f"{r.probe:.1f}" for r in rr.values()), growing),
        Check("probe/scan <= 1/20", f"at most {share:.4f}", share <= 0.05),
    )  # fmt: skip


def _ratios(found: Mapping[int, float]) -> str:
    return ", ".join(f"n={n} {r:.2f}" for n, r in found.items())


def product(records: int) -> dict[str, float]:
    """Bytes that an update of the product's archive moves, by layout, on average over five updates."""
    given, found = arrivals(records), {}
    layouts = {
        "Rebuild 2x2": Layout(2, 2), "Rebuild 4x4": Layout(4, 4), "NoRebuild 4x4": Layout(4, 4, update="norebuild"),
        "R-ins 4": wave("R-ins", 4),
    }  # fmt: skip
    for name, layout in layouts.items():
        with tempfile.TemporaryDirectory() as folder:
            archive, moved = archive_of(f"{folder}/a", layout, given.every, given.span), []
            for at, (key, time, exp) in enumerate(given.parts[:6]):
                rows = rows_of(key.tolist(), time.tolist(), exp.tolist(), payload=200, seed=at)
                archive.write(rows, now=(UPDATES + at) * given.every)
                moved += [told(archive).moved] if at else []
            found[name] = float(np.mean(moved))
    return found


def judge_product(moved: Mapping[str, float]) -> tuple[Check, ...]:
    """Bytes moved by an update, by layout."""
    told = ", ".join(f"{name} {b / 1e3:,.0f} kB" for name, b in moved.items())
    wave_index, small, large = moved["R-ins 4"], moved["Rebuild 2x2"], moved["Rebuild 4x4"]
    return (
        Check("the product: 4x4 < 2x2 < R-ins", f"bytes moved by an update: {told}", large < small < wave_index),
        Check("the product: NoRebuild < Rebuild", "as above", moved["NoRebuild 4x4"] < large),
    )


def run(setting: Setting) -> Outcome:
    """All indices, and the product."""
    squares = (2, 4) if setting.smoke else SQUARES
    found = compared(size(setting.smoke), squares)
    moved = product(2_000 if setting.smoke else 20_000)
    curves = {
        kind: [(float(g * g), found[f"{kind} {g * g}"].update) for g in squares]
        for kind in ("Rebuild", "NoRebuild", "Rebuild chr", "R-ins", "D-ins")
    }
    plots = (Plot("T26", "sub-indices", "pages an update", curves, log=False),)
    checks = (*judge(found, squares), *judge_product(moved))
    return Outcome(checks, plots=plots, figures={**figures(found), "product, bytes": moved})


ENTRY = Entry(
    "T26",
    "Figures 4.5-4.7: doubly partitioned indices are updated more than 1.5 times as fast as wave indices, round robin "
    "10 to 20 % faster than chronological; NoRebuild updates faster, Rebuild probes faster; probes cost 1/100 "
    "of a scan",
    "update(double RR) < update(double chr) < update(R-ins/D-ins) at equal n>=4; R-ins/double >= 1.5 at its best n; "
    "RR/chr in [0.75,0.97]; Rebuild >= NoRebuild update, <= probe; probe pages non-decreasing in n; probe/scan <= 1/20",
    run,
)
