"""The command line.

Exit status: 0 done, 1 failed while running, 2 wrong arguments, job file or query, 128 + n stopped by signal n.

Results go to standard output, everything else (progress, messages) to standard error.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import muntin
from muntin.bench import NAMES
from muntin.cli.archive import archive
from muntin.cli.ending import guarded
from muntin.cli.failures import CONTEXT, FAILED, OK, reported
from muntin.cli.job import AVAILABLE_NOW, SessionPart, load_job
from muntin.cli.show import Format
from muntin.cli.sql import Asked, parameters, run_in_process, run_on_spark
from muntin.cli.streams import Inputs, called_in, inputs_of, offline_catalog
from muntin.core.errors import ConfigError
from muntin.plan.windows import Bounds, QueryOptions

app = typer.Typer(
    name="muntin",
    help="Exact sliding-window continuous queries, written in CQL, on Apache Spark.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(archive, name="archive")

JobOption = Annotated[Path | None, typer.Option("--job", help="Take streams, tables and functions from this job file.")]
StreamOption = Annotated[
    list[str] | None,
    typer.Option("--stream", metavar="NAME=FILE:TS[;slack=...]", help="A stream: a Parquet, CSV or JSON file."),
]
TableOption = Annotated[
    list[str] | None,
    typer.Option("--table", metavar="NAME=FILE", help="A table that never changes: a Parquet, CSV or JSON file."),
]
ParameterOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="The value of :NAME in the text: a number, true, false, null, else a text."
    ),
]
PlanForm = Literal["text", "json", "dot", "svg"]
BoundsOption = Annotated[
    str | None, typer.Option(help="Reading of RANGE: half_open (default), closed, or start.", metavar="BOUNDS")
]
ShardsOption = Annotated[int | None, typer.Option(min=1, help="Shards that the state is kept in.")]
MasterOption = Annotated[str | None, typer.Option(help="Spark master, as local[4].")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"muntin {muntin.__version__}")
        raise typer.Exit(OK)


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Exact sliding-window continuous queries, written in CQL, on Apache Spark."""
    CONTEXT.debug = CONTEXT.debug or debug


@app.command()
def run(
    job: Annotated[Path, typer.Argument(help="The job file (TOML).")],
    once: Annotated[bool, typer.Option("--once", help="Process what there is now, then stop.")] = False,
    finish: Annotated[
        bool, typer.Option("--finish", help="As --once, and the input has ended: answer every instant to the end.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress line.")] = False,
    ui: Annotated[bool, typer.Option("--ui", help="Serve the console, a page that shows the run at work.")] = False,
    ui_host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where the console listens.")] = "127.0.0.1",
    ui_port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="The console's port (default: 4680, or any free one).")
    ] = None,
) -> None:
    """Run the queries of a job file until Ctrl-C; a later run goes on from the checkpoint.

    With --ui the address of the console is printed, with its token: a random one, or MUNTIN_UI_TOKEN.
    """
    with reported():
        if ui and finish:
            raise ConfigError("--ui with --finish: the input is answered to the end by another run; leave --ui out")
        spec = load_job(job)
        if not spec.queries:
            raise ConfigError(f"{job}: there is no [[query]] to run")
        if not spec.session.checkpoint:
            raise ConfigError(f"{job}: [session], key checkpoint is missing; name the directory that keeps progress")
        for part in spec.queries:
            spec.text(part)
        from muntin.cli import running, wiring

        session = wiring.open_session(spec.session)
        try:
            wiring.register(session, inputs_of(spec, []), live=True)
            wiring.add_queries(session, spec)
            checkpoint = spec.resolve(spec.session.checkpoint)
            trigger = AVAILABLE_NOW if once or finish else spec.session.trigger
            with running.stops() as asked:
                started = session.start(checkpoint, trigger, spec.session.on_change)
                if ui:
                    running.serve(started, ui_host, ui_port, sys.stderr)
                status = running.attend(started, asked, sys.stderr, quiet)
                if finish and status == OK:
                    status = _to_the_end(session, checkpoint, asked, quiet)
        finally:
            wiring.close(session.spark)
        raise typer.Exit(status)


def _to_the_end(session: Any, checkpoint: str, asked: Any, quiet: bool) -> int:
    """Go on where the input has ended, to the last instant that it can change."""
    from muntin.cli import running
    from muntin.spark.finishing import declare, end_of_input

    if end_of_input(checkpoint) is None:  # no row has ever come
        return OK
    declare(checkpoint, None)
    return running.attend(session.start(checkpoint, AVAILABLE_NOW), asked, sys.stderr, quiet)


@app.command()
def heartbeat(
    checkpoint: Annotated[str, typer.Argument(help="The checkpoint's directory or URI.")],
    until: Annotated[
        str, typer.Argument(metavar="[TIME|end]", help="As '2024-01-31 12:00:00' (UTC); end: the input has ended.")
    ] = "end",
    stream: Annotated[list[str] | None, typer.Option("--stream", help="Of this stream alone; default: all.")] = None,
) -> None:
    """Say that no row before TIME comes any more, so that answers need not wait for one. Needs no JVM: the run of the
    checkpoint, or its next one, takes it up."""
    with reported():
        from muntin.core.time import instant_text
        from muntin.cql.literals import instant
        from muntin.spark.finishing import declare

        try:
            at = None if until == "end" else instant(until, None)
        except ValueError as e:
            raise ConfigError(f"{e}, or end") from None
        typer.echo(f"muntin: complete before {instant_text(declare(checkpoint, at, stream or ()))} UTC", err=True)


@app.command()
def state(
    checkpoint: Annotated[str, typer.Argument(help="The checkpoint's directory or URI.")],
    form: Annotated[Literal["table", "json"], typer.Option("--format", help="How to show it.")] = "table",
) -> None:
    """Show what a checkpoint holds: queries, operators, since when, rows, bytes. Needs no JVM and may run beside it."""
    with reported():
        from muntin.cli.state import show_state
        from muntin.spark.inspect import inspect

        show_state(inspect(checkpoint), form)


@app.command()
def explain(
    query: Annotated[
        str,
        typer.Argument(
            metavar="FILE|TEXT|-", help="A file (.cql), the text, - for stdin, or a job (.toml): all of its queries."
        ),
    ],
    job: JobOption = None,
    stream: StreamOption = None,
    table: TableOption = None,
    parameter: ParameterOption = None,
    bounds: BoundsOption = None,
    form: Annotated[PlanForm, typer.Option("--format", help="How to show it.")] = "text",
    run: Annotated[bool, typer.Option("--analyze", help="Run it over the files and count.")] = False,
    capacity: Annotated[
        bool, typer.Option("--capacity", help="Say whether this machine keeps up, and which rows to drop if not.")
    ] = False,
    rate: Annotated[
        list[str] | None, typer.Option("--rate", help="Rows a second for --capacity, as flights=5000; repeatable.")
    ] = None,
) -> None:
    """Show how a query would run: plans, update patterns, rules, cost, graph. Local files need no JVM."""
    with reported():
        if query.endswith(".toml"):
            if run or capacity or bounds or job or stream or table or parameter:
                others = "--analyze, --capacity, --bounds, --job, --stream, --table and --set"
                raise ConfigError(f"{query}: the graph of a job takes none of {others}")
            from muntin.cli.job_graph import job_graph

            typer.echo(job_graph(load_job(Path(query)), form))
            return
        text = _read(query, parameter)
        inputs = inputs_of(load_job(job) if job else None, stream or [], table or [])
        if capacity:
            typer.echo(_capacity(text, inputs, bounds, form, rate or []))
            return
        typer.echo(_explained(text, inputs, bounds, form, run))


def _capacity(text: str, inputs: Inputs, bounds: str | None, form: PlanForm, rates: list[str]) -> str:
    from muntin.cli.capacity import capacity, rates_of
    from muntin.cql.binder import bind

    catalog = offline_catalog(inputs)
    if catalog is None:
        raise ConfigError("--capacity reads the schemas of local Parquet files, and the inputs given need Spark")
    chosen = QueryOptions(bounds=_bounds(bounds)) if bounds else QueryOptions()
    return capacity(bind(text, catalog, chosen), rates_of(rates, [s.name for s in catalog.streams]), form)


def _explained(text: str, inputs: Inputs, bounds: str | None, form: PlanForm = "text", run: bool = False) -> str:
    """The plan of a text, with or without EXPLAIN [ANALYZE] before it."""
    from muntin.dataflow.explain import asked

    found = asked(text)
    run = run or found.analyze
    offline = _explain_offline(found.text, inputs, bounds, form, run)
    if offline is None and run:
        raise ConfigError("ANALYZE runs in this process and reads local files; the inputs given need Spark")
    return offline if offline is not None else _explain_spark(found.text, inputs, bounds, form)


def _explain_offline(text: str, inputs: Inputs, bounds: str | None, form: PlanForm, run: bool) -> str | None:
    from muntin.cql.binder import bind
    from muntin.dataflow.explain import explain_as
    from muntin.dataflow.planner import plan_query

    chosen = QueryOptions(bounds=_bounds(bounds)) if bounds else QueryOptions()
    catalog, opened = offline_catalog(inputs), None
    if catalog is None:
        from muntin.cli.in_process import needs_spark, open_inputs

        if needs_spark(inputs, SessionPart()) is not None:
            return None
        opened = open_inputs(inputs)
        catalog = opened.catalog
    bound = bind(text, catalog, chosen)
    physical = plan_query(bound)
    if run:
        from muntin.cli.analyze import analyze

        return analyze(bound, physical, inputs, opened, form)
    return explain_as(form, bound, physical)


def _explain_spark(text: str, inputs: Inputs, bounds: str | None, form: PlanForm) -> str:
    from muntin.cli import wiring

    session = wiring.open_session(SessionPart())
    try:
        wiring.register(session, inputs, live=False)
        return session.sql(text, name="query", bounds=_bounds(bounds) if bounds else None).explain(form)
    finally:
        wiring.close(session.spark)


def _bounds(text: str) -> Bounds:
    match text:
        case "half_open" | "closed" | "start":
            return text
        case _:
            raise ConfigError(f"--bounds {text!r}: it is half_open, closed or start")


@app.command()
def sql(
    query: Annotated[str, typer.Argument(metavar="TEXT|FILE|-", help="The text, a file (.cql), or - for stdin.")],
    job: JobOption = None,
    stream: StreamOption = None,
    table: TableOption = None,
    parameter: ParameterOption = None,
    form: Annotated[Format, typer.Option("--format", help="How to print the rows.")] = "table",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the rows to this file (.parquet, .csv, .json) instead.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=0, help="Rows to print, 0 for all; default: 50, and all with --output.")
    ] = None,
    bounds: BoundsOption = None,
    runtime: Annotated[
        Literal["local", "spark"] | None,
        typer.Option(help="local: this process, without Spark; default where the inputs are local files."),
    ] = None,
    shards: ShardsOption = None,
    master: MasterOption = None,
    live: Annotated[
        str | None,
        typer.Option(metavar="CHECKPOINT", help="Ask the windows of this pipeline once (--job: functions)."),
    ] = None,
    isolation: Annotated[
        str, typer.Option(help="With --live: the state when it was asked (window), the newest one (latest), or serial.")
    ] = "window",
    engine: Annotated[str, typer.Option(help="With --live: whose SQL it is, muntin or duckdb.")] = "muntin",
) -> None:
    """Run a query over files as a replay and print its rows, in order of time."""
    with reported():
        text = _read(query, parameter)
        spec = load_job(job) if job else None
        most = (0 if output else 50) if limit is None else limit
        if live is not None:
            from muntin.cli.live import run_live

            _no_inputs(stream, table, bounds, runtime, shards, master)
            run_live(live, text, isolation, engine, called_in(spec), form, output, most)
            return
        if (isolation, engine) != ("window", "muntin"):
            raise ConfigError("--isolation and --engine go with --live")
        inputs = inputs_of(spec, stream or [], table or [])
        if text.lstrip()[:7].upper() == "EXPLAIN":
            typer.echo(_explained(text, inputs, bounds))
            return
        given = {key: value for key, value in (("shards", shards), ("master", master)) if value is not None}
        session = (spec.session if spec else SessionPart()).model_copy(update=given)
        options = {"bounds": _bounds(bounds)} if bounds else {}
        _answer(Asked(text, inputs, session, options, form, output, most), runtime, list(given))


def _read(query: str, parameter: list[str] | None) -> str:
    """The text of a query with its parameters, noted so that an error can show its line."""
    from muntin.cli.wiring import read_text
    from muntin.cql.parameters import with_parameters

    text, origin = read_text(query, sys.stdin.read)
    return CONTEXT.reading(with_parameters(text, parameters(parameter or [])), origin)


def _no_inputs(*given: object) -> None:
    """Raises ConfigError where options beside --live say what to read, and how."""
    if any(given):
        raise ConfigError(
            "--live goes with --isolation, --engine, --job (for its functions), --set, --format, --output and "
            "--limit alone"
        )


def _answer(asked: Asked, runtime: Literal["local", "spark"] | None, given: list[str]) -> None:
    """Answer in this process or on Spark. Raises ConfigError, first of all where the output is of no known kind."""
    from muntin.cli.output import output_kind

    if asked.output is not None:
        output_kind(asked.output)
    if _chosen(runtime, asked, given) == "local":
        run_in_process(asked)
    else:
        run_on_spark(asked)


@app.command()
def shell(
    job: JobOption = None,
    stream: StreamOption = None,
    table: TableOption = None,
    parameter: ParameterOption = None,
    bounds: BoundsOption = None,
    live: Annotated[
        str | None, typer.Option(metavar="CHECKPOINT", help="Ask the windows of this pipeline, while it goes on.")
    ] = None,
) -> None:
    """Ask at a prompt, over files or the windows of a pipeline. Statements may come through standard input, too."""
    with reported():
        from muntin.cli.shell.commands import Shell
        from muntin.cli.shell.run import run_shell
        from muntin.cli.shell.sources import Files, Live

        given = parameters(parameter or [])
        if live is not None:
            if stream or table or bounds:
                raise ConfigError(
                    "--live goes with --job (for its functions) and --set alone: a checkpoint has streams of its own"
                )
            asked = Live(live, called_in(load_job(job) if job else None))
            asked.catalog()
            run_shell(Shell(asked, parameters=given))
            return
        files = Files(Inputs(), QueryOptions(bounds=_bounds(bounds)) if bounds else QueryOptions())
        files.add(inputs_of(load_job(job) if job else None, stream or [], table or []))
        run_shell(Shell(files, parameters=given))


def _chosen(runtime: str | None, asked: Asked, of_spark: list[str]) -> str:
    """Where a query runs. Raises ConfigError where it cannot run in this process as it was asked to."""
    if runtime == "spark":
        return runtime
    from muntin.cli.in_process import needs_spark

    reason = f"--{of_spark[0]} is Spark's" if of_spark else needs_spark(asked.inputs, asked.session)
    if runtime == "local" and reason:
        raise ConfigError(f"--runtime local: {reason}; leave it out, or give --runtime spark")
    if reason:
        typer.echo(f"muntin: runs on Spark: {reason}", err=True)
    return "spark" if reason else "local"


@app.command()
def verify(
    files: Annotated[list[Path], typer.Argument(help="Files of test vectors (JSON).")],
    runtime: Annotated[str, typer.Option(help="local, spark, or reference (the naive evaluator).")] = "local",
) -> None:
    """Run test vectors: one line a case, PASS, FAIL or UNSUPPORTED; exit status 0 only if nothing fails."""
    with reported():
        from muntin.verify import print_results, run_on_local, run_on_reference, verify_files

        for path in files:
            if not path.is_file():
                raise ConfigError(f"there is no file {path}")
        match runtime:
            case "local":
                status = print_results(verify_files(files, run_on_local), typer.echo)
            case "reference":
                status = print_results(verify_files(files, run_on_reference), typer.echo)
            case "spark":
                from muntin.cli import wiring
                from muntin.verify.on_spark import spark_runner

                with spark_runner(wiring.embedded_spark(SessionPart())) as run_on_spark:
                    status = print_results(verify_files(files, run_on_spark), typer.echo)
            case _:
                raise ConfigError(f"--runtime {runtime!r}: it is local, spark or reference")
        raise typer.Exit(status)


@app.command()
def bench(
    case: Annotated[
        str, typer.Argument(help=", ".join(NAMES) + ".", metavar="CASE", autocompletion=lambda: list(NAMES))
    ],
    json: Annotated[Path | None, typer.Option("--json", help="Also write the records to this file.")] = None,
    engines: Annotated[
        str | None,
        typer.Option(help="Who takes part, as muntin,spark,flink; default: all that CASE has.", metavar="ENGINES"),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=10, help="overload, one-time: how long it runs (60, 300).", metavar="SECONDS")
    ] = None,
    loads: Annotated[
        str | None, typer.Option(help="overload: loads by capacity (0.5,1,1.5,2,3).", metavar="LOADS")
    ] = None,
    long: Annotated[
        float | None,
        typer.Option(
            min=0, help="overload: how long the highest load is shed (600; 0: as --seconds).", metavar="SECONDS"
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="overload: draw output rate over load (.png, .svg, .pdf).")
    ] = None,
) -> None:
    """Measure Muntin against Spark's own operators, and joins against Flink, in one run: rows/s of each, the ratio."""
    with reported():
        if case not in NAMES:
            raise ConfigError(f"there is no benchmark {case!r}; there are {', '.join(NAMES)}")
        from muntin.bench.run import run_bench

        if case == "overload":
            from muntin.bench.overload import run_overload

            if engines is not None:
                raise ConfigError("overload runs without another engine; leave --engines out")
            if not run_overload(typer.echo, seconds, loads, long, json, plot):
                raise typer.Exit(1)
            return
        if case == "one-time":
            from muntin.bench.one_time import run_one_time

            if (engines, loads, long, plot) != (None,) * 4:
                raise ConfigError("one-time goes with --seconds and --json alone")
            if not run_one_time(typer.echo, seconds, json):
                raise typer.Exit(1)
            return
        if (seconds, loads, long, plot) != (None,) * 4:
            raise ConfigError("--seconds is for overload and one-time, --loads, --long and --plot are for overload")
        if not run_bench(case, json, engines.split(",") if engines is not None else None):
            raise typer.Exit(1)


@app.command()
def reproduce(
    entries: Annotated[list[str], typer.Argument(metavar="ID...", help="Entries (T9 T14 ...), or all.")],
    json: Annotated[Path | None, typer.Option("--json", help="Also write one record per entry to this file.")] = None,
    smoke: Annotated[bool, typer.Option("--smoke", help="Small sizes.")] = False,
    plots: Annotated[Path | None, typer.Option("--plots", help="Draw the figures into this directory.")] = None,
    clock: Annotated[
        Literal["virtual", "wall"],
        typer.Option("--clock", help="Of response times: counted work (virtual), or time on this machine (wall)."),
    ] = "virtual",
) -> None:
    """Reproduce the documents' tables and figures: one line each, then how many PASS, DIFFER, FAIL; exit status 0
    only if nothing fails."""
    with reported():
        from muntin.cli.reproduce import run_entries

        raise typer.Exit(OK if run_entries(entries, smoke, typer.echo, json, plots, clock) else FAILED)


@app.command()
def demo(
    plans: Annotated[bool, typer.Option(help="Show the plan of each query.")] = True,
    limit: Annotated[int, typer.Option(min=1, help="Rows to show of each answer.")] = 12,
) -> None:
    """Join two months of New York's departures with the weather, replayed through Spark."""
    with reported():
        from muntin.cli.tour import tour

        tour(plans, limit)


def main() -> None:
    """Run the command; ``start`` does so with signals answered while this module is loaded."""
    with guarded():
        app()


if __name__ == "__main__":
    main()
