"""Which runs have the JVM write Spark's files of the checkpoint by itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError, Py4JJavaError

from muntin.spark.checkpoint_files import EMBEDDED, OPTION, written_by_the_jvm

MINE = {EMBEDDED: "true"}
HERE, BEFORE = (
    f"org.apache.spark.sql.execution.streaming.{p}FileSystemBasedCheckpointFileManager" for p in ("checkpointing.", "")
)


class Conf(dict[str, str]):
    """A session's, as PySpark has it."""

    set = dict.__setitem__
    unset = dict.pop


class Missing(Py4JJavaError):
    def __init__(self) -> None:
        Exception.__init__(self, "java.lang.ClassNotFoundException")


def session(conf: dict[str, str], *classes: str) -> Any:
    def found(name: str) -> None:
        if name not in classes:
            raise Missing

    jvm = SimpleNamespace(java=SimpleNamespace(lang=SimpleNamespace(Class=SimpleNamespace(forName=found))))
    return SimpleNamespace(conf=Conf(conf), _jvm=jvm)


@pytest.mark.parametrize("there", [HERE, BEFORE])
@pytest.mark.parametrize("path", ["/data/state", "state", "file:///data/state", "file:/data/state"])
def test_a_local_checkpoint_of_a_session_of_ours(there: str, path: str) -> None:
    spark = session(MINE, there)
    with written_by_the_jvm(spark, path):
        assert spark.conf == {**MINE, OPTION: there}
    assert spark.conf == MINE, "other streams of the session may be elsewhere"
    with pytest.raises(Py4JError), written_by_the_jvm(spark, path):
        raise Py4JError("no")
    assert spark.conf == MINE


@pytest.mark.parametrize(
    ("conf", "path"),
    [
        ({}, "/data/state"),
        (MINE, "hdfs://name/state"),
        (MINE, "s3a://bucket/state"),
        ({**MINE, OPTION: "org.Another"}, "/data/state"),
    ],
    ids=["a session that was given", "hdfs", "s3", "chosen"],
)
def test_all_others_stay_as_they_are(conf: dict[str, str], path: str) -> None:
    spark = session(conf, HERE, "org.Another")
    with written_by_the_jvm(spark, path):
        assert spark.conf == conf


def test_a_release_without_the_class_stays_as_it_is() -> None:
    spark = session(MINE)
    with written_by_the_jvm(spark, "/data/state"):
        assert spark.conf == MINE


@pytest.mark.spark
def test_this_release_has_the_class_and_the_session_is_ours(spark: Any) -> None:
    assert spark.conf.get(EMBEDDED) == "true"
    chosen = spark.conf.get(OPTION)  # as the tests have it for other streams, too
    spark.conf.unset(OPTION)
    try:
        with written_by_the_jvm(spark, "/data/state"):
            assert spark.conf.get(OPTION) == chosen
        assert spark.conf.get(OPTION, None) is None
    finally:
        spark.conf.set(OPTION, chosen)
