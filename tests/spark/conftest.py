"""Streams of files for the tests of the Spark runtime."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest_spark import Feed


@pytest.fixture
def feed(spark: Any, tmp_path: Path) -> Callable[[str], Feed]:
    """Streams of files by name."""
    return lambda name: Feed(spark, tmp_path / "in" / name)
