"""The daemon that forks Spark's Python workers, with what they need loaded before it forks them.

``local_spark`` names it as ``spark.python.daemon.module``. Spark's own daemon loads nothing, so that every worker (two
a stage at the start of a run, one for each that was killed) spends more than a second of CPU on imports. Here a worker
is ready at once, and all share the memory of what was loaded.
"""

from __future__ import annotations

import gc
from importlib import import_module

from pyspark import daemon

LOADED = (
    "pandas",
    "pyspark.worker",
    "pyspark.sql.pandas.serializers",
    "muntin.spark.level_task",
    "muntin.spark.pack",
    "muntin.spark.replay_task",
)


def main() -> None:
    """Load, then fork workers until Spark closes the standard input."""
    for module in LOADED:
        import_module(module)
    gc.collect()
    gc.freeze()  # collections in the workers leave these pages shared
    daemon.manager()


if __name__ == "__main__":
    main()
