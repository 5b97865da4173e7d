"""Figures as SVG and PNG. matplotlib is needed here alone, and is not a dependency of the package."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from muntin.core.optional import require_matplotlib
from muntin.research.harness import Plot, Record


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """Draw every plot of the records as ``<id>-<name>.svg`` and ``.png`` in ``folder`` (made if absent)."""
    require_matplotlib("--plots")
    folder.mkdir(parents=True, exist_ok=True)
    return [path for r in records for plot in r.plots for path in _draw(r.id, plot, folder)]


def _draw(name: str, plot: Plot, folder: Path) -> list[Path]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for label, points in plot.series.items():
        axes.plot([x for x, _ in points], [y for _, y in points], marker="o", label=label)
    if plot.log:
        axes.set_xscale("log")
        axes.set_yscale("log")
    axes.set(xlabel=plot.x, ylabel=plot.y, title=f"{name} {plot.name}")
    axes.legend()
    paths = [folder / f"{name}-{plot.name.replace(' ', '-')}.{kind}" for kind in ("svg", "png")]
    for path in paths:
        figure.savefig(path)
    return paths
