from __future__ import annotations

import io
import os
import signal
import subprocess
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext

from muntin.cli import running
from muntin.cli.ending import handled_by
from muntin.cli.failures import describe
from muntin.cli.wiring import close
from muntin.core.errors import ConfigError, DataError
from muntin.spark.failures import GONE


class FakeRun:
    """A pipeline that ends by itself after some looks, fails, or waits for a stop."""

    def __init__(self, looks: int | None, exception: Exception | None = None, kill: int | None = None) -> None:
        self.looks, self.failure, self.kill = looks, exception, kill
        self.stopped = False
        self.exception: Exception | None = None

    def metrics(self) -> dict[str, int]:
        return {"batch": 1, "rows": 2}

    def stop(self) -> None:
        self.stopped = True

    def await_termination(self, timeout: float) -> bool:
        if self.kill is not None:
            os.kill(os.getpid(), self.kill)
            return False
        assert self.looks is not None
        self.looks -= 1
        if self.looks <= 0:
            if self.failure:
                raise self.failure
            return True
        return False


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_stops_cleanly(number: int, status: int) -> None:
    run, out, further = FakeRun(None, kill=number), io.StringIO(), []
    with handled_by(lambda number, frame: further.append(number)):
        with running.stops() as asked:
            assert running.attend(run, asked, out, quiet=True) == status
        os.kill(os.getpid(), number)  # all is said: nobody says a second line
    assert run.stopped and further == []
    assert out.getvalue().splitlines() == [running.STOPPED]


def test_a_second_signal_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(running, "end_now", lambda number, words: ended.append(number))
    with running.stops() as asked:
        os.kill(os.getpid(), signal.SIGTERM)
        assert ended == [] and asked.number == signal.SIGTERM
        os.kill(os.getpid(), signal.SIGINT)
        assert ended == [signal.SIGINT]


def test_a_last_batch_that_fails_is_told() -> None:
    run, out = FakeRun(None, kill=signal.SIGTERM), io.StringIO()
    run.exception = DataError("row 7 is bad")
    with running.stops() as asked:
        assert running.attend(run, asked, out, quiet=True) == 1
    assert out.getvalue().splitlines() == ["muntin: the pipeline failed: row 7 is bad"]


def lost_by(exception: Exception) -> FakeRun:
    """A pipeline without its JVM: stopping it raises."""
    run = FakeRun(None, kill=signal.SIGTERM)

    def stop() -> None:
        raise exception

    run.stop = stop  # type: ignore[method-assign]
    return run


def test_a_jvm_that_has_ended_before_the_stop_is_stopped() -> None:
    out, run = io.StringIO(), lost_by(Py4JNetworkError("Answer from Java side is empty"))
    with running.stops() as asked:
        assert running.attend(run, asked, out, quiet=True) == 143
    assert out.getvalue().splitlines() == [running.CUT]


@pytest.mark.parametrize("ended", [True, False])
def test_no_connection_means_no_jvm_where_that_has_ended(ended: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sink of the user's may find no connection either."""
    jvm = subprocess.Popen(["true"] if ended else ["sleep", "60"])
    monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=jvm))
    out, refused = io.StringIO(), ConnectionRefusedError(111, "Connection refused")
    try:
        with running.stops() as asked:
            assert running.attend(lost_by(refused), asked, out) == (143 if ended else 1)
        assert (running.CUT in out.getvalue()) == ended
        assert describe(refused) == (GONE if ended else "ConnectionRefusedError: [Errno 111] Connection refused")
    finally:
        jvm.kill()
        jvm.wait()


def test_spark_is_closed_once_its_jvm_has_ended() -> None:
    def stop() -> None:
        raise error

    error: Exception = Py4JNetworkError("Answer from Java side is empty")
    close(SimpleNamespace(stop=stop))
    error = ValueError("no")
    with pytest.raises(ValueError, match="no"):
        close(SimpleNamespace(stop=stop))


def test_what_nohup_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with running.stops() as asked:
            os.kill(os.getpid(), signal.SIGHUP)
        assert asked.number is None
    finally:
        signal.signal(signal.SIGHUP, before)


def test_end_and_failure() -> None:
    out = io.StringIO()
    with running.stops() as asked:
        assert running.attend(FakeRun(3), asked, out) == 0
        assert running.attend(FakeRun(2, DataError("row 7 is bad")), asked, out) == 1
    assert out.getvalue().endswith("\nmuntin: the pipeline failed: row 7 is bad\n")


def test_the_console_s_address_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    run, out, asked = FakeRun(1), io.StringIO(), []

    def ui(*arguments: object) -> SimpleNamespace:
        asked.append(arguments)
        return SimpleNamespace(url="http://127.0.0.1:4680/?token=t")

    run.ui = ui  # type: ignore[attr-defined]
    running.serve(run, "127.0.0.1", None, out)
    monkeypatch.setenv("MUNTIN_UI_TOKEN", "mine")
    running.serve(run, "10.0.0.1", 80, out)
    assert out.getvalue().splitlines()[0] == "muntin: console at http://127.0.0.1:4680/?token=t"
    assert asked == [("127.0.0.1", None, None), ("10.0.0.1", 80, "mine")] and not run.stopped


def test_a_run_without_the_console_that_was_asked_for_is_stopped() -> None:
    run = FakeRun(1)

    def ui(*arguments: object) -> None:
        raise ConfigError("the console cannot listen on 127.0.0.1, port 80")

    run.ui = ui  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match="cannot listen"):
        running.serve(run, "127.0.0.1", 80, io.StringIO())
    assert run.stopped
