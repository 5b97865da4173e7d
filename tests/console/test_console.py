"""The console without a browser: pictures of a run, history, the token, events, Prometheus."""

from __future__ import annotations

import json
import re
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.cookiejar import CookieJar
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")

from fake_run import FakeRun

from muntin.console.history import MOST, History
from muntin.console.server import Console, serve
from muntin.console.service import Service
from muntin.console.watch import Watch
from muntin.core.errors import ConfigError, StoreError
from muntin.dataflow.explain.svg import QUERIES


@pytest.fixture
def run() -> FakeRun:
    return FakeRun()


@pytest.fixture
def console(run: FakeRun) -> Iterator[Console]:
    service = Service(run)
    run.seen = service.seen
    found = serve(service, port=0)
    yield found
    found.close()


def get(console: Console, path: str, token: str | None = None, **headers: str) -> tuple[int, str]:
    given = {"Authorization": f"Bearer {console.token if token is None else token}", **headers}
    request = urllib.request.Request(console.address + path, headers=given)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()


def test_a_picture_has_rates_sums_and_who_holds_time(run: FakeRun) -> None:
    now = iter(range(1000, 2000, 10))
    watch = Watch(run, lambda: float(next(now)))
    assert "run" not in watch.picture and [q["name"] for q in watch.picture["queries"]] == list(run.texts)
    for _ in range(3):
        run.batch(late=2, shed=10, share=0.25)
        watch.look()
    again = watch.look()  # no batch in between: nothing is counted twice
    assert again["run"]["rows"] == 24_000 and again["run"]["row_rate"] == 800.0 and again["run"]["shed"] == 90
    wind = again["queries"][0]
    m = run.found
    assert m is not None and wind["late"] == 6 and wind["shed"] == 30 and 0 < wind["shed_share"] < 0.01
    assert (wind["answered"], wind["answered_error"]) == (pytest.approx(0.25), 0)
    assert wind["result_rate"] == pytest.approx(m.queries["wind"].results / 10)
    assert (wind["lateness"], wind["waited"], again["queries"][2]["skipped"]) == (2, 0, 3)
    assert wind["holds"] == "weather" and again["queries"][2]["holds"] is None
    assert {s["name"] for s in again["streams"]} == {"flights", "weather"}
    stateful = [v.id for v in run.graph.vertices if v.op.stateful]
    assert stateful and all(again["vertices"][id]["state_bytes"] > 0 for id in stateful[1:])
    assert wind["held_bytes"] < again["run"]["held_bytes"]


def test_the_history_keeps_its_length_and_survives() -> None:
    history = History()
    for t in range(5 * MOST):
        history.add({"t": t})
    times = [p["t"] for p in history.points]
    assert len(times) <= MOST and times == sorted(times)
    assert times[0] == 0 and times[-MOST // 2 :] == list(range(5 * MOST - MOST // 2, 5 * MOST))
    assert History.from_json(history.to_json()).points == history.points and History.from_json(None).points == []
    for damaged in (b"", b"[]", b'{"format": 9, "points": []}', b'{"format": 1, "points": [{}]}'):
        with pytest.raises(StoreError, match="no history"):
            History.from_json(damaged)


def test_a_restart_goes_on_with_the_history(run: FakeRun) -> None:
    kept: list[bytes] = []
    first = Service(run, lambda: None, kept.append)
    run.seen = first.seen
    for _ in range(3):
        run.batch()
    first.close()
    again = FakeRun()
    second = Service(again, lambda: kept[-1], kept.append)
    again.seen = second.seen
    again.batch()
    assert [p["batch"] for p in second.whole()["history"]] == [0, 1, 2, 0]
    second.close()
    assert Service(again, lambda: b"damaged").history.points == []


def test_a_fault_of_the_console_ends_no_run(run: FakeRun) -> None:
    service = Service(run)
    service.history = None  # type: ignore[assignment]
    run.seen = service.seen
    run.batch()
    assert any("could not take up a batch" in m["text"] for m in service.messages.kept)
    service.close()


def test_nothing_is_shown_without_the_token(console: Console, run: FakeRun) -> None:
    run.batch()
    for path in ("", "console.js", "api/run", "events", "metrics", "api/results/wind"):
        assert get(console, path, token="wrong")[0] == 401
    assert get(console, "")[0] == 200 and get(console, "no-such-page")[0] == 404
    assert get(console, "", Host="evil.example")[0] == 400
    jar = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    answer = jar.open(console.url, timeout=10)
    assert answer.url == console.address and answer.headers["Content-Security-Policy"].startswith("default-src 'self'")
    assert json.loads(jar.open(console.address + "api/run", timeout=10).read())["batch"] == 0


def test_a_console_that_others_see_needs_a_token(run: FakeRun) -> None:
    with pytest.raises(ConfigError, match="seen from other machines"):
        serve(Service(run), host="0.0.0.0", token="")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ConfigError, match=r"cannot listen on 127\.0\.0\.1, port"):
            serve(Service(run), port=taken.getsockname()[1])
    found = serve(Service(run), port=0, token="")
    assert get(found, "api/run", token="")[0] == 200 and found.url == found.address
    found.close()
    found.close()


def test_results_and_drawing(console: Console, run: FakeRun) -> None:
    run.batch()
    found = json.loads(get(console, "api/results/wind")[1])
    assert [c["kind"] for c in found["columns"]] == ["other", "number", "number", "time"] and len(found["rows"]) == 48
    assert found["rows"][7][2] == "NULL" and found["values"][2][7] is None
    assert "let rows be read back" in get(console, "api/results/late%20%3Cscript%3E")[1]
    assert get(console, "api/results/nobody")[0] == 404
    whole = json.loads(get(console, "api/run")[1])
    assert "<script>" not in whole["svg"] and whole["svg"].count('class="live"') == len(run.graph.vertices)


def test_events_follow_batches_and_the_end(console: Console, run: FakeRun) -> None:
    request = urllib.request.Request(console.address + "events", headers={"Authorization": f"Bearer {console.token}"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert answer.headers["Content-Type"].startswith("text/event-stream")

        def event() -> Any:
            line = answer.readline().decode()
            while not line.startswith("data: "):
                line = answer.readline().decode()
            return json.loads(line.removeprefix("data: "))

        assert "batch" not in event()
        run.batch()
        assert event()["batch"] == 0
        run.active, run.exception = False, ConfigError("no more disk")
        console.service.seen()
        last = event()
        assert last["state"] == "failed" and last["error"] == "ConfigError: no more disk"
        began = time.monotonic()
        console.close()
        assert time.monotonic() - began < 4


def test_prometheus_reads_it(console: Console, run: FakeRun) -> None:
    from prometheus_client.parser import text_string_to_metric_families

    assert "muntin_active 1.0" in get(console, "metrics")[1]
    run.batch(late=3)
    run.batch(late=3)
    families = {f.name: f for f in text_string_to_metric_families(get(console, "metrics")[1])}
    late = {s.labels["query"]: s.value for s in families["muntin_query_late"].samples}
    assert late == dict.fromkeys(run.texts, 6.0)
    assert {s.labels["stream"] for s in families["muntin_stream_rows"].samples} == {"flights", "weather"}
    assert {s.labels["query"]: s.value for s in families["muntin_query_lateness_periods"].samples} == {"wind": 1.0}
    page = (Path(__file__).resolve().parents[2] / "docs" / "operating.md").read_text()
    told = {name.removesuffix("_total") for name in re.findall(r"`(muntin_\w+)`", page)}
    assert told == {name for name in families if not name.endswith("_created")}, "the table in docs/operating.md"
    joins = [s for s in families["muntin_vertex_rows_in"].samples if s.labels["operator"] == "WindowJoin"]
    assert joins and all(s.value > 0 for s in joins)
    assert families["muntin_query_lag_seconds"].type == "gauge" and families["muntin_batches"].samples[0].value == 2


def test_queries_have_the_colours_of_the_drawing() -> None:
    page = resources.files("muntin.console").joinpath("page/plot.js").read_text()
    listed = page[page.index("COLORS = [") : page.index("];")]
    assert tuple(re.findall(r"#[0-9a-f]{6}", listed)) == QUERIES
