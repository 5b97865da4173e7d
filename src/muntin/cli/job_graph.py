"""``muntin explain JOB.toml``: the graph of all queries of a job file, with what they share."""

from __future__ import annotations

from muntin.cli import wiring
from muntin.cli.failures import CONTEXT
from muntin.cli.job import Job
from muntin.cli.streams import inputs_of, offline_catalog
from muntin.core.errors import ConfigError
from muntin.cql.binder import bind
from muntin.dataflow.explain import Form, explain_graph
from muntin.dataflow.planner import plan_queries
from muntin.dataflow.sharing.periods import with_periods
from muntin.dataflow.sharing.rules import shared_graph
from muntin.plan.catalog import Catalog


def job_graph(job: Job, form: Form) -> str:
    """EXPLAIN of a job. Streams and tables of local Parquet need no JVM. Raises ConfigError where there is no query."""
    if not job.queries:
        raise ConfigError(f"{job.path}: there is no [[query]] to explain")
    catalog = offline_catalog(inputs_of(job, []))
    return _on_spark(job, form) if catalog is None else _offline(job, catalog, form)


def _offline(job: Job, catalog: Catalog, form: Form) -> str:
    from muntin.cql.options import query_options

    bound = []
    for part in job.queries:
        text = CONTEXT.reading(job.text(part), wiring.origin(job, part))
        bound.append(bind(text, catalog, query_options(wiring.options_of(part))))
    plans = with_periods(plan_queries(bound), job.session.scheduling or "")
    return explain_graph(form, shared_graph(plans), [part.name for part in job.queries])


def _on_spark(job: Job, form: Form) -> str:
    session = wiring.open_session(job.session)
    try:
        wiring.register(session, inputs_of(job, []), live=False)
        for part in job.queries:
            text = CONTEXT.reading(job.text(part), wiring.origin(job, part))
            session.sql(text, name=part.name, **wiring.options_of(part))
        return session.explain(form=form)
    finally:
        wiring.close(session.spark)
