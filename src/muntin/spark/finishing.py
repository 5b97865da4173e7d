"""The end of finite live input: how far time has to run on so that everything which came has had its effect."""

from __future__ import annotations

from collections.abc import Sequence

from muntin.core.errors import ConfigError
from muntin.core.time import NEVER
from muntin.core.watermark import SourceClock
from muntin.engine.clocks import CLOCKS, last_instant
from muntin.spark.control import send_heartbeat
from muntin.spark.snapshots import open_checkpoint


def end_of_input(checkpoint: str) -> int | None:
    """Event time (microseconds) before which every instant is complete once the inputs have ended: after the last
    expiry of a finite window of any query, by the rows of the last committed batch. None where no row has come.

    Raises ConfigError where there is no checkpoint, StoreError where it is damaged.
    """
    opened = open_checkpoint(checkpoint, [CLOCKS], rows=False)
    if opened.snapshot is None:
        return None
    stored = opened.snapshot.of(CLOCKS)[0].heads.get("clocks", {})
    clocks = {name: SourceClock(**clock) for name, clock in stored.items()}
    plans = opened.plans[-1].readable()
    last = max((last_instant(p, clocks) for p in plans if {s.name for s in p.streams} <= clocks.keys()), default=NEVER)
    return None if last == NEVER else last + 1


def declare(checkpoint: str, until: int | None, streams: Sequence[str] = ()) -> int:
    """Leave a heartbeat for the run of a checkpoint, or for its next one; ``until``: event time (microseconds), None:
    the end of input. ``streams``: by name; (): all. Returns the event time.

    Raises ConfigError for a checkpoint without a run, for an unknown stream, and for an end where no row has come.
    """
    opened = open_checkpoint(checkpoint, [CLOCKS], rows=False)
    known = [s["name"] for s in (opened.checkpoint.record or {}).get("streams", ())]
    unknown = [n for n in streams if n not in known]
    if unknown:
        raise ConfigError(f"{checkpoint}: no stream {unknown[0]!r} in its run; it has {', '.join(known)}")
    at = end_of_input(checkpoint) if until is None else until
    if at is None:
        raise ConfigError(f"{checkpoint}: no row has come yet, so its input has no end; give a time")
    send_heartbeat(opened.checkpoint.store, dict.fromkeys(streams or known, at))
    return at
