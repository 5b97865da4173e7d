"""Random scalar expressions: the row-by-row evaluator and the one over Arrow columns give the same values."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
from draws import blocks

from muntin.core.errors import DataError, QueryError
from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.exprs import Expr
from muntin.plan.nodes import Project
from muntin.reference import eval_expr
from muntin.reference.values import from_outside
from muntin.scalars.evaluate import evaluate
from muntin.verify.compare import same_value

DATE_PARTS = ("YEAR", "QUARTER", "MONTH", "DAY", "DAYOFWEEK", "DAYOFYEAR", "WEEKOFYEAR")
CLOCK_PARTS = ("HOUR", "MINUTE", "SECOND")
UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "microsecond")

SCHEMA = Schema.of(
    ts=pa.timestamp("us", "UTC"),
    i=pa.int32(),
    n=pa.int64(),
    x=pa.float64(),
    y=pa.float64(),
    m=pa.decimal128(9, 2),
    s=pa.string(),
    t=pa.string(),
    b=pa.bool_(),
    d=pa.date32(),
)
STREAM = Stream("S", SCHEMA, "ts")
CATALOG = Catalog((STREAM,))

VALUES: dict[str, tuple[Any, ...]] = {
    "ts": (
        datetime(2024, 2, 29, 12, 30, 15, 250_000, UTC),
        datetime(1969, 12, 31, 23, 59, 59, 1, UTC),
        datetime(2021, 1, 3, 0, 0, 0, 1_234, UTC),
    ),
    "i": (0, 1, -1, 7, -8, 2**31 - 1),
    "n": (0, 1, 2, -3, 5, 2**40, 2**63 - 1, -(2**63)),
    "x": (0.0, -0.0, 1.5, -2.5, 3.0, 1e10, math.nan, math.inf),
    "y": (0.0, 0.25, -7.0, 2.0, math.nan, -math.inf),
    "m": (Decimal("0.00"), Decimal("12.34"), Decimal("-0.55"), Decimal("3.00")),
    "s": ("", "abc", " Ab c ", "a%c", "é", "12"),
    "t": ("b", "abc", "_", "-3", "1.5", "x"),
    "b": (True, False),
    "d": (date(2024, 2, 29), date(1970, 1, 1)),
}


def draw_rows(rng: Random, count: int = 24) -> list[dict[str, Any]]:
    return [{c: None if rng.random() < 0.15 else rng.choice(v) for c, v in VALUES.items()} for _ in range(count)]


class Texts:
    """Draws expression texts by type, at most ``depth`` calls deep."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def of(self, kind: str, depth: int) -> str:
        return {"num": self.num, "bool": self.bool, "str": self.str}[kind](depth)

    def pick(self, *makers: Callable[[], str]) -> str:
        return self.rng.choice(makers)()

    def num(self, depth: int) -> str:
        if depth == 0:
            return self.rng.choice(("i", "n", "x", "y", "m", "0", "2", "-3", "0.5", "1.25"))
        n, b, s = (lambda k=kind: self.of(k, depth - 1) for kind in ("num", "bool", "str"))
        op = self.rng.choice(("+", "-", "*", "/", "%", "+", "-", "/"))

        def times() -> str:
            return f"DATE_TRUNC('{self.rng.choice(UNITS)}', {self.rng.choice(('ts', 'd'))})"

        return self.pick(
            lambda: f"({n()} {op} {n()})",
            lambda: f"({n()} {op} {n()})",
            lambda: f"({self.whole()} DIV {self.whole()})",
            lambda: f"(-{n()})",
            lambda: f"{self.rng.choice(('ABS', 'FLOOR', 'CEIL', 'ROUND', 'SQRT'))}({n()})",
            lambda: f"ROUND({n()}, {self.rng.choice((0, 1, 2))})",
            lambda: f"SIGN({n()})",
            lambda: f"COALESCE({n()}, {n()})",
            lambda: f"NULLIF({n()}, {n()})",
            lambda: f"{self.rng.choice(('GREATEST', 'LEAST'))}({n()}, {n()}, {n()})",
            lambda: f"CASE WHEN {b()} THEN {n()} WHEN {b()} THEN {n()} ELSE {n()} END",
            lambda: f"LENGTH({s()})",
            lambda: f"{self.rng.choice(DATE_PARTS)}({self.rng.choice(('ts', 'd', times()))})",
            lambda: f"{self.rng.choice(CLOCK_PARTS)}({self.rng.choice(('ts', 'd', times()))})",
            lambda: f"PMOD({self.whole()}, {self.whole()})",
            lambda: f"NVL2({s()}, {n()}, {n()})",
            lambda: f"CAST({self.whole()} AS {self.rng.choice(('DOUBLE', 'BIGINT', 'DECIMAL(20, 3)'))})",
            lambda: f"CAST({n()} AS DOUBLE)",
            lambda: f"CAST({self.rng.choice('st')} AS {self.rng.choice(('INT', 'BIGINT', 'DOUBLE'))})",
        )

    def whole(self) -> str:
        return self.rng.choice(("i", "n", "2", "-3", "0", "(n - i)"))

    def bool(self, depth: int) -> str:
        if depth == 0:
            return self.rng.choice(("b", "TRUE", "FALSE", "x > 1", "s = 'abc'", "n IS NULL"))
        n, b, s = (lambda k=kind: self.of(k, depth - 1) for kind in ("num", "bool", "str"))
        compare = self.rng.choice(("=", "<>", "<", "<=", ">", ">=", "<=>"))
        kind = self.rng.choice(("num", "str"))
        return self.pick(
            lambda: f"({self.of(kind, depth - 1)} {compare} {self.of(kind, depth - 1)})",
            lambda: f"({n()} {compare} {n()})",
            lambda: f"({b()} AND {b()})",
            lambda: f"({b()} OR {b()})",
            lambda: f"(NOT {b()})",
            lambda: f"({n()} IS {self.rng.choice(('', 'NOT '))}NULL)",
            lambda: f"({n()} {self.rng.choice(('', 'NOT '))}IN ({n()}, {n()}, 2))",
            lambda: f"({n()} BETWEEN {n()} AND {n()})",
            lambda: f"({s()} LIKE '{self.rng.choice(('a%', '%c', 'a_c', '_', '%', '%b%'))}')",
            lambda: f"({s()} LIKE '{self.rng.choice(('ax%%', 'xx%', '%x_', 'xxx%'))}' ESCAPE 'x')",
            lambda: f"({s()} NOT LIKE ANY ('{self.rng.choice('ab')}%', '%c'))",
            lambda: f"{self.rng.choice(('STARTSWITH', 'ENDSWITH', 'CONTAINS'))}({s()}, '{self.rng.choice('abc%')}')",
            lambda: f"ISNAN({n()})",
            lambda: self.rng.choice(("ts > TIMESTAMP '2000-01-01 00:00:00'", "d = DATE '2024-02-29'", "(d < d)")),
        )

    def str(self, depth: int) -> str:
        if depth == 0:
            return self.rng.choice(("s", "t", "'abc'", "''", "'A b'"))
        b, s = (lambda k=kind: self.of(k, depth - 1) for kind in ("bool", "str"))
        return self.pick(
            lambda: f"{self.rng.choice(('LOWER', 'UPPER', 'TRIM', 'LTRIM', 'RTRIM'))}({s()})",
            lambda: f"REPLACE({s()}, '{self.rng.choice(('a', 'bc', '', '%'))}', '{self.rng.choice(('', 'x', 'aa'))}')",
            lambda: f"{self.rng.choice(('LEFT', 'RIGHT'))}({s()}, {self.rng.randint(-1, 4)})",
            lambda: f"CONCAT({s()}, {s()})",
            lambda: f"SUBSTRING({s()}, {self.rng.randint(-3, 4)}, {self.rng.randint(0, 3)})",
            lambda: f"SUBSTRING({s()}, {self.rng.randint(-4, 4)})",
            lambda: f"COALESCE({s()}, {s()})",
            lambda: f"CASE WHEN {b()} THEN {s()} ELSE {s()} END",
            lambda: f"CAST({self.rng.choice(('i', 'n', 'x', 'm', 'b', 'd', 'ts'))} AS STRING)",
        )


def bound(text: str) -> Expr | None:
    """The expression that the binder makes of a text; None where it finds the types wrong."""
    try:
        project = bind(f"SELECT {text} AS c FROM S", CATALOG).root.input
    except QueryError:
        return None
    assert isinstance(project, Project)
    return project.exprs[0][1]


def check(rng: Random) -> bool:
    """Whether an expression was drawn that the binder takes and that has values for some rows.

    A row without one is an error in both evaluators, and in no other row.
    """
    texts = Texts(rng)
    text = texts.of(rng.choice(("num", "num", "bool", "bool", "str")), rng.randint(1, 3))
    expr = bound(text)
    if expr is None:
        return False
    rows = draw_rows(rng)
    arrow = pa.record_batch([pa.array([r[f.name] for r in rows], f.type) for f in SCHEMA], schema=_prefixed())
    plain = [{f"S.{f.name}": from_outside(r[f.name], f.type) for f in SCHEMA} for r in rows]
    expected = [_or_failed(lambda row=row: eval_expr(expr, row)) for row in plain]
    try:
        found = evaluate(expr, arrow)
        assert found.type == expr.type, text
        got = [from_outside(v, expr.type) for v in found.to_pylist()]
    except DataError:
        alone = [arrow.slice(i, 1) for i in range(len(rows))]
        got = [_or_failed(lambda row=row: from_outside(evaluate(expr, row)[0].as_py(), expr.type)) for row in alone]
        assert any(v is FAILED for v in got), f"{text} fails over all rows, and over none alone"
    for row, want, have in zip(rows, expected, got, strict=True):
        same = want is have if want is FAILED or have is FAILED else same_value(want, have)
        assert same, f"{text} over {row}: {want!r} expected, {have!r} came"
    return any(v is not FAILED for v in got)


FAILED = object()


def _or_failed(value: Callable[[], Any]) -> Any:
    try:
        return value()
    except DataError:
        return FAILED


def _prefixed() -> pa.Schema:
    return pa.schema([(f"S.{f.name}", f.type) for f in SCHEMA])


@blocks(1, 4)
def test_values_agree(block: int) -> None:
    done = sum(check(Random(f"{block}/{i}")) for i in range(200))
    assert done > 120
