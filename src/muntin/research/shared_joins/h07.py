"""H7, Hammad et al. Table 1: the window distributions, and the priorities that Greedy makes of them."""

from __future__ import annotations

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.shared_joins.workload import KEYS, TABLE_1, arrivals_of, partners
from muntin.scheduling.policies import POLICIES
from muntin.scheduling.slices import sizes_of

ORDERS = {
    "Uniform": (1, 2, 3, 4, 5, 6, 7),
    "Mostly-Small": (1, 2, 3, 4, 5, 6, 7),
    "Mostly-Large": (1, 7, 2, 6, 5, 4, 3),
    "Small-Large": (1, 2, 3, 7, 6, 5, 4),
}


def greedy_order(windows: tuple[float, ...]) -> tuple[int, ...]:
    """Numbers of the windows in the order of their queues' priorities."""
    return tuple(i + 1 for i in POLICIES["greedy"].order(sizes_of(windows)))


def run(setting: Setting) -> Outcome:
    """Priorities, and that the generated streams are those of section 5."""
    found = {name: greedy_order(w) for name, w in TABLE_1.items()}
    rows = arrivals_of(4_000, 100.0, 600.0, 1)
    rate, windows = 4_000 / rows.span / 2, TABLE_1["Uniform"]
    share = float(partners(rows, windows).sum() / partners(rows, windows, any_key=True).sum())
    return Outcome(
        (
            *(
                Check(f"{n}: {ORDERS[n]}", f"{n} {'w' + ', w'.join(map(str, o))}", o == ORDERS[n])
                for n, o in found.items()
            ),
            Check("100 rows a second of a stream", f"{rate:.0f}", abs(rate / 100 - 1) < 0.05),
            Check("selectivity 0.002", f"{share:.5f}", abs(share * KEYS - 1) < 0.02),
        )
    )


ENTRY = Entry(
    "H7",
    "four distributions of seven windows from 1 s to 10 minutes; Greedy's priorities follow their differences",
    "exactly these orders: Uniform and Mostly-Small w1..w7; Mostly-Large w1,w7,w2,w6,w5,w4,w3; Small-Large "
    "w1,w2,w3,w7,w6,w5,w4",
    run,
)
