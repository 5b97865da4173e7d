"""Ids name state on disk: they change with what a vertex does and with nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field, make_dataclass, replace

import pyarrow as pa
import pytest

from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.graph import QueryPlan
from muntin.dataflow.planner import plan_query
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.stable_text import stable_text
from muntin.plan.windows import QueryOptions

TEXT = "SELECT s.k, COUNT(*) AS n FROM s [RANGE 5 SECONDS SLIDE 1 SECOND] WHERE s.k > 2 GROUP BY s.k"
JOIN = "SELECT x.k, y.v FROM s x [RANGE 5 SECONDS], t y [RANGE 9 SECONDS] WHERE x.k = y.k AND x.v > 1"
ROW = Schema.of(ts=pa.int64(), k=pa.int64(), v=pa.int64())


def planned(text: str = TEXT, options: QueryOptions | None = None, **of_s: object) -> QueryPlan:
    streams = (Stream("s", ROW, "ts", **of_s), Stream("t", ROW, "ts", order=1))  # type: ignore[arg-type]
    return plan_query(bind(text, Catalog(streams), options or QueryOptions()))


def ids(plan: QueryPlan) -> list[str]:
    return [v.id for v in plan.vertices]


@pytest.mark.parametrize(
    ("text", "same"),
    [
        (TEXT, TEXT.replace(" s [", " s AS q [").replace("s.k", "q.k")),
        (TEXT, TEXT.replace("AS n", "AS many")),
        (TEXT, TEXT.replace("SELECT s.k", "SELECT s.k AS key")),
        (TEXT, TEXT.replace("SELECT", "select").replace("RANGE", "range").replace("GROUP BY", "Group By")),
        (TEXT, TEXT.replace("5 SECONDS", "5000 MILLISECONDS")),
        (JOIN, JOIN.replace("x.", "left1.").replace("s x", "s left1")),
        (JOIN, JOIN.replace("y.v", "y.v AS other")),
    ],
)
def test_names_and_letters_do_not_matter(text: str, same: str) -> None:
    assert text != same
    assert ids(planned(text)) == ids(planned(same))


@pytest.mark.parametrize(
    "options", [QueryOptions(memory=1 << 20), QueryOptions(strategy="direct"), QueryOptions(exp=True)]
)
@pytest.mark.parametrize("text", [TEXT, JOIN])
def test_hints_and_forms_do_not_matter(text: str, options: QueryOptions) -> None:
    assert ids(planned(text)) == ids(planned(text, options))


def test_what_is_known_of_streams_does_not_matter() -> None:
    for text in (TEXT, JOIN):
        for known in ({"rate": 1000.0}, {"rate": 0.001}, {"slack": 3}, {"order": 7}, {"max_jump": 10**9}):
            assert ids(planned(text)) == ids(planned(text, **known)), known


@pytest.mark.parametrize(
    ("text", "other"),
    [
        (TEXT, TEXT.replace("> 2", "> 3")),
        (TEXT, TEXT.replace("5 SECONDS", "6 SECONDS")),
        (TEXT, TEXT.replace("COUNT(*)", "COUNT(s.v)")),
        (TEXT, TEXT.replace("GROUP BY s.k", "GROUP BY s.k, s.v")),
        (TEXT, TEXT.replace("FROM s", "FROM t").replace("s.k", "t.k")),
        (JOIN, JOIN.replace("x.v > 1", "x.v >= 1")),
        (JOIN, JOIN.replace("x.k = y.k", "x.k = y.v")),
        (JOIN, f"Istream({JOIN})"),
    ],
)
def test_what_is_asked_does(text: str, other: str) -> None:
    assert planned(text).id != planned(other).id


def test_meanings_of_windows_do_too() -> None:
    for options in (QueryOptions(bounds="closed"), QueryOptions(origin=1)):
        assert planned().id != planned(options=options).id


def test_a_result_stream_is_named_by_its_columns_as_well() -> None:
    assert planned().signature == planned(TEXT.replace("s.k", "q.k").replace(" s [", " s AS q [")).signature
    renamed = planned(TEXT.replace("AS n", "AS many"))
    assert renamed.id == planned().id and renamed.signature != planned().signature
    assert planned(options=QueryOptions(exp=True)).signature != planned().signature


def test_code_is_no_part_of_it() -> None:
    plan = planned()
    assert replace(plan, functions=(("f", len),)).signature == plan.signature


def test_a_new_field_with_a_default_does_not_change_it() -> None:
    old = make_dataclass("Op", [("count", int), ("by", tuple)], frozen=True)
    added = [("order", str | None, field(default=None)), ("more", list, field(default_factory=list))]
    new = make_dataclass("Op", [("count", int), ("by", tuple), *added], frozen=True)
    assert stable_text(old(3, ("k",))) == stable_text(new(3, ("k",))) == "Op(count=3, by=('k'))"
    assert stable_text(new(3, ("k",), "n")) == "Op(count=3, by=('k'), order='n')"


def test_values_of_other_types_are_not_taken_for_the_default() -> None:
    @dataclass(frozen=True)
    class Flag:
        on: bool | int = True

    assert stable_text(Flag()) == "Flag()" != stable_text(Flag(1))


def test_what_has_no_stable_text_is_refused() -> None:
    with pytest.raises(TypeError, match="set cannot be part of a signature"):
        stable_text((1, {2}))
