"""``muntin reproduce``: run entries of the documents' experiments, print a line each, write records and figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from muntin.core.optional import require_matplotlib
from muntin.research import Setting, chosen, reproduce
from muntin.research.harness import Clock, tally
from muntin.research.plots import draw
from muntin.research.registry import on_a_clock


def run_entries(
    names: Sequence[str],
    smoke: bool,
    say: Callable[[str], None],
    json_file: Path | None,
    plots: Path | None,
    clock: Clock = "virtual",
) -> bool:
    """Run the entries and say how many have each verdict; True if none failed (a claim that does not hold on the given
    workload DIFFERS, which is no failure). Raises ConfigError for an unknown id, for one without a clock if that of
    the wall is asked for, or for ``plots`` without matplotlib."""
    entries = chosen(names)
    if clock == "wall":
        on_a_clock(names)
    if plots is not None:
        require_matplotlib("--plots")
    records = reproduce(entries, Setting(smoke, shared_folder(), clock), lambda r: say(r.line))
    say(tally(records))
    if json_file is not None:
        text = json.dumps([asdict(r) for r in records], indent=2, default=_plain)
        json_file.write_text(text + "\n", encoding="utf-8")
    if plots is not None:
        draw(records, plots)
    return all(r.verdict != "FAIL" for r in records)


def shared_folder() -> Path | None:
    """The directory ``shared`` beside the repository, if there is one: it holds real streams."""
    found = Path(__file__).resolve().parents[3].parent / "shared"
    return found if found.is_dir() else None


def _plain(value: Any) -> object:
    """A number or truth value of numpy's, as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"no JSON for {value!r}")
