"""Scalar functions row by row: NULL, NaN, zero and rounding rules; None for a failure stands for NULL under ``try``."""

import math
from decimal import Decimal

import pyarrow as pa
import pytest

from muntin.core.errors import DataError
from muntin.plan.exprs import FUNCTIONS, Call, Literal
from muntin.reference import eval_expr
from muntin.reference.characters import OF_KINDS
from muntin.reference.encodings import HASHES
from muntin.reference.scalar import _LAZY, _SEE_NULL, _STRICT, _TEST

I64, F64, STR, BOOL = pa.int64(), pa.float64(), pa.string(), pa.bool_()
NAN, INF = math.nan, math.inf


def lit(value, type_=None):
    guess = {bool: BOOL, int: I64, float: F64, str: STR, Decimal: pa.decimal128(10, 2), type(None): I64}[type(value)]
    return Literal(value, type_ or guess)


def call(fn, *values, type_=I64):
    return eval_expr(Call(fn, tuple(lit(v) for v in values), type_), {})


def attempt(e):
    return eval_expr(Call("try", (e,), e.type), {})


def test_every_function_of_the_vocabulary_is_known():
    known = {*_LAZY, *_SEE_NULL, *_STRICT, *_TEST, *HASHES, *OF_KINDS, "cast", "try", "struct", "to_json"}
    assert known == FUNCTIONS


@pytest.mark.parametrize(
    ("fn", "args", "expected"),
    [
        ("and", (True, None), None), ("and", (False, None), False), ("and", (True, True), True),
        ("or", (False, None), None), ("or", (True, None), True), ("not", (None,), None), ("not", (False,), True),
        ("eq", (NAN, NAN), True), ("eq", (0.0, -0.0), True), ("gt", (NAN, INF), True), ("lt", (1, NAN), True),
        ("eq", (None, 1), None), ("ne", (1, 2), True), ("ge", ("b", "a"), True),
        ("eq_null_safe", (None, None), True), ("eq_null_safe", (None, 1), False), ("eq_null_safe", (1, 1), True),
        ("is_null", (None,), True), ("is_not_null", (None,), False),
        ("in", (1, 2, None), None), ("in", (1, 1, None), True), ("in", (None, 1), None), ("in", (3, 1, 2), False),
        ("like", ("a_c", r"a\_c"), True), ("like", ("abc", "a_c"), True), ("like", ("a\nc", "a%"), True),
        ("like", ("ab", "a"), False),
    ],
)  # fmt: skip
def test_truth(fn, args, expected):
    assert call(fn, *args, type_=BOOL) is expected


@pytest.mark.parametrize(
    ("fn", "args", "type_", "expected"),
    [
        ("div", (1, 0), F64, None), ("div", (0.0, 0.0), F64, None), ("div", (7, 2), F64, 3.5),
        ("intdiv", (-7, 2), I64, -3), ("intdiv", (7, 0), I64, None),
        ("mod", (-7, 3), I64, -1), ("mod", (7, -3), I64, 1), ("mod", (7, 0), I64, None),
        ("mod", (-7.5, 2.0), F64, -1.5),
        ("add", (1, None), I64, None), ("mul", (3, 0.5), F64, 1.5), ("sub", (1, 2), I64, -1), ("neg", (3,), I64, -3),
        ("abs", (-3,), I64, 3), ("round", (2.5,), F64, 3.0), ("round", (-2.5,), F64, -3.0),
        ("round", (2.345, 2), F64, 2.35),
        ("round", (155, -1), I64, 160), ("floor", (-1.5,), I64, -2), ("ceil", (1.2,), I64, 2),
        ("floor", (INF,), I64, None),
        ("sign", (-2.5,), F64, -1.0), ("sqrt", (9.0,), F64, 3.0), ("power", (2, 10), F64, 1024.0),
        ("power", (0, -1), F64, INF),
        ("coalesce", (None, 2), I64, 2), ("coalesce", (None, 0), F64, 0.0), ("nullif", (1, 1), I64, None),
        ("nullif", (1, 2), I64, 1), ("greatest", (1, None, 3), I64, 3), ("least", (1.0, NAN), F64, 1.0),
        ("lower", ("AbC",), STR, "abc"), ("upper", ("abC",), STR, "ABC"), ("length", ("abc",), I64, 3),
        ("concat", ("a", None), STR, None), ("concat", ("a", "b"), STR, "ab"), ("trim", ("  a b ",), STR, "a b"),
        ("substring", ("hello", 2, 3), STR, "ell"), ("substring", ("hello", 0, 2), STR, "he"),
        ("substring", ("hello", -3, 2), STR, "ll"), ("substring", ("hello", -9, 6), STR, "he"),
        ("substring", ("hi", 5), STR, ""),
        ("case", (False, 1, True, 2, 3), I64, 2), ("case", (None, 1, 3), I64, 3), ("case", (False, 1), I64, None),
    ],
)  # fmt: skip
def test_values(fn, args, type_, expected):
    got = attempt(Call(fn, tuple(lit(v) for v in args), type_))
    assert got == expected and type(got) is type(expected)


def test_results_that_are_nan():
    assert math.isnan(call("sqrt", -1.0, type_=F64))
    assert math.isnan(call("greatest", 1.0, NAN, type_=F64))
    assert math.isnan(call("mod", INF, 2.0, type_=F64))


def test_integer_overflow_is_an_error():
    with pytest.raises(DataError, match="overflow"):
        call("mul", 2**62, 2)
    with pytest.raises(DataError):
        call("neg", -(2**63))


def test_decimals_are_exact_and_round_half_up():
    money = pa.decimal128(12, 2)
    assert call("add", Decimal("0.10"), Decimal("0.20"), type_=money) == Decimal("0.30")
    assert call("div", Decimal("1.00"), Decimal("8.00"), type_=money) == Decimal("0.13")
    with pytest.raises(DataError, match="decimal overflow"):
        call("mul", Decimal("99999999.99"), Decimal("99999999.99"), type_=money)


@pytest.mark.parametrize(
    ("value", "source", "target", "expected"),
    [
        (300, I64, pa.int8(), None), (2.9, F64, I64, 2), (NAN, F64, I64, None), (1e30, F64, I64, None),
        (2.0**63, F64, I64, 2**63 - 1), (2.0**31, F64, pa.int32(), None),
        (" 12 ", STR, I64, 12), ("1.9", STR, I64, None), ("x", STR, I64, None), ("1e2", STR, F64, 100.0),
        (1, I64, STR, "1"), (1.0, F64, STR, "1.0"), (1.5e10, F64, STR, "1.5E10"), (1e-5, F64, STR, "1.0E-5"),
        (True, BOOL, STR, "true"), ("yes", STR, BOOL, True), ("maybe", STR, BOOL, None), (0, I64, BOOL, False),
        (1_500_000, pa.timestamp("us", "UTC"), I64, 1), (7, I64, F64, 7.0),
        (1_500_000, pa.timestamp("us", "UTC"), STR, "1970-01-01 00:00:01.5"),
        ("1970-01-02", STR, pa.timestamp("us", "UTC"), 86_400_000_000),
    ],
)  # fmt: skip
def test_casts(value, source, target, expected):
    assert attempt(Call("cast", (lit(value, source),), target)) == expected


def test_cast_of_null_is_null():
    assert eval_expr(Call("cast", (lit(None),), STR), {}) is None
