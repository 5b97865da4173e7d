"""Entry point of the console script: signals are answered before anything large is loaded."""

from __future__ import annotations

import sys

from muntin.cli.ending import guarded
from muntin.core.priority import at_low_priority


def main() -> None:
    """Run the command line; see ``app``. Who asks a pipeline that runs gets what time it leaves, unless that waits for
    the answer (isolation serial)."""
    with guarded():
        words = [part for word in sys.argv[1:] for part in word.split("=", 1)]
        if "--live" in words and "serial" not in words:
            at_low_priority()
        from muntin.cli.app import app

        app()


if __name__ == "__main__":
    main()
