"""T40, thesis Figure 6.2: one run of Algorithm 6, k = 3 over 13 sub-windows, by the product and as printed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muntin.research.frequent.lists import Frequent
from muntin.research.frequent.made import answers, counts
from muntin.research.harness import Check, Entry, Outcome, Setting

VECTOR = (
    "bfebccdeaa", "fceacebgga", "acgcbcabcc", "bbbcbafcdb", "hfbbedgcfd", "bcffccabec", "bcddcccecc", "caadhccbch",
    "ecfbchccbc", "haeffeeccc", "afcbccbbcd", "ccabbcfeef", "bfdaaaebbd",
)  # fmt: skip
"""The lists of the figure are in an image; these sub-windows of ten tuples give its answer."""


def letters(found: Mapping[int, int]) -> dict[str, int]:
    """Items as letters."""
    return {chr(97 + item): n for item, n in sorted(found.items())}


def judge(
    delta: int, counters: Mapping[str, int], answer: Mapping[str, int], product: Any, true: Any
) -> tuple[Check, ...]:
    """Algorithm 6 as printed, and the product's FREQUENT_LISTS and FREQUENT."""
    expected = {"b": 24, "c": 40}
    all_counters = {"a": 13, "b": 24, "c": 40, "d": 6, "e": 8, "f": 6, "h": 2}
    items = letters(counts(product))
    exact = {k: n for k, n in letters(counts(true)).items() if k in expected}
    inside = (delta, counters) == (22, all_counters)
    return (
        Check("delta = 22 and the global counters", f"{delta}, {dict(counters)}", inside),
        Check("answer {b: 24, c: 40}", f"{dict(answer)}", answer == expected),
        Check(
            "the product's FREQUENT_LISTS says the same", f"threshold {product['threshold']}, {items}",
            (product["threshold"], items) == (22, expected),
        ),
        Check("true counts b 26, c 41 (FREQUENT)", f"{exact}", exact == {"b": 26, "c": 41}),
    )  # fmt: skip


def run(setting: Setting) -> Outcome:
    """The vector."""
    made = [[ord(c) - 97 for c in part] for part in VECTOR]
    engine, answer = Frequent(3, len(made)), None
    for part in made:
        answer = engine.sub_window(part)
    counters = letters({int(str(i)): n for i, n in engine.counters.items()})
    found = letters({int(str(i)): n for i, n in (answer or {}).items()})
    product = answers("FREQUENT_LISTS(x, 3)", made, len(made))[len(made)]
    true = answers("FREQUENT(x, 10)", made, len(made))[len(made)]
    return Outcome(judge(engine.delta, counters, found, product, true))


ENTRY = Entry(
    "T40",
    "Figure 6.2: k = 3, 13 sub-windows: returns b and c",
    "exact: delta=22, answer {b:24, c:40}; true b 26, c 41",
    run,
)
