"""The outcome of a case, and how it is printed: one line a case, the counts last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal as OneOf

Status = OneOf["PASS", "FAIL", "UNSUPPORTED"]


@dataclass(frozen=True)
class CaseResult:
    """``detail``: the difference of a FAIL, the reason of an UNSUPPORTED, empty for a PASS."""

    id: str
    status: Status
    detail: str = ""


def render(result: CaseResult) -> str:
    """One line: the word, the id, and the detail with its line breaks folded."""
    detail = " ".join(result.detail.split())
    return f"{result.status} {result.id}" + (f": {detail}" if detail else "")


def summary(results: Sequence[CaseResult]) -> str:
    """The counts: ``53 passed, 0 failed, 162 unsupported``."""
    count = Counter(r.status for r in results)
    return f"{count['PASS']} passed, {count['FAIL']} failed, {count['UNSUPPORTED']} unsupported"


def exit_status(results: Sequence[CaseResult]) -> int:
    """0 only if nothing failed."""
    return 1 if any(r.status == "FAIL" for r in results) else 0
