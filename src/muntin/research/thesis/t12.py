"""T12, thesis Figure 3.5: two plans of one query, their edges annotated with update patterns.

The binder gives the plan on the left (negation above the join); the plan on the right is put together from its parts.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from muntin.plan.exprs import Call, Column, Literal
from muntin.plan.nodes import Filter, Join, Node, SemiJoin, walk
from muntin.plan.patterns import pattern
from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.product import bound, catalog

TEXT = (
    "SELECT S1.a FROM S1 [RANGE 10 SECONDS], S2 [RANGE 10 SECONDS] WHERE S1.a = S2.a "
    "AND NOT EXISTS (SELECT 1 FROM S3 [RANGE 10 SECONDS] WHERE S3.a = S1.a)"
)

Labels = list[tuple[str, str]]
"""Operator and the label of its output edge, parents first."""


def plans() -> tuple[Node, Node]:
    """Negation above the join, and below it; selections right above the windows."""
    root = bound(TEXT, catalog(S1="a", S2="a", S3="a")).root
    negation = next(n for n in walk(root) if isinstance(n, SemiJoin))
    join = negation.left
    assert isinstance(join, Join)
    one, two = (_selected(p) for p in join.parts)
    left = replace(negation, left=replace(join, parts=(one, two)))
    right = replace(join, parts=(replace(negation, left=one), two))
    return left, right


def _selected(scan: Node) -> Filter:
    """A selection on the column a of one window."""
    a = next(f for f in scan.schema if f.name.endswith(".a"))
    return Filter(scan, Call("gt", (Column(a.name, a.type), Literal(0, a.type)), pa.bool_()))


def labels(plan: Node) -> Labels:
    """The plan's operators with the patterns of their outputs."""
    return [(type(n).__name__, pattern(n).name) for n in walk(plan)]


LEFT: Labels = [
    ("SemiJoin", "STR"),
    ("Join", "WK"),
    ("Filter", "WKS"),
    ("Scan", "WKS"),
    ("Filter", "WKS"),
    ("Scan", "WKS"),
    ("Scan", "WKS"),
]
RIGHT: Labels = [
    ("Join", "STR"),
    ("SemiJoin", "STR"),
    ("Filter", "WKS"),
    ("Scan", "WKS"),
    ("Scan", "WKS"),
    ("Filter", "WKS"),
    ("Scan", "WKS"),
]


def judge(left: Labels, right: Labels) -> tuple[Check, ...]:
    """Labels of both plans."""
    return (
        Check("left: joins/selections WKS->WK edges and STR only above negation", f"left {_told(left)}", left == LEFT),
        Check("right: STR from negation upward incl. the join", f"right {_told(right)}", right == RIGHT),
    )


def _told(found: Labels) -> str:
    return ", ".join(f"{name} {label}" for name, label in found)


def run(setting: Setting) -> Outcome:
    """Both plans."""
    left, right = plans()
    return Outcome(judge(labels(left), labels(right)))


ENTRY = Entry(
    "T12",
    "annotations: plan left has STR only above the negation, plan right from the negation upward",
    "left: joins/selections WKS->WK edges and STR only above negation; right: STR from negation upward incl. the join; "
    "rule engine yields these labels",
    run,
)
