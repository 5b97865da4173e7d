"""Golden scripts: cases of a query text and the plan, or the error, that it gives.

A case in a script is::

    -- case: what it shows
    -- tags: join, window
    -- bounds: closed            (optional: any option of QueryOptions that is a string)
    SELECT ...
    => expected lines

Cases are divided by blank lines. With ``MUNTIN_GOLDEN=write`` the runner writes what it gets into the scripts: read
the difference before committing it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from muntin.core.errors import QueryError, UnsupportedError
from muntin.core.schema import Schema
from muntin.cql import bind, to_cql, window_text
from muntin.cql.unparse import plain_text
from muntin.plan.catalog import AggregateFunction, Catalog, Stream, Table, View
from muntin.plan.exprs import Agg, Expr
from muntin.plan.nodes import (
    Aggregate,
    Apply,
    BoundQuery,
    Filter,
    Join,
    Node,
    OuterJoin,
    Output,
    Project,
    Rewindow,
    Scan,
    SemiJoin,
    SetOp,
    TableScan,
    TopK,
)
from muntin.plan.windows import QueryOptions

SCRIPTS = Path(__file__).parent / "scripts"

UTC = pa.timestamp("us", tz="UTC")
FLIGHTS = Schema.of(
    ts=UTC, origin=pa.string(), carrier=pa.string(), delay=pa.int32(), dist=pa.float64(), fare=pa.decimal128(10, 2),
    seq=pa.int64(), ok=pa.bool_(), day=pa.date32(), tags=pa.list_(pa.string()),
)  # fmt: skip
WEATHER = Schema.of(ts=UTC, origin=pa.string(), wind=pa.float64(), code=pa.int64())
PAGE = pa.struct([("url", pa.string()), ("size", pa.int32()), ("at", pa.struct([("zone", pa.string())]))])
CLICKS = Schema.of(
    ts=UTC, url=pa.string(), page=PAGE, tags=pa.list_(pa.string()), pages=pa.list_(PAGE),
    m=pa.map_(pa.string(), pa.int64()),
)  # fmt: skip
BIDS = Schema.of(ts=pa.int64(), auction=pa.int64(), price=pa.int32())
CATALOG = Catalog(
    (
        Stream("flights", FLIGHTS, "ts"),
        Stream("weather", WEATHER, "ts", order=1),
        Stream("Bids", BIDS, "ts", order=2),
        Stream("clicks", CLICKS, "ts", order=3),
    ),
    (
        Table("airports", Schema.of(code=pa.string(), name=pa.string())),
        Table("fleet", Schema.of(carrier=pa.string(), planes=pa.int64()), "nrr"),
        Table("rates", Schema.of(carrier=pa.string(), rate=pa.float64()), "relation"),
    ),
    (
        View("busy", "SELECT origin, COUNT(*) AS n FROM flights [RANGE 1 HOUR SLIDE 1 MINUTE] GROUP BY origin"),
        View("late", "Istream(SELECT origin, delay FROM flights [NOW] WHERE delay > 30)"),
        View("later", "SELECT origin FROM late [RANGE 1 HOUR] WHERE delay > 60"),
        View("loop", "SELECT a FROM pool"),
        View("pool", "SELECT a FROM loop"),
        View("broken", "SELECT nothing FROM flights"),
    ),
    (AggregateFunction("geomean", pa.float64(), pa.float64()), AggregateFunction("pick")),
)


@dataclass(frozen=True)
class Case:
    """One case of a script."""

    title: str
    tags: tuple[str, ...]
    options: QueryOptions
    query: str
    expected: str


def cases_of(path: Path) -> Iterator[Case]:
    """The cases of a script, in order."""
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        yield _case(block.splitlines())


def _case(lines: list[str]) -> Case:
    heads = dict(line[3:].split(": ", 1) for line in lines if line.startswith("-- "))
    body = [line for line in lines if not line.startswith(("-- ", "=> "))]
    expected = [line[3:] for line in lines if line.startswith("=> ")]
    options: dict[str, Any] = {k: v for k, v in heads.items() if k not in ("case", "tags")}
    tags = tuple(heads.get("tags", "").split(", "))
    return Case(heads["case"], tags, QueryOptions(**options), "\n".join(body), "\n".join(expected))


def rewrite(path: Path) -> None:
    """Write the script again with what the cases give now."""
    blocks = []
    for block, case in zip(path.read_text(encoding="utf-8").strip().split("\n\n"), cases_of(path), strict=True):
        kept = [line for line in block.splitlines() if not line.startswith("=> ")]
        blocks.append("\n".join(kept + ["=> " + line for line in outcome(case).splitlines()]))
    path.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


def outcome(case: Case) -> str:
    """The plan as text, or the error with its place."""
    try:
        query = bind(case.query, CATALOG, case.options)
    except UnsupportedError as e:
        return f"unsupported: {e}"
    except QueryError as e:
        return f"error: {e}"
    again = bind(to_cql(query), CATALOG, case.options)
    assert again.root == query.root, f"the round trip changed the plan of {case.query}"
    return plan_text(query)


def plan_text(query: BoundQuery) -> str:
    """The plan, a node a line, inputs indented below."""
    return "\n".join(_lines(query.root, 0))


def _lines(node: Node, depth: int) -> Iterator[str]:
    yield "  " * depth + _line(node)
    for child in node.inputs:
        yield from _lines(child, depth + 1)


def _line(node: Node) -> str:
    match node:
        case Output(_, kind):
            return kind
        case Project(_, exprs):
            return "project " + ", ".join(f"{n}: {_expr(e)} {e.type}" for n, e in exprs)
        case Aggregate(_, groups, aggs):
            return "aggregate " + ", ".join([f"{n} = {_expr(e)}" for n, e in groups] + _aggs(aggs))
        case Filter(_, predicate):
            return f"filter {_expr(predicate)}"
        case Join(_, predicate):
            return f"join {_expr(predicate)}"
        case Scan(stream, alias, window):
            return f"scan {stream.name} {window_text(window).replace('`', '')} as {alias}"
        case _:
            return _other_line(node)


def _other_line(node: Node) -> str:
    match node:
        case TableScan(table, alias):
            return f"table {table.name} ({table.kind}) as {alias}"
        case Rewindow(_, window):
            return f"window {window_text(window).replace('`', '')}"
        case SemiJoin(_, _, predicate, anti, None):
            return f"{'anti' if anti else 'semi'} join {_expr(predicate)}"
        case SemiJoin(_, _, predicate, _, (x, y)):
            return f"anti join {_expr(predicate)} not in {_expr(x)}, {_expr(y)}"
        case OuterJoin(_, _, predicate, side):
            return f"{side} join {_expr(predicate)}"
        case SetOp(kind):
            return kind.replace("_", " ")
        case Apply(_, _, predicate, aggs):
            return f"apply {', '.join(_aggs(aggs))} where {_expr(predicate)}"
        case TopK():
            return _top(node)
        case _:
            return type(node).__name__.lower()


def _top(node: TopK) -> str:
    named = [f"{_expr(e)}{' desc' if d else ''}{' nulls first' if n else ''}" for e, d, n in node.keys]
    count = f"{node.count}{f' behind {node.offset}' if node.offset else ''}{' with ties' if node.ties else ''}"
    of = f" of {'group' if node.grouped else 'each'} {', '.join(map(_expr, node.by))}" if node.by else ""
    return f"top {count}{of} by {', '.join(named)}" + "".join(f", {n} = {kind}" for n, kind in node.ranks)


def _aggs(aggs: tuple[tuple[str, Agg], ...]) -> list[str]:
    return [f"{n} = {_agg(a)} {a.type}" for n, a in aggs]


def _agg(a: Agg) -> str:
    rest = "" if a.param is None else f", {a.param}"
    return f"{a.fn}({'*' if a.arg is None else _expr(a.arg)}{rest})"


def _expr(e: Expr) -> str:
    return plain_text(e)
