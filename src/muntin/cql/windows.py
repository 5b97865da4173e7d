"""Windows as written to windows of the plan, with every rule about their lengths."""

from __future__ import annotations

from sqlglot import exp

from muntin.core.calendar import LATEST_DAY, Months, Span, day_of_month, nominal, positive
from muntin.core.schema import Schema
from muntin.core.time import DAY, MAX_SPAN
from muntin.cql.durations import format_duration
from muntin.cql.places import Place, place_of
from muntin.cql.scopes import did_you_mean, listing
from muntin.cql.types import family
from muntin.cql.window_syntax import WindowSpec
from muntin.plan.windows import Now, QueryOptions, Range, Rows, Session, Unbounded, Window


def bind_window(
    spec: WindowSpec | None, at: Place, text: str, options: QueryOptions, schema: Schema, owner: str
) -> Window:
    """The window of a stream, or of a query's results, with the columns of ``schema``; no window is UNBOUNDED.

    Raises:
        QueryError: a length that is zero, negative or beyond ``MAX_SPAN``, ``bounds="start"`` without SLIDE, an unknown
            column in PARTITION BY.
        UnsupportedError: PARTITION BY in a window of time.
    """
    if spec is None:
        return _slideless(Unbounded(), at, options)
    place = place_of(spec, text)
    match spec.args["kind"]:
        case "now":
            return _slideless(Now(bool(spec.args.get("internal")), _delay(spec, text)), place, options)
        case "unbounded":
            return _slideless(Unbounded(bool(spec.args.get("internal"))), place, options)
        case "rows":
            return _rows(spec, place, text, options, schema, owner)
        case "session":
            return _session(spec, place, text, schema, owner)
        case _:
            return _range(spec, place, text, options)


def _rows(spec: WindowSpec, place: Place, text: str, options: QueryOptions, schema: Schema, owner: str) -> Window:
    size, slide = _count(spec, "size"), _span(spec, "slide")
    every = slide if spec.args.get("slide_kind") == "range" else None
    if every is not None:
        _check_slide(every, place_of(spec.args["slide"], text), options)
        slide = None
    assert not isinstance(slide, Months)
    for part, value in (("size", size), ("slide", slide)):
        if value is not None and not 0 < value < 2**31:
            word = "ROWS" if part == "size" else "SLIDE"
            at = place_of(spec.args[part], text)
            raise at.error(f"{word} takes a positive number of rows (at most {2**31 - 1}), as in {word} 100")
    assert size is not None
    by = tuple(_partition(c, text, schema, owner) for c in spec.args.get("partition") or [])
    window = Rows(size, slide, by, bool(spec.args.get("internal")), every)
    return window if slide is not None or every is not None else _slideless(window, place, options)


def _session(spec: WindowSpec, place: Place, text: str, schema: Schema, owner: str) -> Window:
    gap = _span(spec, "size")
    at = place_of(spec.args["size"], text)
    if isinstance(gap, Months):
        raise at.unsupported("the gap of a session is a length that is always the same: write days, as in 30 DAYS")
    assert gap is not None
    _check_span("SESSION", gap, at)
    if spec.args.get("internal"):
        raise place.unsupported("INTERNAL does not go with SESSION: its rows are there at one instant alone")
    return Session(gap, tuple(_partition(c, text, schema, owner) for c in spec.args.get("partition") or []))


def _partition(node: exp.Expr, text: str, schema: Schema, owner: str) -> str:
    """The column of the stream that PARTITION BY names."""
    place = place_of(node, text)
    if not isinstance(node, exp.Column) or node.table:
        raise place.error(f"PARTITION BY in a window takes plain column names of {owner}")
    names = [n for n in schema.names if n.lower() == node.name.lower()]
    names = [n for n in names if n == node.name] or names
    if len(names) != 1:
        hint = did_you_mean(node.name, schema.names)
        raise place.error(f"there is no column {node.name!r} in {owner}.{hint} Columns: {listing(schema.names)}")
    found = schema.get(names[0])
    assert found is not None
    if family(found.type) == "nested":
        raise place.error(f"PARTITION BY takes plain values, not {found.name} ({found.type})")
    return found.name


def _range(spec: WindowSpec, place: Place, text: str, options: QueryOptions) -> Window:
    if spec.args.get("partition"):
        raise place.unsupported(
            "PARTITION BY goes with windows of rows and sessions, as in [PARTITION BY k ROWS 10]: a window of time is "
            "the same for every k, so leave it out (and GROUP BY k)"
        )
    size, slide = _span(spec, "size"), _span(spec, "slide")
    rows = slide if spec.args.get("slide_kind") == "rows" else None
    if rows is not None:
        if not (isinstance(rows, int) and 0 < rows < 2**31):
            at = place_of(spec.args["slide"], text)
            raise at.error(f"SLIDE takes a positive number of rows (at most {2**31 - 1}), as in SLIDE 100")
        slide = None
    if slide is not None:
        _check_slide(slide, place_of(spec.args["slide"], text), options)
    assert size is not None
    at = place_of(spec.args["size"], text)
    if size == 0:
        if options.bounds == "closed" and slide is None:
            return Now(bool(spec.args.get("internal")), _delay(spec, text))
        raise at.error(
            "RANGE 0 is the empty window: the window at t holds rows with t - RANGE < ts <= t. "
            "Write [NOW] for the rows of the current instant"
        )
    _check_span("RANGE", size, at)
    if options.bounds == "start" and slide is not None and isinstance(size, Months) is not isinstance(slide, Months):
        raise at.error(
            'with bounds="start" windows begin at multiples of SLIDE and end RANGE later: both are months (or years) '
            "or neither is, as in [RANGE 1 MONTH SLIDE 1 MONTH]"
        )
    delay = _delay(spec, text)
    if delay and rows is not None:
        raise place_of(spec.args["delay"], text).unsupported(
            "DELAY does not go with SLIDE of rows: the rows decide when such a window moves"
        )
    cumulative = bool(spec.args.get("cumulate"))
    if cumulative:
        _check_cumulative(size, slide, at, options, bool(spec.args.get("internal")))
    window = Range(size, slide, bool(spec.args.get("internal")), rows, delay, cumulative)
    return window if slide is not None or rows is not None else _slideless(window, place, options)


def _span(spec: WindowSpec, part: str) -> Span | None:
    literal = spec.args.get(part)
    if literal is None:
        return None
    count, *months = str(literal.this).split()
    return Months(int(count)) if months else int(count)


def _check_cumulative(size: Span, slide: Span | None, at: Place, options: QueryOptions, internal: bool) -> None:
    if slide is None:
        raise at.error("CUMULATE goes with a SLIDE of time, as in [RANGE 1 DAY SLIDE 1 HOUR CUMULATE]")
    if options.bounds == "closed" or internal:
        raise at.unsupported('CUMULATE does not go with INTERNAL, nor with bounds="closed" (a row would be in two)')
    fits = isinstance(slide, int) and (DAY if isinstance(size, Months) else size) % slide == 0
    if not (fits or (isinstance(slide, Months) and isinstance(size, Months) and size.count % slide.count == 0)):
        raise at.error("with CUMULATE the RANGE is a multiple of the SLIDE (of months: a day is one)")


def _delay(spec: WindowSpec, text: str) -> int:
    """The window's DELAY in microseconds; 0 without one."""
    delay = _span(spec, "delay")
    if delay is None:
        return 0
    at = place_of(spec.args["delay"], text)
    if isinstance(delay, Months):
        raise at.unsupported("DELAY is a length that is always the same: write days, as in DELAY 30 DAYS")
    if delay < 0:
        raise at.error("DELAY cannot be negative: no window holds rows before they come")
    if delay > MAX_SPAN:
        raise at.error(f"DELAY is longer than {format_duration(MAX_SPAN)}, the longest accepted")
    if spec.args.get("internal"):
        raise at.unsupported("DELAY does not go with INTERNAL: put the delayed window into a sub-query")
    return delay


def _count(spec: WindowSpec, part: str) -> int | None:
    literal = spec.args.get(part)
    return None if literal is None else int(literal.this)


def _check_slide(slide: Span, place: Place, options: QueryOptions) -> None:
    _check_span("SLIDE", slide, place)
    if isinstance(slide, Months) and day_of_month(options.origin) > LATEST_DAY:
        raise place.error(
            f"SLIDE of months counts from option origin, which is on day {day_of_month(options.origin)} of its month: "
            f"not every month has it. Give an origin on day 1 to {LATEST_DAY}"
        )


def _check_span(word: str, span: Span, place: Place) -> None:
    if not positive(span):
        raise place.error(f"{word} must be positive, as in {word} 1 MINUTE")
    if nominal(span) > MAX_SPAN:
        longest = format_duration(MAX_SPAN)
        raise place.error(f"{word} is longer than {longest}, the longest accepted; write [UNBOUNDED] to keep every row")


def _slideless(window: Window, place: Place, options: QueryOptions) -> Window:
    if options.bounds == "start":
        raise place.error(
            'bounds="start" needs a SLIDE on every window: its [start, end) windows only exist at their ticks. '
            'Write [RANGE t SLIDE s], or use bounds="half_open" or bounds="closed"'
        )
    return window


def window_of(item: exp.Expr) -> WindowSpec | None:
    """The window written beside a FROM item of any kind."""
    found = item.args.get("window")
    return found if isinstance(found, WindowSpec) else None
