"""The wall clocks of zones against ``zoneinfo``, instant by instant, and the clock that never goes back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from muntin.core.time import DAY, FOREVER, HOUR, MINUTE
from muntin.core.zones import Zone, grid_of, ticks_between, zone, zone_name

NAMES = (
    "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Africa/Casablanca", "Pacific/Apia", "Europe/London",
    "America/Havana", "Antarctica/Troll",
)  # fmt: skip
EPOCH = datetime(1970, 1, 1)
MICRO = timedelta(microseconds=1)


def shown(at: int, name: str) -> int:
    """What the clock shows, by ``zoneinfo``."""
    local = (EPOCH.replace(tzinfo=UTC) + at * MICRO).astimezone(ZoneInfo(name)).replace(tzinfo=None)
    return (local - EPOCH) // MICRO


def first_time(reading: int, name: str) -> int:
    """The instant of a reading, by ``zoneinfo`` (fold 0: the first, and in a gap the offset before it)."""
    local = (EPOCH + reading * MICRO).replace(tzinfo=ZoneInfo(name))
    return (local.astimezone(UTC).replace(tzinfo=None) - EPOCH) // MICRO


def instants(name: str, found: Zone) -> np.ndarray:
    """Around every change until the year 2600, and anywhere between 1700 and 8000."""
    rng = Random(name)
    changes = [int(t) for t in found.starts[1:]]
    away = (0, 1, -1, HOUR, -HOUR, HOUR // 2)
    near = [t + rng.choice((*away, rng.randrange(-DAY, DAY))) for t in changes for _ in range(4)]
    far = [t + 146_097 * DAY * k for t in changes[-20:] for k in (1, 3)]
    return np.array(near + far + [rng.randrange(-270 * 365 * DAY, 6000 * 365 * DAY) for _ in range(500)])


@pytest.mark.parametrize("name", NAMES)
def test_readings_and_instants_are_those_of_zoneinfo(name: str) -> None:
    found, rng = zone(name), Random(name)
    at = instants(name, found)
    readings = found.local(at)
    assert readings.tolist() == [shown(t, name) for t in at.tolist()]
    moved = readings + np.array([rng.choice((0, HOUR, -HOUR, rng.randrange(-2 * HOUR, 2 * HOUR))) for _ in at])
    assert found.instant(moved).tolist() == [first_time(r, name) for r in moved.tolist()]
    assert (found.instant(readings, prefer=found.offset(at)) == at).all()


@pytest.mark.parametrize("name", NAMES)
def test_the_wall_never_goes_back_and_reach_is_its_inverse(name: str) -> None:
    found = zone(name)
    at = np.sort(instants(name, found))
    wall = found.wall(at)
    assert (np.diff(wall) >= 0).all() and (wall >= found.local(at)).all()
    reached = found.reach(wall)
    assert (np.diff(reached) >= 0).all() and (reached >= at).all()
    assert (found.local(reached) >= wall).all()
    first = found.local(at) == wall
    assert (reached[first] == at[first]).all() and first.mean() > 0.7


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("step", [MINUTE, 7 * MINUTE, HOUR, 6 * HOUR, DAY, 7 * DAY])
def test_multiples_on_the_clock(name: str, step: int) -> None:
    """At or after, on a multiple that is shown for the first time, and none before it."""
    found, rng = zone(name), Random(f"{name}/{step}")
    at = np.sort(instants(name, found))
    ticks = found.ceil(at, step, 3 * MINUTE)
    assert (ticks >= at).all()
    readings = found.local(ticks)
    assert ((readings - 3 * MINUTE) % step == 0).all() and (found.instant(readings) == ticks).all()
    for t, tick in rng.sample(list(zip(at.tolist(), ticks.tolist(), strict=True)), 200):
        begin = (shown(t, name) - 3 * MINUTE) // step * step + 3 * MINUTE - 2 * step
        between = range(begin, shown(tick, name) + 2 * step, step)
        firsts = (first_time(r, name) for r in between if shown(first_time(r, name), name) == r)
        assert min(f for f in firsts if f >= t) == tick


def test_far_ends_stay() -> None:
    found = zone("America/New_York")
    ends = np.array([FOREVER, -(2**60)])
    assert found.ceil(ends, HOUR)[0] == FOREVER and found.reach(ends)[0] == FOREVER
    assert found.ceil(ends, HOUR)[1] < -(2**60) + HOUR


@pytest.mark.parametrize(
    ("given", "kept"),
    [("UTC", None), ("Etc/UTC", None), ("Z", None), ("+00:00", None), ("GMT+5", "+05:00"), ("-0330", "-03:30"),
     ("Europe/Rome", "Europe/Rome"), (None, None)],
)  # fmt: skip
def test_names(given: str | None, kept: str | None) -> None:
    assert zone_name(given) == kept


def test_offsets_are_zones() -> None:
    assert zone("-03:30").local(np.array([0])).tolist() == [-(3 * HOUR + 30 * MINUTE)]
    assert zone(None).local(np.array([5])).tolist() == [5]


@pytest.mark.parametrize("name", ["Mars/Base", "", "+19:00", "../etc"])
def test_what_is_no_zone_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no time zone"):
        zone_name(name)


@pytest.mark.parametrize("name", ["Europe/Berlin", "Australia/Lord_Howe", "Africa/Monrovia", "Asia/Kolkata"])
def test_a_grid_of_instants_has_all_multiples_on_a_clock(name: str) -> None:
    """Of a step and of its multiples, over the whole history of the zone; it is as coarse as the zone allows."""
    rng = Random(name)
    for step in (HOUR, 2 * HOUR, 6 * HOUR, 15 * MINUTE):
        origin = rng.choice((0, HOUR, 20 * MINUTE))
        grid = grid_of(step, origin, name)
        assert grid.step >= (30 * MINUTE if step > HOUR // 2 else 15 * MINUTE) and step % grid.step == 0
        for start in zone(name).starts[1:].tolist():
            low = max(start, -(10**17)) - 3 * DAY
            for slide in (step, 3 * step, 24 * step):
                found = ticks_between(low, low + 30 * DAY, slide, origin, name)
                assert np.array_equal(grid.ceil(found), found)
                assert (grid.ceil(found + 1) > found).all()
