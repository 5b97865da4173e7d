"""Regular expressions in the form that all share: the evaluators over columns and over single texts find the same."""

from __future__ import annotations

from itertools import product
from random import Random

import pyarrow as pa
import pytest

from muntin.cql.regexes import regex
from muntin.plan.exprs import Call, Column, Literal
from muntin.reference import eval_expr
from muntin.scalars.evaluate import evaluate

PATTERNS = [
    "a\n(b)", "a\\\n(b)", "[](](b)", "[](]*(b)", "[^\\](](.)", "(a)|(b)", "(a|b)+$", "\\s(.)", "[\\s(]+(\\S)",
    "(?:a(b)?)+",
]  # fmt: skip
TEXTS = ["".join(Random(seed).choices("ab\n\x0b]( \t", k=6)) for seed in range(200)] + ["", "a\nb", "\x0bb"]


@pytest.mark.parametrize(("pattern", "fn"), [*product(PATTERNS, ("rlike", "regexp_extract"))])
def test_both_find_the_same(pattern: str, fn: str) -> None:
    made = regex(pattern)
    text, shared = Column("s", pa.string()), Literal(made.text, pa.string())
    found = []
    for group in range(made.groups + 1):
        e = Call("rlike", (text, shared), pa.bool_())
        if fn == "regexp_extract":
            e = Call(fn, (text, shared, Literal(group, pa.int32())), pa.string())
        found.append(evaluate(e, pa.record_batch({"s": TEXTS})).to_pylist())
        assert found[-1] == [eval_expr(e, {"s": s}) for s in TEXTS]
    assert all(len(set(values)) > 1 for values in found)


def test_a_space_is_what_it_is_to_java() -> None:
    batch = pa.record_batch({"s": list(" \t\n\x0b\f\ra\u00a0")})
    e = Call("rlike", (Column("s", pa.string()), Literal(regex("\\s").text, pa.string())), pa.bool_())
    assert evaluate(e, batch).to_pylist() == [True] * 6 + [False] * 2
