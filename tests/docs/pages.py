"""Pages of the documentation as lists of fenced blocks, and how a block's output is compared or written."""

from __future__ import annotations

import contextlib
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[2] / "docs"
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```[ ]*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: the words after its fence, its text, its line, and where its text stands in the page."""

    info: str
    body: str
    line: int
    span: tuple[int, int]


def pages() -> list[Path]:
    """The README and all pages."""
    return [DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md"))]


def blocks(text: str) -> list[Block]:
    found = []
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start()) + 2
        found.append(Block(match["info"].strip(), match["body"], line, match.span("body")))
    return found


def run(page: Path, text: str, kind: str) -> list[tuple[Block, str, Block | None]]:
    """What blocks of this kind print, in one namespace: (block, what it prints, the output that the page shows)."""
    scope: dict[str, Any] = {"__name__": "__docs__"}
    found, all_blocks = [], blocks(text)
    for i, block in enumerate(all_blocks):
        if block.info != kind:
            continue
        code = compile("\n" * (block.line - 1) + block.body, str(page), "exec")
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(code, scope)
            for name in re.findall(r"^def (test_\w+)\(\)", block.body, re.MULTILINE):
                scope[name]()
        shown = all_blocks[i + 1] if i + 1 < len(all_blocks) and all_blocks[i + 1].info == "text" else None
        found.append((block, out.getvalue(), shown))
    return found


def tidy(text: str) -> list[str]:
    """Lines without what editors strip from their ends."""
    return [line.rstrip() for line in text.strip().splitlines()]


def updated(page: Path, kind: str) -> str:
    """The page with its outputs as they are now."""
    text = page.read_text()
    for _, printed, shown in reversed(run(page, text, kind)):
        if shown is not None:
            body = "\n".join(tidy(printed)) + "\n"
            text = text[: shown.span[0]] + body + text[shown.span[1] :]
    return text
