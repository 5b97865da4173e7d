"""What the documents' sharing rules are about: tasks, synopses, and when they may share (Golab 2006, section 8.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal as OneOf

from muntin.plan.dnf import ALL, Dnf

Kind = OneOf["running", "interval", "basic interval", "running join", "interval join", "basic interval join"]

OVER_JOINS = frozenset(["running join", "interval join", "basic interval join"])
"""Kinds over the results of a join of two windows."""

IN_PASSING = frozenset(["basic interval", "basic interval join"])
"""Kinds that give the answers of shorter windows on the way to those of longer ones."""

DATA = {
    "sum": ("sum",), "count": ("count",), "avg": ("sum", "count"), "min": ("min",), "max": ("max",),
    "count_distinct": ("frequencies",), "quantile": ("frequencies",), "top_k": ("frequencies",),
}  # fmt: skip
"""By function the data per interval that it is read from."""

DUPLICATE_SENSITIVE = frozenset(["sum", "count", "avg", "count_distinct", "quantile", "top_k"])
"""A row that is in two parts counts twice. (Not MIN and MAX.)"""


@dataclass(frozen=True)
class Task:
    """An aggregate to be answered: ``lengths`` of its window, or of the two windows of its join, and how often
    (``slide``), in sub-windows; ``where``: its predicate."""

    function: str
    lengths: tuple[int, ...]
    slide: int = 1
    where: Dnf = ALL

    @property
    def longest(self) -> int:
        return max(self.lengths)


@dataclass(frozen=True)
class Kept:
    """A synopsis of ``b`` sub-windows of length ``s``, updated at ``phase`` and multiples of s from there. ``g``:
    oldest intervals in which results of a join are told apart by their windows; ``where``: of the rows that it
    summarizes."""

    kind: Kind
    data: str
    b: int
    s: int = 1
    phase: int = 0
    g: int = 0
    where: Dnf = ALL


@dataclass(frozen=True)
class Condition:
    """A rule. ``holds`` is asked whether the first task may read the synopses ("state"; the second task is not
    looked at), or whether both tasks may be executed together over them ("computation")."""

    name: str
    says: str
    shares: OneOf["state", "computation"]
    holds: Callable[[Task, Task, Sequence[Kept]], bool]
    source: str = "Golab 2006, 8.3"


def aligned(kept: Sequence[Kept]) -> bool:
    """Whether synopses are updated at the same times."""
    return len({(k.s, k.phase % k.s) for k in kept}) == 1


def same_lengths(a: Task, b: Task) -> bool:
    """Whether two tasks have the same windows."""
    return a.lengths == b.lengths


def all_of(kept: Sequence[Kept], *kinds: Kind) -> bool:
    """Whether there are synopses, all of some kinds."""
    return bool(kept) and all(k.kind in kinds for k in kept)
