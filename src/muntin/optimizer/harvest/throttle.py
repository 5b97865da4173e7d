"""The throttle fraction of an operator (Gedik et al., 3): the share of its full work that it can afford.

Any operator that can do with less may follow it: a join by reading less of its windows, a drop box by its share.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Throttle:
    """``fraction`` z in (0, 1]; ``boost`` gamma > 1, by which it grows when everything that came was consumed;
    ``least``: below which it does not fall, so that it can come back."""

    fraction: float = 1.0
    boost: float = 1.2
    least: float = 1e-3

    def __post_init__(self) -> None:
        if not (0 < self.least <= self.fraction <= 1 < self.boost):
            raise ValueError(f"0 < least <= fraction <= 1 < boost: {self}")

    def adapted(self, arrived: float, consumed: float) -> Throttle:
        """After an adaptation interval in which ``arrived`` tuples came (those that found the buffer full included)
        and ``consumed`` were taken in. Nothing came: nothing was too much."""
        beta = consumed / arrived if arrived > 0 else 1.0
        z = beta * self.fraction if beta < 1 else min(1.0, self.boost * self.fraction)
        return Throttle(max(z, self.least), self.boost, self.least)
