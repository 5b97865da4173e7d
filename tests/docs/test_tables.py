"""The tables that pages take from the code are complete."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pages
import pytest

SPEC = importlib.util.spec_from_file_location("docs_tables", Path(pages.DOCS).parent / "tools" / "docs_tables.py")
assert SPEC and SPEC.loader
docs_tables = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(docs_tables)


@pytest.mark.parametrize("name", ["aggregates", "functions", "options"])
def test_every_entry_is_described(name: str) -> None:
    assert len(docs_tables.table(name)) > 200
