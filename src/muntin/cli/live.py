"""``muntin sql --live CHECKPOINT``: a one-time query over the windows that a pipeline holds; needs no JVM."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from muntin.cli.show import Format, deliver
from muntin.core.time import instant_text

if TYPE_CHECKING:
    from muntin.local.one_time import Isolation, OneTimeAnswer
    from muntin.plan.user_functions import ScalarFunction
    from muntin.session.engines import Engine


def run_live(
    checkpoint: str,
    text: str,
    isolation: str,
    engine: str,
    functions: Sequence[ScalarFunction],
    form: Format,
    output: Path | None,
    limit: int,
) -> None:
    """Ask, print the rows or write them, and say of which instant they are and how old that is."""
    from muntin.session.one_time import ask_checkpoint

    found = ask_checkpoint(
        checkpoint, text, isolation=cast("Isolation", isolation), engine=cast("Engine", engine), functions=functions
    )
    deliver(found.rows, form, output, limit, (when(found), *found.notes))


def when(found: OneTimeAnswer) -> str:
    """Of which instant an answer is, and how old that is."""
    told = f"as of {instant_text(found.at)}, after batch {found.batch}"
    if found.committed is not None:
        told += f", committed {max(time.time() - found.committed, 0):.1f} s ago"
    told += f"; the newest rows that had come are {found.behind / 1e6:.6g} s later"
    if found.caught_up:
        told += f"; {_batches(found.caught_up)} committed while it was read, taken up"
    if found.newer:
        told += f"; {_batches(found.newer)} committed since"
    if found.waited >= 0.05:
        told += f"; it waited {found.waited:.1f} s for batches and other queries"
    return told


def _batches(count: int) -> str:
    return "1 batch" if count == 1 else f"{count} batches"
