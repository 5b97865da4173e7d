"""What an error says of a call that has no value for a row's values: the same words wherever it was computed."""

from __future__ import annotations

from muntin.cql.types import to_spark
from muntin.cql.unparse import plain_text
from muntin.plan.exprs import Call

_TRY = {"add": "try_add", "sub": "try_subtract", "mul": "try_multiply"}


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
        case fn:
            lenient = f", or take {_TRY[fn]} for NULL" if fn in _TRY else ""
            return (
                f": overflow, the result does not fit {kind}; cast its arguments to a wider type (DECIMAL, DOUBLE)"
                f"{lenient}"
            )
