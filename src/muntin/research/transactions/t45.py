"""T45, thesis 7.3: four serializable histories, of which three read a state of the window and one the latest."""

from __future__ import annotations

import random
from collections.abc import Mapping

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.scheduling.transactions.history import (
    History,
    Transaction,
    classes,
    latest_window_serializable,
    of,
    serial_orders,
    theorem_7_1,
    theorem_7_2,
    window_serializable,
)
from muntin.scheduling.transactions.scheduler import interleaved

TEXTS = {
    "a": "rQ1[0] w5[0] c5 w6[1] c6 rQ1[1] rQ1[2] rQ1[3] rQ1[4] cQ1",
    "b": "rQ1[0] w5[0] c5 rQ1[1] w6[1] c6 rQ1[2] rQ1[3] rQ1[4] cQ1",
    "c": "w5[0] c5 rQ1[0] rQ1[1] rQ1[2] rQ1[3] w6[1] c6 rQ1[4] cQ1",
    "d": "w5[0] c5 rQ1[0] w6[1] c6 rQ1[1] rQ1[2] rQ1[3] rQ1[4] cQ1",
}
VERSIONS = {"a": [0, 6, 2, 3, 4], "b": [0, 1, 2, 3, 4], "c": [5, 1, 2, 3, 4], "d": [5, 6, 2, 3, 4]}
CLASSES = {"a": {"serializable"}, "b": {"serializable", "WS"}, "c": {"serializable", "WS"},
           "d": {"serializable", "WS", "LWS"}}  # fmt: skip
ORDERS: dict[str, tuple[Transaction, ...]] = {
    "a": (6, "Q1", 5),
    "b": ("Q1", 5, 6),
    "c": (5, "Q1", 6),
    "d": (5, 6, "Q1"),
}


def judge(histories: Mapping[str, History]) -> tuple[Check, ...]:
    """The four histories."""
    read = {name: [h.versions("Q1")[i] for i in range(h.n)] for name, h in histories.items()}
    are = {name: set(classes(h)) - {"CPS"} for name, h in histories.items()}
    orders = [name for name, h in histories.items() if ORDERS[name] not in serial_orders(h)]
    return (
        Check("versions read", f"{read}", read == VERSIONS),
        Check("a: not WS; b, c: WS, not LWS; d: LWS", f"{ {n: sorted(c) for n, c in are.items()} }", are == CLASSES),
        Check("serialization orders", f"other ones: {orders or 'none'}", not orders),
    )


def judge_theorems(histories: list[History]) -> tuple[Check, ...]:
    """On random histories the theorems say what the definitions say."""
    first = sum(theorem_7_1(h) != window_serializable(h) for h in histories)
    second = sum(theorem_7_2(h) != latest_window_serializable(h) for h in histories)
    kinds = {(window_serializable(h), latest_window_serializable(h)) for h in histories}
    told = f"{first} and {second} differ of {len(histories)}"
    return (
        Check("Theorems 7.1 and 7.2 agree with the definitions", told, first == second == 0),
        Check("the histories are of every kind", f"{len(kinds)} of 3", len(kinds) == 3),
    )


def run(setting: Setting) -> Outcome:
    """The thesis' histories, and random ones."""
    rng = random.Random(45)
    drawn = [interleaved(rng, rng.choice([3, 5]), immediate=True) for _ in range(150 if setting.smoke else 1500)]
    return Outcome((*judge({name: of(text) for name, text in TEXTS.items()}), *judge_theorems(drawn)))


ENTRY = Entry(
    "T45",
    "H_a to H_d: all serializable; a reads no state of the window, b and c an old one, d the latest",
    "checker output; Theorems 7.1 and 7.2 agree with definitions on random histories",
    run,
)
