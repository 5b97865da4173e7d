"""Texts of JSON on a tape: what stands where, and what is no JSON."""

from __future__ import annotations

import pyarrow as pa
import pytest

from muntin.kernels.json_paths import children, named
from muntin.kernels.json_tape import (
    ARRAY,
    CONTROLS,
    INT,
    MALFORMED,
    MISSING,
    NAN,
    NON_NUMBERS,
    OBJECT,
    ODD,
    STRING,
    tape,
)
from muntin.kernels.json_text import strings


def test_values_stand_in_order_with_their_texts() -> None:
    t = tape(pa.array([None, ' {"a" : [1, "x\\n"], "b":{}} ', "  ", "7"]), 0)
    assert t.roots.tolist() == [MISSING, 0, MISSING, 7]
    assert t.kinds.tolist() == [OBJECT, STRING, ARRAY, INT, ODD, STRING, OBJECT, INT]
    assert t.after.tolist() == [7, 2, 5, 4, 5, 6, 7, 8]
    assert [bytes(t.data[a:b]) for a, b in zip(t.starts, t.ends, strict=True)] == [
        b'{"a" : [1, "x\\n"], "b":{}}', b"a", b'[1, "x\\n"]', b"1", b"x\\n", b"b", b"{}", b"7",
    ]  # fmt: skip


def test_children_and_names() -> None:
    t = tape(pa.array(['{"a":1,"\\u0061":[2,[3]],"b":4}', "[5, {}]"]), 0)
    offsets, keys, items = children(t, t.roots, OBJECT)
    assert offsets.tolist() == [0, 3, 3] and strings(t, keys).to_pylist() == ["a", "a", "b"]
    found = named(t, t.roots, ["b", "a", "c"])
    assert found.tolist() == [[items[2], items[1], -1], [-1, -1, -1]]
    assert named(t, t.roots[:1], ["a"], found[:1, 1:2]).tolist() == [[items[0]]]
    offsets, elements, _ = children(t, t.roots, ARRAY)
    assert offsets.tolist() == [0, 0, 2] and t.kinds[elements].tolist() == [INT, OBJECT]


@pytest.mark.parametrize(
    "text",
    ["{", "[1,]", "[1 2]", '{"a"}', '{"a":}', "{a:1}", "01", "1.", "-", "+1", "5x", '"a', r'"\x"', r'"\u12"', "tru",
     "nulls", "}", "[}", ",", "NaN", "'a\"", "\x0b1"],
)  # fmt: skip
def test_what_is_no_json(text: str) -> None:
    t = tape(pa.array(["[1]", text, "[2]"]), CONTROLS)
    assert t.roots[1] == MALFORMED and t.roots[0] == 0 and t.kinds[t.roots[2]] == ARRAY


def test_what_readers_allow() -> None:
    texts = pa.array(['"\x01"', "NaN"])
    assert tape(texts, 0).roots.tolist() == [MALFORMED, MALFORMED]
    assert tape(texts, CONTROLS).kinds.tolist() == [ODD]
    assert tape(texts, NON_NUMBERS).kinds.tolist() == [NAN]
