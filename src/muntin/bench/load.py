"""What the engines of a contest have in common: how much they are fed, where they work, what they can be asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol


@dataclass(frozen=True)
class Load:
    """What an engine is fed: ``size`` rows a stream and file, ``files`` a timed round, ``warm`` files before that."""

    size: int
    files: int
    warm: int = 1


@dataclass(frozen=True)
class Place:
    """Where a contest takes place: a Spark session, a scratch folder, and the number of keys in the streams."""

    spark: Any
    scratch: Path
    keys: int


class Turns(Protocol):
    """An engine that is being timed; what it did in its turns so far, and where the time went."""

    rows: int
    results: int

    @property
    def seconds(self) -> float: ...

    def turn(self) -> None: ...

    def account(self, case: str) -> list[str]: ...

    def stop(self) -> None: ...


class Side(Protocol):
    """One engine in a case."""

    @property
    def engine(self) -> str: ...

    @property
    def load(self) -> Load: ...

    def answers(self, place: Place, files: int, size: int) -> Any:
        """Results for the first ``files * size`` rows of each stream: a batch DataFrame, its first column the instant
        ``t``."""

    def start(self, place: Place) -> Turns:
        """Warm, ready for its first turn."""

    def close(self) -> None:
        """Free what it keeps between ``answers`` and ``start``."""
