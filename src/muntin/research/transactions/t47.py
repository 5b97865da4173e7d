"""T47, thesis 7.6 and Figure 7.15: commit-order preserving serializability beside WS and LWS."""

from __future__ import annotations

from collections.abc import Mapping

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.transactions.t45 import TEXTS
from muntin.scheduling.transactions.history import History, classes, of, serial_orders

H_G = "rQ1[0] w5[0] w6[1] c6 rQ1[1] rQ1[2] rQ1[3] rQ1[4] cQ1 c5"
H_H = "rQ1[0] rQ1[1] rQ1[2] rQ1[3] w9[4] rQ1[4] cQ1 c9"
OLD = "rQ1[0] w5[0] rQ1[1] rQ1[2] rQ1[3] rQ1[4] cQ1 c5"
"""Ours: WS and CPS, not LWS."""

REGIONS = {
    frozenset({"CPS"}), frozenset({"WS", "LWS"}), frozenset({"WS", "LWS", "CPS"}), frozenset({"WS", "CPS"}),
    frozenset({"WS"}), frozenset[str](),
}  # fmt: skip


def judge(g: History, h: History, others: Mapping[str, History]) -> tuple[Check, ...]:
    """H_g, H_h, and one history for every region of Figure 7.15."""
    kinds = {name: frozenset(classes(x)) - {"serializable"} for name, x in {"g": g, "h": h, **others}.items()}
    commits = tuple(g.order_of_commits())
    in_order = commits == (6, "Q1", 5) and commits in serial_orders(g)
    told = {name: sorted(k) for name, k in kinds.items()}
    return (
        Check("g: CPS, neither WS nor LWS", f"{told['g']}", kinds["g"] == {"CPS"}),
        Check("g commits in serialization order", f"{commits}", in_order),
        Check("h: WS and LWS, not CPS", f"{told['h']}", kinds["h"] == {"WS", "LWS"}),
        Check("no region of Figure 7.15 is empty", f"{told}", set(kinds.values()) == REGIONS),
    )


def run(setting: Setting) -> Outcome:
    """The thesis' histories and one of ours."""
    others = {name: of(text) for name, text in TEXTS.items()}
    return Outcome(judge(of(H_G), of(H_H), {**others, "old": of(OLD)}))


ENTRY = Entry(
    "T47",
    "H_g is CPS but neither WS nor LWS; H_h is WS and LWS but not CPS",
    "checker; Figure 7.15 Venn regions non-empty",
    run,
)
