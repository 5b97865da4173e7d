"""T46, thesis 7.4.2: reading in the order of time to update avoids the abort that sequential reading has."""

from __future__ import annotations

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.scheduling.transactions.history import History, latest_window_serializable, of
from muntin.scheduling.transactions.scheduler import Event, Scheduler, ascending, ttu

H_E = "rQ1[4] w5[0] c5 rQ1[0] rQ1[3] rQ1[2] w6[1] c6 rQ1[1] cQ1"
H_F = "rQ1[0] w5[0] c5 rQ1[1] rQ1[2] rQ1[3] w6[1] c6 rQ1[4] cQ1"

STEP: Event = ("step", 0)
UPDATE: Event = ("update", 0)
EVENTS: tuple[Event, ...] = (("query", 5), STEP, UPDATE, STEP, STEP, STEP, UPDATE, STEP)


def judge(e: History, f: History, by_ttu: str, sequential: str) -> tuple[Check, ...]:
    """The two histories, and what the schedulers make of the same events."""
    lws = latest_window_serializable(e), latest_window_serializable(f)
    return (
        Check("H_e is LWS, H_f is not", f"{lws}", lws == (True, False)),
        Check("Algorithm 8 produces H_e", by_ttu, by_ttu == H_E),
        Check("Algorithm 7, sequentially, aborts at T5", sequential, sequential.startswith("rQ1[0] w5[0] c5 aQ1")),
    )


def run(setting: Setting) -> Outcome:
    """Both."""
    made = [" ".join(map(str, Scheduler(5, order).run(EVENTS).ops)) for order in (ttu, ascending)]
    return Outcome(judge(of(H_E), of(H_F), *made))


ENTRY = Entry(
    "T46",
    "H_e (time to update) is latest-window-serializable; H_f (sequential) is violated right after T5",
    "Algorithm 8 produces H_e; Algorithm 7 with sequential order aborts at T5",
    run,
)
