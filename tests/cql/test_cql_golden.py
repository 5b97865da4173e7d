"""Every case of the golden scripts gives the plan, or the error, that the script says; plans survive the round trip."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cql_golden import SCRIPTS, Case, cases_of, outcome, rewrite

if os.environ.get("MUNTIN_GOLDEN") == "write":
    for script in sorted(SCRIPTS.glob("*.cql")):
        rewrite(script)

ALL = [pytest.param(c, id=f"{p.stem}-{c.title}") for p in sorted(SCRIPTS.glob("*.cql")) for c in cases_of(p)]
TAGS = {
    "aggregate", "alias", "derived", "error", "expression", "group", "having", "internal", "join", "later", "names",
    "output", "restore", "set", "subquery", "syntax", "table", "time", "top", "types", "view", "window", "wstream",
}  # fmt: skip


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("*.cql")), ids=lambda p: p.stem)
def test_titles_are_unique(path: Path) -> None:
    titles = [c.title for c in cases_of(path)]
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize("case", ALL)
def test_case(case: Case) -> None:
    assert set(case.tags) <= TAGS
    assert ("error" in case.tags) == case.expected.startswith("error: ")
    assert ("later" in case.tags) == case.expected.startswith("unsupported: ")
    assert outcome(case) == case.expected
