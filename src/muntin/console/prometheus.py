"""The picture of a run as Prometheus' metrics. Times are seconds; sums count since the run began."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from muntin.console.watch import Picture

Labelled = Iterable[tuple[list[str], float | None]]


def text_of(picture: Picture, words: Mapping[str, str]) -> bytes:
    """The text format, version 0.0.4; ``words``: by vertex what it does."""
    registry = CollectorRegistry()
    registry.register(_Once(list(_metrics(picture, words))))
    return generate_latest(registry)


class _Once(Collector):
    def __init__(self, metrics: list[Metric]) -> None:
        self.metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self.metrics


def _metrics(p: Picture, words: Mapping[str, str]) -> Iterator[Metric]:
    yield _gauge("muntin_active", "1 while the run is active", [([], float(p["state"] == "runs"))])
    if "run" not in p:
        return
    run = p["run"]
    yield _counter("muntin_batches", "batches done", [([], run["batches"])])
    overdue = "batches after which rows had waited longer than tau"
    yield _counter("muntin_overdue_batches", overdue, [([], run["overdue"])])
    yield _counter("muntin_rows", "rows that came", [([], run["rows"])])
    yield _gauge("muntin_held_rows", "rows of state", [([], run["state_rows"])])
    yield _gauge("muntin_held_bytes", "bytes of state", [([], run["held_bytes"])])
    yield from _of_queries(p["queries"])
    yield from _of_streams(p["streams"])
    yield from _of_vertices(p["vertices"], words)


def _of_queries(queries: list[Picture]) -> Iterator[Metric]:
    for key, what in (
        ("results", "rows out"), ("late", "rows left out for coming too late"),
        ("bad", "rows without a usable event time"), ("shed", "rows that were not admitted"),
        ("skipped", "instants not reported, since the period was lengthened"),
    ):  # fmt: skip
        yield _counter(f"muntin_query_{key}", what, [([q["name"]], q[key]) for q in queries], ["query"])
    for key, name, what, unit in (
        ("lag", "lag_seconds", "clock minus watermark", 1e6), ("state_rows", "held_rows", "rows of state", 1),
        ("watermark", "watermark_seconds", "every instant before it is answered", 1e6),
        ("held_bytes", "held_bytes", "bytes of state", 1), ("waited", "waited_batches", "batches it has waited for", 1),
        ("lateness", "lateness_periods", "periods by which the batch's oldest instant came late", 1),
        ("answered", "answered_ratio", "estimated share of the full answer that was given", 1),
    ):  # fmt: skip
        yield _gauge(f"muntin_query_{name}", what, [([q["name"]], _over(q[key], unit)) for q in queries], ["query"])


def _of_streams(streams: list[Picture]) -> Iterator[Metric]:
    for key, what in (("rows", "rows with a usable event time"), ("late", "rows that some query left out, late"),
                      ("bad", "rows without a usable event time")):  # fmt: skip
        yield _counter(f"muntin_stream_{key}", what, [([s["name"]], s[key]) for s in streams], ["stream"])
    marks = [([s["name"]], _over(s["watermark"], 1e6)) for s in streams]
    yield _gauge("muntin_stream_watermark_seconds", "how far the stream is complete", marks, ["stream"])


def _of_vertices(vertices: Mapping[str, Picture], words: Mapping[str, str]) -> Iterator[Metric]:
    labels = ["vertex", "operator"]
    for key, what in (("rows_in", "rows in"), ("rows_out", "rows out"), ("seconds", "seconds of processing")):
        values: Labelled = [([id, words.get(id, "")], v[key]) for id, v in vertices.items()]
        yield _counter(f"muntin_vertex_{key}", what, values, labels)
    for key, name, what in (("state_rows", "held_rows", "rows held"), ("state_bytes", "held_bytes", "bytes held")):
        values = [([id, words.get(id, "")], v[key]) for id, v in vertices.items()]
        yield _gauge(f"muntin_vertex_{name}", what, values, labels)


def _over(value: Any, unit: float) -> float | None:
    return None if value is None else value / unit


def _counter(name: str, what: str, values: Labelled, labels: list[str] | None = None) -> Metric:
    return _filled(CounterMetricFamily(name, what, labels=labels or []), values)


def _gauge(name: str, what: str, values: Labelled, labels: list[str] | None = None) -> Metric:
    return _filled(GaugeMetricFamily(name, what, labels=labels or []), values)


def _filled(metric: Any, values: Labelled) -> Metric:
    """What is not known is left out."""
    for labels, value in values:
        if value is not None:
            metric.add_metric(labels, value)
    found: Metric = metric
    return found
