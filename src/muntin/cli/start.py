"""Entry point of the console script: signals are answered before anything large is loaded."""

from __future__ import annotations

import gc
import sys

from muntin.cli.ending import guarded
from muntin.core.priority import at_low_priority


def main() -> None:
    """Run the command line; see ``app``. Who asks a pipeline that runs gets what time it leaves, unless that waits for
    the answer (isolation serial)."""
    with guarded():
        words = [part for word in sys.argv[1:] for part in word.split("=", 1)]
        if "--live" in words and "serial" not in words:
            at_low_priority()
        gc.set_threshold(100_000)  # modules, plans, kernels being compiled: many objects, none of them garbage
        if "sql" in words[:1] and not {"--job", "--runtime"}.intersection(words):
            _without_pandas()
        from muntin.cli.app import app

        app(prog_name="muntin")


class _NoPandas:
    """On ``sys.meta_path``: pandas is not there."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def _without_pandas() -> None:
    """Let pyarrow find no pandas when it looks for it, with the first array that it makes: importing it takes a quarter
    of a second, twice as long from a cold disk. Where pandas is asked for by name it comes nevertheless; so this is for
    commands that run no code of the user's."""
    sys.meta_path.insert(0, _NoPandas)
    try:
        import pyarrow

        pyarrow.array([])
    finally:
        sys.meta_path.remove(_NoPandas)


if __name__ == "__main__":
    main()
