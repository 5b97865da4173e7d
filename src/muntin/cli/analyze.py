"""``muntin explain --analyze``: the query run over the files in this process, every operator counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from muntin.cli.job import Source
from muntin.cli.streams import Inputs
from muntin.core.errors import ConfigError
from muntin.core.schema import Schema
from muntin.core.time import ALWAYS
from muntin.plan.catalog import Stream

if TYPE_CHECKING:
    from muntin.cli.in_process import Opened
    from muntin.dataflow.graph import QueryPlan
    from muntin.plan.nodes import BoundQuery


def analyze(bound: BoundQuery, plan: QueryPlan, inputs: Inputs, opened: Opened | None, form: str) -> str:
    """EXPLAIN with what a run measured; ``opened``: the inputs where they are not Parquet. Raises ConfigError for an
    input that pyarrow cannot read by itself."""
    from muntin.dataflow.explain import explain_as
    from muntin.local.analyze import analyze as run
    from muntin.local.replay import feeds_of

    if opened is not None:
        return explain_as(form, bound, plan, measured=run(plan, feeds_of(plan, opened.read)))
    tables = {t.name: t for t in inputs.tables}
    streams = {s.name: s for s in inputs.streams}
    rows = {
        s.name: _feed(tables[s.name], s) if s.name in tables else _read(streams[s.name], s.schema)
        for s in plan.streams
    }
    return explain_as(form, bound, plan, measured=run(plan, rows))


def _read(part: Source, schema: Schema) -> pa.Table:
    if part.format != "parquet" or part.path is None or "://" in part.path:
        raise ConfigError(f"{part.name}: --analyze reads local Parquet files; this one needs Spark")
    rows = ds.dataset(part.path, format="parquet").to_table(columns=list(schema.names))
    return rows.cast(schema.to_arrow())


def _feed(part: Source, stream: Stream) -> pa.Table:
    """A static table's rows as updates that were always there. Raises ConfigError for a table that changes."""
    if not stream.static:
        raise ConfigError(
            f"{part.name}: --analyze takes static tables alone, this one changes; register its updates with "
            "session.table and call query.explain(analyze=True)"
        )
    *own, at, add = stream.schema.fields
    rows = _read(part, Schema(tuple(own)))
    times = pa.array(np.full(len(rows), ALWAYS, np.int64))
    return rows.append_column(at.name, times).append_column(add.name, pa.array(np.ones(len(rows), bool)))
