"""Windows as written to windows of the plan, with every rule about their lengths."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from muntin.core.time import MAX_SPAN
from muntin.cql.dialect import StreamRef, WindowSpec
from muntin.cql.durations import format_duration
from muntin.cql.places import Place, place_of
from muntin.plan.windows import Now, QueryOptions, Range, Unbounded, Window

_SUPPORTED = "supported windows are [RANGE t], [RANGE t SLIDE s], [WINDOW t SLIDE s], [NOW] and [UNBOUNDED]"


def bind_window(spec: WindowSpec | None, at: Place, text: str, options: QueryOptions) -> Window:
    """The window of a stream; no window is UNBOUNDED.

    Raises:
        QueryError: a length that is zero, negative or beyond ``MAX_SPAN``, or ``bounds="start"`` without SLIDE.
        UnsupportedError: windows of rows and partitioned windows.
    """
    if spec is None:
        return _slideless(Unbounded(), at, options)
    place = place_of(spec, text)
    match spec.args["kind"]:
        case "now":
            return _slideless(Now(), place, options)
        case "unbounded":
            return _slideless(Unbounded(), place, options)
        case "rows":
            what = "[PARTITION BY k ROWS n]" if spec.args.get("partition") else "[ROWS n]"
            raise place.unsupported(f"windows of rows ({what}) are not supported yet; {_SUPPORTED}")
        case _:
            return _range(spec, place, text, options)


def _range(spec: WindowSpec, place: Place, text: str, options: QueryOptions) -> Window:
    if spec.args.get("partition"):
        raise place.unsupported(f"PARTITION BY in a window of time is not supported; {_SUPPORTED}")
    if spec.args.get("slide_kind") == "rows":
        at = place_of(spec.args["slide"], text)
        raise at.error("SLIDE of a RANGE window is a length of time, as in SLIDE 1 MINUTE")
    size, slide = _span(spec, "size"), _span(spec, "slide")
    if slide is not None:
        _check_span("SLIDE", slide, place_of(spec.args["slide"], text))
    assert size is not None
    at = place_of(spec.args["size"], text)
    if size == 0:
        if options.bounds == "closed" and slide is None:
            return Now()
        raise at.error(
            "RANGE 0 is the empty window: the window at t holds rows with t - RANGE < ts <= t. "
            "Write [NOW] for the rows of the current instant"
        )
    _check_span("RANGE", size, at)
    window = Range(size, slide)
    return window if slide is not None else _slideless(window, place, options)


def _span(spec: WindowSpec, part: str) -> int | None:
    literal = spec.args.get(part)
    return None if literal is None else int(literal.this)


def _check_span(word: str, span: int, place: Place) -> None:
    if span <= 0:
        raise place.error(f"{word} must be positive, as in {word} 1 MINUTE")
    if span > MAX_SPAN:
        longest = format_duration(MAX_SPAN)
        raise place.error(f"{word} is longer than {longest}, the longest accepted; write [UNBOUNDED] to keep every row")


def _slideless(window: Window, place: Place, options: QueryOptions) -> Window:
    if options.bounds == "start":
        raise place.error(
            'bounds="start" needs a SLIDE on every window: its [start, end) windows only exist at their ticks. '
            'Write [RANGE t SLIDE s], or use bounds="half_open" or bounds="closed"'
        )
    return window


def check_slides(refs: Sequence[StreamRef], text: str) -> None:
    """Raise a ``QueryError`` when a query has both a time SLIDE and a ROWS SLIDE: they have no common instants."""
    specs = [r.args["window"] for r in refs if r.args.get("window") and r.args["window"].args.get("slide")]
    timed = [s for s in specs if s.args["kind"] == "range"]
    counted = [s for s in specs if s.args["kind"] == "rows"]
    if timed and counted:
        raise place_of(counted[0].args["slide"], text).error(
            "a query has time SLIDEs or ROWS SLIDEs, not both: their evaluation instants have nothing in common"
        )
    mixed = next((s for s in counted if s.args.get("slide_kind") == "range"), None)
    if mixed is not None:
        at = place_of(mixed.args["slide"], text)
        raise at.error("SLIDE of a ROWS window is a number of rows, as in [ROWS 100 SLIDE 10]")


def window_of(item: exp.Expr) -> WindowSpec | None:
    """The window written beside a FROM item of any kind."""
    found = item.args.get("window") or item.meta.get("window")
    return found if isinstance(found, WindowSpec) else None
