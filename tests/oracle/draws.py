"""How much random tests draw: a little in every run, more in the long form, which is marked slow."""

from __future__ import annotations

import pytest


def blocks(usual: int, long: int) -> pytest.MarkDecorator:
    """Parametrizes ``block``: the first ``usual`` numbers, and in the long form those up to ``long``."""
    more = [pytest.param(block, marks=pytest.mark.slow) for block in range(usual, long)]
    return pytest.mark.parametrize("block", [*range(usual), *more])


def seeds(usual: int, long: int) -> pytest.MarkDecorator:
    """Parametrizes ``seeds``: the first ``usual`` numbers together, and in the long form those up to ``long``."""
    more = pytest.param(range(usual, long), marks=pytest.mark.slow, id=f"{usual} to {long}")
    return pytest.mark.parametrize("seeds", [pytest.param(range(usual), id=f"to {usual}"), more])
