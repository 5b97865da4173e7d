"""Every signal at every moment ends the command and its children, with one line."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import muntin
from muntin.cli import ending
from muntin.cli.ending import descendants, guarded

COMMAND = [sys.executable, "-m", "muntin.cli.start", "run"]
ENV = {**os.environ, "PYTHONPATH": str(Path(muntin.__file__).parents[1]), "SPARK_LOCAL_IP": "127.0.0.1"}
JOB = """
[session]
shards = 2
checkpoint = "state"
trigger = "1 second"
[[stream]]
name = "e"
format = "rate"
options = { rowsPerSecond = 100 }
ts = "timestamp"
[[query]]
name = "totals"
cql = "SELECT COUNT(*) AS n FROM e [RANGE 10 SECONDS SLIDE 5 SECONDS]"
sink = { format = "blackhole" }
"""
Moment = Callable[[int, Path], bool]


def at_once(pid: int, where: Path) -> bool:
    """The modules are being loaded: the handlers are there (SIGQUIT's last)."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(caught >> (signal.SIGQUIT - 1) & 1)


def jvm_starts(pid: int, where: Path) -> bool:
    return bool(descendants(pid))


def streams_start(pid: int, where: Path) -> bool:
    return (where / "state" / "metadata").exists()


def runs(pid: int, where: Path) -> bool:
    return len(list((where / "state" / "commits").glob("[0-9]*"))) > 1


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.spark
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc here")
@pytest.mark.parametrize(
    "moment, sent, words",
    [
        (at_once, ["SIGINT"], "muntin: stopped"),
        pytest.param(jvm_starts, ["SIGINT"], "muntin: stopped", marks=pytest.mark.slow),
        (jvm_starts, ["SIGHUP"], "muntin: stopped"),
        pytest.param(streams_start, ["SIGINT"], "muntin: stopped", marks=pytest.mark.slow),
        pytest.param(
            runs, ["SIGHUP"], "muntin: stopped; the checkpoint has every finished batch", marks=pytest.mark.slow
        ),
        pytest.param(runs, ["SIGTERM", "SIGTERM"], "muntin: stopped", marks=pytest.mark.slow),
        pytest.param(
            runs, ["SIGTERM to all"], "muntin: stopped; the checkpoint has every finished batch", marks=pytest.mark.slow
        ),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_a_signal_ends_everything(tmp_path: Path, moment: Moment, sent: list[str], words: str) -> None:
    (tmp_path / "job.toml").write_text(JOB)
    command = [*COMMAND, "--quiet", str(tmp_path / "job.toml")]
    job = subprocess.Popen(command, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline, known = time.monotonic() + 300, [job.pid]
    try:
        while not moment(job.pid, tmp_path) and time.monotonic() < deadline:
            assert job.poll() is None, job.communicate()
            time.sleep(0.02)
        for name in sent:
            name, to_all = name[:7], name.endswith("to all")  # as systemd and batch systems send it
            known += descendants(job.pid)
            for pid in reversed(known) if to_all else [job.pid]:
                with suppress(ProcessLookupError):
                    os.kill(pid, getattr(signal, name))
            time.sleep(0.2)
        out, err = job.communicate(timeout=60)
    finally:
        job.kill()
    assert not [p for p in known if lives(p)]
    assert job.returncode == 128 + getattr(signal, sent[-1][:7])
    said = [line for line in err.splitlines() if line and "incubator modules" not in line]
    assert out == "" and len(said) == 1 and said[0].startswith(words), err


STUBBORN = "import signal, subprocess, sys, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True); "
ENDING = """
import subprocess, sys
from muntin.cli.ending import descendants, end_children
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE)
assert child.stdout.readline() == child.stdout.readline() == b"1\\n"
print(*descendants(child.pid), child.pid)
end_children(grace=0.3)
"""


def test_children_are_ended_whatever_they_ignore() -> None:
    below = f"{STUBBORN}time.sleep(60)"
    code = f"{STUBBORN}subprocess.Popen([sys.executable, '-c', {below!r}]); time.sleep(60)"
    done = subprocess.run([sys.executable, "-c", ENDING, code], env=ENV, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    known = [int(p) for p in done.stdout.split()]
    deadline = time.monotonic() + 10
    while any(map(lives, known)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(known) == 2 and not [p for p in known if lives(p)]


WAITING = """
import logging, select, subprocess, threading
from muntin.cli.ending import guarded
logging.basicConfig()
def wait():
    select.select([child.stdout], [], [])
    logging.getLogger("py4j.java_gateway").error("the other end is gone")
    logging.error("a command has no answer")
with guarded():
    child = subprocess.Popen(["sleep", "60"], stdout=subprocess.PIPE)
    thread = threading.Thread(target=wait)
    thread.start()
    logging.getLogger("py4j.java_gateway").error("before the end")
thread.join()
"""


def test_who_waits_for_the_jvm_at_the_end_says_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", WAITING], env=ENV, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == "ERROR:py4j.java_gateway:before the end\n"


def test_nobody_else_takes_the_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending, "end_children", lambda: None)  # those of the test run stay
    monkeypatch.setattr(logging.root.manager, "disable", logging.root.manager.disable)
    before = signal.getsignal(signal.SIGINT)
    with guarded():
        mine = signal.getsignal(signal.SIGINT)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        assert signal.getsignal(signal.SIGINT) is mine is not before
    assert signal.getsignal(signal.SIGINT) is before
    assert signal.signal(signal.SIGINT, before) is before


CHILD = """
import os, signal
ignored = [signal.getsignal(n) is signal.SIG_IGN for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
print(*ignored, os.getsid(0) == os.getpid())
"""
PARENT = """
import signal, subprocess, sys
from muntin.cli.ending import guarded
signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as under nohup
with guarded():
    ask = [sys.executable, "-c", sys.argv[1]]
    ignore = lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)  # as PySpark has it
    print(subprocess.run(ask, preexec_fn=ignore, capture_output=True, text=True).stdout.strip())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)
"""


def test_what_stops_all_processes_of_the_command_leaves_the_jvm() -> None:
    """Ctrl-C reaches every process of the terminal's group, SIGTERM of systemd each of the unit: a batch can end."""
    done = subprocess.run([sys.executable, "-c", PARENT, CHILD], env=ENV, capture_output=True, text=True)
    assert (done.stdout.splitlines(), done.stderr) == (["True True False True", "False"], "")


IGNORING = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(60)"
SOON = """
import subprocess, sys, time
from muntin.cli.ending import end_children
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE)
child.stdout.readline()
began = time.monotonic()
end_children(grace=30)
print(time.monotonic() - began < 20)
"""


def test_a_child_that_ignores_sigterm_ends_before_it_is_killed() -> None:
    done = subprocess.run([sys.executable, "-c", SOON, IGNORING], env=ENV, capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("True", "")
