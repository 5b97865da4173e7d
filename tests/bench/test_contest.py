"""A contest: answers are compared before anything is timed, engines take turns, the report has one record an engine."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from muntin.bench import contest, flink_env, record
from muntin.bench.cases import contests, join3, window_join
from muntin.bench.contest import Contest, equal_answers
from muntin.bench.load import Load, Place


@dataclass
class Pace:
    """An engine that takes ``seconds`` a turn for 100 rows, and writes down its turns."""

    engine: str
    step: float
    diary: list[str]
    load: Load = field(default_factory=lambda: Load(50, 1))
    rows: int = 0
    results: int = 0
    seconds: float = 0.0

    def answers(self, place: Place, files: int, size: int) -> Any:
        self.diary.append(f"{self.engine} answers {files} x {size}")
        return self.engine

    def start(self, place: Place) -> Pace:
        self.diary.append(f"{self.engine} starts")
        return self

    def turn(self) -> None:
        self.diary.append(self.engine)
        self.rows, self.results, self.seconds = self.rows + 100, self.results + 7, self.seconds + self.step

    def account(self, case: str) -> list[str]:
        return [f"{case}, {self.engine}: all of it"]

    def stop(self) -> None:
        self.diary.append(f"{self.engine} stops")

    def close(self) -> None:
        self.diary.append(f"{self.engine} closes")


class NoSpark:
    """Takes configuration and forgets it."""

    @property
    def conf(self) -> NoSpark:
        return self

    def set(self, *_: str) -> None: ...


@pytest.mark.parametrize("equal", [True, False])
def test_engines_answer_first_and_then_take_turns(equal: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    diary: list[str] = []
    sides = tuple(Pace(e, s, diary) for e, s in (("spark", 8.0), ("muntin", 2.0), ("flink", 4.0)))
    monkeypatch.setattr(contest, "equal_answers", lambda frames: diary.append(f"compare {' '.join(frames)}") or equal)
    said: list[str] = []
    found = contest.run(Contest("b", "c", 2, sides, (3, 40), rounds=2), NoSpark(), said.append)
    names = ["spark", "muntin", "flink"]
    assert diary == [
        *(f"{e} answers 3 x 40" for e in names), "compare spark muntin flink", *(f"{e} starts" for e in names),
        *names, *names, *(f"{e} stops" for e in names), *(f"{e} closes" for e in names),
    ]  # fmt: skip
    assert said[0] == "c: comparing answers on 240 rows" and said[-1] == "c, flink: all of it"
    assert [(r.engine, r.rows, r.results, r.seconds, r.rows_per_s, r.speedup) for r in found] == [
        ("spark", 200, 14, 16.0, 12.5, 4.0), ("muntin", 200, 14, 4.0, 50.0, 1.0), ("flink", 200, 14, 8.0, 25.0, 2.0)
    ]  # fmt: skip
    assert {r.answers_equal for r in found} == {equal}
    record.write_json(found, tmp_path / "out.json")
    written = json.loads((tmp_path / "out.json").read_text())
    assert list(written[2]) == [
        "bench", "case", "engine", "rows", "results", "seconds", "rows_per_s", "speedup", "answers_equal"
    ]  # fmt: skip
    assert written[2]["engine"] == "flink" and ("DIFFER" in record.lines(found)[3]) != equal


def test_an_engine_that_fails_leaves_none_running() -> None:
    diary: list[str] = []

    class Broken(Pace):
        def start(self, place: Place) -> Pace:
            raise RuntimeError("no")

    sides = (Pace("muntin", 1.0, diary), Broken("flink", 1.0, diary))
    with pytest.MonkeyPatch.context() as patch, pytest.raises(RuntimeError, match="no"):
        patch.setattr(contest, "equal_answers", lambda _: True)
        contest.run(Contest("b", "c", 1, sides, (1, 1)), NoSpark())
    assert diary[-3:] == ["muntin stops", "muntin closes", "flink closes"]


def test_answers_are_compared_on_all_that_spark_is_timed_on() -> None:
    for c in contests("window-join") + contests("sliding-sum"):
        load = next(s.load for s in c.sides if s.engine == "spark")
        assert c.checked == (1 + load.warm + c.rounds * load.files, load.size)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("third", "equal"),
    [
        ("VALUES (1, 5), (2, 5), (2, 5)", True),
        ("VALUES (1, 5), (2, 5), (2, 5), (3, 9)", True),
        ("VALUES (1, 5), (2, 5)", False),
        pytest.param("VALUES (1, 5), (1, 5), (2, 5)", False, marks=pytest.mark.slow),
        pytest.param("VALUES (1, 5), (2, 5), (2, NULL)", False, marks=pytest.mark.slow),
        pytest.param("VALUES (1, 5), (2, 5) LIMIT 0", False, marks=pytest.mark.slow),
    ],
)
def test_answers_are_equal_as_bags_up_to_the_last_common_instant(spark: Any, third: str, equal: bool) -> None:
    texts = ["VALUES (2, 5), (1, 5), (2, 5)"] * 2 + [third]
    frames = [spark.sql(f"SELECT timestamp_seconds(col1) AS t, col2 AS v FROM ({text})") for text in texts]
    assert equal_answers(frames) is equal


@pytest.mark.slow
@pytest.mark.spark
def test_three_windows_join_as_two_joins_of_spark(spark: Any) -> None:
    found = contest.run(join3(Load(12_000, 1), Load(12_000, 1), rounds=1), spark)
    engines = ["spark", "muntin", "muntin-df"]
    assert [(r.case, r.engine, r.answers_equal) for r in found] == [("join3", e, True) for e in engines]
    assert [r.rows for r in found] == [36_000] * 3 and min(r.results for r in found) > 100_000


@pytest.mark.spark
@pytest.mark.slow
def test_flink_gives_the_same_answers(spark: Any) -> None:
    try:
        flink_env.make(print)
    except flink_env.FlinkMissingError as e:
        pytest.skip(str(e))
    found = contest.run(window_join(Load(12_000, 1), Load(12_000, 1), Load(12_000, 1), rounds=1), spark)
    assert [(r.engine, r.rows, r.answers_equal) for r in found] == [
        (e, 24_000, True) for e in ("spark", "muntin", "muntin-df", "flink")
    ]
    assert min(r.results for r in found) > 100_000
