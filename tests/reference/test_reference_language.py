"""The naive evaluator on the whole language (rows, tables, windows on results, restore): answers worked out by hand."""

import math

import pyarrow as pa
import pytest

from muntin.core.errors import DataError
from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.plan.catalog import AggregateFunction, Catalog, Stream, Table
from muntin.plan.nodes import ticks_of
from muntin.plan.windows import QueryOptions
from muntin.reference import answers, run

SECONDS = 1_000_000
COLUMNS = Schema.of(ts=pa.int64(), k=pa.int64(), v=pa.int64())
FACTS = Schema.of(k=pa.int64(), n=pa.string())
CATALOG = Catalog(
    (
        Stream("S", COLUMNS, "ts", ts_unit=SECONDS),
        Stream("W", COLUMNS, "ts", ts_unit=SECONDS, order=1),
        Stream("Q", COLUMNS, "ts", ts_unit=SECONDS, order=2, order_by="v"),
    ),
    (Table("Fixed", FACTS, "static"), Table("Rel", FACTS, "relation"), Table("Nrr", FACTS, "nrr")),
    functions=(AggregateFunction("product", pa.int64(), pa.int64()),),
)


def rows(*triples):
    return [dict(zip(("ts", "k", "v"), t, strict=True)) for t in triples]


def up(ts, op, k, n):
    return (ts * SECONDS, op, {"k": k, "n": n})


def ran(text, streams, until=None, tables=None, functions=None, **options):
    """(seconds, op, row) of a query."""
    query = bind(text, CATALOG, QueryOptions(**options))
    until = None if until is None else until * SECONDS
    return [(t / SECONDS, op, r) for t, op, r in run(query, streams, until, tables, functions)]


def told(text, streams, until=None, tables=None, **options):
    """seconds -> sorted answer."""
    query = bind(text, CATALOG, QueryOptions(**options))
    found = answers(query, streams, None if until is None else until * SECONDS, tables)
    return {t / SECONDS: sorted(r) for t, r in found}


# --- windows of rows --------------------------------------------------------------------------------------------------


def test_rows_by_arrival_inside_an_instant_and_by_the_sequence_column_if_there_is_one():
    data = rows((1, 1, 30), (1, 1, 10), (1, 1, 20))
    assert told("SELECT v FROM S [ROWS 2]", {"S": data}) == {1: [(10,), (20,)]}
    assert told("SELECT v FROM Q [ROWS 2]", {"Q": data}) == {1: [(20,), (30,)]}


def test_rows_are_taken_in_the_order_of_time():
    assert told("SELECT v FROM S [ROWS 1]", {"S": rows((5, 1, 50), (3, 1, 30))}) == {3: [(30,)], 5: [(50,)]}


def test_slide_of_rows_moves_when_the_count_is_a_multiple():
    data = {"S": rows(*[(t, 1, t) for t in range(1, 8)])}
    got = told("Rstream(SELECT v FROM S [ROWS 3 SLIDE 2])", data)
    assert got == {2: [(1,), (2,)], 4: [(2,), (3,), (4,)], 6: [(4,), (5,), (6,)]}
    skipping = told("Rstream(SELECT v FROM S [ROWS 1 SLIDE 3])", data)
    assert skipping == {3: [(3,)], 6: [(6,)]}


def test_partitions_have_rows_of_their_own_and_null_is_one_of_them():
    data = {"S": rows((1, 1, 1), (2, None, 2), (3, 1, 3), (4, None, 4), (5, 2, 5))}
    got = ran("SELECT k, v FROM S [PARTITION BY k ROWS 1]", data)
    assert got == [
        (1, "+", (1, 1)), (2, "+", (None, 2)), (3, "-", (1, 1)), (3, "+", (1, 3)),
        (4, "-", (None, 2)), (4, "+", (None, 4)), (5, "+", (2, 5)),
    ]  # fmt: skip


# --- tables -----------------------------------------------------------------------------------------------------------

JOIN = "SELECT S.v AS v, T.n AS n FROM S [RANGE 10 SECONDS], {table} AS T WHERE S.k = T.k"
FACT = {"S": rows((5, 1, 50))}


def test_an_update_of_a_relation_is_retroactive_and_seen_in_its_own_instant():
    updates = {"Rel": [up(5, "+", 1, "a"), up(7, "-", 1, "a"), up(7, "+", 1, "b"), up(99, "+", 1, "c")]}
    got = ran(JOIN.format(table="Rel"), FACT, tables=updates)
    assert got == [(5, "+", (50, "a")), (7, "-", (50, "a")), (7, "+", (50, "b")), (15, "-", (50, "b"))]


def test_a_non_retroactive_table_is_read_as_of_the_row():
    updates = {"Nrr": [up(5, "+", 1, "a"), up(7, "-", 1, "a"), up(7, "+", 2, "b")]}
    streams = {"S": rows((4, 1, 40), (5, 1, 50), (8, 1, 80), (8, 2, 82))}
    got = ran(JOIN.format(table="Nrr"), streams, tables=updates)
    assert got == [(5, "+", (50, "a")), (8, "+", (82, "b")), (15, "-", (50, "a")), (18, "-", (82, "b"))]
    left = "Istream(SELECT S.v AS v, T.n AS n FROM S [UNBOUNDED] LEFT JOIN Nrr AS T ON S.k = T.k)"
    assert ran(left, streams, tables=updates) == [
        (4, None, (40, None)), (5, None, (50, "a")), (8, None, (80, None)), (8, None, (82, "b"))
    ]  # fmt: skip


def test_a_join_of_windows_with_a_non_retroactive_table_reads_it_at_the_newest_part():
    """Definition 3.1: a result reflects the table at its own timestamp, which is that of its newest part."""
    text = "Istream(SELECT S.v AS s, W.v AS w, T.n AS n FROM S [RANGE 10 SECONDS], W [RANGE 10 SECONDS], Nrr AS T "
    streams = {"S": rows((1, 1, 10)), "W": rows((5, 1, 50))}
    updates = {"Nrr": [up(0, "+", 1, "old"), up(3, "-", 1, "old"), up(3, "+", 1, "new")]}
    assert ran(text + "WHERE S.k = W.k AND S.k = T.k)", streams, tables=updates) == [(5, None, (10, 50, "new"))]


def test_a_static_table_is_always_there_and_marks_no_instants():
    assert ran(JOIN.format(table="Fixed"), FACT, tables={"Fixed": [{"k": 1, "n": "x"}]}) == [
        (5, "+", (50, "x")), (15, "-", (50, "x"))
    ]  # fmt: skip


def test_a_table_cannot_lose_a_row_that_it_does_not_have():
    feed = {"Rel": [up(1, "-", 1, "a"), up(2, "+", 1, "a"), up(3, "-", 1, "a"), up(4, "-", 1, "a"), up(5, "+", 1, "a")]}
    assert ran("SELECT n FROM Rel", {}, tables=feed) == [(2, "+", ("a",)), (3, "-", ("a",)), (5, "+", ("a",))]
    assert ran("SELECT COUNT(*) AS n FROM Rel", {}, tables=feed)[0] == (1, "+", (0,))
    strict = Catalog(tables=(Table("Rel", FACTS, "relation", on_bad_update="fail"),))
    with pytest.raises(DataError, match=r"table 'Rel'.*not there.*'k': 1"):
        run(bind("SELECT n FROM Rel", strict), {}, tables={"Rel": feed["Rel"][:1]})


def test_a_row_replaces_the_one_of_its_key_and_a_repeat_changes_nothing():
    keyed = Catalog(tables=(Table("Rel", FACTS, "relation", key=("k",)),))
    feed = [up(1, "+", 1, "a"), up(2, "+", 1, "a"), up(3, "+", 1, "b"), up(4, "-", 1, "whatever"), up(5, "-", 1, "b")]
    feed += [up(6, "+", 2, "c"), up(6, "-", 2, "c"), up(7, "+", 3, "d"), up(7, "+", 3, "e")]
    shown = run(bind("SELECT n FROM Rel", keyed), {}, tables={"Rel": feed})
    told = [(1, "+", "a"), (3, "-", "a"), (3, "+", "b"), (4, "-", "b"), (7, "+", "e")]
    assert shown == [(t * SECONDS, op, (n,)) for t, op, n in told]
    whole = run(bind("Rstream(SELECT n FROM Rel)", keyed), {}, tables={"Rel": feed})
    assert whole == [(t * SECONDS, None, (n,)) for t, n in ((1, "a"), (3, "b"), (7, "e"))]


# --- negation, sub-queries, sets --------------------------------------------------------------------------------------


def test_not_in_is_three_valued_and_not_exists_is_not():
    streams = {"S": rows((1, 1, 1), (1, None, 2)), "W": rows((2, 2, 0), (3, None, 0), (5, 1, 0))}
    inside = "FROM W [RANGE 2 SECONDS] AS w"
    got = told(f"SELECT S.v AS v FROM S [UNBOUNDED] WHERE S.k NOT IN (SELECT w.k {inside})", streams)
    assert got == {1: [(1,), (2,)], 2: [(1,)], 3: [], 4: [], 5: [], 7: [(1,), (2,)]}
    got = told(f"SELECT S.v AS v FROM S [UNBOUNDED] WHERE NOT EXISTS (SELECT 1 {inside} WHERE w.k = S.k)", streams)
    assert got == {1: [(1,), (2,)], 2: [(1,), (2,)], 3: [(1,), (2,)], 4: [(1,), (2,)], 5: [(2,)], 7: [(1,), (2,)]}


def test_except_all_keeps_the_surplus_and_except_the_values():
    streams = {"S": rows((1, 1, 0), (1, 1, 0), (1, 2, 0), (1, 3, 0), (1, 3, 0)), "W": rows((1, 1, 0), (1, 2, 0))}
    sides = "SELECT k FROM S [NOW] {op} SELECT k FROM W [NOW]"
    expected = {
        "EXCEPT ALL": [(1,), (3,), (3,)],
        "EXCEPT": [(3,)],
        "INTERSECT ALL": [(1,), (2,)],
        "INTERSECT": [(1,), (2,)],
        "UNION": [(1,), (2,), (3,)],
        "UNION ALL": [(1,), (1,), (1,), (2,), (2,), (3,), (3,)],
    }
    for op, answer in expected.items():
        assert told(sides.format(op=op), streams)[1] == answer


def test_a_scalar_sub_query_has_at_most_one_row():
    text = "Rstream(SELECT (SELECT w.v FROM W [UNBOUNDED] AS w WHERE w.k = S.k) AS x FROM S [NOW])"
    streams = {"S": rows((3, 1, 0)), "W": rows((1, 1, 7))}
    assert ran(text, streams) == [(3, None, (7,))]
    assert ran(text, {"S": streams["S"]}) == [(3, None, (None,))]
    with pytest.raises(DataError, match="has 2 rows"):
        ran(text, {**streams, "W": rows((1, 1, 7), (2, 1, 8))})


def test_top_rows_are_determined_by_all_columns():
    streams = {"S": rows((1, 3, 5), (1, 1, 5), (1, 2, None), (1, 2, 5))}
    assert told("SELECT k, v FROM S [NOW] ORDER BY v DESC LIMIT 2", streams)[1] == [(1, 5), (2, 5)]
    assert told("SELECT k, v FROM S [NOW] ORDER BY v LIMIT 1", streams)[1] == [(2, None)]


# --- aggregates -------------------------------------------------------------------------------------------------------


def test_order_statistics_spread_and_collections():
    data = {"S": rows((1, 1, 4), (2, 1, None), (3, 1, 1), (4, 1, 10))}
    items = "MEDIAN(v) AS a, QUANTILE(v, 0.25) AS b, COLLECT(v) AS c, FIRST(v) AS d, LAST(v) AS e, STDDEV(v) AS f"
    answer = told(f"SELECT {items}, VAR_POP(v) AS g FROM S [UNBOUNDED]", data)
    assert answer[4][0][:5] == (4.0, 2.5, (1, 4, 10), 4, 10)
    assert answer[4][0][5:] == pytest.approx((math.sqrt(21.0), 14.0))
    assert answer[2] == [(4.0, 4.0, (4,), 4, None, None, 0.0)]


def test_a_user_defined_aggregate_takes_the_values_in_order():
    data = {"S": rows((1, 1, 4), (2, 1, None), (3, 1, 3))}
    got = ran("Istream(SELECT product(v) AS p FROM S [UNBOUNDED])", data, functions={"product": math.prod})
    assert got == [(1, None, (4,)), (3, None, (12,))]


# --- windows on results -----------------------------------------------------------------------------------------------


def test_a_window_on_results_has_instants_of_its_own():
    text = "SELECT SUM(s) AS s FROM (Rstream(SELECT SUM(v) AS s FROM S [RANGE 2 SECONDS SLIDE 2 SECONDS])) [ROWS 2]"
    query = bind(text, CATALOG)
    assert ticks_of(query.root, query.options) is None and query.ticks is None
    data = {"S": rows((1, 1, 1), (2, 1, 2), (4, 1, 4), (6, 1, 8))}
    # the inner sums 3, 4, 8, NULL come out at 2, 4, 6, 8
    assert ran(text, data) == [
        (2, "+", (3,)), (4, "-", (3,)), (4, "+", (7,)), (6, "-", (7,)), (6, "+", (12,)), (8, "-", (12,)), (8, "+", (8,))
    ]  # fmt: skip


def test_wstream_over_panes_is_the_sum_of_the_whole():
    """The thesis' strategy: a sum per 2 s, and the sum of the last three of them, equals a sum over 6 s every 2 s."""
    data = {"S": rows(*[(t, 1, t * t) for t in range(1, 14)])}
    panes = ran("SELECT SUM(Wstream(SUM(v))[ROWS 3]) AS s FROM S [RANGE 2 SECONDS SLIDE 2 SECONDS]", data, until=12)
    whole = ran("Rstream(SELECT SUM(v) AS s FROM S [RANGE 6 SECONDS SLIDE 2 SECONDS])", data, until=12)
    assert [(t, r) for t, op, r in panes if op == "+"] == [(t, r) for t, _, r in whole]


def test_a_window_on_insertions_and_deletions():
    stream = "({kind}(SELECT v FROM S [RANGE 3 SECONDS])) [RANGE 2 SECONDS] AS q"
    data = {"S": rows((1, 1, 10))}
    assert ran(f"SELECT v FROM {stream.format(kind='Istream')}", data) == [(1, "+", (10,)), (3, "-", (10,))]
    assert ran(f"SELECT v FROM {stream.format(kind='Dstream')}", data) == [(4, "+", (10,)), (6, "-", (10,))]


def test_results_of_windows_that_start_at_ticks_have_the_last_microsecond_of_their_window():
    text = (
        "SELECT COUNT(*) AS n FROM (Rstream(SELECT SUM(v) AS s FROM S [RANGE 5 SECONDS SLIDE 5 SECONDS])) "
        "[RANGE 10 SECONDS SLIDE 10 SECONDS] AS q"
    )
    data = {"S": rows((1, 1, 1), (6, 1, 1), (12, 1, 1))}
    # inner instants 5, 10, 15, 20 count as 5, 10, 15, 20 less a microsecond: two of them in each window of ten
    assert ran(text, data, until=20, bounds="start") == [(10, None, (2,)), (20, None, (2,))]


# --- INTERNAL ---------------------------------------------------------------------------------------------------------


def test_results_over_internal_windows_stay():
    text = "SELECT S.v AS s, W.v AS w FROM S [RANGE 2 SECONDS{a}], W [RANGE 4 SECONDS{b}] WHERE S.k = W.k"
    data = {"S": rows((1, 1, 1), (6, 1, 6)), "W": rows((2, 1, 20))}
    both = ran(text.format(a=" INTERNAL", b=" INTERNAL"), data)
    assert [(t, r) for t, op, r in both if op != "-"] == [(2, (1, 20))]
    assert all(op != "-" for _, op, _ in both)
    one = ran(text.format(a=" INTERNAL", b=""), data)
    assert [(t, op) for t, op, _ in one] == [(2, "+"), (6, "-")]
    none = ran(text.format(a="", b=""), data)
    assert [(t, op) for t, op, _ in none] == [(2, "+"), (3, "-")]


def test_an_aggregate_over_an_internal_window_appends_each_new_value():
    """Thesis figure 3.2: an external window replaces the value, an internal one only adds the next."""
    data = {"S": rows((1, 1, 1), (2, 1, 2), (6, 1, 2))}
    text = "SELECT SUM(v) AS s FROM S [RANGE 3 SECONDS{internal}]"
    replaced = ran(text.format(internal=""), data)
    appended = ran(text.format(internal=" INTERNAL"), data)
    values = [(1, 1), (2, 3), (4, 2), (5, None), (6, 2), (9, None)]
    assert [(t, v) for t, op, (v,) in appended] == values
    assert all(op != "-" for _, op, _ in appended)
    assert [(t, v) for t, op, (v,) in replaced if op == "+"] == values


def test_existence_over_internal_windows_needs_rows_that_met():
    window = "[RANGE 2 SECONDS INTERNAL]"
    text = f"SELECT S.v AS v FROM S {window} WHERE EXISTS (SELECT 1 FROM W {window} AS w)"
    got = ran(text, {"S": rows((1, 1, 1), (5, 1, 5)), "W": rows((2, 1, 0), (9, 1, 0))})
    assert [(t, op, r) for t, op, r in got] == [(2, got[0][1], (1,))]


# --- restore ----------------------------------------------------------------------------------------------------------

SHORT = (
    "{kind}(SELECT S.v AS s, W.v AS w FROM S [RANGE 5 SECONDS SLIDE 4 SECONDS], W [RANGE 5 SECONDS SLIDE 4 SECONDS])"
)
MEETING = {"S": rows((1, 1, 1), (7, 1, 7)), "W": rows((5, 1, 5))}
# S 1 and W 5 are together on [5, 6), between the evaluations at 4 and 8; S 7 and W 5 on [7, 10)


def test_restore_reports_results_that_lived_between_two_evaluations():
    assert ran(SHORT.format(kind="Rstream"), MEETING) == [(8, None, (7, 5))]
    assert sorted(ran(SHORT.format(kind="Rstream-restore"), MEETING)) == [(8, None, (1, 5)), (8, None, (7, 5))]
    assert sorted(ran(SHORT.format(kind="Istream-restore"), MEETING)) == [(8, None, (1, 5)), (8, None, (7, 5))]


def test_restore_reports_intermediate_values_of_an_aggregate():
    text = "{kind}(SELECT SUM(v) AS s FROM S [RANGE 8 SECONDS SLIDE 4 SECONDS])"
    data = {"S": rows((1, 1, 1), (2, 1, 2), (5, 1, 4))}
    assert ran(text.format(kind="Istream"), data, until=8) == [(4, None, (3,)), (8, None, (7,))]
    restored = ran(text.format(kind="Istream-restore"), data, until=8)
    assert restored == [(4, None, (1,)), (4, None, (3,)), (8, None, (7,))]
    shown = ran(text.format(kind="Rstream-restore"), data, until=12)
    assert sorted(shown)[:3] == [(4, None, (1,)), (4, None, (3,)), (8, None, (7,))]
    # then 6 (without the 1) and 4 (without the 2), the latter still there at 12
    assert sorted(shown)[3:] == [(12, None, (4,)), (12, None, (6,))]


def test_restore_changes_nothing_for_a_single_window():
    """Weakest non-monotonic results live for the whole window, longer than the time between two evaluations."""
    text = "{kind}(SELECT k, v FROM S [RANGE 8 SECONDS SLIDE 4 SECONDS])"
    data = {"S": rows((1, 1, 1), (2, 1, 2), (5, 1, 4), (11, 2, 4))}
    for kind in ("Rstream", "Istream"):
        assert ran(text.format(kind=kind), data) == ran(text.format(kind=f"{kind}-restore"), data)
