"""Muntin's own errors out of the texts in which Spark wraps what a worker raised."""

from __future__ import annotations

import re

from muntin.core import errors

_NAMED = re.compile(
    r"(?:muntin\.core\.errors\.)(\w+): (.*?)(?= SQLSTATE: |\n\s*\n|\n\s+at |\nDriver stacktrace|\n\n|$)", re.DOTALL
)


def unwrapped(error: BaseException) -> BaseException:
    """The Muntin error that Spark wrapped, with ``error`` as its cause; ``error`` itself when there is none."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, errors.MuntinError):
            return seen
        seen = seen.__cause__
    found = _NAMED.search(str(error))
    kind = getattr(errors, found.group(1), None) if found else None
    if found is None or not (isinstance(kind, type) and issubclass(kind, errors.MuntinError)):
        return error
    plain = kind(found.group(2).strip())
    plain.__cause__ = error
    return plain
