"""What an archive refuses, and in which words."""

from __future__ import annotations

import datetime
import errno
from pathlib import Path

import pyarrow as pa
import pytest
from archives import SCHEMA, bag

from muntin.archive import Layout, create, open_archive, segments, snapshot
from muntin.archive.layout import layout_of
from muntin.core.errors import ConfigError, DataError, StoreError

ROWS = pa.table([["a", "b", None], [1, 2, 3], [1, 2, 3], [11, 12, 13]], schema=SCHEMA)


def filled(path: Path, **more: int) -> str:
    create(str(path), SCHEMA, key="k", every=5, span=10, **more).write(ROWS)
    return str(path)


def test_a_foreign_directory(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"")
    with pytest.raises(StoreError, match=r"is no archive: there is no manifest/"):
        snapshot(str(tmp_path))
    with pytest.raises(ConfigError, match="not empty"):
        create(str(tmp_path), SCHEMA, key="k", every=5, span=10)
    with pytest.raises(StoreError, match="is no archive"):
        open_archive(str(tmp_path / "nothing"))
    path = filled(tmp_path / "a")
    with pytest.raises(ConfigError, match="an archive already: open_archive"):
        create(path, SCHEMA, key="k", every=5, span=10)


@pytest.mark.parametrize("folder", ["manifest", "data"])
def test_damage(folder: str, tmp_path: Path) -> None:
    path = filled(tmp_path / "a")
    victim = max((tmp_path / "a" / folder).iterdir())
    data = bytearray(victim.read_bytes())
    for harm in (data[: len(data) // 2], data[:9] + bytes(b ^ 0xFF for b in data[9:60]) + data[60:], b""):
        victim.write_bytes(harm)
        with pytest.raises(StoreError, match=r"damaged"):
            snapshot(path).scan()
    victim.write_bytes(data)
    assert snapshot(path).scan().num_rows == 3


def test_what_cannot_be_read_is_not_called_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = filled(tmp_path / "a")

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(segments.pq, "ParquetFile", refused)
    with pytest.raises(StoreError, match=r"cannot read from the archive: .*Permission denied"):
        snapshot(path).scan()


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    path = filled(tmp_path / "a")
    found = snapshot(path)
    for file in (tmp_path / "a" / "data").iterdir():
        file.unlink()
    with pytest.raises(StoreError, match="is no longer kept"):
        found.scan()


def test_two_writers(tmp_path: Path) -> None:
    path = filled(tmp_path / "a")
    one, two = open_archive(path), open_archive(path)
    one.write(ROWS)
    with pytest.raises(StoreError, match="another process writes to it"):
        two.write(ROWS)
    assert bag(snapshot(path).scan()) == dict.fromkeys(bag(ROWS), 2)


def test_rows_that_do_not_fit(tmp_path: Path) -> None:
    archive = open_archive(filled(tmp_path / "a"))
    with pytest.raises(ConfigError, match=r"lack \['v'\] and have \['w'\]"):
        archive.write(ROWS.rename_columns(["k", "w", "ts", "exp"]))
    with pytest.raises(ConfigError, match="do not fit the types"):
        archive.write(ROWS.set_column(1, "v", pa.array(["x", "y", "z"])))
    with pytest.raises(DataError, match="1 rows have no exp"):
        archive.write(ROWS.set_column(3, "exp", pa.array([5, None, 5])))
    assert archive.manifest.version == 1


def test_designs_that_do_not_fit(tmp_path: Path) -> None:
    cases = [
        ({"key": "x"}, "which is no column"), ({"time": "k"}, "takes as times"), ({"every": 0}, "update interval"),
        ({"every": 11}, "update interval"), ({"block_rows": 0}, "are 1 or more"),
    ]  # fmt: skip
    for given, words in cases:
        with pytest.raises(ConfigError, match=words):
            create(str(tmp_path / "a"), SCHEMA, **{"key": "k", "every": 5, "span": 10, **given})
    nested = pa.schema([("k", pa.list_(pa.int64())), *list(SCHEMA)[2:]])
    with pytest.raises(ConfigError, match="no order to cluster"):
        create(str(tmp_path / "a"), nested, key="k", every=5, span=10)
    for text in ("3", "0x2", "R-ins", "X-ins3", "99x99"):
        with pytest.raises(ConfigError):
            layout_of(text)
    assert str(layout_of("D-exp3")) == "1x3 chronological norebuild"


def test_requests_that_do_not_fit(tmp_path: Path) -> None:
    found = snapshot(filled(tmp_path / "a"))
    with pytest.raises(ConfigError, match="the archive stands at 3"):
        found.scan(as_of=2)
    with pytest.raises(ConfigError, match="is no instant"):
        found.scan(since="tomorrow")
    with pytest.raises(ConfigError, match="not both"):
        found.wanted(key="a", low="b")


def test_instants_and_keys_of_other_types(tmp_path: Path) -> None:
    us = pa.timestamp("us", "UTC")
    schema = pa.schema([("d", pa.decimal128(9, 2)), ("ts", us), ("exp", us)])
    at = datetime.datetime(2013, 1, 1, tzinfo=datetime.UTC)
    hours = [at + datetime.timedelta(hours=h) for h in range(5)]
    rows = pa.table(
        [pa.array(["1.50", "2.00", "2.00", None]).cast(schema[0].type), hours[:4], hours[1:]], schema=schema
    )
    hour = 3_600_000_000
    archive = create(str(tmp_path / "a"), schema, key="d", every=hour, span=10 * hour, layout=Layout(3, 3))
    archive.write(rows, now=int(at.timestamp()) * 1_000_000)
    found = archive.snapshot()
    assert found.probe("2.00").num_rows == 2 and found.probe(None).num_rows == 1
    assert found.probe("2.00", since="2013-01-01T02:00:00").num_rows == 1
    assert found.scan(until="2013-01-01T01:00:00+01:00").num_rows == 1
    assert found.scan(as_of=hours[2]).num_rows == 2
    with pytest.raises(ConfigError, match="is no value of the key"):
        found.probe("many")


def test_reading_prunes(tmp_path: Path) -> None:
    archive = create(str(tmp_path / "a"), SCHEMA, key="k", every=5, span=10, block_rows=10)
    rows = [[f"k{i:03}" for i in range(200)], list(range(200)), [1] * 200, [9] * 200]
    archive.write(pa.table(rows, schema=SCHEMA))
    found = archive.snapshot()
    assert found.probe("k042").num_rows == 1 and (found.work.blocks, found.work.rows) == (1, 10)
    assert found.paths(found.wanted(key="nobody")) == []
    assert found.stats()["rows"] == 200 and found.stats()["cells"][0]["index"] == "buffer"
    archive.write(None, now=20)
    assert archive.snapshot().stats()["rows"] == 0 and archive.snapshot().scan().num_rows == 0
