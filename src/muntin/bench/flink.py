"""Flink as an engine of a contest: a child process that is fed SQL, timed on jobs over successive parts of a stream."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from muntin.bench import flink_env, flink_job
from muntin.bench.flink_sql import Job
from muntin.bench.load import Load, Place

Make = Callable[[int, int, Path | None], Job]
"""(first row, rows a stream, folder of CSV files or None for no output) -> the job."""

Count = Callable[[int, int], int]
"""(first row, rows a stream) -> how many results the job has."""


class FlinkError(RuntimeError):
    """A Flink job failed, or its process ended."""


@dataclass
class Child:
    """Flink's process: ``run`` gives it a job and waits for its end."""

    process: subprocess.Popen[str]
    log: Path

    @classmethod
    def start(cls, python: Path, log: Path, memory: str) -> Child:
        """Start it with a heap of ``memory``; what it prints goes to ``log``. Raises FlinkError."""
        environment = {**os.environ, "JVM_ARGS": f"-Xmx{memory}"}
        environment.pop("PYTHONPATH", None)  # nothing of this interpreter's packages is meant for the other
        with log.open("w") as errors:
            process = subprocess.Popen(
                [str(python), str(Path(flink_job.__file__).resolve())], env=environment, text=True, cwd=log.parent,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
            )  # fmt: skip
        child = cls(process, log)
        child._answer()
        return child

    def run(self, job: Job) -> float:
        """Seconds that the job ran. Raises FlinkError."""
        to: IO[str] = self.process.stdin  # type: ignore[assignment]
        try:
            to.write(json.dumps(asdict(job)) + "\n")
            to.flush()
        except BrokenPipeError:
            pass  # it is gone, and there is no answer either
        return float(self._answer()["seconds"])

    def stop(self) -> None:
        """End it: it stops at the end of its input, and is killed if it does not."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _answer(self) -> dict[str, Any]:
        line = self.process.stdout.readline()  # type: ignore[union-attr]
        if not line:
            end = "\n".join(self.log.read_text(errors="replace").strip().splitlines()[-5:])
            raise FlinkError(f"Flink's process ended; the last it printed:\n{end}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise FlinkError(f"Flink: {answer['error'].strip()}")
        return answer


@dataclass
class FlinkSide:
    """Flink in a case. ``schema``: its results as Spark reads them from CSV; ``answer``: see ``Side``.

    ``load.size`` rows a stream make one job, ``load.files`` jobs a timed round.
    """

    make: Make
    count: Count
    schema: str
    answer: tuple[str, ...]
    load: Load
    streams: int
    memory: str = "4g"
    engine: str = "flink"
    _child: Child | None = None

    def answers(self, place: Place, files: int, size: int) -> Any:
        """The results for the first ``files * size`` rows of each stream."""
        out = place.scratch / "answers-flink"
        self._process(place).run(self.make(0, files * size, out))
        return place.spark.read.schema(self.schema).csv(str(out)).selectExpr(*self.answer)

    def start(self, place: Place) -> FlinkTurns:
        """Ready to be timed: the rounds begin after ``warm`` jobs that warm the Java process up."""
        turns = FlinkTurns(self, self._process(place))
        for _ in range(self.load.warm):
            turns.job(timed=False)
        return turns

    def close(self) -> None:
        """End the child process, if there is one."""
        if self._child is not None:
            self._child.stop()
            self._child = None

    def _process(self, place: Place) -> Child:
        if self._child is None:
            self._child = Child.start(flink_env.python(), place.scratch / "flink.log", self.memory)
        return self._child


@dataclass
class FlinkTurns:
    """Flink being timed. ``results`` are counted from the generated rows: the sink that drops them counts nothing."""

    side: FlinkSide
    child: Child
    rows: int = 0
    results: int = 0
    seconds: float = 0.0
    _next: int = field(default=0, init=False)

    def turn(self) -> None:
        for _ in range(self.side.load.files):
            self.job(timed=True)

    def job(self, timed: bool) -> None:
        first, count = self._next, self.side.load.size
        seconds = self.child.run(self.side.make(first, count, None))
        self._next += count
        if timed:
            self.rows += count * self.side.streams
            self.results += self.side.count(first, count)
            self.seconds += seconds

    def account(self, case: str) -> list[str]:
        return []

    def stop(self) -> None:
        """Nothing runs between turns; the process is ended by ``FlinkSide.close``."""
