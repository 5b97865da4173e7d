"""What a batch leaves out under overload: decided by the driver before the batch runs, read by its tasks, and kept.

A file a batch beside the store, written once: a batch that runs again (a retry, a crash of the driver) finds it and
leaves out the same rows. ``engine.pace`` says how much can be afforded, from rows and seconds of the batches before.
"""

from __future__ import annotations

import json
import logging
import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import inf, prod
from typing import Any, get_args

from muntin.core.errors import ConfigError, StoreError
from muntin.core.time import SECOND
from muntin.dataflow.harvestable import harvestable
from muntin.engine.boxes import Scanned, stream_shares
from muntin.engine.harvesting import Given, Learned, Setting, to_json
from muntin.engine.pace import KEEP, LEAST, Load, Measured, Pace, shares
from muntin.operators.joins.harvest import PARTS, Counts
from muntin.plan.windows import QueryOptions, Shed
from muntin.spark import files
from muntin.spark.spec import PipelineSpec

log = logging.getLogger("muntin")

NAME = ".shed"
"""Directory of the decisions, in the store."""

KEPT = 20
"""Decisions that stay, newest first: more than versions that a retry can ask for."""


@dataclass(frozen=True)
class Decision:
    """What a batch leaves out. ``shares``: by signature of the query, the share of the rows of each of its streams that
    is admitted. ``harvest``: by id of a join, the parts of its windows that are read (``harvesting.to_json``; {}: all,
    and counted); ``explored``: the part that all of these read beside. ``fractions``: by signature, how much of its
    work a query does; ``answers``: the share of its answer that this is estimated to give."""

    shares: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    pace: Mapping[str, Any] = field(default_factory=dict)
    harvest: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    explored: int | None = None
    fractions: Mapping[str, float] = field(default_factory=dict)
    answers: Mapping[str, float] = field(default_factory=dict)

    def of(self, signature: str) -> Mapping[str, float]:
        """What a query gets; {}: everything."""
        return self.shares.get(signature, {})


def path_of(store: str, batch: int) -> str:
    """Where a batch's decision is."""
    return files.join(store, NAME, f"{batch:010d}.json")


def read_decision(store: str, batch: int) -> Decision | None:
    """The decision of a batch; None where there is none. Raises StoreError for a damaged one."""
    path = path_of(store, batch)
    raw = files.read(path)
    if raw is None:
        return None
    try:
        value = json.loads(raw)
        body = value["body"]
        whole = zlib.crc32(body.encode()) == value["checksum"]
        found = Decision(**json.loads(body)) if whole else None
    except (ValueError, KeyError, TypeError) as e:
        raise StoreError(f"{path} is damaged ({e}); restore the checkpoint") from None
    if found is None:
        raise StoreError(f"{path} fails its checksum: it was changed or damaged; restore the checkpoint")
    return found


def write_decision(store: str, batch: int, decision: Decision) -> None:
    """Keep a decision, in one atomic step, and let go of old ones."""
    path = path_of(store, batch)
    body = json.dumps(asdict(decision))
    files.make_dirs(files.join(store, NAME))
    files.write_atomically(path, json.dumps({"checksum": zlib.crc32(body.encode()), "body": body}).encode())
    files.delete(path_of(store, batch - KEPT))


def newest_decision(store: str, before: int) -> Decision | None:
    """The newest decision of a batch up to ``before``; None where there is none."""
    there = [int(n.split(".")[0]) for n in files.names(files.join(store, NAME)) if n.endswith(".json")]
    batches = [b for b in there if b <= before]
    return read_decision(store, max(batches)) if batches else None


@dataclass(frozen=True)
class Policy:
    """Of the queries of one signature: the streams that they scan (each as often), and what they agree to."""

    scans: tuple[Scanned, ...]
    shed: Shed
    floor: float
    priority: int

    @property
    def streams(self) -> tuple[str, ...]:
        """What it scans, each stream as often."""
        return tuple(s.stream for s in self.scans)

    @property
    def sheds(self) -> bool:
        """Whether anything may be left out: not of a query that reads tables alone."""
        return self.shed != "never" and bool(self.scans)


def policies(asked: Sequence[tuple[str, tuple[Scanned, ...], QueryOptions]]) -> dict[str, Policy]:
    """By signature, from (signature, scans, options) of each query: those that share one lose no more than the
    strictest of them allows."""
    found: dict[str, Policy] = {}
    for signature, scans, options in asked:
        own = Policy(scans, options.shed, options.quality, options.priority)
        if (known := found.get(signature)) is not None:
            strictest = min(known.shed, own.shed, key=get_args(Shed).index)
            own = Policy(scans, strictest, max(known.floor, own.floor), max(known.priority, own.priority))
        found[signature] = own
    return found


def interval_of(trigger: int | None, tau: int | None, once: bool) -> float | None:
    """Seconds in which a batch is to be done, from the trigger or ``tau`` (microseconds); None: nothing is shed, a run
    over what is there now has the time that it takes. Raises ConfigError where neither is given."""
    if once:
        return None
    if trigger is None and tau is None:
        raise ConfigError(
            'a query may shed, but nothing says how long a batch may take: give session.start(trigger="10 '
            'seconds") or Session(tau=...), or shed="never"'
        )
    return min(x for x in (trigger, tau) if x is not None) / SECOND


@dataclass(frozen=True)
class Traffic:
    """What a batch brought: by signature ``rows`` of the query's streams and ``results``, by stream ``rates``, its
    rows; kept as rows and results a second (results: were nothing left out). ``seconds``: by signature, what its
    operators took, of shared ones a part."""

    rows: Mapping[str, int] = field(default_factory=dict)
    rates: Mapping[str, float] = field(default_factory=dict)
    results: Mapping[str, float] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)


SMALLEST = 1 / 32
"""Fraction of a join's work below which rows are dropped, too: taking a row in costs something, whatever it meets."""


@dataclass(frozen=True)
class HarvestedJoin:
    """A join that only queries use which let it harvest: how many ``inputs`` it has, and their signatures."""

    inputs: int
    users: tuple[str, ...]


def harvested_joins(spec: PipelineSpec, policies: Mapping[str, Policy]) -> dict[str, HarvestedJoin]:
    """By id, the joins whose windows may be read in part."""
    found = {}
    for number, v in enumerate(spec.graph.vertices):
        users = tuple(spec.signatures[q] for q in sorted(spec.graph.used_by[number]))
        if all(policies[u].shed == "harvest" for u in users) and (inputs := harvestable(spec.graph, number)):
            found[v.id] = HarvestedJoin(inputs, users)
    return found


def count_harvest(into: dict[str, int], vertex: str, counts: Counts) -> None:
    """Note in a report what parts of windows gave to a join."""
    for (i, j, part), numbers in counts.items():
        for which, number in enumerate(numbers):
            name = f"{_HARVEST} {vertex} {i} {j} {part} {which}"
            into[name] = into.get(name, 0) + number


def harvest_counts(reports: Iterable[Mapping[str, Mapping[str, int]]]) -> dict[str, Counts]:
    """By id of the join, what all tasks noted."""
    found: dict[str, dict[tuple[int, int, int], list[int]]] = {}
    for values in (v for report in reports for v in report.values()):
        for name, number in values.items():
            if name.startswith(f"{_HARVEST} "):
                _, vertex, i, j, part, which = name.split()
                found.setdefault(vertex, {}).setdefault((int(i), int(j), int(part)), [0, 0, 0, 0])[int(which)] += number
    return {v: {key: (n[0], n[1], n[2], n[3]) for key, n in counts.items()} for v, counts in found.items()}


_HARVEST = "harvest"
"""First word of these names in a report."""


WINDOWS_TOO = 1.5
"""Power of the share of rows that the work of a join is taken for: more than the share, since its windows get thinner,
and less than its square, since that takes as long as they are."""


TELLING = 1 / 32
"""Fraction of a query's work from which what it takes says what all of it would."""

COARSE = 0.5
"""Part of a window beyond which what waits for a batch (as long as the last one took) is too much for harvesting."""

EXPLORING = 0.25
"""Share of a join's work that goes into parts of its windows which are read to know what they would give."""


def exploring_every(fraction: float) -> int:
    """In every how many batches a part that is not chosen is read, where this fraction of the work can be done."""
    return max(1, math.ceil(1 / (PARTS * EXPLORING * fraction)))


@dataclass
class Admitted:
    """What share of the rows in its windows a query has admitted: ``past``, of batches, (seconds, share by stream),
    newest last."""

    scans: tuple[Scanned, ...]
    past: list[tuple[float, Mapping[str, float]]] = field(default_factory=list)

    def add(self, period: float, shares: Mapping[str, float]) -> None:
        """A batch of rows that came over ``period`` seconds."""
        self.past.append((period, shares))
        while len(self.past) > 1 and sum(p for p, _ in self.past[1:]) >= self._longest:
            del self.past[0]

    @property
    def _longest(self) -> float:
        return max((s.span or 0.0 for s in self.scans), default=0.0)

    def held(self, scan: Scanned, own: Mapping[str, float], period: float) -> float:
        """The share of the rows in a window, after a batch that admits its ``own``."""
        if not scan.span:
            return own.get(scan.stream, 1.0)
        left, total = scan.span, 0.0
        for seconds, then in ((period, own), *reversed(self.past)):
            part = min(left, seconds)
            total += part * then.get(scan.stream, 1.0)
            left -= part
        return (total + left) / scan.span

    def answer(self, own: Mapping[str, float], period: float) -> float:
        """The share of the results of a batch: each has a new row, and others from the windows; averaged over which
        stream the new one is of."""
        windows = [self.held(s, own, period) for s in self.scans]
        each = [
            own.get(s.stream, 1.0) * prod(w for j, w in enumerate(windows) if j != i) for i, s in enumerate(self.scans)
        ]
        return sum(each) / len(each) if each else 1.0


@dataclass
class Overload:
    """The driver's side of one run. ``pace``: None where nothing may be shed; ``joins``: by id, those that harvest;
    ``scaled``: signatures of queries whose values are scaled, whose results are as many whatever is left out."""

    store: str
    policies: Mapping[str, Policy]
    pace: Pace | None
    joins: Mapping[str, HarvestedJoin] = field(default_factory=dict)
    scaled: frozenset[str] = frozenset()
    learned: dict[str, Learned] = field(default_factory=dict)
    current: Decision = field(default_factory=Decision)
    _measured: Traffic = field(default_factory=Traffic)
    _admitted: dict[str, Admitted] = field(default_factory=dict)
    _harvests: dict[str, float] = field(default_factory=dict)
    _given: dict[str, Given] = field(default_factory=dict)
    _each: dict[str, float] = field(default_factory=dict)
    _before: float | None = None
    _took: float = 0.0

    def resume(self, next_batch: int) -> None:
        """Go on with the pace that the last batch left."""
        if self.pace is not None and (last := newest_decision(self.store, next_batch)) is not None and last.pace:
            known = Pace.of_json(last.pace)
            self.pace = Pace(self.pace.interval, known.fraction, known.sustained, first=known.fraction)

    def decide(self, batch: int) -> None:
        """Before the tasks of a batch run: what was decided for it already, else by what was measured so far."""
        kept = read_decision(self.store, batch)
        self._given = {}
        if kept is None:
            kept = Decision() if self.pace is None else self._decided(batch, self.pace)
            write_decision(self.store, batch, kept)
        self.current = kept

    def _decided(self, batch: int, pace: Pace) -> Decision:
        fractions = self._fractions(pace.fraction)
        harvesting = {u for join in self.joins.values() for u in join.users if not self._coarse(u)}
        admitted: dict[str, dict[str, float]] = {}
        answers, dropping = dict.fromkeys(self.policies, 1.0), dict.fromkeys(self.policies, 1.0)
        for signature, policy in self.policies.items():
            if policy.sheds:  # one whose joins are others', too, can only drop
                part = fractions[signature] / (SMALLEST if signature in harvesting else 1.0)
                dropping[signature] = min(1.0, part)
                floor = 0.0 if signature in harvesting else policy.floor
                own = self._boxes(signature, dropping[signature], floor)
                admitted |= {signature: own} if min(own.values()) < 1 else {}
                kept = self._admitted.setdefault(signature, Admitted(policy.scans))
                answers[signature] = kept.answer(own, pace.interval)
        settings, explored = self._settings(batch, {u: fractions[u] if u in harvesting else 1.0 for u in fractions})
        done = dict[str, float]()
        for id, setting in settings.items():
            for user in self.joins[id].users:
                answers[user] *= setting.share
                done[user] = max(done.get(user, 0.0), setting.work)
        for user, work in done.items():  # what is really done may be less than there is time for, or more
            fractions[user] = work * dropping[user]
        harvest = {id: to_json(setting.parts) for id, setting in settings.items()}
        return Decision(admitted, pace.to_json(), harvest, explored, fractions, answers)

    def _coarse(self, signature: str) -> bool:
        """Whether the rows that wait span so much of a query's windows that these have no parts to choose from."""
        return self._took > COARSE * min((s.span for s in self.policies[signature].scans if s.span), default=inf)

    def _settings(self, batch: int, fractions: Mapping[str, float]) -> tuple[dict[str, Setting], int | None]:
        """By id of a join what it reads, and the part that is read beside."""
        found, explored = {}, None
        for id, join in self.joins.items():
            learned = self.learned.setdefault(id, Learned(join.inputs))
            fraction = max(SMALLEST, *(fractions[u] for u in join.users))
            if learned.knows and batch % exploring_every(fraction) == 0:
                explored = learned.longest_unseen
            setting = learned.setting(fraction, explored)
            found[id] = replace(setting, work=max(SMALLEST, setting.work))
            self._harvests |= dict.fromkeys(join.users, setting.share)
        return found, explored

    def _boxes(self, signature: str, share: float, floor: float) -> dict[str, float]:
        """The share of each stream that a query admits, so that about this share of its work is left."""
        policy = self.policies[signature]
        if share >= 1:
            return dict.fromkeys(policy.streams, 1.0)
        work = share if len(policy.streams) < 2 else share**WINDOWS_TOO
        results = self._measured.results.get(signature, 0.0)
        return stream_shares(policy.scans, self._measured.rates, results, work, floor)

    def _fractions(self, fraction: float) -> dict[str, float]:
        """How much of its work each query does."""
        work = self._work({s: self._measured.rows.get(s, 1) for s in self.policies})
        loads = [Load(work[s], p.sheds, p.floor, p.priority) for s, p in self.policies.items()]
        found = shares(fraction, loads) if fraction < 1 else (1.0,) * len(loads)
        return dict(zip(self.policies, found, strict=True))

    def _work(self, rows: Mapping[str, int]) -> dict[str, float]:
        """By signature what all of the work of a batch of so many rows is, by what a row took before: rows themselves
        where nothing is known."""
        usual = sum(self._each.values()) / len(self._each) if self._each else 1.0
        return {s: max(1, n) * self._each.get(s, usual) for s, n in rows.items()}

    def _note_work(self, traffic: Traffic) -> None:
        for s, seconds in traffic.seconds.items():
            part = self.current.fractions.get(s, 1.0)
            done = traffic.rows.get(s, 0) * part
            if seconds > 0 and done > 0 and part >= TELLING:
                own = seconds / done
                self._each[s] = KEEP * self._each.get(s, own) + (1 - KEEP) * own

    def answer(self, signature: str) -> float:
        """The share of a query's answer that the batch is estimated to give: by what was read of its windows once that
        is known, before by what was planned."""
        own = self.current.answers.get(signature)
        if own is None:  # decided otherwise: a result has a row of each scan
            own = prod(self.current.of(signature).get(s, 1.0) for s in self.policies[signature].streams)
        read, planned = self._given.get(signature), self._harvests.get(signature, 0.0)
        return min(1.0, own / planned * read.share) if read and read.there and planned else own

    def given(self, signature: str, results: int, rows: int = 0) -> Given:
        """The results of a batch, and how many it is estimated to have had, were nothing left out. Where values are
        scaled: the rows that they stand on, of the ``rows`` that came."""
        if signature in self.scaled:
            return Given(round(rows * self.answer(signature)), rows)
        read = self._given.get(signature)
        if not results:
            return Given(0, read.there, read.error) if read else Given()
        whole = results / max(self.answer(signature), LEAST)
        return Given(results, whole, whole * read.error / read.there if read and read.there else 0.0)

    def done(self, batch: int, began: float, ended: float, traffic: Traffic, counted: Mapping[str, Counts]) -> None:
        """After a batch: when it began and ended (seconds), what came and what came out, and what parts of windows
        gave."""
        for id, counts in counted.items():
            if id in self.joins:
                learned = self.learned.setdefault(id, Learned(self.joins[id].inputs))
                learned.add(counts)
                if learned.inputs == 2:
                    self._given |= dict.fromkeys(self.joins[id].users, learned.given(counts))
        before, self._before, self._took = self._before, began, ended - began
        if self.pace is None:
            return
        rows = traffic.rows
        work = self._work(rows)
        kept = sum(w * self.current.fractions.get(s, 1.0) for s, w in work.items()) / max(sum(work.values()), 1e-12)
        if self.pace.batches >= self.pace.warm:
            self._note_work(traffic)
        period = self.pace.interval if before is None else began - before
        full = {s: self.given(s, int(n)).there / period for s, n in traffic.results.items()}
        self._measured = Traffic(rows, {s: n / period for s, n in traffic.rates.items()}, full)
        for signature, past in self._admitted.items():
            past.add(period, self.current.of(signature))
        was = self.pace.fraction
        self.pace = self.pace.after(Measured(sum(rows.values()), period, kept, ended - began))
        if self.pace.fraction < 1 <= was:
            log.warning(
                "batch %d took %.1f s of %.1f: from now on a part of the input is left out (%.1f %% kept)",
                batch, ended - began, self.pace.interval, 100 * self.pace.fraction,
            )  # fmt: skip
        elif was < 1 <= self.pace.fraction:
            log.warning("batch %d: all input is taken in again from now on", batch)
