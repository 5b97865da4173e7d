"""T4, thesis section 2.2.1: a join of unbounded streams that bounded memory can evaluate.

pi_A(sigma_{A = D, A > 10, D < 20}(S x T)) over S(A, B, C) and T(D, E): counters per integer 11..19 when duplicates are
kept, flags when they are removed. Answers are held against the product's naive evaluator. With B < D instead of A = D,
(min B, max D) per A suffices when duplicates are removed, and only then.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.product import bound, catalog, naive

LOW, HIGH = 10, 20
TEXT = "SELECT {}S.a FROM S, T WHERE S.a = T.d AND S.a > 10 AND T.d < 20"


@dataclass
class Bounded:
    """The counters: tuples seen of S and of T for each integer strictly between 10 and 20."""

    s: Counter[int] = field(default_factory=lambda: Counter(dict.fromkeys(range(LOW + 1, HIGH), 0)))
    t: Counter[int] = field(default_factory=lambda: Counter(dict.fromkeys(range(LOW + 1, HIGH), 0)))

    def arrive(self, stream: str, value: int) -> None:
        if LOW < value < HIGH:
            (self.s if stream == "S" else self.t)[value] += 1

    @property
    def size(self) -> int:
        return len(self.s) + len(self.t)

    def bag(self) -> Counter[int]:
        """The answer with duplicates."""
        return +Counter({v: self.s[v] * self.t[v] for v in self.s})

    def distinct(self) -> set[int]:
        """The answer without duplicates; here the counters serve as flags."""
        return set(self.bag())


def less_than(s: list[tuple[int, int]], t: list[int]) -> Counter[int]:
    """The variant with B < D: a brute-force bag of A values from (A, B) and D."""
    return Counter(a for a, b in s for d in t if b < d and LOW < a < HIGH)


def extremes(s: list[tuple[int, int]], t: list[int]) -> set[int]:
    """The same without duplicates, from the least B per A and the largest D alone."""
    least: dict[int, int] = {}
    for a, b in s:
        least[a] = min(b, least.get(a, b))
    return {a for a, b in least.items() if LOW < a < HIGH and t and b < max(t)}


def _stream(seed: int, count: int) -> list[tuple[str, int, int]]:
    rng = random.Random(seed)
    return [(rng.choice("ST"), rng.randrange(5, 26), rng.randrange(30)) for _ in range(count)]


def run(setting: Setting) -> Outcome:
    """Random streams: state size, answers at every arrival, and the variant."""
    arrivals = _stream(4, 80 if setting.smoke else 160)
    state, sizes, wrong = Bounded(), [], 0
    rows: dict[str, list[dict[str, int]]] = {"S": [], "T": []}
    streams = catalog(S="a b", T="d e")
    for i, (stream, value, other) in enumerate(arrivals, start=1):
        state.arrive(stream, value)
        sizes.append(state.size)
        names = ("a", "b") if stream == "S" else ("d", "e")
        rows[stream].append({"ts": i, names[0]: value, names[1]: other})
        if i % (len(arrivals) // 4) == 0:
            wrong += _answer(TEXT.format(""), streams, rows) != state.bag()
            wrong += set(_answer(TEXT.format("DISTINCT "), streams, rows)) != state.distinct()
    settled = len(set(sizes)) == 1
    return Outcome(
        (
            Check("state size constant (<= 18 counters)", f"{max(sizes)} counters", settled and max(sizes) <= 18),
            Check("answers equal brute force", f"{wrong} wrong answers", wrong == 0),
            _variant(arrivals),
        )
    )


def _answer(text: str, streams: object, rows: dict[str, list[dict[str, int]]]) -> Counter[int]:
    """The bag that the naive evaluator's change stream ends in."""
    bag: Counter[int] = Counter()
    for r in naive(bound(text, streams), rows):  # type: ignore[arg-type]
        bag[r.values[0]] += 1 if r.op == "+" else -1  # type: ignore[index]
    return +bag


def _variant(arrivals: list[tuple[str, int, int]]) -> Check:
    s = [(a, b) for name, a, b in arrivals if name == "S"][:40]
    t = [d for name, d, _ in arrivals if name == "T"][:40]
    fits = all(extremes(s[:n], t[:m]) == set(less_than(s[:n], t[:m])) for n in range(41) for m in range(1, 41))
    # the same extremes, different bags: nothing that keeps only (min B, max D) can tell these apart
    one, two = less_than([(11, 1)], [5]), less_than([(11, 1), (11, 2)], [5])
    differ = extremes([(11, 1)], [5]) == extremes([(11, 1), (11, 2)], [5]) and one != two
    return Check(
        "(min B, max D) per i suffices for B < D only with duplicates removed",
        f"without duplicates right: {fits}, with duplicates ambiguous: {differ}",
        fits and differ,
    )


ENTRY = Entry(
    "T4",
    "pi_A(sigma_{A=D,10<A<20}(SxT)): counters for i=11..19 (keep duplicates) or flags (remove duplicates)",
    "state size constant (<=18 counters) and answers equal brute force; (min B, max D) per i suffices for the B<D "
    "variant only with duplicates removed",
    run,
)
