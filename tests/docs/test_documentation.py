"""Every example of the documentation runs, and prints what the page says (MUNTIN_UPDATE_DOCS=1 writes it instead)."""

from __future__ import annotations

import os
from pathlib import Path

import pages
import pytest

ALL = pages.pages()


def names(page: Path) -> str:
    return page.name


def having(kind: str) -> list[Path]:
    return [page for page in ALL if any(b.info == kind for b in pages.blocks(page.read_text()))]


def check(page: Path, kind: str) -> None:
    if os.environ.get("MUNTIN_UPDATE_DOCS"):
        page.write_text(pages.updated(page, kind))
        return
    for block, printed, shown in pages.run(page, page.read_text(), kind):
        if shown is None:
            assert not printed, f"{page.name}, line {block.line}: prints what the page does not show:\n{printed}"
        else:
            assert pages.tidy(printed) == pages.tidy(shown.body), f"{page.name}, line {block.line}"


@pytest.mark.filterwarnings("ignore:.*have no usable event time:UserWarning")
@pytest.mark.parametrize("page", having("python"), ids=names)
def test_examples_in_process(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check(page, "python")


@pytest.mark.spark
@pytest.mark.parametrize("page", having("{.python .spark}"), ids=names)
def test_examples_on_spark(page: Path, spark: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check(page, "{.python .spark}")
