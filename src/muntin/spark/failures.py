"""Muntin's own errors out of the exceptions in which Spark hands on what a worker, or an expression of ours, raised.

They are known by the exceptions' conditions, never by a search in their texts: those quote plans and the user's data.
"""

from __future__ import annotations

import errno
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark import SparkContext
from pyspark.errors import PySparkException, PythonException
from pyspark.errors.exceptions.captured import convert_exception

from muntin.core import errors
from muntin.state.files import write_error

_MODULE = errors.__name__ + "."

_DISK = {
    "No space left on device": errno.ENOSPC,
    "Disk quota exceeded": errno.EDQUOT,
    "Read-only file system": errno.EROFS,
}
_OF_FILES = ("IOException", "FileNotFoundException", "FileSystemException", "FSError")
"""Java's exceptions of files have no code: the class, and how the message ends."""

GONE = "the Java process that runs Spark has ended; start again: a run goes on from its checkpoint"
"""Said for every call into a JVM that is no longer there."""


def unwrapped(error: BaseException) -> BaseException:
    """The Muntin error that Spark wrapped, with ``error`` as its cause; ``error`` itself when there is none.

    Cost: some calls into the JVM for an exception of Spark's, nothing for any other.
    """
    raised = _named(_raised(error)) or _of_disk(error)
    if raised is None:
        return error
    raised.__cause__ = error
    return raised


def in_one_line(error: BaseException) -> str:
    """What a shell user is told of an error: that of a worker by its last line, one of the JVM by its message."""
    found = unwrapped(error)
    if isinstance(found, errors.MuntinError):
        return str(found)
    if of_lost_jvm(found):
        return GONE
    text = _raised(found) or (str(found.java_exception) if isinstance(found, Py4JJavaError) else str(found))
    first = next(iter(text.strip().splitlines()), "")
    if isinstance(found, PySparkException | Py4JJavaError):
        return first or type(found).__name__
    return f"{type(found).__name__}: {first}" if first else type(found).__name__


def of_lost_jvm(error: BaseException) -> bool:
    """Whether a call failed because the JVM is no longer there.

    py4j raises errors of sockets too, as a user's sink may, and says of every class that "it does not exist in the
    JVM": these mean it where the JVM that PySpark started has ended, or ends within a second.
    """
    if isinstance(error, Py4JNetworkError):
        return True
    if not isinstance(error, Py4JError | ConnectionError) or isinstance(error, Py4JJavaError):
        return False
    jvm = getattr(SparkContext._gateway, "proc", None)
    if jvm is None:
        return False
    with suppress(subprocess.TimeoutExpired):
        jvm.wait(1.0)
    return jvm.poll() is not None


def _raised(error: BaseException) -> str:
    """``Class: message`` of what a worker or a plan raised, where that is what ``error`` is about; else ""."""
    try:
        return next(filter(None, map(_told, _spark_exceptions(error))), "")
    except (Py4JError, AssertionError):  # the JVM that knows is gone
        return ""


def _of_disk(error: BaseException) -> errors.MuntinError | None:
    """For a file that the JVM (Spark's logs of offsets and commits, its shuffles) could not write."""
    try:
        for each in _spark_exceptions(error):
            first = next(iter(str(getattr(each, "_desc", "")).splitlines()), "")
            kind, reason = first.partition(":")[0].rpartition(".")[2], first.rstrip(")")
            code = next((c for text, c in _DISK.items() if reason.endswith(text)), None)
            if kind in _OF_FILES and code is not None:
                return write_error(first, OSError(code, ""), "what Spark writes (its checkpoint, shuffles, sinks)")
    except (Py4JError, AssertionError):
        return None
    return None


def _spark_exceptions(error: BaseException) -> Iterator[PySparkException]:
    """An exception that came out of the JVM, and those that it says caused it, as PySpark converts them."""
    found: Any = convert_exception(error.java_exception) if isinstance(error, Py4JJavaError) else error
    while isinstance(found, PySparkException):
        yield found
        found = getattr(found, "_cause", None)


def _told(error: PySparkException) -> str:
    """``Class: message`` of what a Python worker, or ``raise_error`` in a plan, raised; "" for other exceptions."""
    if isinstance(error, PythonException) and error.getCondition() is None:  # before 4.1 it has its text alone
        return _last_error(str(getattr(error, "_desc", "")))
    said = error.getMessageParameters() or {}
    match error.getCondition():
        case "PYTHON_EXCEPTION":
            return _last_error(said.get("traceback", ""))
        case "USER_RAISED_EXCEPTION":
            return said.get("errorMessage", "")
    return ""


def _last_error(traceback: str) -> str:
    """What stands below the frames of the last traceback: the others are those of its causes."""
    lines = traceback.rpartition("Traceback (most recent call last):\n")[2].splitlines()
    below = next((i for i, line in enumerate(lines) if line[:1].strip()), len(lines))
    return "\n".join(lines[below:])


def _named(text: str) -> errors.MuntinError | None:
    """The error that ``module.Class: message`` tells of, if it is one of ours."""
    name, _, message = text.partition(": ")
    kind = getattr(errors, name.removeprefix(_MODULE), None) if name.startswith(_MODULE) else None
    if not (isinstance(kind, type) and issubclass(kind, errors.MuntinError)):
        return None
    return kind(message.strip())
