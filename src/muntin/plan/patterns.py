"""Update patterns: how the rows of an edge come and go (thesis 3.2.1), derived bottom up by one match.

MON: rows are only added. WKS (weakest non-monotonic): rows leave in the order in which they came. WK (weak): each row's
expiry is known when it comes, in any order. STR (strict): a row may leave for a reason that only the future shows.
"""

from __future__ import annotations

from enum import IntEnum

from muntin.plan.nodes import (
    Aggregate,
    Apply,
    Distinct,
    Filter,
    Join,
    Node,
    OuterJoin,
    Output,
    Project,
    Rewindow,
    Scan,
    SemiJoin,
    SetOp,
    TableScan,
    TopK,
    has_internal,
)
from muntin.plan.windows import Now, Range, Rows, Session, Unbounded, Window, in_order


class Pattern(IntEnum):
    """From the simplest to maintain to the hardest; the harder of two inputs decides where both matter."""

    MON = 0
    WKS = 1
    WK = 2
    STR = 3


def pattern(node: Node) -> Pattern:
    """The update pattern of the node's output."""
    match node:
        case Scan(window=window):
            return _window(window)
        case Filter(input=child) | Project(input=child):
            return pattern(child)  # stateless: rows keep their order and their expiry
        case Join(parts=parts):
            # updates of a non-retroactive relation show nothing: such a join keeps the pattern of its window (3.5.1)
            timed = [p for p in parts if not (isinstance(p, TableScan) and p.table.kind == "nrr")]
            hardest = max(pattern(p) for p in timed or parts)
            if len(timed) == 1:
                return hardest
            # a result leaves with the first of its parts, which need not be the part that came first (nor, where one
            # window is external and others INTERNAL, do results leave in the order in which they came, as 3.3.2 has it)
            return hardest if hardest in (Pattern.MON, Pattern.STR) else Pattern.WK
        case Aggregate(input=child):
            # a new value replaces the old one whenever a row comes or goes; over INTERNAL windows both stay (3.3.2)
            return Pattern.MON if has_internal(child) else Pattern.STR
        case TableScan(table=table):
            # rows of a static table never leave; a change stream may take any row away
            return Pattern.MON if table.kind == "static" else Pattern.STR
        case Rewindow(window=window):
            return _window(window)
        case Distinct(input=child):
            # a later duplicate stands in when the shown one expires, with an expiry known when it is emitted
            return max(pattern(child), Pattern.WK) if pattern(child) is not Pattern.MON else Pattern.MON
        case SemiJoin(left=left, right=right, anti=False, null_aware=None):
            # a join with the distinct rows of the right
            hardest = max(pattern(left), pattern(right))
            return hardest if hardest in (Pattern.MON, Pattern.STR) else Pattern.WK
        case SemiJoin() | OuterJoin() | Apply() | TopK():
            return Pattern.STR  # a row of one input takes results of the other away, or brings them back
        case SetOp(kind="union_all", left=left, right=right):
            # rows of two windows leave in the order in which they came only if the windows are equally long
            hardest = max(pattern(left), pattern(right))
            return Pattern.WK if hardest is Pattern.WKS and _lifetime(node) is None else hardest
        case SetOp():
            return Pattern.STR
        case Output(input=child, kind=kind):
            # the streams of insertions, deletions and whole answers are append-only; a change stream keeps its pattern
            return pattern(child) if kind == "changes" else Pattern.MON


def _lifetime(node: Node) -> Window | None:
    """The window that alone says how long a row of the node stays; None if there is none."""
    match node:
        case Scan(window=window) | Rewindow(window=window):
            return window
        case Filter(input=child) | Project(input=child):
            return _lifetime(child)
        case SetOp(kind="union_all", left=left, right=right):
            mine = _lifetime(left)
            return mine if mine == _lifetime(right) else None
        case _:
            return None


def _window(window: Window) -> Pattern:
    if window.internal:
        return Pattern.MON  # what came to be in it stays (3.3.2)
    match window:
        case Unbounded():
            return Pattern.MON
        case Rows() | Range(rows=int()):
            return Pattern.STR  # later rows decide which one leaves, and when
        case Session():
            return Pattern.WKS
        case Range() | Now():
            return Pattern.WKS if in_order(window) else Pattern.WK
