"""What an error says of a call that has no value for a row's values: the same words wherever it was computed."""

from __future__ import annotations

from muntin.cql.types import to_spark
from muntin.cql.unparse import plain_text
from muntin.plan.exprs import Call

_TRY = {"add": "try_add", "sub": "try_subtract", "mul": "try_multiply"}

_WHY = {
    "url_decode": "a % is not followed by two hexadecimal digits",
    "parse_url": "it is no URL",
    "unbase64": "it is no text of base 64",
    "decode": "the bytes are no UTF-8",
    "conv": "the number has more than 64 bits",
    "bit_get": "the number has no such bit",
    "elt": "there are not so many values",
    "slice": "the start is 0, or the length below 0",
    "sequence": "the step leads away from the end, or there are more than 10,000,000 elements",
    "map_from_arrays": "there are not as many keys as values, or a key is NULL or comes twice",
    "map_from_entries": "a key is NULL or comes twice",
    "to_number": "the text is not of the format",
    "str_to_map": "a key comes twice",
    "array_insert": "the place is 0, or there would be more than 10,000,000 elements",
}
_WHY |= {
    "parse_time": "the text is not of the pattern, or there is no such time",
    **dict.fromkeys(("make_date", "make_timestamp"), "there is no such time"),
}
_LENIENT = {"parse_time": "try_to_timestamp", "make_timestamp": "try_make_timestamp", "url_decode": "try_url_decode",
            "parse_url": "try_parse_url", "to_number": "try_to_number"}  # fmt: skip


def subject(call: Call) -> str:
    """The beginning of the message; the values follow, separated by commas."""
    return f"{plain_text(call)} has no value for "


def advice(call: Call) -> str:
    """The end of the message: why, and what to do."""
    kind = to_spark(call.type)
    match call.fn:
        case "cast":
            return f": it is no {kind}, or does not fit one; filter such rows out with WHERE, or take TRY_CAST for NULL"
        case "div" | "intdiv" | "mod":
            return (
                f": the divisor is 0, or the result does not fit {kind}; filter such rows out with WHERE, or divide "
                "by NULLIF(..., 0) for NULL"
            )
        case fn if fn in _WHY:
            lenient = f", or take {_LENIENT[fn]} for NULL" if fn in _LENIENT else ""
            return f": {_WHY[fn]}; filter such rows out with WHERE{lenient}"
        case fn:
            lenient = f", or take {_TRY[fn]} for NULL" if fn in _TRY else ""
            return (
                f": overflow, the result does not fit {kind}; cast its arguments to a wider type (DECIMAL, DOUBLE)"
                f"{lenient}"
            )
