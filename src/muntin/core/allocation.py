"""How a process that joins gets its memory: it keeps what one batch freed for the next, within a bound.

A join makes large arrays for a batch and frees them with it. By default glibc takes arrays beyond 32 MB from the system
each time and gives the end of its heap back, and Arrow's mimalloc purges: the system then fills the same pages with
zeros for every batch. ``keep_memory`` raises glibc's two thresholds
(``mallopt``: M_MMAP_THRESHOLD, M_TRIM_THRESHOLD) and has Arrow allocate from glibc's heap too, so that NumPy, Numba and
Arrow share what is free. ``release_excess``, after a batch, gives back what is free and resident beyond the bound.

Both belong together: with raised thresholds alone Arrow's mimalloc keeps what no trim can give back, with Arrow in
glibc's heap alone the heap's end still goes back after every array. A trim after every batch takes the gain away, so
there is none below the bound. What it saves, in pages that the system need not hand out anew, is in the tests.

No effect where libc is not glibc, where the environment sets the same things already (``MALLOC_*_``,
``GLIBC_TUNABLES``, ``ARROW_DEFAULT_MEMORY_POOL``), or with ``MUNTIN_ALLOCATION=off`` (for workers in
``spark.executorEnv.MUNTIN_ALLOCATION``).
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

VARIABLE = "MUNTIN_ALLOCATION"

MOST_KEPT = 1 << 30
"""Free bytes that a process keeps at most, whatever its limit."""

LEAST_KEPT = 64 << 20
"""Below so many bytes nothing is changed: glibc's defaults keep about as much."""

SHARE = 4
"""A process keeps one part in ``SHARE`` of its part of the limit: the JVM, state and the batch want the rest."""

OLD_MOST = 32 << 20
"""The largest threshold that glibc before 2.35 accepts."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_CGROUP = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_UNLIMITED = 1 << 60


class _Mallinfo(ctypes.Structure):
    """glibc's ``struct mallinfo2``."""

    _BEFORE = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks")
    _fields_: ClassVar = [(name, ctypes.c_size_t) for name in (*_BEFORE, "uordblks", "fordblks", "keepcost")]


@lru_cache(maxsize=1)
def keep_memory() -> int:
    """Keep freed memory in this process for the next batch; once, later calls do nothing. Returns the bound in bytes,
    0 where nothing was changed."""
    libc, bound = _glibc(), kept_bytes(memory_limit(), worker_limit(), os.cpu_count() or 1)
    if libc is None or os.environ.get(VARIABLE) == "off" or _set_already() or bound < LEAST_KEPT:
        return 0
    if not (libc.mallopt(_MMAP_THRESHOLD, bound) or libc.mallopt(_MMAP_THRESHOLD, min(bound, OLD_MOST))):
        return 0
    libc.mallopt(_TRIM_THRESHOLD, bound)
    if "ARROW_DEFAULT_MEMORY_POOL" not in os.environ:
        pa.set_memory_pool(pa.system_memory_pool())
    return bound


def release_excess() -> bool:
    """Give free memory back to the system if more than the bound is free and resident; whether it was. Microseconds
    if not."""
    bound, libc = keep_memory(), _glibc()
    if not bound or libc is None or free_bytes(bound) <= bound:
        return False
    libc.malloc_trim(ctypes.c_size_t(0))
    return True


def free_bytes(enough: int = 0) -> int:
    """Bytes of the heap that are free and resident, about; 0 where that is not known. What was given back from the
    middle of the heap still counts as free for glibc, so what is resident bounds it: that is read from the system's
    files (longer than a small step takes), and only where glibc counts more than ``enough``."""
    libc = _glibc()
    if libc is None or not hasattr(libc, "mallinfo2"):
        return 0
    libc.mallinfo2.restype = _Mallinfo
    info = libc.mallinfo2()
    if info.fordblks <= enough:
        return int(info.fordblks)
    _, resident, shared = map(int, Path("/proc/self/statm").read_text().split()[:3])
    used = info.uordblks + info.hblkhd
    return max(min(info.fordblks, (resident - shared) * os.sysconf("SC_PAGE_SIZE") - used), 0)


def kept_bytes(limit: int, worker: int, processes: int) -> int:
    """The bound of one process: a share of its part of the machine's (the container's) ``limit`` and of its own
    (``worker``), all in bytes; ``processes`` that may run beside each other."""
    return min(limit // processes // SHARE, worker // SHARE, MOST_KEPT)


def memory_limit() -> int:
    """Bytes that the container may take, else what the machine has."""
    found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")] if hasattr(os, "sysconf") else []
    for path in map(Path, _CGROUP):
        try:
            found.append(int(path.read_text()))
        except (OSError, ValueError):  # another kind of system, or "max"
            continue
    return min(found, default=0)


def worker_limit() -> int:
    """Bytes of address space that this process may take (Spark sets it by ``spark.executor.pyspark.memory``)."""
    try:
        import resource
    except ImportError:  # not Unix
        return _UNLIMITED
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return _UNLIMITED if soft == resource.RLIM_INFINITY else soft


def _set_already() -> bool:
    """Whether whoever started the process decided on glibc's thresholds."""
    names = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_", "MALLOC_MMAP_MAX_")
    return any(n in os.environ for n in names) or "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", "")


@lru_cache(maxsize=1)
def _glibc() -> Any:
    """The C library if it is glibc, else None."""
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None)
    return libc if hasattr(libc, "gnu_get_libc_version") and hasattr(libc, "mallopt") else None
