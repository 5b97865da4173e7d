from __future__ import annotations

from typing import Any

import pytest

from muntin.spark.slots import murmur3_int, shards_of_slot, slot_ids, slots_of_shards

pytestmark = pytest.mark.spark


def test_the_hash_is_sparks_own(spark: Any) -> None:
    numbers = [0, 1, 2, -5, 123456, 2**31 - 1, -(2**31)]
    theirs = spark.sql("SELECT " + ", ".join(f"hash(cast({n} AS INT))" for n in numbers)).first()
    assert [murmur3_int(n) for n in numbers] == list(theirs)


def test_every_slot_gets_a_partition_of_its_own(spark: Any) -> None:
    for partitions in (1, 2, 3, 7, 8):
        ids = slot_ids(partitions)
        rows = spark.createDataFrame([(i,) for i in ids], "slot INT").repartition(partitions, "slot")
        found = rows.selectExpr("slot", "spark_partition_id() AS p").collect()
        assert sorted(r.p for r in found) == list(range(partitions))


def test_shards_are_spread_evenly_and_each_is_in_one_slot() -> None:
    slots = slots_of_shards(10, 3)
    placed = [s for slot in set(slots) for s in shards_of_slot(slot, 10, 3)]
    assert sorted(placed) == list(range(10))
    assert sorted(slots.count(s) for s in set(slots)) == [3, 3, 4]
    assert len(set(slots_of_shards(2, 8))) == 2
