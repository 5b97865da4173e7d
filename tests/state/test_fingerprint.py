from __future__ import annotations

from typing import Any

import pytest

from muntin.core.errors import StoreError
from muntin.state.fingerprint import check_fingerprint

STORED: dict[str, Any] = {
    "shards": 32,
    "streams": {
        "f": {"schema": {"origin": "string", "delay": "int64"}, "slack": 5},
        "w": {"schema": {"wind": "double"}},
    },
    "list": [1, (2, 3)],
}


def changed(*path: str, to: Any = None, drop: bool = False) -> dict[str, Any]:
    import copy

    new = copy.deepcopy(STORED)
    place = new
    for p in path[:-1]:
        place = place[p]
    if drop:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return new


def test_equal_ones_pass_also_after_json() -> None:
    check_fingerprint(STORED, changed("list", to=[1, [2, 3]]))


@pytest.mark.parametrize(
    ("current", "message"),
    [
        (changed("shards", to=16), "the number of shards was 32, is now 16"),
        (
            changed("streams", "f", "schema", "delay", to="string"),
            "stream 'f', column 'delay' was 'int64', is now 'string'",
        ),
        (changed("streams", "f", "schema", "delay", drop=True), "stream 'f', column 'delay' is gone"),
        (changed("streams", "f", "schema", "x", to="int64"), "stream 'f', column 'x' is new"),
        (changed("streams", "f", "slack", to=6), "stream 'f', 'slack' was 5, is now 6"),
        (changed("streams", "w", drop=True), "stream 'w' is gone"),
        (changed("streams", "z", to={}), "stream 'z' is new"),
        (changed("other", to=1), "other is new"),
    ],
)
def test_what_changed_is_said(current: dict[str, Any], message: str) -> None:
    with pytest.raises(StoreError, match="another pipeline") as e:
        check_fingerprint(STORED, current)
    assert message in str(e.value)


def test_entries_of_an_evolving_part_may_come_and_go_but_not_change() -> None:
    check_fingerprint(STORED, changed("streams", "w", drop=True), evolving=["streams"])
    check_fingerprint(STORED, changed("streams", "z", to={}), evolving=["streams"])
    with pytest.raises(StoreError, match="column 'wind'"):
        check_fingerprint(STORED, changed("streams", "w", "schema", "wind", to="int64"), evolving=["streams"])
