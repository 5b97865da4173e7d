"""A table's feed applied update by update: which updates change the table, and what they change."""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from muntin.kernels.lazy import kernel
from muntin.kernels.types import I8, I64, MB1, MI64

Ints = NDArray[np.int64]


@kernel(MB1(I64, I8, MI64), cache=True)
def _apply(ids, sign, live):  # type: ignore[no-untyped-def]
    done = np.ones(len(ids), np.bool_)
    for i in range(len(ids)):
        if sign[i] > 0:
            live[ids[i]] += 1
        elif live[ids[i]] > 0:
            live[ids[i]] -= 1
        else:
            done[i] = False
    return done


@kernel(nb.types.Tuple((MI64, MI64, MB1))(I64, I64, I8, MI64), cache=True)
def _replace(keys, rows, sign, current):  # type: ignore[no-untyped-def]
    n = len(keys)
    gone, come = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    done = np.ones(n, np.bool_)
    for i in range(n):
        there = current[keys[i]]
        if sign[i] > 0:
            if there != rows[i]:
                gone[i], come[i] = there, rows[i]
                current[keys[i]] = rows[i]
        elif there >= 0:
            gone[i] = there
            current[keys[i]] = -1
        else:
            done[i] = False
    return gone, come, done


def apply_updates(ids: Ints, sign: NDArray[np.int8], live: Ints) -> NDArray[np.bool_]:
    """Count rows in and out of a bag, in order: ``live[id]`` changes in place and never falls below zero.

    False for each deletion of a row that is not there.
    """
    return np.asarray(_apply(ids, sign, live), np.bool_)


def replace_by_key(
    keys: Ints, rows: Ints, sign: NDArray[np.int8], current: Ints
) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """A row for the row of its key, in order: ``current[key]`` (a row's id, -1 for none) changes in place.

    For each update the row that goes and the row that comes (-1 for none, both where a row is repeated), and false for
    a deletion of a key that is not there.
    """
    gone, come, done = _replace(keys, rows, sign, current)
    return gone, come, done
