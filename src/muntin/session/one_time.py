"""One-time queries against a checkpoint, from any process, while its pipeline goes on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, get_args

from muntin.core.errors import ConfigError
from muntin.core.time import instant_text
from muntin.cql.held_names import held_tables
from muntin.cql.user_functions import with_functions
from muntin.dataflow.durable import DurablePlan, newest_before
from muntin.dataflow.history import kept_rows
from muntin.local.contents import Running
from muntin.local.one_time import Isolation, OneTimeAnswer, Pause, held_catalog, one_time, one_time_of
from muntin.local.pane_reads import Versions
from muntin.plan.catalog import Catalog
from muntin.plan.user_functions import ScalarFunction
from muntin.plan.windows import QueryOptions
from muntin.session.engines import Answer, Engine, by_duckdb, by_spark, quoting
from muntin.spark import files
from muntin.spark.checkpoint import Checkpoint, read_checkpoint
from muntin.spark.durable_file import read_plans
from muntin.spark.query_turn import SOON, SOON_SERIAL, QueryTurn
from muntin.spark.readers import holding
from muntin.spark.snapshots import reading_anew, snapshot_of
from muntin.state.snapshots import CollectedError, Snapshot

_NO_BATCH = "is no checkpoint of Muntin in which a batch has been committed"


def ask_checkpoint(
    path: str,
    text: str,
    options: QueryOptions | None = None,
    isolation: Isolation = "window",
    engine: Engine = "muntin",
    spark: Any = None,
    functions: Sequence[ScalarFunction] = (),
) -> OneTimeAnswer:
    """The answer to a query over the windows that a checkpoint holds: as of its last committed batch when it was asked
    (isolation ``window``) or when it had been read (``latest``), or with none committed until it answers (``serial``:
    the run waits before its next commit, for ``spark.readers.HOLD_SECONDS`` at most).

    ``engine``: whose SQL the text is, but for the windows; ``spark``: the session that answers under ``"spark"``.
    ``functions``: users' scalar functions that the text (of engine ``"muntin"``) and the running queries may call.

    Needs no JVM of its own; writes nothing and blocks nobody but under ``serial``. On the machine of the run it lets
    batches pass, and waits while enough others ask, for ``query_turn.WAIT_SECONDS`` in all at most. Raises as
    ``local.one_time.one_time`` does, ConfigError where there is no checkpoint, and CollectedError where a run overtakes
    every attempt.
    """
    if isolation not in get_args(Isolation):
        raise ConfigError(f"isolation is one of {', '.join(get_args(Isolation))}, not {isolation!r}")
    if engine not in get_args(Engine):
        raise ConfigError(f"engine is one of {', '.join(get_args(Engine))}, not {engine!r}")
    if engine == "spark" and spark is None:
        raise ConfigError('engine "spark" needs a Spark session: session.snapshot(text, engine="spark")')

    def pause() -> None:
        if isolation != "serial":  # a batch waits for that one
            turn.let_pass()

    def answer(found: Checkpoint, plans: Sequence[DurablePlan]) -> OneTimeAnswer:
        ran = newest_before(plans, found.next_batch)
        if found.query_id is None or ran is None:
            raise ConfigError(f"{path} {_NO_BATCH}")
        with holding(found.path) if isolation == "serial" else nullcontext():
            versions = _Versions(found, plans, ran)
            if engine == "muntin":
                told = one_time(text, ran, versions, options, isolation, pause, functions)
            else:
                by = by_spark(spark) if spark else by_duckdb
                told = _by_another(text, ran, versions, isolation, engine, by, pause, functions)
        return replace(told, committed=_committed(found.path, told.batch), waited=turn.waited)

    with QueryTurn(path) as turn:
        turn.begin(SOON_SERIAL if isolation == "serial" else SOON)
        return reading_anew(path, answer)


def _by_another(
    text: str,
    plan: DurablePlan,
    versions: Versions,
    isolation: Isolation,
    engine: Engine,
    answer: Answer,
    pause: Pause = lambda: None,
    functions: Sequence[ScalarFunction] = (),
) -> OneTimeAnswer:
    """The answer of another engine over the windows and queries that its text names, all of one state."""
    catalog = held_catalog(plan, kept_rows(plan), Running.of(plan))
    names = [s.name for s in catalog.streams] + [t.name for t in catalog.tables]
    asked, tables = held_tables(text, names, quoting(engine))
    if not tables:
        raise ConfigError(f"the query reads nothing of what the pipeline holds: {', '.join(names)}")

    def finish(found: Sequence[OneTimeAnswer]) -> OneTimeAnswer:
        rows = answer(asked, {t.name: f.rows for t, f in zip(tables, found, strict=True)})
        latest = max(found, key=lambda f: f.at)
        notes = [n for f in found for n in f.notes]
        for t, f in zip(tables, found, strict=True):
            if f.at != latest.at:
                notes.append(f"{t.query.removeprefix('SELECT * FROM ')} is as of {instant_text(f.at)}")
        return replace(latest, rows=rows, notes=tuple(dict.fromkeys(notes)))

    return one_time_of([t.query for t in tables], plan, versions, finish, None, isolation, pause, functions)


@dataclass
class _Versions:
    """The versions that a run of the plan ``ran`` commits, as a checkpoint has them by and by. ``found``, ``plans``:
    as they were read last."""

    found: Checkpoint
    plans: Sequence[DurablePlan]
    ran: DurablePlan
    last: int = -1
    """The last committed batch that is known of."""

    def newest(self) -> int:
        """The last committed batch. Cost: a look at two files."""
        last = max(self.last, self.found.next_batch - 1)
        while self._is_committed(last + 1):
            last += 1
        if last >= 0 and not self._is_committed(last):  # Spark lets go of all but the newest hundred
            last = read_checkpoint(self.found.path).next_batch - 1
        self.last = last
        return last

    def _is_committed(self, batch: int) -> bool:
        return files.is_file(files.join(self.found.path, "commits", str(batch)))

    def open(self, vertices: Collection[str]) -> Snapshot | None:
        """Some vertices after it. Raises CollectedError where other queries run by now."""
        if self.newest() != self.found.next_batch - 1:
            self.found, self.plans = read_checkpoint(self.found.path), read_plans(self.found.path)
            if newest_before(self.plans, self.found.next_batch) != self.ran:
                raise CollectedError("other queries run by now: what they hold is read anew")
        return snapshot_of(self.found, self.plans, vertices)


def checkpoint_catalog(path: str, functions: Sequence[ScalarFunction] = ()) -> Catalog:
    """The streams of which the windows of a checkpoint hold rows, with the columns that they hold, and its queries as
    tables; beside them users' functions. Raises ConfigError where there is no checkpoint."""

    def known(found: Checkpoint, plans: Sequence[DurablePlan]) -> Catalog:
        ran = newest_before(plans, found.next_batch)
        if found.query_id is None or ran is None:
            raise ConfigError(f"{path} {_NO_BATCH}")
        kept = kept_rows(ran)
        catalog = held_catalog(ran, kept, Running.of(ran))
        held = {k.stream for k in kept}
        catalog = replace(catalog, streams=tuple(s for s in catalog.streams if s.name in held))
        return with_functions(catalog, functions)

    return reading_anew(path, known)


def _committed(checkpoint: str, batch: int) -> float | None:
    """When Spark committed a batch, by the time of its file."""
    system, inside = files.resolve(files.join(checkpoint, "commits", str(batch)))
    info = system.get_file_info(inside)
    return None if info.mtime_ns is None else info.mtime_ns / 1e9
