"""Golden scripts of optimizer rules: a query, and the plan before and after the script's rule first changed it.

A case in ``scripts/<rule>.cql`` is::

    -- case: what it shows
    -- statistics: rate A 10; distinct A k 5; size T 100; keep (a.v > 1L) 0.1     (optional)
    -- nrr: R                       (optional: a table taken for non-retroactive once the query is bound)
    SELECT ...
    => before
    =>   plan
    => after
    =>   plan

or ``=> unchanged`` and the plan where the rule must not apply. Streams A, B, C, D and tables T (static), R
(retroactive), N (non-retroactive) are those of the random queries. With ``MUNTIN_GOLDEN=write`` the runner writes what
it gets into the scripts: read the difference before committing it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from generate import draw_rows
from generate_wide import WideCase, WideQuery, draw_updates

from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.optimizer import Optimized, Statistics, optimize
from muntin.optimizer.plan_text import plan_text
from muntin.optimizer.rewrite import with_inputs
from muntin.plan.catalog import Catalog, Stream, Table
from muntin.plan.nodes import BoundQuery, Node, Output, TableScan
from muntin.plan.windows import QueryOptions

SCRIPTS = Path(__file__).parent / "scripts"
_ROW = Schema.of(
    ts=pa.int64(), k=pa.int64(), j=pa.int64(), i=pa.int32(), s=pa.string(), x=pa.float64(), m=pa.decimal128(9, 2),
    v=pa.int64(),
)  # fmt: skip
_TABLE = Schema.of(k=pa.int64(), s=pa.string(), v=pa.int64())
KINDS = {"T": "static", "R": "relation", "N": "nrr"}
CATALOG = Catalog(
    tuple(Stream(n, _ROW, "ts", order=i) for i, n in enumerate("ABCD")),
    tuple(Table(n, _TABLE, kind) for n, kind in KINDS.items()),  # type: ignore[arg-type]
)


@dataclass(frozen=True)
class RuleCase:
    """One case of a rule's script."""

    rule: str
    title: str
    statistics: Statistics
    query: str
    expected: str
    nrr: str | None = None

    @property
    def bound(self) -> BoundQuery:
        query = bind(self.query, CATALOG, QueryOptions())
        return query if self.nrr is None else with_root(query, _as_nrr(query.root, self.nrr))  # type: ignore[arg-type]

    def optimized(self) -> Optimized:
        return optimize(self.bound, self.statistics)

    def sides(self) -> tuple[Output, Output] | None:
        """The plan before and after the rule's first step; None if it never changes the plan."""
        step = next((s for s in self.optimized().steps if s.rule == self.rule), None)
        return None if step is None else (step.before, step.after)

    def outcome(self) -> str:
        """What the script should say."""
        sides = self.sides()
        if sides is None:
            return "unchanged\n" + _indented(self.optimized().query.root)
        return f"before\n{_indented(sides[0])}\nafter\n{_indented(sides[1])}"


def _as_nrr(node: Node, name: str) -> Node:
    """The plan with a table non-retroactive (the binder refuses some of the texts that would say so)."""
    if isinstance(node, TableScan) and node.table.name == name:
        return replace(node, table=replace(node.table, kind="nrr"))
    return with_inputs(node, [_as_nrr(child, name) for child in node.inputs])


def _indented(root: Output) -> str:
    return "\n".join("  " + line for line in plan_text(root).splitlines())


def cases_of(path: Path) -> Iterator[RuleCase]:
    """The cases of a script, in order."""
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        lines = block.splitlines()
        heads = dict(line[3:].split(": ", 1) for line in lines if line.startswith("-- "))
        text = "\n".join(line for line in lines if not line.startswith(("-- ", "=> ")))
        expected = "\n".join(line[3:] for line in lines if line.startswith("=> "))
        yield RuleCase(
            path.stem, heads["case"], parse_statistics(heads.get("statistics", "")), text, expected, heads.get("nrr")
        )


def parse_statistics(text: str) -> Statistics:
    """The words after ``-- statistics:``."""
    found: dict[str, dict[Any, float]] = {"rates": {}, "distinct": {}, "sizes": {}, "selectivities": {}}
    for entry in filter(None, map(str.strip, text.split(";"))):
        word, rest = entry.split(" ", 1)
        what, value = rest.rsplit(" ", 1)
        match word:
            case "rate":
                found["rates"][what.lower()] = float(value)
            case "size":
                found["sizes"][what.lower()] = float(value)
            case "distinct":
                source, column = what.lower().split()
                found["distinct"][source, column] = float(value)
            case "keep":
                found["selectivities"][what] = float(value)
            case _:
                raise ValueError(f"unknown statistic {entry!r}")
    return Statistics(**found)


def rewrite(path: Path) -> None:
    """Write the script again with what the cases give now."""
    blocks = []
    for block, case in zip(path.read_text(encoding="utf-8").strip().split("\n\n"), cases_of(path), strict=True):
        kept = [line for line in block.splitlines() if not line.startswith("=> ")]
        blocks.append("\n".join(kept + ["=> " + line for line in case.outcome().splitlines()]))
    path.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


def draw_data(seed: int, query: BoundQuery) -> WideCase:
    """Random rows for every stream of the query and random updates for its tables (event times in microseconds)."""
    rng = Random(f"rules {seed}")
    names = sorted({s.stream.name for s in query.scans})
    streams = {n: draw_rows(rng, rng.randint(1, 12), 0, 12, 0) for n in names}
    tables = {n: draw_updates(rng, n, 0, 1) for n in KINDS}
    nothing = WideQuery("", (), None)
    return WideCase(seed, 1, False, streams, dict.fromkeys(names, 0), nothing, query.options, tables)


def with_root(query: BoundQuery, root: Output) -> BoundQuery:
    """The query with another plan."""
    return replace(query, root=root)
