"""Arrow types and Spark SQL's names: both directions agree."""

from __future__ import annotations

import pyarrow as pa
import pytest

from muntin.cql.types import family, from_spark, to_spark

NAMES = [
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING", "BINARY", "DATE", "TIMESTAMP",
    "TIMESTAMP_NTZ", "INTERVAL DAY TO SECOND", "DECIMAL(10, 0)", "DECIMAL(38, 18)",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_there_and_back(name: str) -> None:
    assert to_spark(from_spark(name)) == name
    assert from_spark(name.lower().replace(", ", ",")) == from_spark(name)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("integer", pa.int32()), ("long", pa.int64()), ("varchar(20)", pa.string()), ("decimal", pa.decimal128(10, 0))],
)
def test_synonyms(name: str, kind: pa.DataType) -> None:
    assert from_spark(name) == kind


@pytest.mark.parametrize("name", ["ARRAY<WHAT>", "DECIMAL(39, 0)", "DECIMAL(3, 4)", "whatever"])
def test_refuses(name: str) -> None:
    with pytest.raises(ValueError):
        from_spark(name)


def test_other_forms_of_the_same_kind() -> None:
    assert to_spark(pa.timestamp("ns", "Europe/Rome")) == "TIMESTAMP"
    assert to_spark(pa.large_string()) == "STRING"
    assert family(pa.list_(pa.int8())) == "nested"
    assert family(pa.uint64()) == "number"
