"""Paths into JSON, as Spark's functions read them."""

from __future__ import annotations

import re
from functools import lru_cache

from muntin.cql.operators import TypeClash

Steps = tuple[str | int | None, ...]
"""A name, the place of an element from 0, or None for all elements."""

_STEP = re.compile(r"\.(?P<name>[^.\[]+)|\['(?P<quoted>[^']+)'\]|\[(?P<place>\d+)\]|\[(?P<all>\*)\]")


@lru_cache(maxsize=1024)
def steps_of(path: str) -> Steps:
    """The steps of ``$.a['b c'][0][*]``.

    Raises:
        TypeClash: it is no such path (Spark would answer NULL for each row).
    """
    steps: list[str | int | None] = []
    at = 1
    while path[:1] == "$" and at < len(path):
        m = _STEP.match(path, at)
        name = m and (m["name"] or m["quoted"])
        if m is None or (name is not None and (name == "*" or name[0].isspace())):
            break
        steps.append(name if name is not None else int(m["place"]) if m["place"] else None)
        at = m.end()
    if path[:1] != "$" or at < len(path):
        rest = path[at:] if path[:1] == "$" else path
        raise TypeClash(
            f"{path!r} is no path into JSON, from {rest!r} on: write $, then .name, ['a name'], [0] or [*], as in "
            "'$.items[0].price'"
        )
    if any(isinstance(s, int) and s >= 2**31 for s in steps):
        raise TypeClash(f"{path!r} asks for an element beyond the end of every array")
    return tuple(steps)
