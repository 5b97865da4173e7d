"""Compile every kernel of a fixed signature into Numba's cache, which all processes of this user then read.

Usage: compile_kernels.py. Half a minute once, a second afterwards. Without it each process that is the first to call a
kernel compiles it, and two that call it at the same time both do.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

import muntin.kernels
from muntin.kernels.lazy import ByType, Kernel


def main() -> None:
    """Ask each kernel for its code."""
    modules = [import_module(m.name) for m in iter_modules(muntin.kernels.__path__, "muntin.kernels.")]
    found = [k for m in modules for k in vars(m).values()]
    by_type = [k for b in found if isinstance(b, ByType) for k in b.kernels.values()]
    ready = [k.compiled for k in [*found, *by_type] if isinstance(k, Kernel)]
    if not ready:
        raise SystemExit("there are no kernels in muntin.kernels")


if __name__ == "__main__":
    main()
