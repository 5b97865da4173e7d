"""What ended a run: Muntin's errors by their class, a user's own as they were raised, Spark's by what Spark says."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest_spark import SECOND, Feed, events
from py4j.protocol import Py4JNetworkError
from pyspark import cloudpickle
from pyspark.errors import PySparkException

from muntin.core.errors import DataError, StoreError
from muntin.session import Session
from muntin.spark.failures import GONE, in_one_line, unwrapped

PLAN = """Traceback (most recent call last):
  File "user.py", line 7, in <module>
    raise ValueError("no")
ValueError: no
== Plan ==
raise_error(muntin.core.errors.DataError: table 't': unknown op)
"""


def worker(text: str) -> PySparkException:
    return PySparkException(f"from a worker: {text}", "PYTHON_EXCEPTION", {"traceback": text, "msg": "from a worker"})


def test_a_workers_error_is_known_by_the_last_line_of_its_traceback() -> None:
    first = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\nKeyError: 1\n\nDuring handling:\n\n'
    last = 'Traceback (most recent call last):\n  File "b.py", line 2, in g\n    raise x\n'
    found = unwrapped(worker(f"{first}{last}muntin.core.errors.StoreError: the disk is full.\nFree space\n"))
    assert type(found) is StoreError and str(found) == "the disk is full.\nFree space"
    assert isinstance(found.__cause__, PySparkException)


@pytest.mark.parametrize(
    "error",
    [
        worker(f"{PLAN}"),
        worker("Traceback (most recent call last):\nmine.DataError: theirs"),
        worker("Traceback (most recent call last):\nmuntin.core.errors.annotations: no error"),
        PySparkException(PLAN, "STREAM_FAILED", {"message": PLAN}),
        PySparkException("x", "USER_RAISED_EXCEPTION", {"errorMessage": "a user's own raise_error"}),
        RuntimeError(PLAN),
    ],
)
def test_other_errors_stay_what_they_are(error: BaseException) -> None:
    assert unwrapped(error) is error


def test_one_line_for_the_shell() -> None:
    assert in_one_line(worker(PLAN)) == "ValueError: no"
    assert in_one_line(PySparkException("no such thing\nand more", "BAD", {})) == "[BAD] no such thing"
    assert in_one_line(Py4JNetworkError("Answer from Java side is empty")) == GONE
    assert in_one_line(OSError(28, "No space left on device")) == "OSError: [Errno 28] No space left on device"


class Failing:
    """A user's aggregate that cannot add."""

    def init(self) -> int:
        return 0

    def add(self, state: int, value: int) -> int:
        raise ValueError("seven is too many")

    def merge(self, a: int, b: int) -> int:
        return a + b

    def finish(self, state: int) -> int:
        return state


cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file

JOIN = "SELECT a.k, a.v FROM a [RANGE 5 SECONDS], limits t WHERE a.k = t.k"
OWN = "SELECT k, own(v) AS v FROM a [RANGE 5 SECONDS SLIDE 1 SECOND] GROUP BY k"


@pytest.fixture
def ended(spark: Any, feed: Callable[[str], Feed], tmp_path: Path) -> Callable[..., BaseException]:
    """What ``await_termination`` raises for a query over a stream and a table that changes."""

    def run(text: str, *sink: Any, op: str = "+", **more: Any) -> BaseException:
        at = pa.array([0, SECOND], pa.timestamp("us", "UTC"))
        table = feed("limits").put(pa.table({"at": at, "op": [op, "+"], "k": [1, 2]}))
        session = Session(spark, shards=2)
        session.stream("a", feed("a").put(events(1, 0, 30, 50)).live())
        session.table("limits", table.live(), kind="nrr", ts="at", op="op")
        session.aggregate("own", Failing, "bigint", "bigint")
        session.sql(text).write(*sink, **more)
        run = session.start(str(tmp_path / "cp"), "available_now")
        with pytest.raises(Exception) as caught:
            run.await_termination()
        assert type(run.exception) is type(caught.value)
        return caught.value

    return run


@pytest.mark.spark
def test_a_sinks_own_exception_comes_through(ended: Callable[..., BaseException]) -> None:
    def sink(df: Any, batch: int) -> None:
        raise LookupError("the sink is full") from KeyError("shelf")

    found = ended(JOIN, foreach_batch=sink)
    assert type(found) is LookupError and str(found) == "the sink is full" and isinstance(found.__cause__, KeyError)
    assert "sink" in [f.name for f in traceback.extract_tb(found.__traceback__)]


@pytest.mark.spark
def test_what_spark_refuses_is_told_in_its_words(ended: Callable[..., BaseException], tmp_path: Path) -> None:
    found = ended(JOIN, "text", str(tmp_path / "out"))
    assert isinstance(found, PySparkException) and not isinstance(found, DataError)
    assert in_one_line(found).startswith(f"[{found.getCondition()}]") and "text" in in_one_line(found).lower()


@pytest.mark.spark
def test_a_users_aggregate_fails_under_its_own_name(ended: Callable[..., BaseException]) -> None:
    found = ended(OWN)
    assert in_one_line(found) == "ValueError: seven is too many" and "in add" in str(found)


@pytest.mark.spark
def test_an_unknown_op_is_the_tables(ended: Callable[..., BaseException]) -> None:
    found = ended(JOIN, op="what")
    assert type(found) is DataError and str(found).startswith("table 'limits': unknown op 'what' in its updates")
