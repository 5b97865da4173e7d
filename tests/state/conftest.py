"""A pane store to be written to, with nothing cached."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from store_contents import QUERY

from muntin.state import files
from muntin.state.open_files import OPEN
from muntin.state.pane_store import PaneStore


@pytest.fixture
def fresh_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing cached from other tests; and no waiting for the disk, since no test cuts the power."""
    monkeypatch.setattr(files.os, "fsync", lambda handle: None)
    OPEN.forget()
    yield
    OPEN.forget()


@pytest.fixture
def store(tmp_path: Path, fresh_process: None) -> PaneStore:
    return PaneStore.open(str(tmp_path), QUERY, 0)
