"""``muntin bench``: run a benchmark by name, print its table, write its records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from muntin.bench import contest, flink_env, many_others, many_queries, record, state_bytes, window_length
from muntin.bench.cases import contests
from muntin.bench.contest import Contest, Say
from muntin.core.errors import ConfigError

ALONE = ("state-bytes", "window-length")
"""Measured without another engine."""
MOST_BYTES = 1.6
"""What a batch may write beside an hour, to what it writes beside a minute: rows are merged once more."""
ENGINES = ("muntin", "muntin-df", "spark", "flink")


def run_bench(name: str, json: Path | None = None, engines: Sequence[str] | None = None) -> bool:
    """Run the benchmark and print what it found; False if answers differed, work grew with a window or queries cost
    too much.

    Args:
        name: one of ``muntin.bench.NAMES``; ``overload`` and ``one-time``, which take other options, have their own
            ``run_overload`` and ``run_one_time``.
        json: file for one JSON list of records.
        engines: those that take part, ``muntin`` among them; default: all that the benchmark has, Flink only if it is
            here or can be installed.

    Raises ValueError for another name, ConfigError for engines that it does not have, FlinkMissingError if Flink was
    asked for and cannot be installed.
    """
    records: list[object]
    if name in ALONE and engines is not None:
        raise ConfigError(f"{name} runs without another engine; leave --engines out")
    if name == "window-length":
        lengths = window_length.run(say=print)
        wrong = window_length.missed(lengths)
        table, good, records = [*window_length.lines(lengths), *wrong], not wrong, list(lengths)
    elif name == "many-queries":
        beside = others(engines, print)  # first: what cannot be had is refused before minutes of measuring
        many = many_queries.run(say=print) + many_others.run(beside, print)
        missed = many_queries.good(many)
        table, good, records = [*many_queries.lines(many), *missed], not missed, list(many)
    elif name == "state-bytes":
        found = state_bytes.run(say=print)
        table, good = state_bytes.lines(found), all(r.ratio <= MOST_BYTES for r in found)
        records = list(found)
    else:
        todo = chosen(contests(name), engines, print)
        runs = _run(todo)
        table, good = record.lines(runs), all(r.answers_equal for r in runs)
        records = list(runs)
    print("\n".join(["", *table]))
    if json is not None:
        record.write_json(records, json)
    return good


def chosen(every: Sequence[Contest], engines: Sequence[str] | None, say: Say) -> list[Contest]:
    """The contests between the engines asked for; those with nobody left to run against are not held.

    Sees to Flink's installation. Raises ConfigError, FlinkMissingError.
    """
    known = [e for e in ENGINES if any(e in c.engines for c in every)]
    wanted = known if engines is None else list(engines)
    if not set(wanted) <= set(known) or "muntin" not in wanted or len(set(wanted)) < 2:
        raise ConfigError(f"--engines {','.join(wanted)}: muntin and at least one other of {', '.join(known)}")
    wanted = _with_flink(wanted, engines is not None, say)
    return [c for c in (c.only(wanted) for c in every) if len(c.sides) > 1]


def others(engines: Sequence[str] | None, say: Say) -> list[str]:
    """The engines that run ten of many queries beside Muntin: Spark, and Flink if it is here or can be installed.

    Raises ConfigError for engines that are not known, FlinkMissingError if Flink was asked for and cannot be installed.
    """
    wanted = ["muntin", "spark", "flink"] if engines is None else list(engines)
    if not {"muntin"} <= set(wanted) <= {"muntin", "spark", "flink"}:
        raise ConfigError(f"--engines {','.join(wanted)}: muntin, and what is to run beside it of spark and flink")
    return [e for e in _with_flink(wanted, engines is not None, say) if e != "muntin"]


def _with_flink(wanted: list[str], asked: bool, say: Say) -> list[str]:
    """The engines, without Flink where it is neither here nor can be installed.

    Raises FlinkMissingError for that if Flink was asked for.
    """
    if "flink" in wanted:
        try:
            flink_env.make(say)
        except flink_env.FlinkMissingError as e:
            if asked:
                raise
            say(f"without Flink: {e}")
            return [name for name in wanted if name != "flink"]
    return wanted


def _run(todo: Sequence[Contest]) -> list[record.Record]:
    from muntin.session import local_spark

    spark = local_spark(cores="2", memory="4g")
    try:
        return [r for c in todo for r in contest.run(c, spark, print)]
    finally:
        spark.stop()
