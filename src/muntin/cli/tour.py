"""Renders the demo."""

from __future__ import annotations

import sys
import time

from rich.console import Console
from rich.panel import Panel

import muntin
from muntin.cli.job import SessionPart
from muntin.cli.show import as_table, console
from muntin.cli.wiring import close, embedded_spark
from muntin.demo import COPIES, Answer, run_demo


def tour(plans: bool, limit: int) -> None:
    """Run the demo on an embedded Spark and print queries, plans, answers and rates to standard output."""
    out = console(sys.stdout)
    out.print(f"Muntin {muntin.__version__}: January and February 2013 at New York's airports, replayed through Spark.")
    began = time.perf_counter()
    spark = embedded_spark(SessionPart())
    try:
        up = time.perf_counter() - began
        out.print(f"Spark {spark.version} ({spark.sparkContext.master}) is up after {up:.1f} s.")
        for answer in run_demo(spark, limit):
            _print(out, answer, plans)
    finally:
        close(spark)
    out.print(f"Done in {time.perf_counter() - began:.1f} s. Try your own: muntin sql --help, muntin run --help.")


def _print(out: Console, answer: Answer, plans: bool) -> None:
    q = answer.question
    out.print()
    out.print(q.title, style="bold")
    out.print(Panel(q.cql.rstrip(), expand=False), markup=False)
    if plans:
        out.print(Panel(answer.plan.rstrip(), title="plan", title_align="left", expand=False), markup=False)
    out.print(q.note)
    out.print(as_table(answer.picked))
    out.print(
        f"{answer.rows_in:,} rows in, {answer.rows_out:,} rows out in {answer.seconds:.1f} s, "
        f"with compiling and the start of workers.\n"
        f"The same months {COPIES} times in a row: {answer.many_in:,} rows in, {answer.many_out:,} rows out in "
        f"{answer.many_seconds:.1f} s: {answer.many_in / answer.many_seconds:,.0f} rows/s in, "
        f"{answer.many_out / answer.many_seconds:,.0f} rows/s out."
    )
