"""``muntin sql --live CHECKPOINT``: a one-time query over the windows that a pipeline holds; needs no JVM."""

from __future__ import annotations

import time
from pathlib import Path

from muntin.cli.show import Format, deliver


def run_live(checkpoint: str, text: str, form: Format, output: Path | None, limit: int) -> None:
    """Ask, print the rows or write them, and say of which instant they are and how old that is."""
    from muntin.core.time import instant_text
    from muntin.session.one_time import ask_checkpoint

    found = ask_checkpoint(checkpoint, text)
    told = f"as of {instant_text(found.at)}, after batch {found.batch}"
    if found.committed is not None:
        told += f", committed {max(time.time() - found.committed, 0):.1f} s ago"
    told += f"; the newest rows that had come are {found.behind / 1e6:.6g} s later"
    deliver(found.rows, form, output, limit, (told, *found.notes))
