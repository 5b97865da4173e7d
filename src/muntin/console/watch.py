"""A picture of a run as plain values: what the page, the history and ``/metrics`` show."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from muntin.console.watched import Standing, Watched
from muntin.dataflow.graph import Graph
from muntin.operators.source import Source

Picture = dict[str, Any]


_SUMMED = ("rows", "results", "late", "bad", "shed", "skipped")


@dataclass
class Totals:
    """Sums that metrics give by batch only, and what was seen before, for rates."""

    by_query: dict[str, dict[str, int]] = field(default_factory=dict)
    before: tuple[float, dict[str, float]] | None = None
    rates: dict[str, float] = field(default_factory=dict)

    def add(self, queries: Mapping[str, Any]) -> None:
        """Add a batch's numbers of each query."""
        for name, m in queries.items():
            mine = self.by_query.setdefault(name, dict.fromkeys(_SUMMED, 0))
            for key in mine:
                mine[key] += getattr(m, key)

    def rate(self, now: float, sums: dict[str, float]) -> dict[str, float]:
        """By name how much a sum has grown in a second since the last time; nothing the first time."""
        if self.before is not None and now > self.before[0]:
            at, old = self.before
            self.rates = {k: max(0.0, (v - old.get(k, 0)) / (now - at)) for k, v in sums.items()}
        self.before = (now, sums)
        return self.rates


class Watch:
    """Looks at a run batch by batch; ``clock``: seconds since 1970."""

    def __init__(self, run: Watched, clock: Callable[[], float] = time.time) -> None:
        self.run, self.clock = run, clock
        self.totals = Totals()
        self.counted = -1
        self.picture: Picture = {}
        self._plan: tuple[Any, str] | None = None
        self.look()

    def look(self) -> Picture:
        """The picture as of now. A batch is counted once, however often it is looked at."""
        m, standing = self.run.metrics(), self.run.standing
        state, error = self._state()
        now = self.clock()
        found: Picture = {
            "at": round(now * 1000),
            "plan": self._plan_id(standing),
            "state": state,
            "error": error,
            "queries": [_waiting(name, standing) for name in standing.sinks],
        }
        if m is not None:
            if m.batches > self.counted:
                self.totals.add(m.queries)
                self.totals.rate(now, _sums(m, self.totals))
                self.counted = m.batches
            found |= self._counted(m, standing)
        self.picture = found
        return found

    def _state(self) -> tuple[str, str | None]:
        """Whether it runs, and what ended it."""
        try:
            failure, active = self.run.exception, self.run.active
        except Exception:  # Spark is gone
            return "ended", None
        if failure is not None:
            return "failed", f"{type(failure).__name__}: {failure}"
        return ("runs" if active else "ended"), None

    def _plan_id(self, standing: Standing) -> str:
        if self._plan is None or self._plan[0] is not standing.graph:
            text = repr(([v.id for v in standing.graph.vertices], standing.graph.roots, standing.called))
            self._plan = (standing.graph, sha256(text.encode()).hexdigest()[:16])
        return self._plan[1]

    def _counted(self, m: Any, standing: Standing) -> Picture:
        rates = self.totals.rates
        streams = streams_of(standing.graph, m.vertices, rates)
        return {
            "batch": m.batch,
            "run": {
                **{k: getattr(m, k) for k in ("rows", "results", "late", "bad", "shed", "batches", "overdue", "lag",
                                              "watermark", "state_rows", "state_bytes")},
                "held_bytes": sum(c.state_bytes for c in m.vertices.values()),
                "row_rate": rates.get("rows"), "result_rate": rates.get("results"),
            },
            "queries": [self._query(n, q, m, standing, streams) for n, q in m.queries.items()],
            "streams": streams,
            "vertices": {id: _vertex(id, c, rates) for id, c in m.vertices.items()},
        }  # fmt: skip

    def _query(self, name: str, q: Any, m: Any, standing: Standing, streams: list[Picture]) -> Picture:
        """One query: sums since the console looks, the rest as of the last batch."""
        sums = self.totals.by_query[name]
        number = next((i for i, names in enumerate(standing.called) if name in names), None)
        graph = standing.graph
        mine = [v.id for v, users in zip(graph.vertices, graph.used_by, strict=True) if number in users]
        read = [s for s in streams if s["id"] in mine]
        behind = min((s for s in read if s["watermark"] is not None), key=lambda s: s["watermark"], default=None)
        return {
            **_waiting(name, standing), **sums, "lag": q.lag, "watermark": q.watermark,
            "lateness": q.lateness, "waited": q.waited,
            "shed_share": min(1.0, sums["shed"] / sums["rows"]) if sums["rows"] else 0.0,
            "answered": m.answered.get(name, 1.0), "answered_error": m.answered_error.get(name, 0.0),
            "result_rate": self.totals.rates.get(f"results {name}"),
            "state_rows": q.state_rows,
            "held_bytes": sum(m.vertices[v].state_bytes for v in mine if v in m.vertices),
            "holds": behind["name"] if behind is not None and len(read) > 1 else None,
            "lost": {stream: list(counts) for stream, counts in q.lost.items()},
        }  # fmt: skip


def _waiting(name: str, standing: Standing) -> Picture:
    return {
        "name": name, "text": standing.texts.get(name, ""), "sink": standing.sinks.get(name, ""),
        "note": standing.notes.get(name, ""),
    }  # fmt: skip


def _sums(m: Any, totals: Totals) -> dict[str, float]:
    """All that rates are asked of."""
    found: dict[str, float] = {"rows": m.rows, "results": m.results}
    found |= {f"results {name}": sums["results"] for name, sums in totals.by_query.items()}
    for id, c in m.vertices.items():
        found |= {f"in {id}": c.rows_in, f"out {id}": c.rows_out, f"seconds {id}": c.seconds}
    return found


def streams_of(graph: Graph, vertices: Mapping[str, Any], rates: Mapping[str, float]) -> list[Picture]:
    """The streams that are read, each once, with what came of them."""
    found: dict[str, Picture] = {}
    for v in graph.vertices:
        if isinstance(v.op, Source) and not v.op.stream.static and v.id in vertices:
            c = vertices[v.id]
            found.setdefault(v.op.stream.name, {
                "name": v.op.stream.name, "id": v.id, "rows": c.rows_out, "row_rate": rates.get(f"out {v.id}"),
                "late": c.late, "bad": c.bad, "watermark": c.watermark,
            })  # fmt: skip
    return list(found.values())


def _vertex(id: str, c: Any, rates: Mapping[str, float]) -> Picture:
    return {
        "rows_in": c.rows_in, "rows_out": c.rows_out, "state_rows": c.state_rows, "state_bytes": c.state_bytes,
        "seconds": c.seconds, "in_rate": rates.get(f"in {id}"), "out_rate": rates.get(f"out {id}"),
        "busy": rates.get(f"seconds {id}"),
    }  # fmt: skip


def point_of(picture: Picture) -> Picture:
    """What the history keeps of a picture."""
    run = picture["run"]
    kept = ("row_rate", "result_rate", "lag", "state_rows", "held_bytes", "late", "shed")
    queries = {
        q["name"]: {k: q[k] for k in ("result_rate", "lag", "state_rows", "late", "shed_share")}
        for q in picture["queries"]
    }
    return {"t": picture["at"], "batch": picture["batch"], **{k: run[k] for k in kept}, "queries": queries}
