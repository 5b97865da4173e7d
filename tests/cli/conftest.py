"""Signals as a terminal sends them, wherever the tests run."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def hangup_ends() -> Iterator[None]:
    """SIGHUP is not ignored, by the tests or by what they start, also where they themselves run under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)
