"""T10, thesis Figure 3.2: SUM over a stream or its last five rows, by four kinds of windows.

The figure's numbers are not in the text; these stand in for them.
"""

from __future__ import annotations

from itertools import accumulate

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.product import Row, bound, catalog, local

VALUES = (4, 7, 1, 9, 3, 8, 6, 2)
TOTALS = tuple(accumulate(VALUES))
LAST_FIVE = tuple(sum(VALUES[max(0, i - 4) : i + 1]) for i in range(len(VALUES)))

Trace = list[tuple[int, str | None, int]]
"""(second, '+' or '-', value)."""


def external(sums: tuple[int, ...]) -> Trace:
    """A new value takes the place of the old one, which is retracted."""
    trace: Trace = []
    for i, value in enumerate(sums):
        trace += ([(i + 1, "-", sums[i - 1])] if i else []) + [(i + 1, "+", value)]
    return trace


def internal(sums: tuple[int, ...]) -> Trace:
    """Values are appended and stay."""
    return [(i + 1, "+", v) for i, v in enumerate(sums)]


CASES: dict[str, tuple[str, Trace]] = {
    "external sliding": ("SELECT SUM(a) AS s FROM S [ROWS 5]", external(LAST_FIVE)),
    "external unbounded": ("SELECT SUM(a) AS s FROM S", external(TOTALS)),
    "internal sliding": ("SELECT SUM(a) AS s FROM S [ROWS 5 INTERNAL]", internal(LAST_FIVE)),
    "internal unbounded": ("SELECT SUM(a) AS s FROM S [UNBOUNDED INTERNAL]", internal(TOTALS)),
}


def trace_of(changes: list[Row]) -> Trace:
    """A result in the form of a trace."""
    return [(r.ts, r.op, int(str(r.values[0]))) for r in changes]


def judge(found: dict[str, Trace]) -> tuple[Check, ...]:
    """One check a trace."""
    return tuple(
        Check(
            f"{name}: {'(-old,+new)' if 'external' in name else 'append only'}",
            f"{name} {_signs(found[name])}",
            found[name] == expected,
        )
        for name, (_, expected) in CASES.items()
    )


def _signs(trace: Trace) -> str:
    gone = sum(op == "-" for _, op, _ in trace)
    return f"+{len(trace) - gone} -{gone}"


def run(setting: Setting) -> Outcome:
    """The four queries, fed second by second."""
    rows = {"S": [{"ts": i, "a": v} for i, v in enumerate(VALUES, start=1)]}
    streams = catalog(S="a")
    return Outcome(judge({n: trace_of(local(bound(text, streams), rows, live=True)) for n, (text, _) in CASES.items()}))


ENTRY = Entry(
    "T10",
    "SUM over stream or ROWS 5, four window types: only external windows retract the previous value",
    "4 traces: external emit (-old,+new); internal append only; sliding sums over last 5",
    run,
)
