"""The page with the three programs shows their files as they are."""

from __future__ import annotations

import re

import pages

TITLE = re.compile(r'(?:python|toml) title="(.+)"')
EXAMPLES = pages.DOCS.parent / "examples"


def test_the_files_are_shown_as_they_are() -> None:
    found = [(TITLE.fullmatch(b.info), b) for b in pages.blocks((pages.DOCS / "programs.md").read_text())]
    shown = {title[1]: block.body for title, block in found if title}
    files = [f for f in EXAMPLES.rglob("*") if f.suffix in (".py", ".toml")]
    assert shown == {str(f.relative_to(EXAMPLES)): f.read_text() for f in files}
    assert len(shown) == 7
