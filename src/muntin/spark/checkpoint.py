"""Does a checkpoint fit the pipeline that is about to continue it? Checked on the driver, before anything starts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from muntin.core.errors import ConfigError, StoreError
from muntin.plan.catalog import Stream
from muntin.spark import files

FORMAT = 2
"""1 named state by a query's plan; 2 names it by vertex (``dataflow.durable``)."""
RECORD = "muntin.json"


@dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint directory says: Spark's query id, the last batch planned and committed, and our own record."""

    path: str
    query_id: str | None
    planned: int
    committed: int
    record: Mapping[str, Any] | None

    @property
    def next_batch(self) -> int:
        """The batch that a restart runs first: the one after the last committed, planned already or not."""
        return self.planned if self.planned > self.committed else self.committed + 1

    @property
    def store(self) -> str:
        return files.join(self.path, "panes")


def read_checkpoint(path: str) -> Checkpoint:
    """Read a checkpoint directory, which may not exist yet.

    Raises StoreError when its record is unreadable or newer.
    """
    path = files.absolute(path)
    progress = progress_of(path)
    raw = files.read(files.join(path, RECORD))
    record = None if raw is None else _decoded(path, raw)
    return Checkpoint(path, progress.query_id, progress.planned, progress.committed, record)


def _decoded(path: str, raw: bytes) -> dict[str, Any]:
    where = files.join(path, RECORD)
    try:
        record = json.loads(raw)
        found = record.get("format")
    except (ValueError, AttributeError) as e:
        raise StoreError(f"{where} is damaged ({e}); restore the checkpoint or start a new one") from e
    if found != FORMAT:
        raise StoreError(
            f"checkpoint {path} has format {found}, this version of Muntin reads {FORMAT}; "
            "use the version that wrote it, or start a new checkpoint"
        )
    if record.pop("checksum", None) != _checksum(record):
        raise StoreError(
            f"{where} fails its checksum: it was edited or damaged, and the state on disk is read by what it says; "
            "restore it or start a new checkpoint"
        )
    return dict(record)


def _checksum(record: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _last(path: str, log: str) -> int:
    return max(_numbers(path, log), default=-1)


def _numbers(path: str, log: str) -> list[int]:
    return [int(n) for n in files.names(files.join(path, log)) if n.isdigit()]


@dataclass(frozen=True)
class Progress:
    """How far a checkpoint of any streaming query has come: Spark's query id, the last batches planned and committed
    (-1: none)."""

    path: str
    query_id: str | None
    planned: int
    committed: int


def progress_of(path: str) -> Progress:
    """Read Spark's own part of a checkpoint directory, which may not exist yet."""
    path = files.absolute(path)
    raw = files.read(files.join(path, "metadata"))
    query_id = None if raw is None else _query_id(path, raw)
    return Progress(path, query_id, _last(path, "offsets"), _last(path, "commits"))


def _query_id(path: str, raw: bytes) -> str:
    try:
        found = json.loads(raw)["id"]
        if isinstance(found, str):
            return found
        reason = f"its id is {found!r}"
    except (ValueError, TypeError, KeyError) as e:
        reason = f"{type(e).__name__}: {e}"
    raise StoreError(
        f"{files.join(path, 'metadata')} is damaged ({reason}); restore the checkpoint or start a new one"
    )


def rewind(found: Progress, batch: int) -> None:
    """Let Spark repeat every batch after ``batch`` (-1: all), the first of them over the same offsets.

    Raises StoreError, before anything is deleted, where Spark no longer keeps what it needs for that.
    """
    wanted = {n for n in (batch, batch + 1) if n >= 0}
    missing = wanted.difference(_numbers(found.path, "offsets"))
    if missing or (batch >= 0 and batch not in _numbers(found.path, "commits")):
        raise StoreError(
            f"the state of batches {batch + 1} to {found.committed} is not in the pane store, and checkpoint "
            f"{found.path} no longer says what batch {batch + 1} had read; restore both from a backup, or start with a "
            "new checkpoint"
        )
    for log, keep in (("offsets", batch + 1), ("commits", batch)):  # the last commit goes last: a crash is mended too
        for number in sorted(_numbers(found.path, log), reverse=log == "offsets"):
            if number > keep:
                for name in (str(number), f".{number}.crc"):
                    files.delete(files.join(found.path, log, name))


def stream_record(stream: Stream) -> dict[str, Any]:
    """What of a stream must not change while a checkpoint lives."""
    return {
        "name": stream.name,
        "schema": [[f.name, str(f.type)] for f in stream.schema],
        "ts": stream.ts,
        "ts_unit": stream.ts_unit,
        "slack": stream.slack,
        "idle_after": stream.idle_after,
        "max_jump": stream.max_jump,
        "on_bad_time": stream.on_bad_time,
        "order_by": stream.order_by,
        "order": stream.order,
    }


def check(found: Checkpoint, streams: Sequence[Stream], shards: int, named_sources: bool) -> None:
    """Compare a checkpoint with the pipeline; ``named_sources``: Spark tells sources by name, so their set may change.

    Raises:
        ConfigError: other sources, another schema or option of a stream, another number of shards.
        StoreError: the checkpoint is not Muntin's.
    """
    if found.query_id is None:
        return  # nothing has run yet
    if found.record is None:
        raise StoreError(
            f"checkpoint {found.path} was not written by session.start (it has no {RECORD}); give another directory"
        )
    if found.record["shards"] != shards:
        raise ConfigError(
            f"checkpoint {found.path} was made with {found.record['shards']} shards, this session has {shards}; "
            f"use Session(..., shards={found.record['shards']}), or start a new checkpoint"
        )
    before = {s["name"]: s for s in found.record["streams"]}
    now = {s.name: stream_record(s) for s in streams}
    if list(before) != list(now) and not named_sources:
        raise ConfigError(
            f"checkpoint {found.path} reads the streams {', '.join(before)} in this order, this session registers "
            f"{', '.join(now)}; Spark tells unnamed sources by position, so register the same ones, name them all "
            "(from Spark 4.2 on: spark.readStream.name(...) with "
            "spark.sql.streaming.queryEvolution.enableSourceEvolution=true from the first run), or start a new "
            "checkpoint"
        )
    for name in before.keys() & now.keys():
        _same_stream(found.path, before[name], now[name])


def _same_stream(path: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    if before["schema"] != now["schema"]:
        old, new = (dict(s["schema"]) for s in (before, now))
        changes = [f"{n} is gone" for n in old if n not in new] + [f"{n} is new" for n in new if n not in old]
        changes += [f"{n} was {old[n]} and is {new[n]}" for n in old if n in new and old[n] != new[n]]
        raise ConfigError(
            f"stream {now['name']!r}: its schema changed since checkpoint {path} "
            f"({'; '.join(changes) or 'order of columns'}); register it with the old schema, or start a new checkpoint"
        )
    for key, value in now.items():
        if before.get(key) != value:
            raise ConfigError(
                f"stream {now['name']!r}: {key} was {before.get(key)!r} at checkpoint {path} and is {value!r}; the "
                "state on disk depends on it, so keep the old value or start a new checkpoint"
            )


def write_record(found: Checkpoint, streams: Sequence[Stream], shards: int) -> None:
    """Remember streams and shards, atomically, under a checksum."""
    record = {
        "format": FORMAT,
        "shards": shards,
        "streams": [stream_record(s) for s in streams],
    }
    record["checksum"] = _checksum(record)
    files.make_dirs(found.path)
    files.write_atomically(files.join(found.path, RECORD), json.dumps(record, indent=1).encode())
