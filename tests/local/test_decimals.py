"""Decimals at the ends of their types: sums beyond 128 bits, averages, casts and comparisons, against the evaluator."""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from test_local_matches import difference

from muntin.core.errors import DataError
from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_query
from muntin.local.runtime import LocalPipeline
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.windows import QueryOptions
from muntin.reference import run
from muntin.verify.arrow import from_table, to_table

SCHEMA = Schema.of(
    ts=pa.int64(), k=pa.int64(), m=pa.decimal128(38, 0), d=pa.decimal128(38, 10), c=pa.decimal128(10, 2)
)
STREAM = Stream("A", SCHEMA, "ts", ts_unit=1_000_000)
CATALOG = Catalog((STREAM,))
EDGE = 10**38 - 1
Rows = list[dict[str, Any]]


def shown(text: str, rows: Rows, cuts: int = 1, **options: Any) -> list[Any]:
    """What the local runtime shows, the rows handed over in ``cuts`` parts."""
    query = plan_query(bind(text, CATALOG, QueryOptions(**options)))
    pipeline = LocalPipeline(query)
    size = max(1, -(-len(rows) // cuts))
    tables = [pipeline.push({"A": to_table(STREAM, rows[i : i + size])}) for i in range(0, len(rows), size)]
    tables.append(pipeline.finish())
    return [r for t in tables for r in from_table(t, query.schema, query.shows_op)]


def row(ts: int, m: int = 0, d: str = "0", c: str = "0", k: int = 1) -> dict[str, Any]:
    return {"ts": ts, "k": k, "m": Decimal(m), "d": Decimal(d), "c": Decimal(c)}


def drawn(rng: Random) -> Rows:
    """Rows whose sums leave 128 bits inside an instant and a pane, and come back by its end."""
    rows: Rows = []
    for ts in range(0, 12, 2):
        big = rng.choice((EDGE, -EDGE, 2**126, 9 * 10**37))
        for _ in range(rng.randint(0, 3)):
            rows += [row(ts, big, c=str(rng.randint(-999, 999) / Decimal(100)))]
        rows += [row(ts, -int(r["m"]), c="0.01") for r in rows if r["ts"] == ts]
        rows.append(row(ts, rng.randint(-9, 9), c=rng.choice(("0.01", "-0.02", "99999999.99"))))
    return rows


@pytest.mark.parametrize("window", ["RANGE 5 SECONDS", "RANGE 6 SECONDS SLIDE 2 SECONDS", "ROWS 7", "UNBOUNDED"])
@pytest.mark.parametrize("strategy", ["upa", "nt", "direct"])
def test_sums_and_averages_are_exact_where_128_bits_are_not_enough(window: str, strategy: str) -> None:
    # A window of rows cuts through the instants, so its sums are beyond the type: an error in both.
    text = f"SELECT k, SUM(m) AS s, AVG(m) AS a, SUM(c) AS t, AVG(c) AS b FROM A [{window}] GROUP BY k"
    compared = 0
    for seed in range(8):
        rows = drawn(Random(seed))
        bound = bind(text, CATALOG, QueryOptions(strategy=strategy))
        try:
            expected = run(bound, {"A": rows})
        except DataError:
            with pytest.raises(DataError, match="is outside DECIMAL"):
                shown(text, rows, strategy=strategy)
            continue
        got = sorted(shown(text, rows, cuts=1 + seed % 3, strategy=strategy), key=lambda r: r[0])
        assert not (problem := difference(expected, got)), f"seed {seed}: {problem}"
        compared += 1
    assert compared == 8 or "ROWS" in window


def test_three_values_of_2_to_126_leave_the_type() -> None:
    rows = [row(0, 2**126), row(0, 2**126), row(0, 2**126)]
    for fn in ("SUM", "AVG"):
        with pytest.raises(DataError, match=rf"{fn} of a DECIMAL is outside DECIMAL\(38, {0 if fn == 'SUM' else 4}\)"):
            shown(f"SELECT {fn}(m) AS s FROM A [RANGE 5 SECONDS]", rows)
    assert shown("Rstream(SELECT SUM(m) AS s FROM A [RANGE 5 SECONDS])", rows[:1])[0][2] == (Decimal(2**126),)


def test_a_sum_that_went_too_far_comes_back_exactly() -> None:
    """What leaves the window is taken off a sum of more than 128 bits."""
    rows = [row(0, EDGE), row(0, EDGE), row(0, -EDGE), row(0, -EDGE), row(4, 7), row(5, EDGE - 7)]
    got = shown("Rstream(SELECT SUM(m) AS s FROM A [RANGE 3 SECONDS])", rows)
    assert [r[2][0] for r in got] == [Decimal(0), None, Decimal(7), Decimal(EDGE), Decimal(EDGE - 7), None]


def test_averages_have_spark_s_type_and_round_half_up() -> None:
    query = bind("SELECT AVG(c) AS a, AVG(m) AS b, AVG(d) AS e, AVG(DISTINCT c) AS f FROM A [NOW]", CATALOG)
    assert [f.type for f in query.root.schema] == [
        pa.decimal128(14, 6), pa.decimal128(38, 4), pa.decimal128(38, 14), pa.decimal128(14, 6),
    ]  # fmt: skip
    rows = [row(0, c=c) for c in ("-1.01", "-1.02", "-1.02")]
    assert shown("Rstream(SELECT AVG(c) AS a FROM A [RANGE 5 SECONDS])", rows)[0][2] == (Decimal("-1.016667"),)
    sixteen = [row(0, 1)] + [row(0, 0) for _ in range(15)]  # 0.0625 and, of 32 rows, 0.03125: a tie
    assert shown("Rstream(SELECT AVG(m) AS a FROM A [RANGE 5 SECONDS])", sixteen)[0][2] == (Decimal("0.0625"),)
    tie = [row(0, s) for s in (1,)] + [row(0, 0) for _ in range(31)]
    assert shown("Rstream(SELECT AVG(m) AS a FROM A [RANGE 5 SECONDS])", tie)[0][2] == (Decimal("0.0313"),)


def test_a_cast_rounds_half_up_into_a_new_digit() -> None:
    got = shown("Rstream(SELECT CAST(MAX(c) AS DECIMAL(5, 1)) AS x FROM A [RANGE 5 SECONDS])", [row(0, c="999.99")])
    assert got[0][2] == (Decimal("1000.0"),)
    with pytest.raises(DataError, match="has no value for 99999"):
        shown("SELECT CAST(MAX(c) AS DECIMAL(5, 1)) AS x FROM A [RANGE 5 SECONDS]", [row(0, c="99999.99")])


VALUES = ("0", "1", "-1", "1.5", "-1.5", "0.0000000001", str(10**28), str(-(10**28)), "9999999999999999999999999999")


@pytest.mark.parametrize("op", ["=", "<>", "<", "<=", ">", ">=", "<=>", "IN"])
def test_comparisons_need_no_common_type(op: str) -> None:
    """DECIMAL(38, 0) with DECIMAL(38, 10): 48 digits hold both, no type does."""
    rng = Random(op)
    wholes = [0, 1, -1, 2, EDGE, -EDGE, 10**28, 10**28 - 1, -(10**28)]
    rows = [
        {"ts": 0, "k": i, "m": None if i % 9 == 8 else Decimal(rng.choice(wholes)),
         "d": None if i % 7 == 6 else _fitting(rng.choice(VALUES)), "c": Decimal(0)}
        for i in range(80)
    ]  # fmt: skip
    for left, right in (("m", "d"), ("d", "m")):
        condition = f"{left} IN ({right}, -3)" if op == "IN" else f"{left} {op} {right}"
        text = f"SELECT k, {condition} AS x FROM A [NOW]"
        got = {r[2][0]: r[2][1] for r in shown(text, rows) if r[1] == "+"}
        assert got == {r["k"]: _holds(op, r[left], r[right]) for r in rows}
        filtered = shown(f"SELECT k FROM A [NOW] WHERE {condition}", rows)
        assert {r[2][0] for r in filtered} == {k for k, x in got.items() if x}
        assert not difference(run(bind(text, CATALOG), {"A": rows}), sorted(shown(text, rows), key=lambda r: r[0]))


def _fitting(text: str) -> Decimal:
    value = Decimal(text)
    return value if abs(value) < 10**28 else Decimal(10**28 - 1) * (1 if value > 0 else -1)


def _holds(op: str, a: Decimal | None, b: Decimal | None) -> bool | None:
    if op == "<=>":
        return a == b
    if op == "IN":
        return True if a is not None and a in (b, -3) else None if a is None or b is None else False
    if a is None or b is None:
        return None
    return {"=": a == b, "<>": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]


def test_comparing_with_a_constant_that_has_a_fraction() -> None:
    rows = [row(0, EDGE, k=1), row(0, 1, k=2), row(0, 2, k=3), row(0, -EDGE, k=4)]
    for condition, expected in (("m > 1.5", {1, 3}), ("m BETWEEN 0.5 AND 1.5", {2}), ("m IN (1.0, 1.5)", {2})):
        assert {r[2][0] for r in shown(f"SELECT k FROM A [NOW] WHERE {condition}", rows) if r[1] == "+"} == expected
