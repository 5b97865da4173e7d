"""Output rate, active window and utilisation of a plan of selections and window joins (Ayad & Naughton 2004, 3).

A plan is a tree over sources numbered from 0. For each edge the model knows the rate (tuples a second), the active
window (tuples that may still join: those whose parts are all in their windows), and the work below it: seconds of
processing a second, so a plan is feasible below 1. All of it costs O(size of the plan).

A drop box of share x at a source makes its rate x lambda. A window of W rows still holds W; a window of time T holds
x lambda T.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Source:
    """A stream: tuples a second, and its window, of so many ``rows`` or of a ``span`` of seconds.

    Raises:
        ValueError: not exactly one window, or a number that is negative.
    """

    name: str
    rate: float
    rows: float | None = None
    span: float | None = None

    def __post_init__(self) -> None:
        if (self.rows is None) == (self.span is None):
            raise ValueError(f"{self.name}: a window is either of rows or of a span of time")
        if self.rate < 0 or (self.rows or 0) < 0 or (self.span or 0) < 0:
            raise ValueError(f"{self.name}: rates and windows are not negative")

    def window(self, rate: float) -> float:
        """Tuples in the window when they come at ``rate``."""
        return self.rows if self.rows is not None else rate * (self.span or 0.0)


@dataclass(frozen=True)
class JoinCost:
    """Seconds that one side of a join takes (Kang et al.'s split, equation 8).

    ``insert`` and ``invalidate``: a tuple of this side; ``probe``: a tuple of the other side into this window, of which
    ``scan`` for each tuple in it (nested loops). ``result``: each joined tuple that comes of it; not in the document.
    """

    insert: float = 0.0
    invalidate: float = 0.0
    probe: float = 0.0
    scan: float = 0.0
    result: float = 0.0

    @staticmethod
    def constant(seconds: float) -> JoinCost:
        """The document's examples: each tuple that a join takes in costs the same."""
        return JoinCost(probe=seconds)

    def dilated(self, share: float) -> JoinCost:
        """Where the operator has only a ``share`` of the machine's time (3.2.3)."""
        names = ("insert", "invalidate", "probe", "scan", "result")
        return JoinCost(**{name: getattr(self, name) / share for name in names})


@dataclass(frozen=True)
class Leaf:
    """A source, by number."""

    source: int


@dataclass(frozen=True)
class Select:
    """A selection (``share`` 1: a projection), ``cost`` seconds a tuple."""

    input: Plan
    share: float
    cost: float = 0.0


@dataclass(frozen=True)
class Join:
    """A window join; ``selectivity`` relative to the Cartesian product. ``other``: of the right side where the two
    sides work differently."""

    left: Plan
    right: Plan
    selectivity: float
    cost: JoinCost
    other: JoinCost | None = None


Plan = Leaf | Select | Join


@dataclass(frozen=True)
class Flow:
    """What an edge brings: tuples a second, active window in tuples, seconds of work a second below it."""

    rate: float
    window: float
    work: float

    @property
    def feasible(self) -> bool:
        """Whether one machine keeps up."""
        return self.work < 1


def flow(plan: Plan, sources: Sequence[Source], shares: Sequence[float] | None = None) -> Flow:
    """What comes out of ``plan`` with drop boxes of these ``shares`` at its sources (all: none)."""
    match plan:
        case Leaf(source):
            share = 1.0 if shares is None else shares[source]
            rate = share * sources[source].rate
            return Flow(rate, sources[source].window(rate), 0.0)
        case Select(below, share, cost):
            f = flow(below, sources, shares)
            return Flow(share * f.rate, share * f.window, f.work + cost * f.rate)
        case Join():
            return _joined(plan, flow(plan.left, sources, shares), flow(plan.right, sources, shares))


def _joined(join: Join, left: Flow, right: Flow) -> Flow:
    """Equations (3), (4) and (8)."""
    f, here, there = join.selectivity, join.cost, join.other or join.cost
    by_left, by_right = f * right.window * left.rate, f * left.window * right.rate
    work = _side(here, left, right.rate) + _side(there, right, left.rate)
    work += there.result * by_left + here.result * by_right
    return Flow(by_left + by_right, f * left.window * right.window, left.work + right.work + work)


def _side(cost: JoinCost, own: Flow, probes: float) -> float:
    return probes * (cost.probe + cost.scan * own.window) + own.rate * (cost.insert + cost.invalidate)


def works(plan: Plan, sources: Sequence[Source], shares: Sequence[float] | None = None) -> list[float]:
    """Utilisation of each operator alone, inputs before those that read them; they add up to the plan's."""
    match plan:
        case Leaf():
            return []
        case Select(below, _, _):
            done = works(below, sources, shares)
        case Join(left, right):
            done = works(left, sources, shares) + works(right, sources, shares)
    return [*done, flow(plan, sources, shares).work - sum(done)]


def read_by(plan: Plan) -> frozenset[int]:
    """The sources that a plan reads."""
    match plan:
        case Leaf(source):
            return frozenset((source,))
        case Select(below, _, _):
            return read_by(below)
        case Join(left, right):
            return read_by(left) | read_by(right)


def is_linear(sources: Sequence[Source]) -> bool:
    """Whether work and output are linear in the shares: no window depends on them."""
    return all(s.rows is not None for s in sources)


def alone(plan: Plan, sources: Sequence[Source], which: int) -> Flow:
    """The flow due to the arrivals of one source, the windows of the others being full."""
    return flow(plan, [s if i == which else replace(s, rate=0.0) for i, s in enumerate(sources)])
