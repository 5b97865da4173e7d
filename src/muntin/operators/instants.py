"""At which instants a step reports whole answers, as far as its output has room."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from muntin.core.calendar import nominal
from muntin.core.time import ceil_to
from muntin.kernels.schedule import tick_times
from muntin.operators.context import Context, Cut
from muntin.plan.windows import Ticks

Ints = NDArray[np.int64]


def instants_in(ticks: Ticks | None, spans: tuple[Ints, Ints], ctx: Context) -> Ints:
    """The evaluation instants of the step inside ``spans`` (sorted, disjoint [from, to)), or where there are no ticks
    those that rows mark. Raises Cut where they alone are more than the step may give."""
    if ticks is None:
        assert ctx.instants is not None
        return ctx.instants
    low = max(ctx.low, ctx.shown)
    inside = np.maximum(spans[0], low), np.minimum(spans[1], ctx.until)
    kept = inside[0] < inside[1]
    inside = inside[0][kept], inside[1][kept]
    if ctx.most is not None:
        _check_room(ticks, inside, ctx, ctx.most)
    return tick_times(inside, ticks.slides, ticks.origins, low, ctx.until, ticks.zone)


def _check_room(ticks: Ticks, spans: tuple[Ints, Ints], ctx: Context, most: int) -> None:
    total = np.cumsum(sum(_count(*spans, nominal(s), o) for s, o in zip(ticks.slides, ticks.origins, strict=True)))
    if len(total) == 0 or total[-1] <= most:
        return
    over = int(np.searchsorted(total, most, side="right"))
    room = most - (int(total[over - 1]) if over else 0)
    at = max(int(spans[0][over]) + room // len(ticks.slides) * min(map(nominal, ticks.slides)), ctx.low + 1)
    if at < ctx.until:
        raise Cut(at)


def _count(low: Ints, high: Ints, slide: int, origin: int) -> Ints:
    """How many multiples of the slide lie in each [low, high); of a clock that changes, within a few."""
    first = ceil_to(low, slide, origin)
    return np.maximum(-((first - high) // slide), 0)


def any_instant(ticks: Ticks | None, low: int, high: int, ctx: Context) -> bool:
    """Whether the step reports at some instant of ``[low, high)``."""
    low, high = max(ctx.low, low), min(ctx.until, high)
    low = low if ticks is None else max(low, ctx.shown)
    if ticks is None:
        assert ctx.instants is not None
        return bool(((ctx.instants >= low) & (ctx.instants < high)).any())
    return low < high and int(ticks.at_or_after(np.array([low]))[0]) < high
