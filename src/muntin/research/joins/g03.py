"""G3, Golab & Ozsu Table 4 (thesis Table 5.2): the order for new tuples of each stream."""

from __future__ import annotations

from muntin.optimizer.multiway.orders import by_origin
from muntin.optimizer.multiway.streams import Order
from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.joins.setting import by_origin as run_by_origin

TABLE_4 = ((0, 1, 2), (1, 0, 2), (2, 0, 1))


def judge(proposed: tuple[Order, ...], executed: tuple[Order, ...]) -> tuple[Check, ...]:
    """The optimizer's orders, and those that the counted engine runs."""
    told = "; ".join(f"S{i + 1}->{','.join(f'S{k + 1}' for k in order)}" for i, order in enumerate(proposed))
    return (
        Check("orders by origin as in Table 4", told, proposed == TABLE_4),
        Check("the engine runs these orders", "the engine's are the same", executed == TABLE_4),
    )


def run(setting: Setting) -> Outcome:
    """Global order S1,S2,S3."""
    return Outcome(judge(by_origin((0, 1, 2)), run_by_origin((0, 1, 2))))


ENTRY = Entry(
    "G3",
    "orders by origin for global order S1,S2,S3: S1->S1,S2,S3; S2->S2,S1,S3; S3->S3,S1,S2",
    "exact",
    run,
)
