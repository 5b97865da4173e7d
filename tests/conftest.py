"""What every test may use. Markers are declared in pyproject.toml; long forms are marked slow and left out by default."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The directory of shared data and vectors beside the repository; the test is skipped where there is none."""
    found = ROOT.parent / "shared"
    if not found.is_dir():
        pytest.skip("there is no directory shared beside the repository")
    return found
