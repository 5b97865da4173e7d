"""Runs inside Flink's own virtual environment, as a child of the benchmark; it knows nothing of Muntin.

Reads one job a line from standard input, ``{"statements": [...], "insert": "..."}``, and answers each with a line on
standard output: ``{"seconds": s}``, the job's net run time by Flink's own clock, or ``{"error": "..."}``. Its first
line says which Flink this is. The end of the input ends it. Its one Java process stays: later jobs find compiled code.
"""

from __future__ import annotations

import json
import os
import sys
from importlib.metadata import version
from typing import Any

PARALLELISM = "2"

SETTINGS = {
    "parallelism.default": PARALLELISM,
    # the quicker choices: rows are not copied between chained operators, state is on the heap, nothing is checkpointed
    "pipeline.object-reuse": "true",
    "state.backend.type": "hashmap",
    "table.local-time-zone": "UTC",
}


COLLECTOR = "-XX:+UseParallelGC"
"""On two cores Flink's join costs a fifth less of their time with it than with Java's default collector."""


def run(job: dict[str, Any]) -> float:
    """Run one job to its end; returns seconds from its start to its end, starting and stopping its tasks included."""
    from pyflink.common import Configuration
    from pyflink.table import EnvironmentSettings, TableEnvironment

    configuration = Configuration()
    for key, value in SETTINGS.items():
        configuration.set_string(key, value)
    settings = EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(configuration).build()
    tables = TableEnvironment.create(settings)
    for statement in job["statements"]:
        tables.execute_sql(statement)
    client = tables.execute_sql(job["insert"]).get_job_client()
    return float(client.get_job_execution_result().result().get_net_runtime()) / 1000


def main() -> None:
    """Serve jobs until the input ends."""
    # what Flink prints must not mix with the answers: they keep the old standard output, it gets standard error
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    os.environ["JVM_ARGS"] = f"{os.environ.get('JVM_ARGS', '')} {COLLECTOR}"
    print(json.dumps({"flink": version("apache-flink")}), file=answers)
    for line in sys.stdin:
        try:
            answer: dict[str, Any] = {"seconds": run(json.loads(line))}
        except Exception as e:
            answer = {"error": str(e)}
        print(json.dumps(answer), file=answers)


if __name__ == "__main__":
    main()
