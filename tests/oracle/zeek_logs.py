"""Zeek logs as tables, joins of them by connection in DuckDB, and which of their rows come too late."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

SECOND = 1_000_000
FOLDER = Path("data") / "zeek-wrccdc-2018"
LABELS = {"ssl": "version", "analyzer": "analyzer_name", "weird": "name"}
"""By log the field that is joined along as ``label``."""
Logs = Mapping[str, pa.Table]


def zeek_fields(path: Path, names: Sequence[str]) -> list[list[str | None]]:
    """The fields of a Zeek log by these names, in the order of its lines; None where a line has none."""
    with gzip.open(path, "rt", encoding="utf-8") as f:
        lines = [line.rstrip("\n").split("\t") for line in f]
    fields = next(line[1:] for line in lines if line[0] == "#fields")
    rows = [line for line in lines if not line[0].startswith("#")]
    return [[None if r[at] == "-" else r[at] for r in rows] for at in map(fields.index, names)]


def microseconds(times: Sequence[str | None]) -> pa.Array:
    """Zeek's seconds with a fraction as instants."""
    exact = np.array([round(float(t or "nan") * SECOND) for t in times], np.int64)
    return pa.array(exact).cast(pa.timestamp("us", "UTC"))


def connections(shared: Path, most: int | None = None) -> dict[str, pa.Table]:
    """ts, uid (the connection; NULL in a few lines of weird) and label of the three logs; the first ``most`` lines."""
    found = {}
    for name, label in LABELS.items():
        ts, uid, text = zeek_fields(shared / FOLDER / f"{name}.log.gz", ("ts", "uid", label))
        table = pa.table({"ts": microseconds(ts), "uid": uid, "label": text})
        found[name] = table if most is None else table.slice(0, most)
    return found


def times(table: pa.Table) -> np.ndarray:
    """Event times in microseconds."""
    return table["ts"].cast(pa.int64()).to_numpy()


def disorder(table: pa.Table) -> int:
    """The most that a row is behind the latest event time before it, in microseconds."""
    ts = times(table)
    return int((np.maximum.accumulate(ts) - ts).max())


def pieces(logs: Logs, cuts: Mapping[str, Sequence[int]]) -> list[dict[str, pa.Table]]:
    """The logs as batches: each log cut at its places (as many for each)."""
    parts = {
        name: [log.slice(low, high - low) for low, high in zip((0, *cuts[name]), (*cuts[name], len(log)), strict=True)]
        for name, log in logs.items()
    }
    return [dict(zip(parts, batch, strict=True)) for batch in zip(*parts.values(), strict=True)]


def on_time(batches: Sequence[Logs], slack: Mapping[str, int]) -> tuple[dict[str, pa.Table], int]:
    """The rows that are not before the watermark of the batches before theirs, and how many are: those that have a
    connection, since WHERE drops the others first."""
    newest: dict[str, int] = {}
    kept: dict[str, list[pa.Table]] = {name: [] for name in slack}
    late, watermark = 0, -(2**62)
    for batch in batches:
        for name, table in batch.items():
            fits = times(table) >= watermark
            kept[name].append(table.filter(pa.array(fits)))
            late += int((~fits & table["uid"].is_valid().to_numpy()).sum())
            newest[name] = max([newest.get(name, -(2**62)), *times(table).tolist()])
        if len(newest) == len(slack):
            watermark = max(watermark, min(newest[n] - slack[n] for n in slack))
    return {name: pa.concat_tables(parts) for name, parts in kept.items()}, late


class Triples:
    """``ssl``, ``analyzer`` and ``weird`` joined by connection in DuckDB, over windows of so many microseconds."""

    def __init__(self, logs: Logs, lengths: Mapping[str, int]) -> None:
        self.db = duckdb.connect(":memory:", config={"threads": 1})
        self.lengths = lengths
        for name, log in logs.items():
            plain = log.set_column(0, "ts", log["ts"].cast(pa.int64()))
            self.db.register(f"arrow_{name}", plain)
            self.db.execute(f"CREATE TABLE {name} AS SELECT * FROM arrow_{name}")

    def changes(self) -> Counter[tuple[object, ...]]:
        """(instant, '+' or '-', uid, labels) by how often: a triple is there from its last row's time until its first
        row's window has passed; equal rows that come and go at one instant cancel."""
        ends = ", ".join(f"{n}.ts + {length}" for n, length in self.lengths.items())
        starts = ", ".join(f"{n}.ts" for n in self.lengths)
        found = self.db.execute(
            f"WITH triple AS (SELECT greatest({starts}) AS came, least({ends}) AS went, uid, ssl.label AS x, "
            "analyzer.label AS y, weird.label AS z FROM ssl JOIN analyzer USING (uid) JOIN weird USING (uid)), "
            "moves AS (SELECT came AS t, 1 AS n, uid, x, y, z FROM triple WHERE came < went "
            "UNION ALL SELECT went, -1, uid, x, y, z FROM triple WHERE came < went) "
            "SELECT t, SUM(n), uid, x, y, z FROM moves GROUP BY t, uid, x, y, z HAVING SUM(n) <> 0"
        ).fetchall()
        return Counter({(t, "+" if n > 0 else "-", *row): abs(n) for t, n, *row in found})

    def at(self, t: int) -> Counter[tuple[object, ...]]:
        """The answer at an instant from what the windows hold then."""
        windows = {n: f"(SELECT * FROM {n} WHERE ts > {t - d} AND ts <= {t}) AS {n}" for n, d in self.lengths.items()}
        return Counter(
            self.db.execute(
                f"SELECT ssl.uid, ssl.label, analyzer.label, weird.label FROM {', '.join(windows.values())} "
                "WHERE ssl.uid = analyzer.uid AND analyzer.uid = weird.uid"
            ).fetchall()
        )
