"""A shared SparkSession and streams of files for the tests of the Spark runtime."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest_spark import Feed


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """The embedded session; it stays up for the tests that follow."""
    from muntin.session import local_spark

    yield local_spark(2, "1g")


@pytest.fixture
def feed(spark: Any, tmp_path: Path) -> Callable[[str], Feed]:
    """Streams of files by name."""
    return lambda name: Feed(spark, tmp_path / "in" / name)
