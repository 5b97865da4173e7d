"""The product's archive under the clock of a figure: which sub-indices each update touches, and what it moves."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.archive import Archive, Layout, create

SCHEMA = pa.schema([("key", pa.int64()), ("ts", pa.int64()), ("exp", pa.int64()), ("payload", pa.binary())])


@dataclass(frozen=True)
class Update:
    """What the archive says of an update: ``at``, sub-indices touched, bytes read and written, rows."""

    at: int
    touched: tuple[str, ...]
    moved: int
    inserted: int
    expired: int


def archive_of(folder: str, layout: Layout, every: int, span: int) -> Archive:
    """An archive of records with a key, a time and an expiry."""
    return create(folder, SCHEMA, key="key", every=every, span=span, layout=layout, block_rows=500)


def rows_of(key: Sequence[int], time: Sequence[int], exp: Sequence[int], payload: int = 0, seed: int = 0) -> pa.Table:
    """Records; ``payload``: bytes of each that nothing compresses."""
    data = np.random.default_rng(seed).bytes(payload * len(key))
    load = [data[i * payload : (i + 1) * payload] for i in range(len(key))]
    return pa.table([key, time, exp, pa.array(load, pa.binary())], schema=SCHEMA)


def told(archive: Archive) -> Update:
    """Its last update."""
    last: dict[str, Any] = dict(archive.manifest.last)
    return Update(last["at"], tuple(last["touched"]), last["read"] + last["written"], last["inserted"], last["expired"])


def updates(layout: Layout, every: int, span: int, upto: int, lifetimes: str = "all") -> list[Update]:
    """Updates of an archive into which one record a lifetime comes each unit of time (``all``: of every lifetime up to
    ``span``; ``equal``: of the longest alone): the first builds it of a whole span, the last is at ``upto``."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        archive = archive_of(f"{folder}/a", layout, every, span)
        for at in (span, *range(span + every, upto + 1, every)):
            lives = range(1, span + 1) if lifetimes == "all" else (span,)
            since = 0 if at == span else at - every
            rows = [(t + n, t, t + n) for t in range(since + 1, at + 1) for n in lives]
            archive.write(rows_of(*zip(*rows, strict=True)), now=at)  # type: ignore[arg-type]
            found.append(told(archive))
    return found


def steady(layout: Layout, every: int, span: int, upto: int, lifetimes: str = "all") -> list[Update]:
    """Those after the first."""
    return updates(layout, every, span, upto, lifetimes)[1:]
