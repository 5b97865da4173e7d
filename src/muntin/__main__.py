"""``python -m muntin``: the command."""

from muntin.cli.start import main

if __name__ == "__main__":
    main()
