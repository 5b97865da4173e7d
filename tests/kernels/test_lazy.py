from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numba as nb
import numpy as np
import pytest

import muntin
from muntin.kernels import sums
from muntin.kernels.lazy import Kernel, kernel
from muntin.kernels.types import I32, I64, MI32, MI64

SRC = str(Path(muntin.__file__).parents[1])


@kernel(nb.int64(nb.int64))
def doubled(x):  # type: ignore[no-untyped-def]
    """Twice as much."""
    return 2 * x


@kernel(nb.int64(I64))
def total_of_doubles(values):  # type: ignore[no-untyped-def]
    total = 0
    for value in values:
        total += doubled(value)
    return total


def test_a_kernel_is_compiled_when_first_called_by_python_or_by_another_kernel() -> None:
    assert "compiled" not in vars(total_of_doubles) and "compiled" not in vars(doubled)
    assert total_of_doubles(np.arange(4)) == 12
    assert "compiled" in vars(doubled) and doubled(4) == 8
    assert len(total_of_doubles.compiled.signatures) == 1
    with pytest.raises(TypeError, match="No matching definition"):
        total_of_doubles(np.arange(4.0))


@kernel([nb.void(I64, MI64), nb.void(I32, MI32)])
def negated(values, out):  # type: ignore[no-untyped-def]
    for i in range(len(values)):
        out[i] = -values[i]


def test_of_several_signatures_those_are_compiled_that_are_called_for() -> None:
    out = np.zeros(3, np.int32)
    negated(np.arange(3, dtype=np.int32), out)
    assert out.tolist() == [0, -1, -2]
    assert [t.name for t, k in negated.kernels.items() if "compiled" in vars(k)] == ["int32"]


def test_a_kernel_is_pickled_by_its_name() -> None:
    assert pickle.loads(pickle.dumps(sums.sum_int128)) is sums.sum_int128
    assert sums.sum_int128.__doc__.startswith("Sums of 128-bit")


def test_importing_the_engine_compiles_none() -> None:
    code = (
        "import gc, muntin.local.query, muntin.local.runtime\n"
        "from muntin.kernels.lazy import Kernel\n"
        "kernels = [o for o in gc.get_objects() if isinstance(o, Kernel)]\n"
        "assert len(kernels) > 40, len(kernels)\n"
        "print([k.__name__ for k in kernels if 'compiled' in vars(k)])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": SRC}, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
    assert isinstance(sums.sum_int128, Kernel)
