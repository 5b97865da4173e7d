"""``muntin state``: what a checkpoint holds, as tables or as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from muntin.cli.show import as_table, console
from muntin.core.time import instant_text
from muntin.spark.inspect import CheckpointState


def show_state(found: CheckpointState, form: str) -> None:
    """Write it to standard output."""
    if form == "json":
        print(json.dumps(asdict(found), indent=1, default=str))
        return
    out = console()
    held = "nothing yet" if found.version is None else f"batch {found.version}"
    out.print(f"checkpoint {found.path}: holds {held}, planned up to batch {found.planned}, by muntin {found.release}")
    queries = [_query(n, q) for n, q in found.queries.items()]
    out.print(as_table(pa.Table.from_pylist(queries), "Queries"))
    vertices = [_vertex(v) for v in asdict(found)["vertices"]]
    if vertices:
        out.print(as_table(pa.Table.from_pylist(vertices), "Vertices with state"))
    streams = [{"stream": n, "newest": c["top_ts"], "rows by": c["max_ts"]} for n, c in found.clocks.items()]
    if streams:
        out.print(as_table(pa.Table.from_pylist(streams), "Clocks (microseconds of event time, shard 0)"))


def _query(name: str, query: Any) -> dict[str, Any]:
    options = ", ".join(f"{k}={v}" for k, v in query["options"].items() if v != _DEFAULTS.get(k))
    return {
        "query": name, "root": query["root"][:8], "windows since batch": query["since"],
        "started at (UTC)": _when(query["at"]), "without rows before": _when(query["watermark"]), "options": options,
        "text": " ".join(query["text"].split()),
    }  # fmt: skip


def _when(us: int | None) -> str:
    return "-" if us is None else instant_text(us)


_DEFAULTS = {
    "bounds": "half_open", "origin": 0, "granule": 1, "exp": False, "strategy": "upa", "skew": "keep",
    "shed": "never", "quality": 0.0, "priority": 0,
}  # fmt: skip


def _vertex(v: dict[str, Any]) -> dict[str, Any]:
    return {
        "vertex": v["id"][:8], "queries": ", ".join(v["queries"]), "level": v["level"], "since batch": v["since"],
        "shards": v["shards"], "rows": v["rows"], "bytes": v["bytes"], "what": v["words"],
    }  # fmt: skip
