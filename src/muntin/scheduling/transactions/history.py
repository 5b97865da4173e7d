"""Histories of window updates and queries, and what they guarantee (Golab 2006, 7.2.3 and 7.3).

A window is a circular array of ``n`` sub-windows. Update ``T_j`` replaces sub-window ``j mod n`` and is its version j;
a query reads sub-windows, each once. Sub-windows are written in place, so a read sees the last write, committed or not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Literal as OneOf

Transaction = int | str
"""An update by its number, a query by its name."""


@dataclass(frozen=True)
class Op:
    """A read (r), a write (w), a commit (c) or an abort (a); ``place``: of the sub-window (-1 for c and a)."""

    kind: OneOf["r", "w", "c", "a"]
    who: Transaction
    place: int = -1

    def __str__(self) -> str:
        return f"{self.kind}{self.who}" + (f"[{self.place}]" if self.place >= 0 else "")


def parse(text: str) -> tuple[Op, ...]:
    """Operations as the thesis writes them: ``rQ1[0] w5[0] c5 cQ1``."""
    found = []
    for word in text.split():
        m = re.fullmatch(r"([rwca])(\d+|Q\d*)(?:\[(\d+)\])?", word)
        if m is None:
            raise ValueError(f"{word!r} is no operation; write rQ1[0], w5[0], c5, cQ1 or aQ1")
        who: Transaction = int(m[2]) if m[2].isdigit() else m[2]
        found.append(Op(m[1], who, -1 if m[3] is None else int(m[3])))  # type: ignore[arg-type]
    return tuple(found)


@dataclass(frozen=True)
class History:
    """Operations over a window of ``n`` sub-windows that updates up to ``base`` have filled before."""

    ops: tuple[Op, ...]
    n: int
    base: int

    @property
    def queries(self) -> tuple[str, ...]:
        """Queries that committed."""
        return tuple(str(o.who) for o in self.ops if o.kind == "c" and isinstance(o.who, str))

    def attempt(self, query: str) -> tuple[int, int]:
        """Places of the first read after the query's last abort, and of its commit."""
        end = next(i for i, o in enumerate(self.ops) if o.kind == "c" and o.who == query)
        aborted = [i for i, o in enumerate(self.ops) if o.kind == "a" and o.who == query and i < end]
        start = aborted[-1] + 1 if aborted else 0
        return next(i for i in range(start, end) if self.ops[i].who == query), end

    def latest(self, before: int) -> int:
        """The number of the last update written before a place."""
        return max((int(o.who) for o in self.ops[:before] if o.kind == "w"), default=self.base)

    def versions(self, query: str) -> dict[int, int]:
        """Sub-window to the version that the committed query read."""
        first, end = self.attempt(query)
        now = {j % self.n: j for j in range(self.base - self.n + 1, self.base + 1)}
        found = {}
        for at, op in enumerate(self.ops[:end]):
            if op.kind == "w":
                now[op.place] = int(op.who)
            elif op.kind == "r" and op.who == query and at >= first:
                found[op.place] = now[op.place]
        return found

    def edges(self) -> set[tuple[Transaction, Transaction]]:
        """The serialization graph: of conflicting operations of committed transactions, which came first."""
        return {(a.who, b.who) for a, b in self._conflicts()}

    def _conflicts(self) -> Iterator[tuple[Op, Op]]:
        committed = {o.who for o in self.ops if o.kind == "c"}
        counted = []
        for at, op in enumerate(self.ops):
            if op.place >= 0 and op.who in committed:
                if isinstance(op.who, str) and at < self.attempt(op.who)[0]:
                    continue  # of an attempt that was aborted
                counted.append(op)
        for i, a in enumerate(counted):
            for b in counted[i + 1 :]:
                if a.who != b.who and a.place == b.place and "w" in (a.kind, b.kind):
                    yield a, b

    def order_of_commits(self) -> list[Transaction]:
        """Transactions as they committed."""
        return [o.who for o in self.ops if o.kind == "c"]


def serializable(history: History) -> bool:
    """Whether the serialization graph has no cycle."""
    edges = history.edges()
    nodes = {x for e in edges for x in e}
    while nodes:
        free = {x for x in nodes if not any(b == x and a in nodes for a, b in edges)}
        if not free:
            return False
        nodes -= free
    return True


def serial_orders(history: History) -> list[tuple[Transaction, ...]]:
    """All orders of the transactions that the serialization graph allows."""
    edges, nodes = history.edges(), history.order_of_commits()
    return [p for p in permutations(nodes) if all(p.index(a) < p.index(b) for a, b in edges)]


def _newest(versions: dict[int, int]) -> int | None:
    """The newest of versions that follow one another; None where they do not."""
    found = sorted(versions.values())
    return found[-1] if found and found == list(range(found[0], found[-1] + 1)) else None


def window_serializable(history: History) -> bool:
    """Definition 7.1: each query has read a state of the window, as of its commit or before."""
    return all(
        (m := _newest(history.versions(q))) is not None and m <= history.latest(history.attempt(q)[1])
        for q in history.queries
    )


def latest_window_serializable(history: History) -> bool:
    """Definition 7.2: each query has read the state of the window as of its commit."""
    return all(_newest(history.versions(q)) == history.latest(history.attempt(q)[1]) for q in history.queries)


def commit_order_preserving(history: History) -> bool:
    """Conflicting operations are in the order of commits (7.6)."""
    at = {who: i for i, who in enumerate(history.order_of_commits())}
    return all(at[a] < at[b] for a, b in history.edges())


def theorem_7_1(history: History) -> bool:
    """The serialization graph has no update before a query that is younger than one after it."""
    edges = history.edges()
    return all(
        int(i) < int(j)
        for q in history.queries
        for i in (a for a, b in edges if b == q)
        for j in (b for a, b in edges if a == q)
    )


def theorem_7_2(history: History) -> bool:
    """All updates that are concurrent with a query come before it in the serialization graph."""
    edges = history.edges()
    for q in history.queries:
        first, end = history.attempt(q)
        concurrent = {o.who for o in history.ops[first:end] if o.kind == "w"}
        if not all((j, q) in edges and (q, j) not in edges for j in concurrent):
            return False
    return True


def of(text: str, n: int = 5, base: int | None = None) -> History:
    """A history from its text; ``base``: None for the update before the first."""
    ops = parse(text)
    first = min((int(o.who) for o in ops if o.kind == "w"), default=n)
    return History(ops, n, first - 1 if base is None else base)


def classes(history: History) -> Sequence[str]:
    """Names of what it is: serializable, WS, LWS, CPS."""
    tests = {
        "serializable": serializable, "WS": window_serializable, "LWS": latest_window_serializable,
        "CPS": commit_order_preserving,
    }  # fmt: skip
    return [name for name, test in tests.items() if test(history)]
