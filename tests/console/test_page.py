"""The console's page in headless Chromium: what a person sees, on a desk and on a phone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")

from browser import CHROMIUM, Browser
from fake_run import FakeRun

from muntin.console.server import Console, serve
from muntin.console.service import Service
from muntin.console.watch import Totals

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")]


class Clock:
    """Ten seconds a batch."""

    now = 1_790_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def run() -> FakeRun:
    return FakeRun()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def console(run: FakeRun, clock: Clock) -> Iterator[Console]:
    service = Service(run)
    service.watch.clock = clock
    run.seen = service.seen
    for n in range(30):
        clock.now += 10
        run.batch(late=n % 2, shed=5, share=0.5)
    found = serve(service, port=0)
    yield found
    found.close()


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    found = Browser(tmp_path / "profile")
    yield found
    found.close()


@pytest.mark.parametrize(("name", "width", "phone"), [("desk", 1400, False), ("phone", 390, True)])
def test_the_page_shows_the_run(
    name: str, width: int, phone: bool, console: Console, run: FakeRun, clock: Clock, browser: Browser, tmp_path: Path
) -> None:
    browser.size(width, 844, phone)
    browser.open(console.url)
    browser.until("document.body.dataset.batch === '29'")
    browser.until("document.querySelectorAll('#results tbody tr').length === 48")
    assert browser.ask("location.href") == console.address, "the token stays out of the address"
    assert browser.ask("document.documentElement.scrollWidth") == width, "nothing sticks out"
    words = browser.ask("document.body.innerText")
    told = ("800/s", "wind", "hourly", "not admitted", "time is held by stream weather", "answers are not exact",
            "about 50 % of the full answer")
    assert [word for word in told if word not in words] == []
    assert browser.ask("[...document.querySelectorAll('text.live')].every((t) => t.textContent.includes('/s'))")
    assert browser.ask("document.querySelectorAll('#charts path').length") == 1 + 3 + 3 + 1
    labels = browser.ask("[...document.querySelectorAll('#charts .chart:nth-child(3) text')].map((t) => t.textContent)")
    assert labels[:2] == ["0 s", "5 s"] and "14:18" in labels[-1], "time is UTC, as at the top of the page"
    marks = browser.ask("[...document.querySelectorAll('.mark')].map((m) => m.style.background)")
    assert len(marks) == len(set(marks)) == 3
    assert browser.ask("document.querySelectorAll('#plot path').length") == 3
    assert not browser.ask("document.querySelectorAll('main script').length"), "names of queries are text"
    looked = os.environ.get("MUNTIN_SCREENSHOTS")
    shot = (Path(looked) if looked else tmp_path) / f"console-{name}.png"
    browser.shot(shot)
    assert shot.stat().st_size > 50_000
    assert not browser.errors


def test_a_pause_breaks_lines_and_what_is_not_known_has_no_unit(
    console: Console, run: FakeRun, clock: Clock, browser: Browser
) -> None:
    run.__init__(run.texts)  # type: ignore[misc]
    run.seen = console.service.seen
    console.service.watch.totals, console.service.watch.counted = Totals(), -1  # as after a restart
    clock.now += 2000
    run.batch()
    browser.size(1200, 900)
    browser.open(console.url)
    browser.until("document.body.dataset.batch === '0'")
    words = browser.ask("document.body.innerText")
    assert "-/s" not in words and "- out" in browser.ask("document.getElementById('plan').textContent")
    held = browser.ask("document.querySelector('#charts .chart:nth-child(4) path').getAttribute('d')")
    assert held.count("M") == 2, "nothing ran in between"


def test_the_page_follows_the_run_to_its_end(console: Console, run: FakeRun, clock: Clock, browser: Browser) -> None:
    browser.size(1200, 900)
    browser.open(console.url)
    browser.until("document.body.dataset.batch === '29'")
    clock.now += 10
    run.batch()
    browser.until("document.body.dataset.batch === '30'", 5)
    browser.ask("document.querySelector('[data-query=hourly] button').click()")
    browser.until("document.getElementById('results-note').textContent.includes('let rows be read back')", 5)
    run.texts = {n: t for n, t in run.texts.items() if n != "hourly"}
    before = browser.ask("document.querySelectorAll('#plan text.live').length")
    run.__init__(run.texts)  # type: ignore[misc]
    run.seen = console.service.seen
    clock.now += 10
    run.batch()
    browser.until(f"document.querySelectorAll('#plan text.live').length < {before}", 5)
    run.active, run.exception = False, RuntimeError("disk <b>full</b>")  # type: ignore[assignment]
    console.service.seen()
    browser.until("document.getElementById('alert').textContent === 'RuntimeError: disk <b>full</b>'", 5)
    assert browser.ask("document.getElementById('state').textContent") == "failed" and not browser.errors
    console.close()
    browser.until("document.getElementById('state').textContent === 'out of sight'", 10)
