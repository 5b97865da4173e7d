"""What people write who know other dialects, and what is written here instead: the words of messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from sqlglot import exp

from muntin.cql.refused import BY_NAME

_WINDOWS = (
    "a window stands at its stream, FROM s [RANGE size SLIDE slide] (a tumbling one is [RANGE size SLIDE size]), or is "
    "written FROM TUMBLE(s, ts, size), FROM HOP(s, ts, slide, size), or GROUP BY window(ts, size, slide) of the one "
    "stream in FROM; column ts of the result is the window's end, WINDOW_START() and WINDOW_END() show both"
)
_SESSIONS = (
    "sessions are a window of their stream, FROM s [PARTITION BY k SESSION 5 MINUTES], or GROUP BY k, "
    "session_window(ts, '5 minutes'), or FROM SESSION(TABLE s PARTITION BY k, DESCRIPTOR(ts), INTERVAL '5' MINUTES); "
    "window_start and window_end say where they start and end"
)
_JSON = (
    "parts of a text of JSON are GET_JSON_OBJECT(text, '$.a.b[0]'), or text ->> '$.a.b[0]', and FROM_JSON(text, "
    "'a INT, b ARRAY<STRING>') reads all of it; TO_JSON writes structs, arrays and maps"
)
ARRAYS = (
    "nested values are taken apart here (s.field, x[0], m['key'], SLICE, SIZE, ...) and made, not turned into rows: do "
    "that in the DataFrame that is registered, as in df.withColumn('tag', explode('tags')), or with columns = "
    "{ tag = \"explode(tags)\" } of a job file's stream"
)
_CLOCK = "a query has no clock but event time: column ts of a result is its instant, and FROM s [NOW] its newest rows"
_OVER = (
    "OVER is not supported: aggregates are over the window of their stream, as in SELECT k, AVG(x) FROM s "
    "[RANGE 5 MINUTES] GROUP BY k (for PARTITION BY k ... RANGE BETWEEN INTERVAL 5 MINUTES PRECEDING ...) or FROM s "
    "[ROWS 10] (for ROWS BETWEEN 9 PRECEDING ...)"
)
_RANKS = (
    "ranks are ROW_NUMBER, RANK and DENSE_RANK, each a column of its own or bounded, as in QUALIFY ROW_NUMBER() OVER "
    "(PARTITION BY g ORDER BY x) <= 10; the last 10 rows of each k are a window [PARTITION BY k ROWS 10]"
)
_PERCENTILE = "write QUANTILE(x, 0.9), or PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)"
_TEXT = "write ARRAY_JOIN(COLLECT(x), ','): the texts in their order, those that are NULL left out"
_PATTERNS = (
    "patterns are joins of windows, a followed by b within 10 minutes being FROM s [RANGE 10 MINUTES] a, s [NOW] b "
    "WHERE a.k = b.k AND a.v < b.v; not followed within 10 minutes is NOT EXISTS (SELECT * FROM s [RANGE 10 MINUTES] "
    "...) in a query over s [NOW DELAY 10 MINUTES]"
)
_OWN = "register one of your own with session.aggregate(name, ...)"

_BY_NAME: Mapping[str, str] = {
    **dict.fromkeys(
        ("window", "tumbling", "hopping", "window_time"), _WINDOWS
    ),
    **dict.fromkeys(("session", "session_window", "session_start", "session_end"), _SESSIONS),
    **dict.fromkeys(
        ("json_extract", "json_extract_scalar", "json_value", "json_query", "json_tuple", "parse_json",
         "try_parse_json", "schema_of_json", "variant_get", "try_variant_get", "json_extract_path_text"), _JSON
    ),
    **dict.fromkeys(
        ("explode", "explode_outer", "posexplode", "inline"), ARRAYS
    ),
    **dict.fromkeys(("timestamp_diff",), "write TIMESTAMPDIFF(unit, start, end), or subtract them for an INTERVAL"),
    **dict.fromkeys(
        ("now", "current_timestamp", "current_date", "current_time", "localtimestamp", "curdate", "getdate"), _CLOCK
    ),
    **dict.fromkeys(("row_number", "rank", "dense_rank", "ntile", "percent_rank", "cume_dist", "nth_value"), _RANKS),
    **dict.fromkeys(
        ("lag", "lead"), "the rows before are in a window: FIRST(x) over [ROWS 2] is the value before the newest"
    ),
    "match_recognize": _PATTERNS,
    **dict.fromkeys(("percentile_cont", "percentile_disc"), _PERCENTILE),
    **dict.fromkeys(("quantile_approx",), "write APPROX_QUANTILE(x, 0.9)"),
    **dict.fromkeys(("hll",), "write APPROX_COUNT_DISTINCT(x)"),
    "some_value": "write ANY_VALUE(x)",
    "latest_by_offset": "write LAST(x), or ARG_MAX(x, t)",
    "earliest_by_offset": "write FIRST(x), or ARG_MIN(x, t)",
    **dict.fromkeys(("topk", "topkdistinct"), "write ORDER BY x DESC LIMIT 3 BY k, or APPROX_TOP_K(x, 3) for the most "
                    "frequent values"),
    **dict.fromkeys(("string_agg", "group_concat", "listagg"), _TEXT),
    "mode": f"write FREQUENT(x, 1).items[0].item, the most frequent value, or {_OWN}",
    **dict.fromkeys(("skewness", "kurtosis", "product"), _OWN),
}  # fmt: skip

_CLAUSES: Mapping[tuple[str, str], str] = {
    ("emit", "changes"): "a query without SLIDE shows changes, one with SLIDE whole answers; Istream(SELECT ...), "
    "Dstream( and Rstream( say which",
    ("emit", "final"): "an answer is shown once, when its instant has passed; slack= of the stream says how late rows "
    "may be: leave it out",
    ("for", "system_time"): "a table that changes is joined as it was at each instant: register it with "
    "session.table(...) and name it in FROM",
    ("select", "top"): "write ORDER BY ... LIMIT k at the end",
}
"""Two words that begin a clause of other dialects, and what to say."""


def for_function(name: str) -> str | None:
    """What to write instead of a function that is not here; None where nothing is known."""
    return _BY_NAME.get(name.lower()) or BY_NAME.get(name.lower())


def for_call(texts: Sequence[str]) -> tuple[int, str] | None:
    """The first such call or clause among the words of a text that does not parse: its number, and the message."""
    for i, (name, after) in enumerate(pairwise(texts)):
        words = _BY_NAME.get(name.lower()) if after == "(" else None
        if words is not None:
            return i, not_here(name, words)
        clause = _CLAUSES.get((name.lower(), after.lower()))
        if clause is not None:
            at = i + (name.lower() == "select")
            return at, not_here(" ".join(texts[at : i + 2]), clause)
        if name.lower() in ("range", "rows") and after[:1].isdigit() and "[" not in texts[:i]:
            window = " ".join(texts[i : i + (2 if name.lower() == "rows" else 3)])
            return i, f"a window stands in brackets after its stream: write [{window}]"
    return None


def not_here(name: str, words: str) -> str:
    """The message about a function."""
    return f"there is no {name.upper()} here: {words}"


def for_node(node: exp.Expr) -> str | None:
    """The message about a construct that is not here; None where nothing is known."""
    match node:
        case exp.Window():
            called = node.this.meta.get("called") or (node.this.sql_name() if isinstance(node.this, exp.Func) else "")
            words = for_function(called) if for_function(called) in (_RANKS, _BY_NAME["lag"]) else None
            return f"{_OVER}; {words}" if words else _OVER
        case exp.Bracket() | exp.Slice() | exp.Dot() | exp.Array() | exp.Struct() | exp.Map():
            return f"this form of arrays, maps and structs is not supported: {ARRAYS}"
        case exp.JSONExtract() | exp.JSONExtractScalar():
            called = str(node.meta.get("called", "->"))
            return not_here(called, _JSON) if called != "->" else f"-> is not supported: {_JSON}"
        case exp.Tuple():
            return (
                "(a, b) stands left of IN (SELECT ...) alone: compare one by one, as in a = 1 AND b = 2, and count "
                "distinct pairs with COUNT(DISTINCT a, b)"
            )
        case exp.WithinGroup():
            return f"WITHIN GROUP goes with PERCENTILE_CONT(q) and one ascending key: {_PERCENTILE}"
        case _:
            return None
