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


@pytest.mark.parametrize("name", ["aggregates", "functions", "options", "spark"])
def test_every_entry_is_described(name: str) -> None:
    assert len(docs_tables.table(name)) > 200


def test_the_table_of_sparks_functions_says_what_is_so() -> None:
    """Names that bind are said to be here, names that do not are not, and each of Spark's stands once."""
    here = {n for n in docs_tables.sparks() if docs_tables.is_here(n)}
    assert "session_window" in here
    assert {"date_add", "ceiling", "nvl", "ucase", "max_by", "rlike", "window", "||", "from_json"} <= here
    assert {"md5", "array", "to_timestamp", "<<"} <= here
    assert not here & {"json_tuple", "lag", "explode", "current_date", "aes_encrypt", "bit_and", "rand"}
    assert len(here) > 320
