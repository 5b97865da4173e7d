"""Scalar expressions over Arrow columns: Spark's NULLs, order, casts and strings, and no silent overflow."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from muntin.core.batch import no_columns
from muntin.core.errors import DataError
from muntin.plan.exprs import FUNCTIONS, TRUE, Call, Column, Expr, Literal
from muntin.scalars.evaluate import TABLE, evaluate, predicate_mask

I8, I32, I64, F32, F64 = pa.int8(), pa.int32(), pa.int64(), pa.float32(), pa.float64()
BOOL, STR, TS, DUR, DATE = pa.bool_(), pa.string(), pa.timestamp("us", "UTC"), pa.duration("us"), pa.date32()
D102 = pa.decimal128(10, 2)
NAN, INF = math.nan, math.inf
MAX, MIN = 2**63 - 1, -(2**63)


def columns_and_call(
    fn: str, kind: pa.DataType, args: list[tuple[list[Any], pa.DataType]]
) -> tuple[pa.RecordBatch, Call]:
    names = [f"c{i}" for i in range(len(args))]
    batch = pa.record_batch([pa.array(v, t) for v, t in args], names)
    return batch, Call(fn, tuple(Column(n, t) for n, (_, t) in zip(names, args, strict=True)), kind)


def call(fn: str, kind: pa.DataType, *args: tuple[list[Any], pa.DataType]) -> list[Any]:
    """The function over columns, over constants row by row, and over columns with the rest constant: all must agree.

    Where it fails the answer is NULL (``try``), and without ``try`` an error.
    """
    batch, expr = columns_and_call(fn, kind, list(args))
    result = evaluate(trying(expr), batch)
    assert isinstance(result, pa.Array) and result.type == kind and len(result) == batch.num_rows
    for i in range(batch.num_rows):
        literals = [Literal(_plain(batch.column(j)[i]), t) for j, (_, t) in enumerate(args)]
        mixed = (expr.args[0], *literals[1:])
        for variant in (tuple(literals), mixed):
            one = evaluate(trying(Call(fn, variant, kind)), batch.slice(i, 1))
            assert one.type == kind and len(one) == 1
            assert _same(one[0].as_py(), result[i].as_py()), (fn, i, one, result[i])
    return result.to_pylist()


def trying(e: Call) -> Call:
    return Call("try", (e,), e.type)


def _plain(s: pa.Scalar) -> Any:
    return s.cast(I64).as_py() if pa.types.is_timestamp(s.type) or pa.types.is_duration(s.type) else s.as_py()


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    return type(a) is type(b) and a == b


def assert_same(got: list[Any], want: list[Any]) -> None:
    assert len(got) == len(want) and all(map(_same, got, want)), f"{got} != {want}"


def test_every_function_is_there() -> None:
    assert set(TABLE) | {"try"} == FUNCTIONS


ARITHMETIC = [
    ("add", I64, ([1, None, MAX - 1], I64), ([2, 3, 1], I64), [3, None, MAX]),
    ("add", F64, ([1, 2], I64), ([0.5, None], F64), [1.5, None]),
    ("sub", I32, ([1, -5], I32), ([2, 3], I32), [-1, -8]),
    ("mul", I64, ([3, None], I32), ([4, 1], I64), [12, None]),
    ("div", F64, ([7, 1, 0, None], I64), ([2, 0, 0, 1], I64), [3.5, None, None, None]),
    ("div", F64, ([1.0, -1.0], F64), ([0.0, -0.0], F64), [None, None]),
    ("div", I64, ([-7, 7], I64), ([2, 0], I64), [-3, None]),
    ("intdiv", I64, ([-7, 7, -7, 7, 5], I64), ([2, -2, -2, 2, 0], I64), [-3, -3, 3, 3, None]),
    ("mod", I64, ([-7, 7, -7, 7, 5, None], I64), ([2, -2, -2, 2, 0, 3], I64), [-1, 1, -1, 1, None, None]),
    ("mod", I64, ([MIN], I64), ([-1], I64), [0]),
    ("mod", F64, ([-7.5, 7.5, 1.0, INF], F64), ([2.0, -2.0, 0.0, 2.0], F64), [-1.5, 1.5, None, NAN]),
    ("power", F64, ([2, 4, 1, -1], F64), ([10, 0.5, NAN, INF], F64), [1024.0, 2.0, NAN, NAN]),
    ("add", pa.decimal128(11, 2), ([Decimal("1.10"), None], D102), ([2, 3], I32), [Decimal("3.10"), None]),
    ("mul", pa.decimal128(21, 4), ([Decimal("1.10")], D102), ([Decimal("-2.05")], D102), [Decimal("-2.2550")]),
    ("div", pa.decimal128(23, 13), ([Decimal("1.00"), Decimal("2")], D102), ([Decimal("3.00"), Decimal("0")], D102),
     [Decimal("0.3333333333333"), None]),
    ("div", pa.decimal128(10, 1), ([Decimal("0.50")], D102), ([Decimal("2.00")], D102), [Decimal("0.3")]),
    ("mod", D102, ([Decimal("-7.50")], D102), ([Decimal("2.00")], D102), [Decimal("-1.50")]),
    ("intdiv", I64, ([Decimal("-7.50")], D102), ([Decimal("2.00")], D102), [-3]),
]  # fmt: skip


@pytest.mark.parametrize(("fn", "kind", "a", "b", "want"), ARITHMETIC)
def test_arithmetic(fn: str, kind: pa.DataType, a: Any, b: Any, want: list[Any]) -> None:
    assert_same(call(fn, kind, a, b), want)


@pytest.mark.parametrize(
    ("fn", "kind", "args"),
    [
        ("add", I64, [([MAX], I64), ([1], I64)]),
        ("add", I32, [([2**31 - 1], I32), ([1], I32)]),
        ("sub", I64, [([MIN], I64), ([1], I64)]),
        ("mul", I64, [([2**32], I64), ([2**31], I64)]),
        ("intdiv", I64, [([MIN], I64), ([-1], I64)]),
        ("neg", I64, [([MIN], I64)]),
        ("abs", I64, [([MIN], I64)]),
        ("cast", I8, [([128], I64)]),
        ("add", TS, [([MAX - 1], TS), ([5], DUR)]),
        ("mul", pa.decimal128(10, 2), [([Decimal("99999999.00")], D102), ([Decimal("2.00")], D102)]),
    ],
)
def test_overflow_is_an_error_that_names_the_call_and_its_values(fn: str, kind: pa.DataType, args: Any) -> None:
    batch, expr = columns_and_call(fn, kind, args)
    with pytest.raises(DataError, match="has no value for"):
        evaluate(expr, batch)


def test_a_branch_guards_its_rows_from_overflow() -> None:
    batch = pa.record_batch({"x": pa.array([3, MAX, None])})
    x = Column("x", I64)
    small, square = Call("lt", (x, Literal(100, I64)), BOOL), Call("mul", (x, x), I64)
    case = Call("case", (small, square, Literal(-1, I64)), I64)
    assert evaluate(case, batch).to_pylist() == [9, -1, -1]
    guarded = Call("and", (small, Call("gt", (square, Literal(5, I64)), BOOL)), BOOL)
    assert evaluate(guarded, batch).to_pylist() == [True, False, None]
    large = Call("or", (Call("not", (small,), BOOL), Call("gt", (square, Literal(5, I64)), BOOL)), BOOL)
    assert evaluate(large, batch).to_pylist() == [True, True, None]
    first = Call("coalesce", (Call("nullif", (x, Literal(3, I64)), I64), square), I64)
    assert evaluate(first, batch).to_pylist() == [9, MAX, None]
    with pytest.raises(DataError, match="mul"):
        evaluate(Call("case", (Call("not", (small,), BOOL), square), I64), batch)


UNARY = [
    ("neg", I64, ([1, None, -3], I64), [-1, None, 3]),
    ("neg", F64, ([1.5, 0.0], F64), [-1.5, -0.0]),
    ("neg", DUR, ([5], DUR), None),
    ("abs", I64, ([-1, None, 3], I64), [1, None, 3]),
    ("floor", I64, ([1.7, -1.2, NAN, 1e30, None], F64), [1, -2, 0, None, None]),
    ("ceil", I64, ([1.2, -1.7, -1e30, 2.0**63, -(2.0**63)], F64), [2, -1, None, None, MIN]),
    ("floor", I64, ([7], I64), [7]),
    ("ceil", pa.decimal128(9, 0), ([Decimal("1.10")], D102), [Decimal("2")]),
    ("sqrt", F64, ([4.0, -1.0, None], F64), [2.0, NAN, None]),
    ("sign", F64, ([-4, 0, 9], I64), [-1.0, 0.0, 1.0]),
    ("round", F64, ([2.5, -2.5, 0.49999999999999994, 1e300, NAN], F64), [3.0, -3.0, 0.0, 1e300, NAN]),
    ("round", I64, ([25], I64), [25]),
    ("is_null", BOOL, ([1.0, None, NAN], F64), [False, True, False]),
    ("is_not_null", BOOL, ([1.0, None, NAN], F64), [True, False, True]),
    ("not", BOOL, ([True, False, None], BOOL), [False, True, None]),
    ("lower", STR, (["ÄbC", None], STR), ["äbc", None]),
    ("upper", STR, (["äbC", None], STR), ["ÄBC", None]),
    ("length", I32, (["äbC", "", None], STR), [3, 0, None]),
    ("trim", STR, (["  a b ", "\ta\t", None], STR), ["a b", "\ta\t", None]),
]


@pytest.mark.parametrize(("fn", "kind", "a", "want"), UNARY)
def test_unary(fn: str, kind: pa.DataType, a: Any, want: list[Any] | None) -> None:
    got = call(fn, kind, a)
    if want is None:
        assert pa.array(got, kind).cast(I64).to_pylist() == [-v for v in a[0]]
    else:
        assert_same(got, want)


@pytest.mark.parametrize(
    ("values", "kind", "digits", "want"),
    [
        ([2.675, -2.675, 1.005, 0.125, 2.674, None, 123456789012.345], F64, 2,
         [2.68, -2.68, 1.01, 0.13, 2.67, None, 123456789012.35]),
        ([1250.0, -1250.0, 1249.9], F64, -2, [1300.0, -1300.0, 1200.0]),
        ([45035996273.70495], F64, 4, [45035996273.705]),
        ([15, -15, 14, None], I64, -1, [20, -20, 10, None]),
        ([Decimal("1.25"), Decimal("-1.25")], D102, 1, [Decimal("1.3"), Decimal("-1.3")]),
    ],
)  # fmt: skip
def test_round_to_digits(values: list[Any], kind: pa.DataType, digits: int, want: list[Any]) -> None:
    target = pa.decimal128(10, 1) if kind == D102 else kind
    assert_same(call("round", target, (values, kind), ([digits] * len(values), I32)), want)


NUMBERS = [None, NAN, -INF, -0.0, 0.0, 1.0, INF]


def _order(x: float) -> tuple[int, float]:
    """Position in Spark's order of doubles."""
    return (1, 0.0) if math.isnan(x) else (0, x + 0.0)


COMPARE: dict[str, Any] = {
    "eq": lambda a, b: _order(a) == _order(b),
    "ne": lambda a, b: _order(a) != _order(b),
    "lt": lambda a, b: _order(a) < _order(b),
    "le": lambda a, b: _order(a) <= _order(b),
    "gt": lambda a, b: _order(a) > _order(b),
    "ge": lambda a, b: _order(a) >= _order(b),
}


@pytest.mark.parametrize("fn", [*COMPARE, "eq_null_safe"])
def test_comparison_of_doubles(fn: str) -> None:
    pairs = [(a, b) for a in NUMBERS for b in NUMBERS]
    test = COMPARE["eq" if fn == "eq_null_safe" else fn]
    want = [None if a is None or b is None else test(a, b) for a, b in pairs]
    if fn == "eq_null_safe":
        want = [a is b if w is None else w for w, (a, b) in zip(want, pairs, strict=True)]
    assert call(fn, BOOL, ([a for a, _ in pairs], F64), ([b for _, b in pairs], F64)) == want


@pytest.mark.parametrize(
    ("a", "b", "want"),
    [
        (([1, 2], I64), ([1.5, 1.5], F64), [True, False]),
        (([2**53 + 1], I64), ([Decimal("9007199254740992.00")], pa.decimal128(20, 2)), [False]),
        (([Decimal("1.10")], D102), ([Decimal("1.101")], pa.decimal128(10, 3)), [True]),
        ((["a", "B"], STR), (["b", "a"], STR), [True, True]),
        (([5, None], TS), ([6, 6], TS), [True, None]),
        (([1], I8), ([300], I32), [True]),
        (([False], BOOL), ([True], BOOL), [True]),
    ],
)
def test_less_over_types(a: Any, b: Any, want: list[Any]) -> None:
    assert call("lt", BOOL, a, b) == want


def test_three_valued_logic() -> None:
    t = [(a, b) for a in (True, False, None) for b in (True, False, None)]
    a, b = ([x for x, _ in t], BOOL), ([y for _, y in t], BOOL)
    assert call("and", BOOL, a, b) == [True, False, None, False, False, False, None, False, None]
    assert call("or", BOOL, a, b) == [True, True, True, True, False, None, True, None, None]


def test_case() -> None:
    c1, c2 = ([True, None, False, None], BOOL), ([True, True, False, False], BOOL)
    v1, v2 = ([1, 1, 1, 1], I64), ([2, 2, 2, None], I32)
    assert call("case", I64, c1, v1, c2, v2, ([9, 9, 9, 9], I64)) == [1, 2, 9, 9]
    assert call("case", I64, c1, v1, c2, v2) == [1, 2, None, None]


def test_choice() -> None:
    assert call("coalesce", F64, ([None, 1, None], I64), ([2.5, 2.5, None], F64)) == [2.5, 1.0, None]
    assert call("nullif", I64, ([1, 2, None, 4], I64), ([1, 3, 3, None], I64)) == [None, 2, None, 4]
    numbers = [([1.0, None, NAN, None, -1.0], F64), ([2.0, 3.0, 9.0, None, NAN], F64)]
    assert_same(call("greatest", F64, *numbers), [2.0, 3.0, NAN, None, NAN])
    assert_same(call("least", F64, *numbers), [1.0, 3.0, 9.0, None, -1.0])
    assert call("greatest", STR, (["a"], STR), (["b"], STR), ([None], STR)) == ["b"]


def test_in_is_three_valued() -> None:
    x = ([1, 2, None], I64)
    assert call("in", BOOL, x, ([1, 1, 1], I64), ([3, 3, 3], I64)) == [True, False, None]
    assert call("in", BOOL, x, ([1, 1, 1], I64), ([None] * 3, I64)) == [True, None, None]


@pytest.mark.parametrize("null", [False, True])
@pytest.mark.parametrize("count", [2, 7])
def test_in_of_constants(null: bool, count: int) -> None:
    values = [NAN, 0.0, *range(10, 10 + count)][:count] + ([None] if null else [])
    batch = pa.record_batch({"x": pa.array([NAN, -0.0, 5.0, None])})
    expr = Call("in", (Column("x", F64), *(Literal(v, F64) for v in values)), BOOL)
    assert evaluate(expr, batch).to_pylist() == [True, True, None if null else False, None]


@pytest.mark.parametrize(
    ("position", "length", "want"),
    [(1, 2, "hé"), (0, 2, "hé"), (2, None, "éllo"), (-2, None, "lo"), (-2, 1, "l"), (-2, 2, "lo"), (-2, 9, "lo"),
     (-7, 3, "h"), (-7, 2, ""), (9, 1, ""), (2, 0, ""), (2, -1, "")],
)  # fmt: skip
def test_substring(position: int, length: int | None, want: str) -> None:
    args = [(["héllo", None], STR), ([position] * 2, I32)] + ([([length] * 2, I32)] if length is not None else [])
    assert call("substring", STR, *args) == [want, None]
    assert call("substring", STR, (["héllo"], STR), ([None], I32)) == [None]


@pytest.mark.parametrize(
    ("pattern", "want"),
    [("a%", [True, True, False, None]), ("a_c", [False, True, False, None]), ("%.%", [False, False, True, None]),
     (r"x\_.y", [False, False, True, None]), ("", [False, False, False, None]), (None, [None] * 4)],
)  # fmt: skip
def test_like(pattern: str | None, want: list[Any]) -> None:
    assert call("like", BOOL, (["a\nbc", "a\nc", "x_.y", None], STR), ([pattern] * 4, STR)) == want


def test_concat() -> None:
    assert call("concat", STR, (["a", None], STR), (["b", "c"], STR), (["", ""], STR)) == ["ab", None]


CASTS = [
    (([" 12 ", "x", "", "1.9", "-1.9", ".5", "1e3", "+7", None, "9" * 30], STR), I64,
     [12, None, None, None, None, None, None, 7, None, None]),
    ((["128", "-128"], STR), I8, [None, -128]),
    ((["1.5", " -1e3 ", "NaN", "-Infinity", "inf", "abc", "1.5.2", "--inf", None], STR), F64,
     [1.5, -1000.0, NAN, -INF, INF, None, None, None, None]),
    ((["1.255", "x", "1e2", "123456789.00", "99999999.999"], STR), D102,
     [Decimal("1.26"), None, Decimal("100.00"), None, None]),
    ((["true", " Y ", "0", "maybe", None], STR), BOOL, [True, True, False, None, None]),
    (([1.9, -1.9, NAN, INF, -1e300, 2.0**63, None], F64), I64, [1, -1, None, None, None, MAX, None]),
    (([1e10, -1e10, 2147483647.9], F64), I32, [None, None, 2**31 - 1]),
    (([Decimal("1.99"), Decimal("-1.99")], D102), I32, [1, -1]),
    (([1.255, NAN, 1e9, 2.0], F64), D102, [Decimal("1.26"), None, None, Decimal("2.00")]),
    (([1, None], I64), F64, [1.0, None]),
    (([2**53 + 1], I64), F64, [float(2**53)]),
    (([0, 5, None], I64), BOOL, [False, True, None]),
    (([0.0, NAN], F64), BOOL, [False, True]),
    (([True, False, None], BOOL), I32, [1, 0, None]),
    (([True, None], BOOL), F64, [1.0, None]),
    (([True, False, None], BOOL), STR, ["true", "false", None]),
    (([12, None], I64), STR, ["12", None]),
    (([1.0, 100.0, 1e7, 1.5e-5, 0.001, 123.456, NAN, -INF, -0.0, 1234567.0, 1e20], F64), STR,
     ["1.0", "100.0", "1.0E7", "1.5E-5", "0.001", "123.456", "NaN", "-Infinity", "-0.0", "1234567.0", "1.0E20"]),
    (([0.1], F32), STR, ["0.1"]),
    (([Decimal("1.10")], D102), STR, ["1.10"]),
    (([0, 1_500_000, -1, None], TS), STR,
     ["1970-01-01 00:00:00", "1970-01-01 00:00:01.5", "1969-12-31 23:59:59.999999", None]),
    (([0, 1_500_000, -1, None], TS), I64, [0, 1, -1, None]),
    (([1_500_000, -500_000], TS), F64, [1.5, -0.5]),
    (([None], pa.null()), I64, [None]),
]  # fmt: skip


@pytest.mark.parametrize(("a", "kind", "want"), CASTS)
def test_cast(a: Any, kind: pa.DataType, want: list[Any]) -> None:
    assert_same(call("cast", kind, a), want)


def test_cast_to_timestamp() -> None:
    texts = ["1970-01-01 00:00:01.5", "1970-01-02", "1970-01-01T01:00:00+01:00", "1970-01-01 00:00:00Z", "1970-13-01",
             "x", None, "1969-12-31 23:59:59.999999"]  # fmt: skip
    batch, expr = columns_and_call("cast", TS, [(texts, STR)])
    found = evaluate(trying(expr), batch).cast(I64).to_pylist()
    assert found == [1_500_000, 86_400_000_000, 0, 0, None, None, None, -1]
    for values, kind, want in [([2, None], I64, [2_000_000, None]), ([1.5, NAN], F64, [1_500_000, None])]:
        batch, expr = columns_and_call("cast", TS, [(values, kind)])
        assert evaluate(trying(expr), batch).cast(I64).to_pylist() == want


def test_time_arithmetic() -> None:
    batch = pa.record_batch(
        {
            "t": pa.array([10, None], TS),
            "u": pa.array([4, 4], TS),
            "d": pa.array([3, 3], DUR),
            "n": pa.array([2, 2], I64),
        }
    )
    t, u, d, n = Column("t", TS), Column("u", TS), Column("d", DUR), Column("n", I64)
    for expr, want in [
        (Call("add", (t, d), TS), [13, None]),
        (Call("add", (d, t), TS), [13, None]),
        (Call("sub", (t, d), TS), [7, None]),
        (Call("sub", (t, u), DUR), [6, None]),
        (Call("mul", (d, n), DUR), [6, 6]),
        (Call("sub", (t, Literal(1, DUR)), TS), [9, None]),
        (Literal(7, TS), [7, 7]),
    ]:
        result = evaluate(expr, batch)
        assert result.type == expr.type and result.cast(I64).to_pylist() == want


def test_dates() -> None:
    batch = pa.record_batch({"t": pa.array([-1, 86_400_000_000], TS)})
    day = Call("cast", (Column("t", TS),), DATE)
    assert evaluate(day, batch).cast(I32).to_pylist() == [-1, 1]
    assert evaluate(Call("add", (day, Literal(2, I32)), DATE), batch).cast(I32).to_pylist() == [1, 3]
    assert evaluate(Call("cast", (Literal("1970-01-03", STR),), DATE), batch).cast(I32).to_pylist() == [2, 2]


def test_a_plain_column_is_not_copied() -> None:
    batch = pa.record_batch({"x": pa.array([1, 2, 3])})
    assert evaluate(Column("x", I64), batch).buffers()[1].address == batch.column(0).buffers()[1].address


def test_a_column_of_another_width_gets_the_type_of_the_expression() -> None:
    batch = pa.record_batch({"x": pa.array([1, None], I32), "s": pa.array(["a", "b"], pa.large_string())})
    assert evaluate(Column("x", I64), batch).equals(pa.array([1, None], I64))
    assert evaluate(Call("upper", (Column("s", STR),), STR), batch).equals(pa.array(["A", "B"], STR))


@pytest.mark.parametrize("rows", [0, 3])
def test_no_columns_and_no_rows(rows: int) -> None:
    batch = no_columns(rows)
    exprs: list[Expr] = [Literal(5, I64), Literal(None, STR), Call("add", (Literal(2, I64), Literal(3, I64)), I64)]
    for expr in exprs:
        result = evaluate(expr, batch)
        assert len(result) == rows and result.type == expr.type
    assert predicate_mask(TRUE, batch).tolist() == [True] * rows
    assert predicate_mask(Literal(None, BOOL), batch).tolist() == [False] * rows


@pytest.mark.parametrize("fn", sorted(FUNCTIONS))
def test_empty_columns(fn: str) -> None:
    if fn in DATED:
        kinds, result_kind = DATED[fn]
        batch, expr = columns_and_call(fn, result_kind, [([], k) for k in kinds])
        assert evaluate(expr, batch).equals(pa.array([], result_kind))
        return
    text = fn in {"lower", "upper", "length", "concat", "substring", "trim", "ltrim", "rtrim", "replace", "like"}
    logic = fn in {"and", "or", "not", "case", "only"}
    kind = STR if text else BOOL if logic else F64
    arity = {"case": 3, "substring": 3, "replace": 3}.get(fn, 1 if fn in UNARY_NAMES else 2)
    kinds = [STR, I32, I32] if fn == "substring" else [F64, I32] if fn == "round" else [kind] * arity
    result_kind = BOOL if fn in COMPARE or fn in {"eq_null_safe", "in", "like", "is_null", "is_not_null"} else kind
    result_kind = I32 if fn == "length" else result_kind
    result_kind = pa.struct([("at", kind), ("value", kind)]) if fn in ("pair", "row") else result_kind
    batch, expr = columns_and_call(fn, result_kind, [([], k) for k in kinds])
    result = evaluate(expr, batch)
    assert len(result) == 0 and result.type == result_kind


UNARY_NAMES = {"neg", "abs", "floor", "ceil", "sqrt", "sign", "not", "is_null", "is_not_null", "cast", "lower", "upper",
               "length", "trim", "ltrim", "rtrim"}  # fmt: skip
DATED = {fn: ([DATE], I32) for fn in ("year", "quarter", "month", "day", "dayofweek", "dayofyear", "weekofyear")}
DATED |= {fn: ([TS], I32) for fn in ("hour", "minute", "second")}
DATED |= {"date_trunc": ([STR, TS], TS), "add_months": ([TS, I32], TS), "at_time_zone": ([TS, STR], pa.timestamp("us"))}


def test_parts_of_dates_and_clocks() -> None:
    """2021-01-03 is a Sunday of the last ISO week of 2020; the microsecond before 1970 is on a Wednesday."""
    days = ([18630, -1, None], DATE)
    for fn, want in [
        ("year", [2021, 1969, None]), ("quarter", [1, 4, None]), ("month", [1, 12, None]), ("day", [3, 31, None]),
        ("dayofweek", [1, 4, None]), ("dayofyear", [3, 365, None]), ("weekofyear", [53, 1, None]),
    ]:  # fmt: skip
        assert call(fn, I32, days) == want, fn
    clock = ([-1, 18630 * 86_400_000_000 + 3_723_000_004, None], TS)
    for fn, want in [("hour", [23, 1, None]), ("minute", [59, 2, None]), ("second", [59, 3, None])]:
        assert call(fn, I32, clock) == want, fn


def test_timestamps_cut_to_a_unit() -> None:
    at = pa.array([-1, 18630 * 86_400_000_000 + 3_723_004_005, None], TS)
    batch = pa.record_batch({"t": at})
    for unit, want in [
        ("WEEK", [-3 * 86_400_000_000, 18624 * 86_400_000_000, None]),
        ("YEAR", [-365 * 86_400_000_000, 18628 * 86_400_000_000, None]),
        ("HOUR", [-3_600_000_000, 18630 * 86_400_000_000 + 3_600_000_000, None]),
        ("MILLISECOND", [-1_000, 18630 * 86_400_000_000 + 3_723_004_000, None]),
    ]:
        cut = evaluate(Call("date_trunc", (Literal(unit, STR), Column("t", TS)), TS), batch)
        assert cut.cast(I64).to_pylist() == want, unit


def test_a_text_in_another_s_place() -> None:
    batch = pa.record_batch({"s": pa.array(["aXbX", "", None], STR)})
    for old, new, want in [("X", "", ["ab", "", None]), ("", "y", ["aXbX", "", None]), ("b", "X", ["aXXX", "", None])]:
        expr = Call("replace", (Column("s", STR), Literal(old, STR), Literal(new, STR)), STR)
        assert evaluate(expr, batch).to_pylist() == want


def test_predicate_mask_treats_null_as_not_true() -> None:
    batch = pa.record_batch({"x": pa.array([1, None, 3])})
    mask = predicate_mask(Call("gt", (Column("x", I64), Literal(2, I64)), BOOL), batch)
    assert mask.dtype == np.bool_ and mask.tolist() == [False, False, True]


def test_texts_joined_where_nothing_is_there_are_empty() -> None:
    columns = pa.record_batch({"s": pa.array(["x", None, None]), "t": pa.array([None, None, "y"])})
    by, text = Literal(", ", pa.string()), pa.string()
    e = Call("concat_ws", (by, Column("s", text), Column("t", text)), text)
    assert evaluate(e, columns).to_pylist() == ["x", "", "y"]
