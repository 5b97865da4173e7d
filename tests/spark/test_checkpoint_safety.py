"""A checkpoint's files: no name leads out of it, nobody else's state is read, no edited record is believed."""

from __future__ import annotations

import json
import os
import pickle
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest_spark import Feed, events
from pyspark import cloudpickle

from muntin.core.errors import StoreError
from muntin.plan.aggregates import evaluator
from muntin.session import Session
from muntin.spark.checkpoint import RECORD, Checkpoint, read_checkpoint, write_record
from muntin.spark.state_key import FILE, VARIABLE, state_key
from muntin.spark.tables import file_of


class Longest:
    """No ``subtract``: one state a pane, merged."""

    def init(self) -> list[int]:
        return []

    def add(self, state: list[int], value: int) -> list[int]:
        return sorted([*state, value])[-3:]

    def merge(self, a: list[int], b: list[int]) -> list[int]:
        return sorted([*a, *b])[-3:]

    def finish(self, state: list[int]) -> int | None:
        return sum(state) if state else None


cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file


class Evil:
    """Runs code when it is read."""

    def __reduce__(self) -> Any:
        return os.system, ("exit 7",)


def test_a_state_is_read_only_under_the_key_it_was_written_with() -> None:
    plain = evaluator("longest", Longest)
    mine = replace(plain, key=b"k" * 32)
    assert mine.unpack(mine.pack([1, 2])) == [1, 2] == plain.unpack(mine.pack([1, 2]))
    assert mine.pack([1, 2]) == mine.pack([1, 2])
    changed = bytearray(mine.pack([1, 2]))
    changed[-3] ^= 1
    forged = replace(plain, key=b"x" * 32).pack(Evil())
    for stored in (bytes(changed), forged, pickle.dumps(Evil()), plain.pack([1]), b"", b"M"):
        with pytest.raises(StoreError, match="a stored state of Longest was not written under this pipeline's key"):
            mine.unpack(stored)


def test_the_key_is_the_owners_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    first = state_key(str(tmp_path / "cp"))
    file = tmp_path / "cp" / FILE
    assert first == state_key(str(tmp_path / "cp")) and len(first or b"") == 32
    assert file.stat().st_mode & 0o777 == 0o600 and [p.name for p in file.parent.iterdir()] == [FILE]
    assert state_key(str(tmp_path / "other")) != first
    file.chmod(0o640)
    with pytest.raises(StoreError, match=r"open to others \(mode 640\); give it to the user of"):
        state_key(str(tmp_path / "cp"))
    monkeypatch.setenv(VARIABLE, "a word")
    assert state_key(str(tmp_path / "cp")) == state_key(str(tmp_path / "other")) not in (None, first)
    monkeypatch.setenv(VARIABLE, "off")
    assert state_key(str(tmp_path / "cp")) is None


RECORDED = Checkpoint("", None, -1, -1, None)


def recorded(where: Path) -> Path:
    write_record(replace(RECORDED, path=str(where)), [], 4)
    return where / RECORD


def test_an_edited_record_is_not_believed(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    record = read_checkpoint(str(tmp_path)).record
    assert record is not None and record["shards"] == 4
    for edit in ({"streams": [{}]}, {"shards": 8}, {"more": 1}, {"checksum": "0" * 64}, {"checksum": None}):
        record = json.loads(path.read_text()) | edit
        path.write_text(json.dumps(record))
        with pytest.raises(StoreError, match=r"muntin.json fails its checksum: it was edited or damaged"):
            read_checkpoint(str(tmp_path))
        recorded(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '"x"', "null", "{}", '{"format": 2}', '{"format": [2]}', "\x00"])
def test_a_damaged_record_is_a_store_error(tmp_path: Path, text: str) -> None:
    recorded(tmp_path).write_text(text)
    with pytest.raises(StoreError, match=r"muntin.json (is damaged|fails)|has format"):
        read_checkpoint(str(tmp_path))


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"id": 3}'])
def test_damaged_metadata_of_sparks_is_a_store_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "metadata").write_text(text)
    with pytest.raises(StoreError, match="metadata is damaged"):
        read_checkpoint(str(tmp_path))


NAMES = ["../../evil", "a/b", "..", "x" * 300, "Straße", "strasse", "STRASSE", "a b", "a_b", "", "\x00", "été"]


def test_table_names_become_file_names() -> None:
    made = [file_of(name) for name in NAMES]
    assert len({m.lower() for m in made}) == len(NAMES)
    assert all(len(m) < 80 and m.isascii() and "/" not in m and not m.startswith(".") for m in made)


@pytest.mark.spark
def test_a_table_of_any_name_stays_in_the_checkpoint(spark: Any, feed: Callable[[str], Feed], tmp_path: Path) -> None:
    session = Session(spark, shards=2)
    session.stream("a", feed("a").put(events(1, 0, 10, 20)).live())
    for name in ("../../evil", "x" * 300):
        session.table(name, spark.createDataFrame([(1, "one"), (2, "two")], "k BIGINT, word STRING"))
        text = f"SELECT a.k, t.word FROM a [RANGE 5 SECONDS], `{name}` t WHERE a.k = t.k"
        session.sql(text).write("blackhole")
    session.start(str(tmp_path / "cp"), "available_now").await_termination()
    assert len(list((tmp_path / "cp" / "panes" / "tables").iterdir())) == 2
    assert not list(tmp_path.rglob("*evil.arrow"))


@pytest.mark.spark
def test_states_under_another_key_are_refused(
    spark: Any, feed: Callable[[str], Feed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = feed("a").put(events(1, 0, 30, 60))

    def start() -> int:
        session = Session(spark, shards=2)
        session.stream("a", source.live())
        session.aggregate("longest", Longest, "bigint", "bigint")
        session.sql("SELECT k, longest(v) AS v FROM a [RANGE 20 SECONDS SLIDE 5 SECONDS] GROUP BY k").write()
        run = session.start(str(tmp_path / "cp"), "available_now")
        run.await_termination()
        return run.metrics().results

    monkeypatch.delenv(VARIABLE, raising=False)
    start()
    source.put(events(2, 30, 10, 60))
    monkeypatch.setenv(VARIABLE, "somebody else's")
    with pytest.raises(StoreError, match="was not written under this pipeline's key"):
        start()
    monkeypatch.delenv(VARIABLE)
    assert start() > 0
