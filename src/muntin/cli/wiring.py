"""From checked job parts to a session: registers streams, tables, queries and sinks.

Nothing here imports PySpark before a session is opened, so wrong arguments are told at once.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from muntin.cli.failures import CONTEXT
from muntin.cli.job import Job, QueryPart, SessionPart, Sink, StreamPart, TablePart
from muntin.cli.streams import Inputs
from muntin.core.errors import ConfigError, QueryError

if TYPE_CHECKING:
    from muntin.session import Session
    from muntin.spark.shapes import Shape


_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_RULES = {"slack", "idle_after", "max_jump", "order_by", "ts_unit", "rate", "sample"}
_TABLE_RULES = {"ts", "slack", "idle_after", "ts_unit", "key", "feed"}
"""Keys of a stream (of a table) that are passed on when given."""


def open_session(part: SessionPart, spark: Any = None) -> Session:
    """A session over an embedded Spark (or over ``spark``), as ``[session]`` says."""
    spark = embedded_spark(part) if spark is None else spark
    from muntin.session import Session

    given: dict[str, Any] = {} if part.shards is None else {"shards": part.shards}
    given |= {"partitions": part.partitions, "tau": part.tau, "budget": part.budget, "schedule": part.schedule}
    given |= {"scheduling": part.scheduling}
    given |= {} if part.shed is None else {"shed": part.shed}
    return Session(spark, **given)


def embedded_spark(part: SessionPart) -> Any:
    """An embedded Spark that keeps its log to errors; ``--debug`` lets it say all that it usually says."""
    from muntin.session import local_spark

    config = {key: _text(value) for key, value in part.conf.items()}
    if CONTEXT.debug:
        return local_spark(master=part.master, config=config)
    with as_file(files("muntin.cli") / "log4j2.properties") as settings:
        given = config.get(_JAVA_OPTIONS, "")
        config[_JAVA_OPTIONS] = f"-Dlog4j2.configurationFile={settings.as_uri()} {given}".strip()
        spark = local_spark(master=part.master, config=config)
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def close(spark: Any) -> None:
    """Stop Spark. Where its JVM has ended there is nothing to stop, and what was asked of it has told so."""
    from muntin.spark.failures import of_lost_jvm

    try:
        spark.stop()
    except Exception as e:
        if not of_lost_jvm(e):
            raise


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def register(session: Session, inputs: Inputs, live: bool) -> None:
    """Register every input: streams as streaming DataFrames when ``live``, else as batches to be replayed."""
    from muntin.spark.shapes import shaped, shaped_table

    parts: tuple[StreamPart | TablePart, ...] = (*inputs.streams, *inputs.tables)
    for part in parts:
        _check_source(session, part)
    for s in inputs.streams:
        df = shaped(_read(session, s, live), _shape(s), s.ts, _told(s))
        rules: dict[str, Any] = s.model_dump(include=_RULES, exclude_none=True)
        session.stream(s.name, df, ts=s.ts, on_bad_time=s.on_bad_time, **rules)
    for t in inputs.tables:
        came = _read(session, t, live and t.kind != "static")
        updates, op = shaped_table(came, _shape(t), t.form, t.ts, t.op, t.keys, _told(t))
        rules = t.model_dump(include=_TABLE_RULES, exclude_none=True)
        faults: dict[str, Any] = {"on_bad_time": t.on_bad_time, "on_bad_update": t.on_bad_update}
        session.table(t.name, updates, kind=t.kind, op=op, **faults, **rules)
    for f in inputs.functions:
        session.function(f)


def _read(session: Session, part: StreamPart | TablePart, live: bool) -> Any:
    from muntin.spark.sources import read_batch, read_stream

    options = part.options
    if isinstance(part, TablePart) and part.form == "delta":
        options = {"readChangeFeed": "true", **options}
    where = (session.spark, part.format, part.path, None if part.decode else part.table_schema, options)
    df = read_stream(*where, name=part.name) if live else read_batch(*where)
    if part.names and len(part.names) != len(df.columns):
        many = f"it has {len(df.columns)} columns, and {len(part.names)} names are given"
        raise ConfigError(f"{_told(part)}, key names: {many}")
    return df.toDF(*part.names) if part.names else df


def _shape(part: StreamPart | TablePart) -> Shape:
    from muntin.spark.shapes import Shape

    return Shape(part.table_schema if part.decode else None, part.columns)


def _told(part: StreamPart | TablePart) -> str:
    return f"{'stream' if isinstance(part, StreamPart) else 'table'} {part.name!r}"


def _check_source(session: Session, part: StreamPart | TablePart) -> None:
    """Raises ConfigError, with the key's name, for a format that Spark does not find and a local path with nothing."""
    from muntin.spark.formats import FILE_FORMATS, missing_format

    what = _told(part)
    fault = missing_format(session.spark, part.format) if part.format != "table" else None
    if fault is not None:
        raise ConfigError(f"{what}, key format: {fault}")
    path = part.path or ""
    local = part.format in FILE_FORMATS and path and "://" not in path and not any(c in path for c in "*?[{")
    if local and not Path(path.removeprefix("file:")).exists():
        raise ConfigError(f"{what}, key path: there is no file or directory {path}")


def add_queries(session: Session, job: Job) -> None:
    """Bind every query of the job and attach its sink. The error context follows, so a fault shows its own text."""
    for part in job.queries:
        text = CONTEXT.reading(job.text(part), origin(job, part))
        try:
            query = session.sql(text, name=part.name, **options_of(part))
        except QueryError as e:
            if e.line is None:
                raise ConfigError(f"{CONTEXT.origin}: {e}") from e
            raise
        if part.sink is None:
            raise ConfigError(f"{job.path}: query {part.name!r}: key sink is missing; say where its rows go")
        _check_sink(session, part.sink, f"{job.path}: query {part.name!r}, key sink.format")
        sink = part.sink
        shape: dict[str, Any] = sink.model_dump(include={"encode", "key"})
        query.write(sink.format, _target(job, sink), mode=sink.mode, options=sink.options, **shape)
    if job.late is not None:
        _check_sink(session, job.late, f"{job.path}: [late], key format")
        session.write_late(job.late.format, _target(job, job.late), mode=job.late.mode, options=job.late.options)


def _check_sink(session: Session, sink: Sink, where: str) -> None:
    from muntin.spark.formats import OWN_SINKS, missing_format

    fault = missing_format(session.spark, sink.format) if sink.format not in OWN_SINKS else None
    if fault is not None:
        raise ConfigError(f"{where}: {fault}")


def _target(job: Job, sink: Sink) -> str | None:
    return sink.path if sink.path is None or sink.format == "table" else job.resolve(sink.path)


def origin(job: Job, part: QueryPart) -> str:
    """How messages name a query's text: its file, or the job file and the query's name."""
    return job.resolve(part.file) if part.file else f"{job.path}: query {part.name!r}"


def options_of(part: QueryPart) -> dict[str, Any]:
    """The options given, as ``session.sql`` takes them."""
    return part.options.model_dump(exclude_none=True)


def read_text(argument: str | None, read_stdin: Callable[[], str]) -> tuple[str, str]:
    """A query's text and its name for messages: of a file, of standard input for ``-``, else the argument itself."""
    if argument == "-":
        return read_stdin(), "standard input"
    path = Path(argument or "")
    if argument and "\n" not in argument and len(argument) < 4096 and path.suffix in (".cql", ".sql"):
        try:
            return path.read_text(encoding="utf-8"), argument
        except (OSError, UnicodeDecodeError) as e:
            reason = e.strerror if isinstance(e, OSError) else "it is not UTF-8 text"
            raise ConfigError(f"cannot read {argument}: {reason}") from None
    return argument or "", ""
