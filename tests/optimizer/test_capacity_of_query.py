"""The load of the product's own plans, and how the command tells it."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from muntin.cli import capacity as command
from muntin.cli.app import app
from muntin.core.errors import ConfigError
from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.data import sample
from muntin.local.calibrate import seconds_per_operation
from muntin.optimizer.capacity.of_query import load_of
from muntin.optimizer.statistics import Statistics
from muntin.plan.catalog import Catalog, Stream

STREAMS = Catalog(
    tuple(Stream(n, Schema.of(ts=pa.int64(), k=pa.int64(), j=pa.int64()), "ts", order=i) for i, n in enumerate("abc"))
)
JOIN = "SELECT a.k FROM a [RANGE 10 SECONDS], b [RANGE 10 SECONDS] WHERE a.k = b.k"
JOIN3 = "SELECT a.k FROM a [RANGE 10 SECONDS], b [RANGE 10 SECONDS], c [RANGE 60 SECONDS] WHERE a.k = b.k AND b.j = c.j"


def test_load_grows_with_rates_and_shrinks_with_cores() -> None:
    slow = load_of(bind(JOIN, STREAMS), 1e-6, 1, Statistics(default_rate=100))
    fast = load_of(bind(JOIN, STREAMS), 1e-6, 1, Statistics(default_rate=1000))
    assert slow.feasible and fast.utilisation > 10 * slow.utilisation
    assert load_of(bind(JOIN, STREAMS), 1e-6, 4, Statistics()).utilisation == pytest.approx(slow.utilisation / 4)
    assert slow.shares == {"a": 1.0, "b": 1.0} and slow.kept == 1 and set(slow.plan) == {"a", "b"}
    assert slow.output == pytest.approx(2 * 100 * 10 * 100 / 1000)  # each row meets 1000 rows of 1000 values


def test_what_does_not_fit_gets_boxes_that_fill_the_machine() -> None:
    known = Statistics(rates={"a": 50_000, "b": 1000, "c": 200})
    found = load_of(bind(JOIN3, STREAMS), 1e-5, 1, known)
    assert not found.feasible and 0 < found.kept < 1 and len(found.plan) == 3
    left = Statistics(rates={n: found.shares[n] * r for n, r in known.rates.items()})
    assert 0.5 < load_of(bind(JOIN3, STREAMS), 1e-5, 1, left).utilisation < 1.02  # at those rates another plan may do


def test_how_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "seconds_per_operation", lambda: 1e-6)
    query = bind(JOIN3, STREAMS)
    text = command.capacity(query, {"a": 10.0}, cores=2)
    assert "a 10 rows/s" in text and "of the machine: feasible" in text and "(left-deep)" in text
    assert "not feasible" in command.capacity(query, {"a": 1e6, "B": 1e6}, cores=1)
    plain = json.loads(command.capacity(query, {}, "json", 1))
    assert plain["feasible"] is True and plain["shares"] == {"a": 1.0, "b": 1.0, "c": 1.0} and plain["cores"] == 1
    with pytest.raises(ConfigError, match="text or json"):
        command.capacity(query, {}, "svg", 1)
    assert command.rates_of(["a=5", "B=7.5"], ["a", "b"]) == {"a": 5.0, "B": 7.5}
    for wrong, words in (("a", "write a stream"), ("a=-1", "write a stream"), ("x=1", "no stream 'x'")):
        with pytest.raises(ConfigError, match=words):
            command.rates_of([wrong], ["a", "b"])


def test_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "seconds_per_operation", lambda: 1e-6)
    text = "SELECT f.dest FROM flights f [RANGE 1 HOUR], weather w [RANGE 1 HOUR] WHERE f.origin = w.origin"
    streams = ["--stream", f"flights={sample('flights')}:dep", "--stream", f"weather={sample('weather')}:ts"]

    def call(*more: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, ["explain", text, *streams, "--capacity", *more])
        return result.exit_code, result.stdout + result.stderr

    code, said = call("--rate", "flights=5000")
    assert code == 0 and "Capacity at flights 5,000 rows/s, weather 100 rows/s" in said
    code, said = call("--rate", "trains=1")
    assert code != 0 and "there is no stream 'trains'; there are flights, weather" in said
    code, said = call("--format", "dot")
    assert code != 0 and "text or json" in said


def test_an_operation_is_measured() -> None:
    assert 1e-10 < seconds_per_operation() < 1e-4
