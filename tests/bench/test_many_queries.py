"""Many queries: small counts, and what is judged of records."""

from __future__ import annotations

from dataclasses import replace

from muntin.bench.many_queries import AGGREGATES, ManyRecord, good, measured, plans_of
from muntin.dataflow.sharing.rules import shared_graph


def test_every_aggregate_is_another_query_and_all_read_one_synopsis() -> None:
    plans = plans_of(AGGREGATES, 60)
    assert len({p.id for p in plans}) == 60
    (note,) = shared_graph(plans).shared
    assert len(note.plans) == 60


def test_counts_are_measured_beside_one_query() -> None:
    small = replace(AGGREGATES, counts=(1, 12), total=60_000, size=30_000)
    one, twelve = measured(small, lambda _: None)
    assert one.relative == 1.0 and one.answers_equal and twelve.answers_equal
    assert twelve.results > one.results > 0


def test_what_was_promised_can_be_missed() -> None:
    one = ManyRecord("aggregates", 1, "muntin", 1.0, 1.0, 100, True, 10, 10, 1.0)
    hundred = replace(one, queries=100, relative=1.9, state_bytes=199)
    assert good([one, hundred]) == []
    assert len(good([one, replace(hundred, relative=2.1, state_bytes=201, answers_equal=False)])) == 3
