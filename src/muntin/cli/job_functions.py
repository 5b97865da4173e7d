"""``[functions]`` of a job file: users' scalar functions, from modules beside the job file or installed ones."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import cloudpickle

from muntin.cli.job import FunctionPart, Job
from muntin.core.errors import ConfigError
from muntin.cql.user_functions import function
from muntin.plan.user_functions import ScalarFunction


def functions_of(job: Job) -> tuple[ScalarFunction, ...]:
    """The functions of a job. Raises ConfigError, with the key's name, for what cannot be loaded."""
    return tuple(_loaded(job, name, part) for name, part in job.functions.items())


def _loaded(job: Job, name: str, part: FunctionPart) -> ScalarFunction:
    where = f"{job.path}: [functions], key {name}"
    module, colon, attribute = part.code.partition(":")
    if not (module and colon and attribute):
        raise ConfigError(f'{where}: {part.code!r} is no place of code; write "module:function"')
    found = getattr(_module(job.path.parent.absolute(), module, where), attribute, None)
    if found is None or not callable(found):
        raise ConfigError(f"{where}: module {module} has no function {attribute}")
    given = part.model_dump(exclude={"code"}, exclude_none=True)
    if isinstance(found, ScalarFunction):
        given = {"returns": found.returns, "arguments": found.arguments, "version": found.version,
                 "on_null": found.on_null, **given}  # fmt: skip
        found = found.code
    if "returns" not in given:
        raise ConfigError(f'{where}: key returns is missing: the type of the answer, as in returns = "DOUBLE"')
    try:
        return function(found, name=name, **given)
    except ConfigError as e:
        raise ConfigError(f"{where}: {e}") from None


def _module(beside: Path, name: str, where: str) -> ModuleType:
    """A module, of the job file's directory before others; from there it is sent to workers by value."""
    sys.path.insert(0, str(beside))
    try:
        module = importlib.import_module(name)
    except Exception as e:
        raise ConfigError(f"{where}: cannot import {name}: {type(e).__name__}: {e}") from e
    finally:
        sys.path.remove(str(beside))
    if beside in Path(getattr(module, "__file__", None) or "/").parents:
        _by_value(module)
    return module


def _by_value(module: ModuleType) -> None:
    cloudpickle.register_pickle_by_value(module)
    try:
        from muntin.spark.embedded import sent_by_value
    except ImportError:  # without PySpark nothing is sent
        return
    sent_by_value(module)
