"""Code of the pages that needs more than this process: its names, signatures, options and keys are the real ones.

Blocks marked ``py`` run on stand-ins with the real signatures; commands are parsed by the command line; job files are
checked as ``muntin run`` checks them; code within sentences is looked up.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pages
import pytest
import typer
from stand_ins import scope

import muntin
from muntin.cli.app import app
from muntin.cli.job import QueryOptionsPart, QueryPart, SessionPart, StreamPart, TablePart, load_job
from muntin.cql.options import OPTIONS, query_options

EXAMPLES = pages.DOCS.parent / "examples"
ALL = [*pages.pages(), EXAMPLES / "README.md"]
COMMANDS = typer.main.get_command(app)
CODE = re.compile(r"`([^`\n]+)`")
ROOTS: dict[str, Any] = {
    "session": muntin.Session, "query": muntin.Query, "run": muntin.Run, "muntin": muntin, "Session": muntin.Session
}
GIVES = {muntin.Session.sql: muntin.Query, muntin.Session.start: muntin.Run, muntin.Query.write: muntin.Query}
"""What calls give whose results are called in sentences."""


def blocks(kind: str) -> list[Any]:
    return [
        pytest.param(page, block, id=f"{page.name}:{block.line}")
        for page in ALL
        for block in pages.blocks(page.read_text())
        if block.info == kind
    ]


def spans(page: Path) -> list[str]:
    """Code within sentences."""
    return CODE.findall(pages.FENCE.sub("", page.read_text()))


# --- Python -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("page", "block"), blocks("py"))
def test_blocks_call_what_there_is(page: Path, block: pages.Block) -> None:
    exec(compile("\n" * (block.line - 1) + block.body, str(page), "exec"), scope())


@pytest.mark.parametrize("code", ["session.strem('a', 1, ts='b')", "session.sql('a', stratgy='nt')", "run.stop(now=1)"])
def test_a_wrong_name_fails(code: str) -> None:
    with pytest.raises((AttributeError, TypeError, muntin.ConfigError)):
        exec(code, scope())


def fault(code: str) -> str | None:
    """What is wrong with code of a sentence: a name or a keyword that is not there. ``...`` stands for anything."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return None  # SQL, or words
    for node in ast.walk(tree):
        if isinstance(node, ast.Call | ast.Attribute) and _root(node) in ROOTS:
            try:
                _resolve(node)
            except (AttributeError, TypeError, ImportError, muntin.ConfigError) as e:
                return f"{code}: {e}"
    return None


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Call | ast.Attribute):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _resolve(node: ast.expr) -> Any:
    """The class, function or module that an expression stands for; None where nothing is known of it."""
    match node:
        case ast.Name(id=name):
            return ROOTS[name]
        case ast.Attribute(value=value, attr=name):
            owner = _resolve(value)
            if inspect.ismodule(owner) and not hasattr(owner, name):
                return importlib.import_module(f"{owner.__name__}.{name}")
            return None if owner is None or name in getattr(owner, "__annotations__", {}) else getattr(owner, name)
        case ast.Call(func=func):
            called = _resolve(func)
            if called is not None:
                _check_call(called, node)
            return GIVES.get(called, called if inspect.isclass(called) else None)
    return None


def _check_call(called: Any, node: ast.Call) -> None:
    signature = inspect.signature(called)
    keywords = {k.arg: None for k in node.keywords if k.arg}
    literals = {k.arg: k.value.value for k in node.keywords if isinstance(k.value, ast.Constant)}
    signature.bind_partial(*([None] if inspect.isfunction(called) and _is_method(called) else []), **keywords)
    if called is muntin.Session.sql:
        given = {k: literals.get(k) for k in keywords if k not in signature.parameters}
        query_options({k: None if v is ... else v for k, v in given.items()})


def _is_method(called: Any) -> bool:
    return next(iter(inspect.signature(called).parameters), "") == "self"


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.name)
def test_sentences_call_what_there_is(page: Path) -> None:
    assert [f for f in map(fault, spans(page)) if f is not None] == []


def test_a_wrong_name_in_a_sentence_fails() -> None:
    for code in ("session.streams", "query.write(keys='a')", "muntin.sparkle", "Session(spark, budgets=1)"):
        assert fault(code) is not None
    assert fault("session.sql(text, stratgy=1)") is not None


KNOWN = {
    *OPTIONS,
    *(p for f in (muntin.Session.stream, muntin.Session.table, muntin.Session.start, muntin.Session.__init__,
                  muntin.Session.snapshot, muntin.Query.write, muntin.Query.explain, muntin.query, muntin.function,
                  muntin.local_spark)
      for p in inspect.signature(f).parameters),
    *(k for part in (SessionPart, StreamPart, TablePart, QueryPart, QueryOptionsPart)
      for n, field in part.model_fields.items() for k in (n, field.alias or n)),
}  # fmt: skip
"""Keywords and keys that sentences name with a value."""


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.name)
def test_settings_with_values_are_known(page: Path) -> None:
    for code in spans(page):
        found = re.fullmatch(r"(\w+) ?= ?\"([^\"]*)\"", code)
        if found and page.name not in ("coming-from.md", "errors.md"):
            name, value = found.groups()
            assert name in KNOWN, f"{page.name}: there is no {name}"
            if name in OPTIONS and value != "...":
                query_options({name: value})


# --- the command ------------------------------------------------------------------------------------------------------


def commands(page: Path) -> Iterator[str]:
    """Lines of code and code of sentences that call ``muntin``."""
    text = page.read_text().replace("\\\n", " ")
    code = [line for line in text.splitlines() if re.match(r" {4}\s*(MUNTIN\w+=\S+ )?muntin ", line)]
    shell = [line for b in pages.blocks(text) if b.info == "sh" for line in b.body.splitlines() if "muntin " in line]
    yield from (line.strip() for line in [*code, *shell] if "pip " not in line)
    yield from (span for span in spans(page) if re.match(r"muntin [a-z]+( |$)", span))


def parsed(command: str) -> None:
    """Raises click's errors for commands, options and values that are not there."""
    _, *words = shlex.split(re.sub(r"\s*[<>|&].*$", "", command), comments=True)
    group, name = COMMANDS, "muntin"
    while isinstance(group, click.Group) or hasattr(group, "commands"):
        if not words:
            return
        name, words = words[0], words[1:]
        if name.startswith("-"):
            return
        assert name in group.commands, f"there is no command {name}"
        group = group.commands[name]
    try:
        group.make_context(name, words)
    except Exception as e:
        if type(e).__name__ != "MissingParameter" and "requires an argument" not in str(e):  # sentences leave them out
            raise AssertionError(f"{command}: {e}") from e


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.name)
def test_commands_are_there(page: Path) -> None:
    for command in commands(page):
        parsed(command)


def test_wrong_commands_fail() -> None:
    for command in ("muntin sing a", "muntin sql a --form csv", "muntin sql a --format xml", "muntin archive prob x"):
        with pytest.raises(AssertionError):
            parsed(command)
    assert len([c for page in ALL for c in commands(page)]) > 40


def options_of(command: Any) -> set[str]:
    found = {o for p in command.params for o in [*p.opts, *p.secondary_opts]}
    return found.union(*(options_of(c) for c in getattr(command, "commands", {}).values()))


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.name)
def test_options_of_the_command_are_there(page: Path) -> None:
    there = options_of(COMMANDS) | {"--finish", "--live"}
    named = {word for code in spans(page) for word in re.findall(r"(?:^|\s)(--[a-z][a-z-]*)", code)}
    if page.name != "install.md":  # spark-submit's
        assert named <= there


# --- job files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("page", "block"), blocks("toml"))
def test_job_files_are_right(page: Path, block: pages.Block, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(block.body)
    load_job(tmp_path / "job.toml")
