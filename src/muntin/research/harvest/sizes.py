"""How large a run is. In the small form rates are a quarter of the document's: work goes with their cube."""

from __future__ import annotations

from muntin.research.harness import Setting


def scaled(setting: Setting, rate: float = 100.0) -> float:
    """A rate of the document."""
    return rate * (0.25 if setting.smoke else 1.0)


def seeds(setting: Setting, full: int = 3) -> range:
    """Runs that are averaged."""
    return range(1, 2 if setting.smoke else full + 1)
