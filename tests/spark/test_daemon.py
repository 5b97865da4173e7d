"""Spark's Python workers are forked with Muntin loaded."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest

from muntin.spark.daemon import LOADED

pytestmark = pytest.mark.spark


def test_a_worker_has_the_operators_before_it_asks_for_them(spark: Any) -> None:
    """A task that imports nothing itself looks at what its process has loaded, and at who its parent is."""

    def looked_at(names: Any) -> Any:
        with open(f"/proc/{os.getppid()}/cmdline") as parent:
            yield parent.read(), [name in sys.modules for name in LOADED]

    ((parent, loaded),) = spark.sparkContext.parallelize([0], 1).mapPartitions(looked_at).collect()
    assert "muntin.spark.daemon" in parent and all(loaded)


def test_a_session_elsewhere_keeps_spark_s_own_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a cluster the workers' Python may get the package later than the daemon starts."""
    from muntin.spark import embedded

    asked: dict[str, str] = {}

    class Builder:
        def appName(self, name: str) -> Builder:
            return self

        def config(self, key: str, value: str) -> Builder:
            asked[key] = value
            return self

        def getOrCreate(self) -> Any:
            raise RuntimeError("asked")

    monkeypatch.setattr(embedded, "SparkSession", type("Session", (), {"builder": Builder()}))
    for master, there in (("spark://host:7077", False), ("local[2,4]", True), ("local-cluster[2,1,1024]", True)):
        asked.clear()
        with pytest.raises(RuntimeError, match="asked"):
            embedded.local_spark(2, master=master)
        assert ("spark.python.daemon.module" in asked) == there
