"""Flink's virtual environment: apache-flink needs older libraries than Muntin, so it lives apart; made once, kept."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from muntin.core.errors import MuntinError

VERSION = "2.3.0"
PYTHONS = ("3.12", "3.11", "3.10", "3.9")
"""What apache-flink of this version says it runs on."""


class FlinkMissingError(MuntinError):
    """There is no Flink here and it cannot be installed: the message has the command to type."""


def folder() -> Path:
    """Where the environment of this version is: under the user's cache directory."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "muntin" / f"flink-{VERSION}"


def python() -> Path:
    """The interpreter of Flink's environment, which ``make`` has seen to."""
    return _python(folder())


def make(say: Callable[[str], None]) -> None:
    """See to it that Flink's environment is there; installs it if need be. Raises FlinkMissingError."""
    place = folder()
    if not installed(place):
        base = interpreter()
        say(f"installing apache-flink {VERSION} into {place}: once, some minutes, 700 MB")
        _call([base, "-m", "venv", "--clear", str(place)], place, base)
        _call([str(_python(place)), "-m", "pip", "install", "--quiet", f"apache-flink=={VERSION}"], place, base)


def installed(place: Path) -> bool:
    """Whether apache-flink is there. Pip installs it after all that it needs, so half an installation is not taken."""
    if not _python(place).exists():
        return False
    ask = f"from importlib.metadata import version as v; assert v('apache-flink') == '{VERSION}'"
    return subprocess.run([str(_python(place)), "-c", ask], capture_output=True, check=False).returncode == 0


def interpreter() -> str:
    """A Python that this Flink supports: this one, or one on the PATH. Raises FlinkMissingError."""
    if f"{sys.version_info.major}.{sys.version_info.minor}" in PYTHONS:
        return sys.executable
    for found in (shutil.which(f"python{v}") for v in PYTHONS):
        if found:
            return found
    raise FlinkMissingError(
        f"apache-flink {VERSION} needs Python {PYTHONS[-1]} to {PYTHONS[0]}, and the PATH has none. Install one and "
        "run the benchmark again, or leave Flink out with --engines muntin,spark"
    )


def _python(place: Path) -> Path:
    return place / "bin" / "python"


def _call(command: list[str], place: Path, base: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise FlinkMissingError(
            f"cannot install apache-flink {VERSION}: {said}. Type\n    {Path(base).name} -m venv --clear {place} && "
            f"{_python(place)} -m pip install apache-flink=={VERSION}\n"
            "or leave Flink out with --engines muntin,spark"
        )
