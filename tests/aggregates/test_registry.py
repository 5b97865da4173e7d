"""What the descriptions of aggregates say, held against what the accumulators keep and the evaluator answers."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from muntin.aggregates.description import Aggregate, Keeps
from muntin.aggregates.extremes import Extreme
from muntin.aggregates.multisets import OrderStatistic
from muntin.aggregates.registry import AGGREGATES, accumulator, described, folds, is_name, partial_accumulator
from muntin.core.errors import ConfigError
from muntin.core.schema import Field, Schema
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.exprs import Agg, Call, Column, Expr, pair
from muntin.reference.aggregates import aggregate
from muntin.session import Session
from muntin.verify.arrow import to_table

X = Column("x", pa.int64())
COMPUTED = list({a.fn: a for a in reversed(AGGREGATES)}.values())
"""One description a function."""
CALLED = [a for a in COMPUTED if a.names and not a.summary]
"""Without those over summaries, whose answers the evaluator does not have (``local/test_frequent.py`` has them)."""
STREAM = Stream("A", Schema((Field("ts", pa.int64()), Field("v", pa.int64()))), "ts", order=0)


def use(what: Aggregate, once: bool = False) -> Agg:
    """The aggregate over an integer column."""
    param = None if what.parameter is None else what.parameter.high / 2
    arg: Expr = X if what.by is None else pair(X, X)
    if what.beside is not None:
        arg = Call("row", (X, X), pa.struct([("c0", X.type), ("c1", X.type)]))
    return Agg(f"{what.fn}_distinct" if once else what.fn, arg, what.type(X.type), param)


@pytest.mark.parametrize("what", COMPUTED, ids=lambda a: a.fn)
def test_over_nothing_the_evaluator_says_the_same(what: Aggregate) -> None:
    assert aggregate(use(what), [], {}) == what.empty


@pytest.mark.parametrize("what", CALLED, ids=lambda a: a.fn)
def test_nulls_count_where_the_description_says_so(what: Aggregate) -> None:
    """NULLs after the last value move the answer only where they count."""
    values: list[Any] = [3, 5] if what.by is None and what.beside is None else [(3, 3), (5, 5)]
    nulls: list[Any] = [None, None] if what.by is None else [(None, 7), (None, 7)]
    moved = aggregate(use(what), values, {}) != aggregate(use(what), nulls + values + nulls, {})
    assert moved is what.nulls


def test_no_two_functions_share_a_name() -> None:
    names = [n for a in AGGREGATES for n in a.names]
    assert len(names) == len(set(names)) and all(is_name(n.upper()) for n in names)


def test_spellings_of_a_function_are_computed_alike() -> None:
    for a in AGGREGATES:
        first = described(use(a))
        assert (a.build, a.signed, a.merged, a.empty) == (first.build, first.signed, first.merged, first.empty)


@pytest.mark.parametrize("what", COMPUTED, ids=lambda a: a.fn)
def test_partials_and_what_merges_them_go_together(what: Aggregate) -> None:
    agg = use(what)
    assert bool(what.parts(agg)) == (what.merged is not None) == folds([agg])
    assert not folds([use(what, once=True)])
    if what.merged is None:
        with pytest.raises(ValueError, match="no partials"):
            partial_accumulator("a", agg, "x", {})


def test_rows_that_may_be_taken_away_have_an_accumulator_of_their_own_where_candidates_do_not_do() -> None:
    for what in (a for a in AGGREGATES if a.keeps is Keeps.CANDIDATES):
        assert isinstance(accumulator("a", use(what), "x", False, {}), Extreme)
        assert isinstance(accumulator("a", use(what), "x", True, {}), OrderStatistic)


@pytest.mark.parametrize("what", CALLED, ids=lambda a: a.fn)
def test_a_function_keeps_what_it_says(what: Aggregate) -> None:
    """Which structures there are beside the rows and the table of groups."""
    parameters = [str(p.high) for p in (what.parameter,) if p is not None]
    arguments = ", ".join(["v"] * (2 - (what.by is what.beside)) + parameters)
    text = f"SELECT {what.names[0]}({arguments}) AS x FROM A [RANGE 20 SECONDS]"
    pipeline = LocalPipeline(plan_query(bind(text, Catalog((STREAM,)))))
    rng = Random(what.fn)
    pipeline.push({"A": to_table(STREAM, [{"ts": t, "v": rng.randrange(9)} for t in range(0, 12_000_000, 1_000_000)])})
    kept = structures(pipeline)
    suffix = {Keeps.COUNTERS: None, Keeps.CANDIDATES: "candidates", Keeps.MULTISET: "values"}[what.keeps]
    if what.fn.startswith("approx_count"):
        suffix = "pairs"  # counted without an order
    assert (suffix is None and not kept) or (suffix is not None and kept == {suffix})


def structures(pipeline: LocalPipeline) -> set[str]:
    """The kinds of structures of aggregates in all shards."""
    held = [
        n for states in pipeline.states for state in states.values() for n, chunks in state.chunks.items() if chunks
    ]
    return {n.split(".")[-1] for n in held if n not in ("rows", "groups")}


@pytest.mark.parametrize("name", ["sum", "Collect_List", "every"])
def test_one_s_own_aggregate_cannot_have_the_name_of_another(name: str) -> None:
    session = SimpleNamespace(catalog=Catalog())
    with pytest.raises(ConfigError, match="already"):
        Session.aggregate(session, name, object())  # type: ignore[arg-type]
