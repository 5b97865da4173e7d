"""Signatures name state on disk: they change with the meaning of a plan and with nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field, make_dataclass, replace

import pyarrow as pa
import pytest

from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.dataflow.stage import PhysicalQuery
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.stable_text import stable_text

TEXT = "SELECT k, COUNT(*) AS n FROM s [RANGE 5 SECONDS SLIDE 1 SECOND] GROUP BY k"


def planned(text: str = TEXT, **options: object) -> PhysicalQuery:
    stream = Stream("s", Schema.of(ts=pa.int64(), k=pa.int64()), "ts", **options)  # type: ignore[arg-type]
    return plan_query(bind(text, Catalog((stream,))))


def test_equal_plans_have_equal_signatures() -> None:
    assert planned().signature == planned().signature
    others = [planned(slack=3), planned(ts_unit=1000), planned(TEXT.replace("RANGE 5", "RANGE 6"))]
    assert len({planned().signature, *(p.signature for p in others)}) == 4


def test_code_is_no_part_of_it() -> None:
    query = planned()
    assert replace(query, functions=(("f", len),)).signature == query.signature


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
