"""The seven queries of the thesis' running example (Golab 2006, section 8.4.3); one update a minute."""

from __future__ import annotations

from muntin.scheduling.tasks import PeriodicQuery, conservative

WINDOWS = ((10, 2), (5, 2), (6, 2), (15, 3), (12, 3), (20, 5), (30, 5))
"""(window, period) of Q1 to Q7, in minutes."""

QUERIES = tuple(PeriodicQuery(f"Q{i}", "G1", *q) for i, q in enumerate(WINDOWS, 1))

G11, G12, G13 = conservative(QUERIES)
"""The sub-groups of periods 2, 3 and 5."""
