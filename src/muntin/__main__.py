"""``python -m muntin``: the command."""

from muntin.cli.app import app

app(prog_name="muntin")
