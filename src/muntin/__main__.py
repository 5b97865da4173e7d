"""``python -m muntin``: the command."""

from muntin.cli.app import main

if __name__ == "__main__":
    main()
