"""What an entry is, how it is run, and what is recorded of it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args
from typing import Literal as OneOf

Verdict = OneOf["PASS", "DIFFERS", "FAIL", "NOTHING TO REPRODUCE"]
"""DIFFERS: everything that must be right is, and a document's claim does not hold on the given workload, for a reason
that is stated. It is a result and not a failure."""

Clock = OneOf["virtual", "wall"]
"""By what studies of response times go: counted work, the same on every machine, or the time that it takes here."""

Series = dict[str, list[tuple[float, float]]]
"""Curves of a figure: name -> points."""


@dataclass(frozen=True)
class Setting:
    """How to run. ``smoke``: small sizes, every check still judged. ``shared``: directory with real streams, or
    None. ``clock``: of the studies of response times (``registry.CLOCKED``)."""

    smoke: bool = False
    shared: Path | None = None
    clock: Clock = "virtual"


@dataclass(frozen=True)
class Check:
    """One thing that can fail: what must hold, what was found, and whether it holds.

    ``reason``: of a document's claim alone, why it does not hold on this workload, in figures or places that a reader
    can check; used where ``ok`` is False. Without one (right answers, equal results, the project's own promises) what
    does not hold is a failure.
    """

    criterion: str
    measured: str
    ok: bool
    reason: str = ""

    @property
    def words(self) -> str:
        """What is printed of it."""
        if self.ok:
            return self.measured
        if self.reason:
            return f"DIFFERS {self.criterion}: {self.measured} ({self.reason})"
        return f"NOT {self.criterion}: {self.measured}"


def curves(x: Iterable[float], values: Mapping[str, Iterable[float]]) -> Series:
    """Curves over the same points."""
    at = [float(v) for v in x]
    return {name: [(a, float(b)) for a, b in zip(at, ys, strict=True)] for name, ys in values.items()}


@dataclass(frozen=True)
class Plot:
    """A figure to draw: axis titles and curves, both axes logarithmic when ``log``."""

    name: str
    x: str
    y: str
    series: Series
    log: bool = True


@dataclass(frozen=True)
class Outcome:
    """What an entry found. No checks: there is nothing to reproduce. ``figures``: what was counted in the units that
    do not decide, as plain values for the JSON record."""

    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()
    plots: tuple[Plot, ...] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """One entry of the list of experiments: its id, the document's claim, the criterion, and the code that checks
    it."""

    id: str
    claim: str
    criterion: str
    run: Callable[[Setting], Outcome]


@dataclass(frozen=True)
class Record:
    """What is reported of an entry, and written to JSON. ``seconds``: wall clock."""

    id: str
    claim: str
    measured: str
    criterion: str
    verdict: Verdict
    seconds: float
    alias_of: str | None = None
    checks: tuple[Check, ...] = ()
    notes: tuple[str, ...] = ()
    plots: tuple[Plot, ...] = field(default=(), compare=False)
    figures: Mapping[str, Any] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """The one line that is printed."""
        also = f" (= {self.alias_of})" if self.alias_of else ""
        return f"{self.id}{also} | {self.claim} | {self.measured} | {self.criterion} | {self.verdict}"


def reproduce(entries: Sequence[tuple[str, Entry]], setting: Setting, say: Callable[[Record], None]) -> list[Record]:
    """Run the entries ((id asked for, entry) pairs) in order, ``say`` each record as it is there, and return them all.

    An entry under another id than its own is an alias: it is run once and recorded under both. An entry that raises
    has failed; the others still run.
    """
    done: dict[str, Record] = {}
    records = []
    for name, entry in entries:
        if entry.id not in done:
            done[entry.id] = _run(entry, setting)
        record = done[entry.id] if name == entry.id else _as_alias(done[entry.id], name)
        say(record)
        records.append(record)
    return records


def _run(entry: Entry, setting: Setting) -> Record:
    start = time.perf_counter()
    try:
        outcome = entry.run(setting)
        measured, verdict = _measured(outcome), _verdict(outcome.checks)
    except Exception as error:  # whatever an entry raises is its own failure
        outcome, verdict = Outcome(()), "FAIL"
        measured = f"{type(error).__name__}: {error}".replace("\n", " ")
    seconds = round(time.perf_counter() - start, 3)
    return Record(
        entry.id,
        entry.claim,
        measured,
        entry.criterion,
        verdict,
        seconds,
        None,
        outcome.checks,
        outcome.notes,
        outcome.plots,
        outcome.figures,
    )


def _measured(outcome: Outcome) -> str:
    """What does not hold, failures first; else what was found."""
    missed = sorted((c for c in outcome.checks if not c.ok), key=lambda c: c.reason != "")
    return "; ".join(c.words for c in missed or outcome.checks)


def _verdict(checks: Sequence[Check]) -> Verdict:
    if not checks:
        return "NOTHING TO REPRODUCE"
    if any(not c.ok and not c.reason for c in checks):
        return "FAIL"
    return "PASS" if all(c.ok for c in checks) else "DIFFERS"


def tally(records: Sequence[Record]) -> str:
    """How many entries have each verdict."""
    found = Counter(r.verdict for r in records)
    names = {"NOTHING TO REPRODUCE": "NOTHING"}
    return ", ".join(f"{found[v]} {names.get(v, v)}" for v in get_args(Verdict))


def _as_alias(record: Record, name: str) -> Record:
    names = ("claim", "measured", "criterion", "verdict", "seconds", "checks", "notes", "figures")
    kept = {k: getattr(record, k) for k in names}
    return Record(id=name, alias_of=record.id, **kept)
