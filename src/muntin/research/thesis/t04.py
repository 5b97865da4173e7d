"""T4, thesis section 2.2.1: a join of unbounded streams that bounded memory can evaluate.

pi_A(sigma_{A = D, A > 10, D < 20}(S x T)) over S(A, B, C) and T(D, E): counters per integer 11..19 when duplicates are
kept, flags when they are removed. The rule is replayed here and held against the answers of the product, fed tuple by
tuple, after every arrival. Whether the product's own join keeps so little is judged by its meter. With B < D instead of
A = D, (min B, max D) per A suffices when duplicates are removed, and only then.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.product import bound, catalog, metered, naive, snapshots

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
    state, sizes = Bounded(), []
    rows: dict[str, list[dict[str, int]]] = {"S": [], "T": []}
    bags: dict[int, list[tuple[object, ...]]] = {}
    sets: dict[int, list[tuple[object, ...]]] = {}
    streams = catalog(S="a b", T="d e")
    for i, (stream, value, other) in enumerate(arrivals, start=1):
        state.arrive(stream, value)
        sizes.append(state.size)
        names = ("a", "b") if stream == "S" else ("d", "e")
        rows[stream].append({"ts": i, names[0]: value, names[1]: other})
        bags[i], sets[i] = [(v,) for v in sorted(state.bag().elements())], [(v,) for v in sorted(state.distinct())]
    settled = len(set(sizes)) == 1
    queries = [bound(TEXT.format(word), streams) for word in ("", "DISTINCT ")]
    runs = [metered(q, rows, "upa") for q in queries]
    wrong = sum(
        differing(snapshots(answer), kept)
        for q, r, kept in zip(queries, runs, (bags, sets), strict=True)
        for answer in (r.changes, naive(q, rows))
    )
    half = {name: part[: len(part) // 2] for name, part in rows.items()}
    held = [sum(c.state for _, c in metered(q, part, "upa").counters) for q in queries for part in (half, rows)]
    return Outcome(
        (
            Check("state size constant (<= 18 counters)", f"{max(sizes)} counters", settled and max(sizes) <= 18),
            Check("answers equal brute force after every arrival", f"{wrong} wrong answers", wrong == 0),
            _variant(arrivals),
            judge_product(held, len(arrivals)),
        ),
        figures={name: r.plain for name, r in zip(("with duplicates", "DISTINCT"), runs, strict=True)},
    )


def judge_product(held: list[int], arrivals: int) -> Check:
    """``held``: rows in the product's state after half and after all of the arrivals, with duplicates and without."""
    return Check(
        "the product's state is constant (<= 18 counters)",
        f"the product holds {held[0]}, then {held[1]} rows with duplicates, {held[2]}, then {held[3]} without",
        held[0] == held[1] <= 18 and held[2] == held[3] <= 18,
        f"its join of unbounded windows keeps each row that passes the selection (of {arrivals // 2}, then {arrivals} "
        "arrivals; EXPLAIN shows the selections below the join): the rule of 2.2.1 is not among its rewritings",
    )


def differing(shown: dict[int, list[tuple[object, ...]]], kept: dict[int, list[tuple[object, ...]]]) -> int:
    """Instants at which an answer, where it changes given, is another than the one kept."""
    now: list[tuple[object, ...]] = []
    count = 0
    for instant, expected in kept.items():
        now = shown.get(instant, now)
        count += now != sorted(expected, key=repr)
    return count


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
