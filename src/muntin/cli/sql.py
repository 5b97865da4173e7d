"""``muntin sql``: a query run as a replay, in this process or on Spark, and its rows shown or written."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muntin.cli.job import SessionPart
from muntin.cli.show import Format, deliver, told
from muntin.cli.streams import Inputs
from muntin.core.errors import ConfigError


@dataclass(frozen=True)
class Asked:
    """What the command line asks for; ``limit``: rows, 0 for all."""

    text: str
    inputs: Inputs
    session: SessionPart
    options: dict[str, Any]
    form: Format
    output: Path | None
    limit: int


def parameters(given: Sequence[str]) -> dict[str, Any]:
    """The values of ``--set NAME=VALUE``. Raises ConfigError for another form, and for a name that comes twice."""
    from muntin.cql.parameters import typed

    found: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip().isidentifier():
            raise ConfigError(f"--set {text!r}: write NAME=VALUE, as in carrier=AA")
        if name.strip() in found:
            raise ConfigError(f"--set {name.strip()} is given twice")
        found[name.strip()] = typed(value)
    return found


def run_in_process(asked: Asked) -> None:
    """Without Spark."""
    from muntin.cli.in_process import first_rows, open_inputs, progress, replay_of, warned
    from muntin.cql.options import query_options
    from muntin.engine.answer import ordered

    replay, notes = replay_of(asked.text, open_inputs(asked.inputs), query_options(asked.options))
    plan = replay.plan
    with warned() as warnings, progress(sys.stderr, "muntin") as replay.on_progress:
        if asked.output is not None and not asked.limit:
            from muntin.cli.output import write_rows

            rows = None
            tables = (ordered(table, plan) for table in replay.results() if len(table))
            told(f"{write_rows(asked.output, plan.result_schema.to_arrow(), tables):,} rows in {asked.output}")
        else:
            rows = first_rows(replay.results(), plan, asked.limit)
    notes = (*notes, *warnings, *replay.losses.lines())
    if rows is not None:
        deliver(rows, asked.form, asked.output, asked.limit, notes)
        return
    for note in notes:
        told(note)


def run_on_spark(asked: Asked) -> None:
    """On an embedded Spark."""
    from muntin.cli import wiring
    from muntin.engine.losses import losses
    from muntin.session.answers import first_in_order

    session = wiring.open_session(asked.session)
    try:
        wiring.register(session, asked.inputs, live=False)
        query = session.sql(asked.text, name="query", **asked.options)
        rows = first_in_order(query.to_df(), query.physical, asked.limit)
        lines = losses(query.metrics())
    finally:
        wiring.close(session.spark)
    deliver(rows, asked.form, asked.output, asked.limit, lines)
