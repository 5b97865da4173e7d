"""What a first command waits for: kernels of common queries compile without Numba's own functions, and no pandas."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import muntin

SRC = str(Path(muntin.__file__).parents[1])

QUERIES = """
import datetime as dt
import muntin, pyarrow as pa
from numba.core import event

class Compiled(event.Listener):
    def on_start(self, e):
        pass

    def on_end(self, e):
        function = e.data["dispatcher"].py_func
        if not function.__module__.startswith("muntin."):
            found.append(function.__module__ + "." + function.__qualname__)

found = []
event.register("numba:compile", Compiled())
at = [dt.datetime(2024, 1, 1, 0, minute) for minute in range(40)]
rows = pa.table({"at": at, "k": ["a", "b", "c", None] * 10, "v": [1, 2, 3, 4] * 10})
one = muntin.query("SELECT k, COUNT(*) AS n FROM s [RANGE 9 MINUTES SLIDE 3 MINUTES] GROUP BY k", s=rows)
two = muntin.query("SELECT s.v, t.v AS w FROM s [RANGE 9 MINUTES], t [RANGE 5 MINUTES] WHERE s.k = t.k", s=rows, t=rows)
three = muntin.query("SELECT DISTINCT k FROM s [RANGE 9 MINUTES]", s=rows)
print(sorted(set(found)), bool(len(one) and len(two) and len(three)))
"""


def _run(code: str, cache: Path) -> str:
    env = {**os.environ, "PYTHONPATH": SRC, "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_kernels_of_common_queries_allocate_nothing_and_so_compile_fast(tmp_path: Path) -> None:
    assert _run(QUERIES, tmp_path) == "[] True"


def test_pandas_is_not_loaded_unless_it_is_asked_for(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from muntin.cli.start import _without_pandas\n"
        "_without_pandas()\n"
        "import pyarrow as pa\n"
        "table = pa.table({'a': [1, 2]})\n"
        "print('pandas' in sys.modules, table.to_pandas()['a'].sum(), pa.array(table.to_pandas()['a']).to_pylist())\n"
    )
    assert _run(code, tmp_path) == "False 3 [1, 2]"
