"""A case from its JSON to PASS, FAIL or UNSUPPORTED."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from muntin.core.errors import UnsupportedError
from muntin.plan.nodes import windows_of
from muntin.verify.case import Expectation, ExpectedRow, VectorCase, load_cases
from muntin.verify.compare import Row, accumulate, bag_difference, net
from muntin.verify.report import CaseResult, exit_status, render, summary
from muntin.verify.runner import Job, Outcome, Runner, run_on_local

ByInstant = Mapping[int, list[tuple[str | None, Row]]]


def verify_files(paths: Iterable[Path], runner: Runner = run_on_local) -> Iterator[CaseResult]:
    """Every case of the files, in order, as it finishes. Raises ConfigError for a file that cannot be read."""
    for path in paths:
        for case in load_cases(path):
            yield verify_case(case, runner)


def print_results(results: Iterable[CaseResult], out: Callable[[str], object] = print) -> int:
    """Print a line per case as it comes, then the counts; returns the exit status (0: nothing failed)."""
    seen = []
    for result in results:
        seen.append(result)
        out(render(result))
    out(summary(seen))
    return exit_status(seen)


def verify_case(case: VectorCase, runner: Runner = run_on_local) -> CaseResult:
    """Run one case and compare. Errors other than UnsupportedError are failures, not exceptions."""
    if case.skip is not None or case.cql is None:
        return CaseResult(case.id, "UNSUPPORTED", f"not to be run: {case.skip}")
    job = job_of(case)
    try:
        outcome = _with_ticks_between(case, job, runner, runner(job))
    except UnsupportedError as error:
        return CaseResult(case.id, "UNSUPPORTED", str(error))
    except Exception as error:
        return CaseResult(case.id, "FAIL", f"{type(error).__name__}: {error}")
    problem = difference(case, outcome)
    return CaseResult(case.id, "FAIL", problem) if problem else CaseResult(case.id, "PASS")


def job_of(case: VectorCase) -> Job:
    """What the case runs."""
    assert case.cql is not None
    return Job(
        case.cql,
        case.catalog,
        case.options,
        case.streams,
        case.until,
        changes=case.expect.kind in ("changelog", "final"),
        late=case.late_rows,
        complete=case.newest - 1 if case.late_rows else None,
        tables=case.tables,
    )


def _with_ticks_between(case: VectorCase, job: Job, runner: Runner, outcome: Outcome) -> Outcome:
    """The outcome, with what holds at the ticks at which an Rstream over windows without SLIDE has nothing to say.

    Such a query answers where its windows change; a tick between two changes is looked up in its change stream.
    """
    if case.expect.kind != "rstream" or case.ignore_ts:
        return outcome
    silent = set(case.expect.ticks or ()) - {ts for ts, _, _ in outcome.rows}
    windows = windows_of(job.bind().root)
    if not silent or any(getattr(w, "slide", None) is not None for w in windows):
        return outcome
    changes = runner(replace(job, changes=True)).rows
    found = [
        (tick, None, row)
        for tick in sorted(silent)
        for row in accumulate((op or "+", row) for ts, op, row in changes if ts <= tick)
    ]
    return Outcome(outcome.columns, [*outcome.rows, *found])


def difference(case: VectorCase, outcome: Outcome) -> str:
    """What the outcome lacks or has too much of, instant by instant; empty when it is as expected."""
    expect = case.expect
    try:
        expected = [(r.ts, r.op, _in_order(r, outcome.columns)) for r in expect.rows]
    except ValueError as error:
        return str(error)
    if expect.kind == "final":
        left = accumulate((op or "+", row) for _, op, row in outcome.rows)
        return str(bag_difference([row for _, _, row in expected], left))
    got = [r for r in outcome.rows if _observed(case, r[0])]
    if case.ignore_ts:
        instants = None if expect.ticks is None else set(expect.ticks)
        rows = [row for ts, _, row in got if instants is None or ts in instants]
        return str(bag_difference([row for _, _, row in expected], rows))
    wanted = [(ts, op, row) for ts, op, row in expected if ts is not None and _observed(case, ts)]
    return _by_instant(case, _grouped(wanted), _grouped(got))


def _by_instant(case: VectorCase, wanted: ByInstant, got: ByInstant) -> str:
    problems = []
    for t in _instants(case.expect, wanted, got):
        problem = bag_difference(_flat(case, wanted.get(t, [])), _flat(case, got.get(t, [])))
        if problem:
            problems.append(f"at {_shown(t, case.unit)}: {problem}")
    more = f" (and {len(problems) - 3} more instants)" if len(problems) > 3 else ""
    return " | ".join(problems[:3]) + more


def _instants(expect: Expectation, wanted: ByInstant, got: ByInstant) -> list[int]:
    if expect.kind != "rstream":
        return sorted({*wanted, *got})
    return sorted(wanted if expect.ticks is None else expect.ticks)


def _flat(case: VectorCase, rows: list[tuple[str | None, Row]]) -> list[Row]:
    """Rows as they are compared: with their sign first, netted, when they are changes."""
    if case.expect.kind != "changelog":
        return [row for _, row in rows]
    return [(op, *row) for op, row in net([(op or "+", row) for op, row in rows])]


def _grouped(rows: Iterable[tuple[int, str | None, Row]]) -> ByInstant:
    groups: dict[int, list[tuple[str | None, Row]]] = defaultdict(list)
    for ts, op, row in rows:
        groups[ts].append((op, row))
    return groups


def _in_order(row: ExpectedRow, columns: tuple[str, ...]) -> Row:
    """The row's values in the order of the result's columns: by name, else by position."""
    given: dict[str, Any] = row.columns
    if set(given) == set(columns):
        return tuple(given[c] for c in columns)
    if len(given) != len(columns):
        raise ValueError(f"the result has the columns {columns}, the expected rows have {tuple(given)}")
    return tuple(given.values())


def _observed(case: VectorCase, ts: int) -> bool:
    after = case.observed_from is None or ts >= case.observed_from
    return after and (case.observed_until is None or ts <= case.observed_until)


def _shown(ts: int, unit: int) -> str:
    return str(ts // unit) if ts % unit == 0 else f"{ts / unit}"
