"""What the driver decides before a batch, without Spark: kept, found again, shared out among queries."""

from __future__ import annotations

from pathlib import Path

import pytest

from muntin.core.errors import ConfigError, StoreError
from muntin.engine.boxes import Scanned, stream_shares
from muntin.engine.harvesting import Given
from muntin.engine.pace import Pace
from muntin.operators.joins.harvest import PARTS
from muntin.plan.windows import QueryOptions
from muntin.spark.overload import (
    KEPT,
    SMALLEST,
    Admitted,
    Decision,
    HarvestedJoin,
    Overload,
    Policy,
    Traffic,
    count_harvest,
    exploring_every,
    harvest_counts,
    interval_of,
    newest_decision,
    path_of,
    policies,
    read_decision,
    write_decision,
)

AB = (Scanned("a", 10.0), Scanned("b", 10.0))
RULES = {"d": Policy(AB, "drop", 0.2, 0), "n": Policy(AB[:1], "never", 0.0, 0)}


def test_a_decision_is_made_once(tmp_path: Path) -> None:
    store = str(tmp_path)
    first = Overload(store, RULES, Pace(1.0, fraction=0.75, sustained=10.0), _measured=Traffic({"d": 100, "n": 100}))
    first.decide(7)
    share = pytest.approx(0.5**1.5, abs=0.01)
    assert first.current.of("d") == {"a": share, "b": share} and first.current.of("n") == {}
    # of two new rows of a second each, half meet windows of ten seconds of which one has fewer rows
    assert first.answer("d") == pytest.approx(0.354 * (0.354 + 9) / 10, abs=0.02) and first.answer("n") == 1
    again = Overload(store, RULES, Pace(1.0))
    again.decide(7)
    assert again.current == first.current
    again.resume(8)
    assert again.pace is not None and (again.pace.fraction, again.pace.sustained) == (0.75, 10.0)
    once = Overload(store, RULES, None)
    once.resume(8)
    once.decide(8)
    assert once.current == Decision() == read_decision(store, 8) and once.pace is None


def test_a_query_that_reads_tables_alone_loses_nothing(tmp_path: Path) -> None:
    rules = {**RULES, "t": Policy((), "drop", 0.0, 0)}
    for batch, fraction in enumerate((1.0, 0.3)):
        found = Overload(str(tmp_path), rules, Pace(1.0, fraction=fraction), _measured=Traffic({"d": 100, "n": 1}))
        found.decide(batch)
        assert found.current.of("t") == {} and found.answer("t") == 1 and (found.answer("d") < 1) == (fraction < 1)


def test_floors_are_kept(tmp_path: Path) -> None:
    found = Overload(
        str(tmp_path), RULES, Pace(1.0, fraction=0.01), _measured=Traffic({"d": 100, "n": 100})
    )
    found.decide(0)
    assert found.current.of("d")["a"] == 0.2 and found.current.fractions == {"d": 0.2, "n": 1.0}


def test_a_join_reads_parts_in_turn_then_the_best_and_drops_where_rows_cost_too_much(tmp_path: Path) -> None:
    rules = {"h": Policy(AB, "harvest", 0.0, 0)}
    joins = {"v": HarvestedJoin(2, ("h",))}
    found = Overload(str(tmp_path), rules, Pace(1.0, fraction=0.25), joins, _measured=Traffic({"h": 100}))
    found.decide(0)  # nothing is known of its windows yet: parts are read in turn
    assert found.current.harvest == {"v": {"0,1": [0, 1, 2, 3], "1,0": [0, 1, 2, 3]}}
    assert found.current.of("h") == {} and found.current.fractions == {"h": 0.25} and found.current.explored is None
    counts = {(i, 1 - i, k): (100, 1000, 500 if k == 3 and i else 10, 0) for i in (0, 1) for k in range(PARTS)}
    found.done(0, 0.0, 0.7, Traffic({"h": 100}, {"a": 50, "b": 50}, {"h": 9}), {"v": counts})
    found.pace = Pace(1.0, fraction=0.25)
    found.decide(1)
    parts = found.current.harvest["v"]
    assert found.current.of("h") == {} and 3 in parts["1,0"] and len(parts["0,1"]) + len(parts["1,0"]) < PARTS
    assert 0.2 < found.current.fractions["h"] < 0.35 and 0.4 < found.answer("h") < 0.9
    read = {key: n if key[2] in (0, 3) else (0, 0, 0, 100) for key, n in counts.items()}  # 530 partners of 810
    found.done(1, 1.0, 1.7, Traffic({"h": 100}, {"a": 50, "b": 50}, {"h": 530}), {"v": read})
    assert found.answer("h") == pytest.approx(530 / 810) and found.given("h", 530).there == pytest.approx(810)
    assert found.given("h", 0).there == pytest.approx(810), "what was not found is missing all the same"
    assert 0 < found.given("h", 530).error < 810
    found.pace = Pace(1.0, fraction=SMALLEST / 2)
    found.decide(2)
    assert 0.5**1.5 < found.current.of("h")["a"] < 0.5**0.75  # results are work, too
    found.done(2, 2.0, 8.0, Traffic({"h": 100}, {"a": 50, "b": 50}, {"h": 9}), {})  # six seconds of windows of ten
    found.pace = Pace(1.0, fraction=0.25)
    found.decide(3)
    assert found.current.harvest == {"v": {}} and max(found.current.of("h").values()) < 0.6
    assert found.current.fractions == {"h": 0.25}
    shared = Overload(str(tmp_path / "b"), rules, Pace(1.0, fraction=0.5), _measured=Traffic({"h": 100}))
    shared.decide(0)  # its join is another query's, too
    assert shared.current.of("h") == {s: pytest.approx(0.5**1.5) for s in "ab"} and shared.current.harvest == {}


def test_looking_into_other_parts_takes_a_share_of_what_can_be_done() -> None:
    assert [exploring_every(f) for f in (1.0, 0.25, 0.1, 1 / 32)] == [1, 1, 3, 8]


def test_windows_hold_what_earlier_batches_admitted() -> None:
    kept = Admitted((Scanned("a", 10.0), Scanned("b", 20.0)))
    for _ in range(9):
        kept.add(5.0, {"a": 0.5, "b": 0.2})
    assert len(kept.past) <= 5
    assert kept.held(Scanned("b", 20.0), {"b": 1.0}, 5.0) == pytest.approx(0.25 * 1 + 0.75 * 0.2)
    assert kept.answer({"a": 0.5, "b": 0.2}, 5.0) == pytest.approx(0.1)
    mixed = (1.0 * 0.4 + 1.0 * 0.75) / 2  # a new row of a meets b's window, one of b meets a's
    assert kept.answer({"a": 1.0, "b": 1.0}, 5.0) == pytest.approx(mixed)
    assert Admitted((Scanned("a", None),)).answer({"a": 0.3}, 1.0) == 0.3


def test_a_slow_batch_sheds_and_a_return_restores(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    found = Overload(str(tmp_path), {"d": Policy(AB[:1], "drop", 0.0, 0)}, Pace(2.0))
    shown = []
    for batch in range(14):
        found.decide(batch)
        kept = found.current.fractions.get("d", 1.0)
        shown.append(kept)
        rows = 3000 if 4 <= batch < 10 else 900
        seconds = 0.2 + rows * kept / 1000
        found.done(batch, 2.0 * batch, 2.0 * batch + seconds, Traffic({"d": rows}), {})
    assert shown[:5] == [1.0] * 5 and all(0.2 < s < 0.7 for s in shown[5:10])
    assert shown[11:] == [1.0] * 3
    assert "left out (" in caplog.text and "taken in again" in caplog.text


def test_queries_that_cost_little_lose_nothing_for_one_that_costs_much(tmp_path: Path) -> None:
    wanted = {"alerts": ("never", 0), "counts": ("drop", 1), "pairs": ("drop", 0)}
    rules = {name: Policy(AB[:1], shed, 0.0, priority) for name, (shed, priority) in wanted.items()}  # type: ignore[arg-type]
    each = {"alerts": 1e-5, "counts": 1e-5, "pairs": 2e-3}
    found, at, took = Overload(str(tmp_path), rules, Pace(2.0)), 0.0, []
    for batch in range(30):
        found.decide(batch)
        rows = 900 if batch < 6 else 3000
        seconds = {s: rows * e * found.current.fractions.get(s, 1.0) for s, e in each.items()}
        took.append(0.2 + sum(seconds.values()))
        found.done(batch, at, at + took[-1], Traffic(dict.fromkeys(rules, rows), {"a": rows}, {}, seconds), {})
        at += max(2.0, took[-1])
        assert found.current.fractions.get("counts", 1.0) == 1
    assert max(took[12:]) - min(took[12:]) < 0.1 and took[-1] == pytest.approx(1.6, abs=0.1), "0.8 of the interval"
    assert 0.2 < found.current.fractions["pairs"] < 0.25


def test_scaled_values_stand_on_a_share_of_the_rows(tmp_path: Path) -> None:
    rules = {"d": Policy(AB[:1], "drop", 0.0, 0)}
    found = Overload(str(tmp_path), rules, Pace(1.0, fraction=0.25), scaled=frozenset("d"))
    found.decide(0)
    assert found.given("d", 40, 1000) == Given(250, 1000) and found.given("d", 40) == Given()


def test_boxes_are_where_they_cost_least() -> None:
    fast = stream_shares(AB, {"a": 50_000, "b": 10}, 1e6, 0.1)
    assert fast["b"] == 1 and fast["a"] == pytest.approx(0.1, rel=0.01)
    even = stream_shares(AB, {"a": 1000, "b": 1000}, 1e6, 0.3)  # results are the work: a share of them is kept
    assert even["a"] * even["b"] == pytest.approx(0.3, rel=0.05)
    cheap = stream_shares(AB, {"a": 1000, "b": 1000}, 1.0, 0.3)
    assert cheap == {"a": pytest.approx(0.3, rel=0.02), "b": pytest.approx(0.3, rel=0.02)}
    even_floor = {"a": 0.31, "b": 0.31}
    uniform = {"a": 0.3, "b": 0.3}
    assert stream_shares(AB, {}, 1.0, 0.3) == uniform
    assert stream_shares(AB, {"a": 9, "b": 9}, 1.0, 0.3, floor=0.31) == even_floor
    assert stream_shares((*AB, Scanned("c", None)), {"a": 1, "b": 1, "c": 1}, 1, 0.3) == {**uniform, "c": 0.3}
    assert stream_shares((AB[0], AB[0]), {"a": 1}, 1, 0.3) == {"a": 0.3}


def test_old_and_damaged_decisions(tmp_path: Path) -> None:
    store = str(tmp_path)
    for batch in range(KEPT + 3):
        write_decision(store, batch, Decision(fractions={"x": batch / 100}))
    assert read_decision(store, 2) is None and read_decision(store, 3) is not None
    newest = newest_decision(store, 10)
    assert newest is not None and newest.fractions == {"x": 0.1}
    assert newest_decision(str(tmp_path / "nowhere"), 10) is None
    where = Path(path_of(store, 5))
    where.write_text(where.read_text().replace("0.05", "0.06"))
    with pytest.raises(StoreError, match="fails its checksum"):
        read_decision(store, 5)
    where.write_text("{")
    with pytest.raises(StoreError, match="is damaged"):
        read_decision(store, 5)


def test_queries_of_one_answer_lose_what_the_strictest_allows() -> None:
    loose, strict = QueryOptions(shed="drop", quality=0.1, priority=1), QueryOptions(shed="harvest", quality=0.3)
    assert policies([("s", AB, loose), ("s", AB, strict)]) == {"s": Policy(AB, "harvest", 0.3, 1)}
    assert policies([("s", AB, loose), ("s", AB, QueryOptions())])["s"].sheds is False


def test_the_interval() -> None:
    assert interval_of(5_000_000, None, False) == 5 and interval_of(5_000_000, 2_000_000, False) == 2
    assert interval_of(None, None, True) is None
    with pytest.raises(ConfigError, match="nothing says how long"):
        interval_of(None, None, False)


def test_counts_travel_in_reports() -> None:
    reports: list[dict[str, dict[str, int]]] = [{"": {"rows": 3}}, {"": {}}]
    for report in reports:
        count_harvest(report[""], "v1", {(0, 1, 5): (10, 20, 3, 7)})
    assert harvest_counts(reports) == {"v1": {(0, 1, 5): (20, 40, 6, 14)}}
