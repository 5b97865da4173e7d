"""Timestamps and the clocks of zones, over Arrow columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from muntin.core.zones import Zone
from muntin.core.zones import zone as zone_of
from muntin.scalars.cast_rules import Value, micros


def on_micros(value: Value, kind: pa.DataType, f: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> Value:
    """``f`` of the microseconds of timestamps, as timestamps of ``kind``; NULL stays NULL."""
    at = micros(value)
    array = pa.repeat(at, 1) if isinstance(at, pa.Scalar) else at
    moved = f(array.fill_null(0).to_numpy(zero_copy_only=False))
    found = pc.cast(pa.array(moved, pa.int64(), mask=np.asarray(array.is_null())), kind)
    return found[0] if isinstance(at, pa.Scalar) else found


def clock(name: Value | None) -> Zone:
    """The zone that an expression's last argument names; None: UTC."""
    given = None if name is None else constant(name)
    return zone_of(None if given in (None, "UTC") else str(given))


def constant(value: Value) -> Any:
    """The value of a constant, also one that has been made a column; None over no rows."""
    return value.as_py() if isinstance(value, pa.Scalar) else value[0].as_py() if len(value) else None


def shown(value: Value, zone: Zone) -> Value:
    """What the zone's clock shows at instants, as timestamps without zone."""
    return on_micros(value, pa.timestamp("us"), zone.local)


def instant(value: Value, zone: Zone) -> Value:
    """The instants at which the zone's clock shows timestamps without zone (see ``core.zones``)."""
    return on_micros(value, pa.timestamp("us", "UTC"), zone.instant)
