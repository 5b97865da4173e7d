"""Kernels compiled when first called: a query pays for those that it uses, not for all that are imported.

All of them take half a minute on a new installation (Numba caches the code beside the source, or in its cache
directory), which a process that answers one question would wait for. So those of common queries write where they are
told to, and allocate nothing: allocation, counting of references and the checks of slices (whose messages are composed)
compile for longer than the loops themselves; and what a branch on a flag would double is worked out by NumPy before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numba as nb
import numpy as np


class Kernel:
    """A function with one fixed signature, from Python and from other kernels the same as what ``numba.njit`` makes.

    ``_numba_type_`` is Numba's protocol for objects that compiled code refers to; asking for it compiles.
    """

    def __init__(self, function: Callable[..., Any], signature: Any, options: dict[str, Any]) -> None:
        self.py_func = function
        self.__doc__, self.__name__, self.__module__ = function.__doc__, function.__name__, function.__module__
        self._signature, self._options = signature, {"no_cfunc_wrapper": True, **options}  # only C would call that

    @cached_property
    def compiled(self) -> Any:
        """What Numba makes of it: from its cache, else compiled now."""
        return nb.njit(self._signature, **self._options)(self.py_func)

    @property
    def _numba_type_(self) -> Any:
        return nb.types.Dispatcher(self.compiled)

    def __reduce__(self) -> str:
        return self.__name__  # pickled as what it is called in its module

    def __call__(self, *arguments: Any) -> Any:
        return self.compiled(*arguments)


inlined = nb.njit(inline="always")
"""Decorates a function whose body kernels take in where they call it: it is never compiled by itself."""


class ByType:
    """One function with several signatures, from Python alone: that for the type of the first argument, an array, is
    compiled when first called for."""

    def __init__(self, function: Callable[..., Any], signatures: Sequence[Any], options: dict[str, Any]) -> None:
        self.__doc__, self.__name__, self.__module__ = function.__doc__, function.__name__, function.__module__
        self.kernels = {np.dtype(str(s.args[0].dtype)): Kernel(function, s, options) for s in signatures}

    def __call__(self, first: Any, *others: Any) -> Any:
        return self.kernels[first.dtype](first, *others)


def kernel(signature: Any, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """As ``numba.njit(signature, **options)``, but compiled when first called, of a list of signatures each by itself
    (see ``ByType``)."""
    made = ByType if isinstance(signature, list) else Kernel
    return lambda function: made(function, signature, options)
