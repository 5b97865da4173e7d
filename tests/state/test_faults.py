from __future__ import annotations

from pathlib import Path

import pytest

from muntin.state.faults import fault, parse


def test_unset_does_nothing() -> None:
    fault("chunks:before")


def test_passes_are_counted(tmp_path: Path) -> None:
    plan = parse("manifest:after:3")
    assert [plan.due() for _ in range(5)] == [False, False, True, False, False]
    shared = [parse(f"manifest:after:3:{tmp_path / 'passes'}") for _ in range(5)]
    assert [p.due() for p in shared] == [False, False, True, False, False]


@pytest.mark.parametrize("text", ["manifest:after", "nowhere:before:1", "1", "manifest:after:x"])
def test_a_wrong_variable_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected POINT:N"):
        parse(text)
