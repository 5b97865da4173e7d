"""Does a stored state belong to the pipeline that asks for it? Fingerprints are plain JSON dicts, compared by path."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from muntin.core.errors import StoreError

_ABSENT = object()


def check_fingerprint(stored: dict[str, Any], current: dict[str, Any], evolving: Collection[str] = ()) -> None:
    """Raise StoreError that lists every difference between the stored fingerprint and the running pipeline's.

    Under a top-level key in ``evolving`` (say "streams") entries may appear or go, but not change.
    """
    found = [d for d in differences(stored, current) if not _allowed(d, evolving)]
    if found:
        raise StoreError(
            "the pane store belongs to another pipeline than the one started: "
            + "; ".join(_sentence(*d) for d in found)
            + ". Start the pipeline as it was, or give it a new checkpoint"
        )


def differences(stored: Any, current: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """(path, stored, current) for every place where the two differ; an absent side is a marker that prints as such."""
    if isinstance(stored, dict) and isinstance(current, dict):
        for key in dict.fromkeys([*stored, *current]):
            yield from differences(stored.get(key, _ABSENT), current.get(key, _ABSENT), (*path, str(key)))
    elif stored is _ABSENT or current is _ABSENT or _plain(stored) != _plain(current):
        yield path, stored, current


def _plain(value: Any) -> Any:
    """As JSON would give it back."""
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return {str(k): _plain(v) for k, v in value.items()} if isinstance(value, dict) else value


def _allowed(difference: tuple[tuple[str, ...], Any, Any], evolving: Collection[str]) -> bool:
    path, stored, current = difference
    return len(path) == 2 and path[0] in evolving and (stored is _ABSENT or current is _ABSENT)


def _sentence(path: tuple[str, ...], stored: Any, current: Any) -> str:
    if path == ("shards",):
        what = "the number of shards"
    elif path[0] == "streams" and len(path) > 1:
        inner = [p for p in path[2:] if p not in ("schema", "columns")]
        column = path[2:3] in (("schema",), ("columns",)) and len(inner) == 1
        what = f"stream {path[1]!r}" + (f", {'column ' if column else ''}{'.'.join(inner)!r}" if inner else "")
    else:
        what = ".".join(path)
    if stored is _ABSENT:
        return f"{what} is new"
    if current is _ABSENT:
        return f"{what} is gone"
    return f"{what} was {stored!r}, is now {current!r}"
