"""Freed memory stays for the next batch, within a bound, and only where it is known how."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from muntin.core import allocation
from muntin.core.allocation import MOST_KEPT, VARIABLE, kept_bytes

GLIBC = allocation._glibc() is not None

PROBE = """
import ctypes
import resource
import numpy as np
import pyarrow as pa
from muntin.core import allocation

{setup}
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def batch():  # beyond 32 MB, glibc's own most; NumPy would ask for huge pages
    ours = libc.malloc(SIZE)
    ctypes.memset(ours, 1, SIZE)
    libc.free(ctypes.c_void_p(ours))

libc, SIZE = ctypes.CDLL(None), 48 << 20
libc.malloc.restype = ctypes.c_void_p
for _ in range(3):
    batch()
before = faults()
for _ in range(5):
    batch()
print(faults() - before, bound, pa.default_memory_pool().backend_name, allocation.release_excess())
"""


def probe(setup: str, **env: str) -> list[str]:
    known = {k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "ARROW_", VARIABLE))}
    done = subprocess.run(
        [sys.executable, "-c", PROBE.format(setup=setup)], env=known | env, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


APPLY = "bound = allocation.keep_memory()"


@pytest.mark.skipif(not GLIBC, reason="only glibc")
def test_what_a_batch_freed_is_there_for_the_next() -> None:
    with_it, bound, pool, released = probe(APPLY)
    if bound == "0":
        pytest.skip("too little memory here for it")
    assert pool == "system" and released == "False"
    without, *_ = probe("bound = 0", **{VARIABLE: "off"})
    assert int(with_it) < 2_000 < 20_000 < int(without), "pages are asked for once"


@pytest.mark.skipif(not GLIBC, reason="only glibc")
@pytest.mark.parametrize(
    "env", [{VARIABLE: "off"}, {"MALLOC_TRIM_THRESHOLD_": "1000000"}, {"GLIBC_TUNABLES": "glibc.malloc.arena_max=2"}]
)
def test_it_can_be_turned_off_and_leaves_what_others_set(env: dict[str, str]) -> None:
    _, bound, pool, released = probe(APPLY, **env)
    assert (bound, released) == ("0", "False") and pool != "system"


@pytest.mark.skipif(not GLIBC, reason="only glibc")
def test_arrows_own_allocator_stays_if_it_was_asked_for() -> None:
    assert probe(APPLY, ARROW_DEFAULT_MEMORY_POOL="mimalloc")[2] == "mimalloc"


@pytest.mark.skipif(not GLIBC, reason="only glibc")
def test_what_is_beyond_the_bound_goes_back() -> None:
    code = (
        "allocation.kept_bytes = lambda *_: 64 << 20\n"
        "bound = allocation.keep_memory()\n"
        "held = [np.ones(1 << 20) for _ in range(40)]\n"  # 320 MB in arrays below the threshold
        "top = np.ones(1 << 20)\n"  # keeps the heap's end in use, so nothing goes by itself
        "del held\n"
        "free = allocation.free_bytes()\n"
        "assert free > 300 << 20, free\n"
        "assert allocation.release_excess()\n"
        "assert allocation.free_bytes() < 200 << 20, allocation.free_bytes()\n"
    )
    _, bound, *_ = probe(code)
    assert int(bound) == 64 << 20


def test_another_libc_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocation, "_glibc", lambda: None)
    assert allocation.keep_memory.__wrapped__() == 0
    assert allocation.free_bytes() == 0 and not allocation.release_excess()


def test_the_bound_is_a_share_of_what_a_process_may_take() -> None:
    much = 1 << 60
    assert kept_bytes(8 << 30, much, 4) == 512 << 20
    assert kept_bytes(much, 1 << 30, 4) == 256 << 20
    assert kept_bytes(much, much, 4) == MOST_KEPT
