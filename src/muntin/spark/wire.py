"""Letters: how rows, headers and progress travel through Spark's exchanges, packed as Arrow IPC blobs.

A letter is one row of a Spark DataFrame. ``slot`` decides the partition it goes to, ``kind`` what its blob holds; the
other columns address it. Blobs are padded to 8 bytes so that decoded columns are aligned.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.core.time import FOREVER
from muntin.core.watermark import Header
from muntin.engine.clocks import Times

HEADER, ROWS, TIMES, RESULT, LATE, COUNTS = range(6)

BLOB_BYTES = 16 << 20
"""A blob is cut at about this size."""

BATCH_BYTES = 32 << 20
"""Letters are handed to Spark in Arrow batches of about this size."""

LETTERS = pa.schema(
    [
        ("slot", pa.int32()),
        ("kind", pa.int32()),
        ("level", pa.int32()),
        ("target", pa.int32()),
        ("shard", pa.int32()),
        ("source", pa.int32()),
        ("part", pa.int32()),
        ("seq", pa.int32()),
        ("min_ts", pa.int64()),
        ("blob", pa.binary()),
    ]
)

LETTERS_DDL = (
    "slot INT, kind INT, level INT, target INT, shard INT, source INT, part INT, seq INT, "
    "min_ts BIGINT, blob BINARY"
)


@dataclass(frozen=True)
class Letter:
    """One addressed blob.

    ``level``: the level it is for (ROWS: the deepest level that needs them). ``target``: a channel's number (ROWS), a
    query's (RESULT), or which of ``counts.OBSERVED`` it is (COUNTS; ``min_ts`` is then the number itself). ``source``:
    the stream (HEADER, LATE). ``part`` and ``seq`` put letters of one target into their
    canonical order: source partition or sending shard, then position. ``min_ts``: smallest event time inside.
    """

    slot: int
    kind: int
    blob: Any
    level: int = 0
    target: int = -1
    shard: int = -1
    source: int = -1
    part: int = -1
    seq: int = 0
    min_ts: int = FOREVER


def encode(rows: pa.RecordBatch) -> pa.Buffer:
    """The rows without their schema, which the reader knows."""
    return rows.serialize()


def decode(blob: Any, schema: pa.Schema) -> pa.RecordBatch:
    """The rows of a blob, without copying."""
    return pa.ipc.read_record_batch(pa.py_buffer(blob), schema)


def cut(rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The rows in pieces of at most about ``BLOB_BYTES``."""
    pieces = max(1, -(-rows.nbytes // BLOB_BYTES)) if rows.num_rows > 1 else 1
    step = max(1, -(-rows.num_rows // pieces))
    for start in range(0, rows.num_rows, step):
        yield rows.slice(start, step)


def _text(value: dict[str, Any]) -> bytes:
    raw = json.dumps(value).encode()
    return raw + b" " * (-len(raw) % 8)


def header_blob(header: Header, now: int) -> bytes:
    """A header as a blob; ``now``: the processing time of its batch."""
    return _text({**asdict(header), "now": now})


def read_header(blob: Any) -> tuple[Header, int]:
    """A header and the processing time of its batch."""
    value = json.loads(bytes(blob))
    now = value.pop("now")
    return Header(**{**value, "late_by_query": tuple(value["late_by_query"])}), now


def times_blob(times: Times, now: int) -> bytes:
    """A shard's times as a blob; ``now``: the processing time of its batch."""
    return _text({**asdict(times), "now": now})


def read_times(blob: Any) -> tuple[Times, int]:
    """A shard's times and the processing time of its batch."""
    value = json.loads(bytes(blob))
    befores, watermarks, lows, ends, deferred = (
        tuple(value[k]) for k in ("befores", "watermarks", "lows", "ends", "deferred")
    )
    behind = {int(query): before for query, before in value["behind"].items()}
    shown = {int(query): instant for query, instant in value["shown"].items()}
    return Times(befores, watermarks, lows, ends, deferred, behind, shown), value["now"]


def to_batches(letters: Iterable[Letter]) -> Iterator[pa.RecordBatch]:
    """Letters as Arrow batches for Spark, each of bounded size."""
    held: list[Letter] = []
    size = 0
    for letter in letters:
        held.append(letter)
        size += len(letter.blob)
        if size >= BATCH_BYTES or len(held) >= 4096:
            yield _batch(held)
            held, size = [], 0
    if held:
        yield _batch(held)


def _batch(letters: list[Letter]) -> pa.RecordBatch:
    ends = np.zeros(len(letters) + 1, np.int32)
    np.cumsum([len(x.blob) for x in letters], out=ends[1:])
    data = pa.allocate_buffer(int(ends[-1]))
    whole = memoryview(data).cast("B")
    for letter, start, end in zip(letters, ends, ends[1:], strict=False):
        whole[start:end] = memoryview(letter.blob).cast("B")
    blobs = pa.Array.from_buffers(pa.binary(), len(letters), [None, pa.py_buffer(ends), data])
    columns = [pa.array([getattr(x, f.name) for x in letters], f.type) for f in LETTERS if f.name != "blob"]
    return pa.RecordBatch.from_arrays([*columns, blobs], schema=LETTERS)


def from_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[Letter]:
    """Letters out of Arrow batches; blobs stay views of the batch."""
    for batch in batches:
        plain = [batch.column(f.name).to_pylist() for f in LETTERS if f.name != "blob"]
        names = [f.name for f in LETTERS if f.name != "blob"]
        blobs = batch.column("blob")
        for i, values in enumerate(zip(*plain, strict=True)):
            yield Letter(blob=blobs[i].as_buffer(), **dict(zip(names, values, strict=True)))
