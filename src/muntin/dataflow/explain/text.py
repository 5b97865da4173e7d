"""EXPLAIN as text for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from muntin.core.spans import exact_words
from muntin.dataflow.explain.record import Explained, GraphRecord, LogicalLine, VertexRecord, instants_of, level_name
from muntin.engine.losses import shared
from muntin.engine.meter import Counter, LeftOut, Meter
from muntin.optimizer.scaling import scales
from muntin.optimizer.shedding import scans


def query_lines(record: Explained) -> Iterator[str]:
    """A query: the plan as written, the rules that fired, the plan that they made, its graph."""
    yield from (f"Note: {note.text}" for note in record.query.notes)
    yield "Logical plan"
    yield from _plain_lines(record.logical)
    steps = record.optimized.steps
    yield ""
    yield "Rules that fired: " + (_fired(s.rule for s in steps) or "none")
    yield ""
    yield "Optimized plan" if steps else "Estimated traffic"
    yield from _costed_lines(record.rewritten)
    strategy = record.query.options.strategy
    others = ", ".join(f"{s} {_count(c)}" for s, c in record.costs.items() if s != strategy)
    yield f"  estimated cost: {_count(record.costs[strategy])} steps/s under strategy {strategy} ({others})"
    if record.query.options.shed != "never":
        yield f"  under overload: {_shed(record)}"
    yield ""
    yield from graph_lines(record.graph)


def _shed(record: Explained) -> str:
    """What a live run may leave out, and for how long it may not."""
    options = record.query.options
    what = "rows of " + ", ".join(dict.fromkeys(scans(record.query)))
    if options.shed == "harvest":
        what = f"parts of the windows of joins, then {what}"
    floor = f", at least {options.quality:.0%} is kept" if options.quality else ""
    given = "values are scaled, with their errors" if scales(record.query) else "answers are then a part"
    return f"{what} are left out (shed={options.shed}{floor}, priority {options.priority}); {given}"


def graph_lines(record: GraphRecord) -> Iterator[str]:
    """A graph, level by level."""
    several = len(record.results) > 1
    yield "Graph"
    yield from _heads(record, several)
    for level, own in enumerate(record.levels, start=-1):
        if own:
            yield f"  {level_name(level)}{_spent(own, record.measured)}"
            for v in own:
                yield from _vertex(v, several)
    for r in record.results:
        name = f"result of {r.query}" if several else "result"
        yield f"  {name}: {', '.join(r.columns)} <- #{r.vertex}"
    for s in record.shared:
        yield f"  shared by rule {s.rule} in #{s.vertex}: {', '.join(s.queries)}"
        yield f"           {s.saved}"


def _fired(rules: Iterable[str]) -> str:
    """The rules in order; one that fired several times in a row once."""
    return ", ".join(rule for rule, _ in groupby(rules))


def _plain_lines(lines: tuple[LogicalLine, ...]) -> Iterator[str]:
    for x in lines:
        yield f"  {'  ' * x.depth}{x.text}  [{x.pattern.name}]"


def _costed_lines(lines: tuple[LogicalLine, ...]) -> Iterator[str]:
    for x in lines:
        numbers = f"{_count(x.rate)} rows/s, {_count(x.rows)} rows, {_count(x.cost)} steps/s"
        yield f"  {'  ' * x.depth}{x.text}  [{x.pattern.name}]  {numbers}"


def _heads(record: GraphRecord, several: bool) -> Iterator[str]:
    for r in record.results:
        yield f"  {r.query + ' ' if several else ''}answers {instants_of(r, exact_words)}"
    run = record.measured
    if run is not None:
        yield f"  measured: {run.batches} batches, {run.results} result rows, {run.seconds:.3f} s"
        for name, left in run.left_out.items():
            of = f" of {name}" if name else ""
            yield f"  about {shared(left.share, left.error)} of the full answer{of} is given: {_why(left)}"


def _why(left: LeftOut) -> str:
    return f"{left.rows} rows were not admitted" if left.rows else "parts of the windows of joins were not read"


def _spent(own: tuple[VertexRecord, ...], run: Meter | None) -> str:
    counted = [v.measured for v in own if v.measured is not None]
    return f"  ({sum(c.seconds for c in counted):.3f} s)" if run is not None and counted else ""


def _vertex(v: VertexRecord, several: bool) -> Iterator[str]:
    takes = ", ".join(f"#{t.vertex} {t.route}" for t in v.takes)
    source = f"  <- {takes}" if takes else ""
    yield f"    #{v.number} {v.id[:8]}  {v.text}{source}  [{v.pattern.name}]"
    if several:
        yield f"           for: {', '.join(v.queries)}"
    if v.keeps:
        yield f"           keeps: {keeps_text(v)}"
    if v.shared:
        yield f"           shared: {v.shared}"
    if v.layout:
        yield f"           layout: {v.layout}"
    if v.measured is not None:
        yield f"           measured: {measured_text(v.measured)}"
    yield from (f"           {line}" for line in v.join)


def keeps_text(v: VertexRecord) -> str:
    """What a vertex remembers, and by what time its panes are merged."""
    return v.keeps if v.pane is None else f"{v.keeps}; panes of {exact_words(v.pane)}"


def measured_text(c: Counter) -> str:
    """A counter in words."""
    negative = f" ({c.negative} negative)" if c.negative else ""
    kept = f", state {c.state} rows (peak {c.peak}), {c.bytes} bytes" if c.peak else ""
    kept += f", {c.looked} looked at" if c.looked else ""
    shed = f" ({c.shed} more not admitted: answers are not exact)" if c.shed else ""
    return f"{c.rows_in} rows in{shed}, {c.rows_out} out{negative}{kept}, {c.calls} calls, {c.seconds:.4f} s"


def _count(x: float) -> str:
    """A number to three digits, as people read it."""
    if x >= 1e6:
        return f"{x:.2e}"
    return f"{x:,.0f}" if x >= 10 else f"{x:.2g}"
