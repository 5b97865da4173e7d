"""All policies by name."""

from __future__ import annotations

from collections.abc import Mapping

from muntin.scheduling.greedy import GREEDY
from muntin.scheduling.lwo import LWO
from muntin.scheduling.slices import Policy
from muntin.scheduling.swf import SWF

POLICIES: Mapping[str, Policy] = {p.name: p for p in (LWO, SWF, GREEDY)}
