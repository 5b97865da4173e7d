"""Entry point of the console script: signals are answered before anything large is loaded."""

from __future__ import annotations

from muntin.cli.ending import guarded


def main() -> None:
    """Run the command line; see ``app``."""
    with guarded():
        from muntin.cli.app import app

        app()


if __name__ == "__main__":
    main()
