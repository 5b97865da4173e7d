"""What EXPLAIN says of a join that stands for several: whose it is, and what that saves."""

from __future__ import annotations

from collections.abc import Sequence

from muntin.core.spans import exact_words
from muntin.dataflow.graph import Graph
from muntin.operators.joins.counted_join import CountedJoin
from muntin.operators.joins.narrow import Narrow
from muntin.operators.reader import Reader
from muntin.operators.time_window import TimeWindow
from muntin.plan.windows import Range


def sharing_note(graph: Graph, number: int, queries: Sequence[str]) -> str:
    """Of a join whose results are narrowed for several joins: how many it stands for, for which queries, and how long
    its rows are held instead of how long those of all would be; "" where it is no such join. ``queries``: the names of
    the graph's plans."""
    readers = [i for i, v in enumerate(graph.vertices) if any(e.vertex == number for e in v.inputs)]
    op = graph.vertices[number].op
    if isinstance(op, CountedJoin):
        return _rows_note(op, [graph.vertices[i].op for i in readers], _whose(graph, number, queries))
    narrowed = [i for i in readers if isinstance(graph.vertices[i].op, Narrow)]
    if not narrowed or len(narrowed) < len(readers):
        return ""
    held = [_length(graph.vertices[e.vertex].op) for e in graph.vertices[number].inputs]
    apart = [[_length(p.window) for p in graph.vertices[i].op.parts] for i in narrowed]  # type: ignore[attr-defined]
    whose = _whose(graph, number, queries)
    if len(narrowed) == 1:
        return _alone(whose)
    rows = " and ".join(
        f"{exact_words(own)} of rows instead of {exact_words(sum(x))}"
        for own, x in zip(held, zip(*apart, strict=True), strict=True)
    )
    return f"one join in place of {len(narrowed)}, for {whose}: it keeps {rows}"


def _whose(graph: Graph, number: int, queries: Sequence[str]) -> str:
    return ", ".join(queries[q] for q in sorted(graph.used_by[number]))


def _alone(whose: str) -> str:
    return f"one join for {whose}, as wide as it was for queries that are gone"


def _rows_note(op: CountedJoin, readers: Sequence[object], whose: str) -> str:
    """The same of a join of windows of rows."""
    read = [op.windows[r.window] for r in readers if isinstance(r, Reader)]
    if len(read) == 1:
        return _alone(whose)
    apart = zip(op.longest, zip(*read, strict=True), strict=True)
    rows = " and ".join(f"{own:,} rows instead of {sum(n):,}" for own, n in apart)
    each = "" if not any(i.by for i in op.inputs) else " of each partition"
    return f"one join in place of {len(read)}, for {whose}: it keeps {rows}{each}"


def _length(op: object) -> int:
    match op:
        case TimeWindow(window=Range(length=int(length))):
            return length
        case TimeWindow(options=options):
            return options.granule
    return 0
