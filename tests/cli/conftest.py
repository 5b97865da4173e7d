"""Signals as a terminal sends them, wherever the tests run."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from muntin.cli.ending import SIGNALS


@pytest.fixture(autouse=True)
def signals_of_a_terminal() -> Iterator[None]:
    """SIGHUP is not ignored, by the tests or by what they start, also where they themselves run under nohup; whatever a
    test does, the handlers of the test run are back after it."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for number, old in before.items():
        signal.signal(number, old)
