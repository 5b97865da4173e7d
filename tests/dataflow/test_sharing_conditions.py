"""The sharing rules of thesis 8.3, each on both sides: where one holds, the shared answer is that of separate runs; it
does not hold where sharing would be wrong, or of no use."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

from muntin.dataflow.sharing.conditions import CONDITIONS, Kept, Task
from muntin.plan.dnf import ALL, Dnf, dnf_of
from muntin.plan.exprs import Call, Column, Literal
from muntin.research.synopses.data import COUNT, FREQUENCIES, MAX, SUM, Data, count_distinct, quantile
from muntin.research.synopses.joins import BasicIntervalJoin, GeneralisedBij, IntervalJoin
from muntin.research.synopses.windows import BasicInterval, Interval, Running

RULE = {c.name: c for c in CONDITIONS}
RNG = Random(8)
ROWS = [[(RNG.choice("abc"), RNG.choice("uv"), RNG.randint(0, 9)) for _ in range(4)] for _ in range(30)]
"""By sub-window rows of (protocol, user, length)."""


def equal(attribute: str, value: str) -> Dnf:
    return dnf_of(Call("eq", (Column(attribute, pa.string()), Literal(value, pa.string())), pa.bool_()))


A, B, U = equal("protocol", "a"), equal("protocol", "b"), equal("user", "u")


def fulfils(row: tuple[str, str, int], where: Dnf) -> bool:
    values = {"protocol": row[0], "user": row[1]}
    return any(all(values[x.attribute.name] == x.value for x in term) for term in where)  # type: ignore[union-attr]


def filled(kind: type, data: Data, where: Dnf = ALL, b: int = 8):  # type: ignore[no-untyped-def]
    synopsis = kind(data, b)
    for part in ROWS:
        synopsis.update(data.of(r[2] for r in part if fulfils(r, where)))
    return synopsis


def own(data: Data, n: int, where: Dnf = ALL):  # type: ignore[no-untyped-def]
    """What a task of its own finds."""
    return data.of(r[2] for part in ROWS[-n:] for r in part if fulfils(r, where))


def holds(rule: str, task: Task, other: Task, *kept: Kept) -> bool:
    return RULE[rule].holds(task, other, kept)


def test_every_rule_has_a_name_and_says_what_it_shares() -> None:
    assert list(RULE) == ["SS1", "SS2", "SS3", "SS4", *(f"CS{n}" for n in range(1, 9))]
    assert all(c.says and c.shares == ("state" if c.name[0] == "S" else "computation") for c in CONDITIONS)


@pytest.mark.parametrize("kind", [("running", Running), ("interval", Interval), ("basic interval", BasicInterval)])
def test_ss1_one_synopsis_for_windows_of_many_lengths(kind) -> None:  # type: ignore[no-untyped-def]
    kept, synopsis = Kept(kind[0], "frequencies", 8), filled(kind[1], FREQUENCIES)
    for n in range(1, 9):
        for function, read in (("count_distinct", count_distinct), ("quantile", lambda c: quantile(c, 0.5))):
            task = Task(function, (n,))
            assert holds("SS1", task, task, kept)
            assert read(synopsis.answer(n)) == read(own(FREQUENCIES, n))
    assert not holds("SS1", Task("sum", (3,)), Task("sum", (3,)), kept)
    assert not holds("SS1", Task("quantile", (9,)), Task("quantile", (9,)), kept)
    assert not holds("SS1", Task("quantile", (3,), where=A), Task("quantile", (3,)), kept)


def test_ss2_and_cs3_averages_from_sums_and_counts() -> None:
    sums, counts = Kept("running", "sum", 8), Kept("running", "count", 4)
    task, other = Task("avg", (4,)), Task("sum", (4,))
    total, number = filled(Running, SUM), filled(Running, COUNT, b=4)
    assert holds("SS2", task, task, sums, counts) and holds("CS3", other, task, sums, counts)
    assert total.answer(4) / number.answer(4) == own(SUM, 4) / own(COUNT, 4)
    assert not holds("SS2", Task("avg", (5,)), task, sums, counts)
    assert not holds("SS2", task, task, sums, Kept("running", "count", 8, s=2, phase=1))
    assert not holds("CS3", Task("sum", (3,)), task, sums, counts)


def joined() -> list[list[tuple[int, int, int]]]:
    found = []
    for now in range(24):
        alive = range(max(0, now - 7), now + 1)
        found.append([(a, c, RNG.randint(0, 9)) for a in alive for c in alive if now in (a, c)])
    return found


def test_ss3_cs4_and_cs5_over_joins() -> None:
    results, (first, second) = joined(), (Task("count", (8, 7)), Task("count", (7, 8)))
    kept = Kept("basic interval join", "count", 8, g=1)
    bij, general, dyadic = BasicIntervalJoin(COUNT, 8), GeneralisedBij(COUNT, 8, 1), IntervalJoin(COUNT, 8)
    for new in results:
        bij.update(new)
        general.update(new)
        dyadic.update(new)
    flat = [r for part in results for r in part]

    def brute(n1: int, n2: int) -> int:
        return sum(a > 23 - n1 and c > 23 - n2 for a, c, _ in flat)

    for n in range(1, 9):
        assert holds("SS3", Task("count", (n, n)), first, kept)
        assert bij.answer(n) == dyadic.answer(n) == brute(n, n)
    for task in (first, second):
        assert holds("SS3", task, task, kept) and holds("CS5", task, first, kept)
        assert general.answer(*task.lengths) == brute(*task.lengths)
    assert not holds("SS3", Task("count", (6, 8)), first, kept)
    assert not holds("SS3", Task("count", (4, 4), where=A), first, kept)  # other rows than it counts
    with pytest.raises(ValueError, match="does not answer"):
        general.answer(6, 8)
    running = Kept("running join", "count", 8, g=1)
    assert holds("CS4", first, first, running) and not holds("CS4", first, second, running)
    assert not holds("CS5", first, second, running)


def test_ss4_predicates_that_make_up_another() -> None:
    kept = [Kept("running", "sum", 8, where=w) for w in (A, B)]
    both = Task("sum", (5,), where=A | B)
    assert holds("SS4", both, both, *kept)
    assert sum(filled(Running, SUM, w).answer(5) for w in (A, B)) == own(SUM, 5, A | B)
    overlapping = [Kept("basic interval", "max", 8, where=w) for w in (A, U)]
    most = Task("max", (5,), where=A | U)
    assert holds("SS4", most, most, *overlapping)
    assert max(filled(BasicInterval, MAX, w).answer(5) for w in (A, U)) == own(MAX, 5, A | U)
    sums = [Kept("running", "sum", 8, where=w) for w in (A, U)]
    assert not holds("SS4", Task("sum", (5,), where=A | U), both, *sums)
    assert sum(filled(Running, SUM, w).answer(5) for w in (A, U)) != own(SUM, 5, A | U)
    assert not holds("SS4", Task("sum", (9,), where=A | B), both, *kept)


def test_cs1_and_cs2_what_runs_together_reads_less() -> None:
    short, long = Task("max", (3,)), Task("max", (7,))
    running, basic = Kept("running", "sum", 8), Kept("basic interval", "max", 8)
    assert holds("CS1", short, short, running) and not holds("CS1", short, long, running)
    assert holds("CS2", short, long, basic) and not holds("CS2", short, long, running)
    together, apart = filled(BasicInterval, MAX), filled(BasicInterval, MAX)
    assert together.answers([3, 7]) == {3: apart.answer(3), 7: apart.answer(7)} == {3: own(MAX, 3), 7: own(MAX, 7)}
    assert (together.probes, apart.probes) == (7, 10)


def test_cs6_and_cs7_candidates_run_first() -> None:
    candidate, new = Task("sum", (5,), where=A), Task("sum", (5,), where=A | B)
    running = [Kept("running", "sum", 8, where=w) for w in (A, B)]
    basic = [Kept("basic interval", "sum", 8, where=w) for w in (A, B)]
    shorter = Task("sum", (3,), where=A | B)
    assert holds("CS6", candidate, new, *running) and not holds("CS6", candidate, shorter, *running)
    assert holds("CS7", candidate, shorter, *basic) and not holds("CS7", candidate, shorter, *running)
    saved = [filled(BasicInterval, SUM, w).answers([3, 5]) for w in (A, B)]
    assert saved[0][5] == own(SUM, 5, A) and sum(s[3] for s in saved) == own(SUM, 3, A | B)


def test_cs8_the_same_question_less_often_reads_the_output() -> None:
    often, seldom = Task("sum", (6,), slide=2), Task("sum", (6,), slide=6)
    kept = Kept("running", "sum", 8)
    assert holds("CS8", often, seldom, kept)
    given = {at: sum(r[2] for part in ROWS[at - 6 : at] for r in part) for at in range(6, 30, 2)}
    assert all(given[at] == sum(r[2] for part in ROWS[at - 6 : at] for r in part) for at in range(6, 30, 6))
    assert not holds("CS8", often, Task("sum", (6,), slide=3), kept)
    assert not holds("CS8", often, Task("sum", (4,), slide=6), kept)
