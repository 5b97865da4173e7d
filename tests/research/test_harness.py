"""The harness and the command: records, verdicts, aliases, exit statuses."""

from __future__ import annotations

import builtins
import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from typer.testing import CliRunner

from muntin.cli.app import app
from muntin.core.errors import ConfigError
from muntin.core.optional import require_matplotlib
from muntin.research import registry
from muntin.research.harness import Check, Entry, Outcome, Plot, Record, Setting, reproduce, tally
from muntin.research.plots import draw

GOOD, BAD = Check("x < 2", "x 1", True), Check("y < 2", "y 3", False)
OTHER = Check("z < 2", "z 4", False, "4 visits to each of z")


def entry(name: str, *checks: Check) -> Entry:
    return Entry(name, "a claim", "a criterion", lambda setting: Outcome(checks))


def broken(setting: Setting) -> Outcome:
    raise ValueError("no\ndata")


def records(*entries: Entry) -> list[Record]:
    return reproduce([(e.id, e) for e in entries], Setting(), lambda r: None)


def test_verdicts() -> None:
    found = records(entry("A1", GOOD), entry("A2", GOOD, BAD), entry("A3"), Entry("A4", "c", "k", broken))
    assert [r.verdict for r in found] == ["PASS", "FAIL", "NOTHING TO REPRODUCE", "FAIL"]
    assert found[0].line == "A1 | a claim | x 1 | a criterion | PASS"
    assert found[1].measured == "NOT y < 2: y 3"
    assert found[3].measured == "ValueError: no data"


def test_a_claim_that_does_not_hold_differs_for_a_reason_and_what_is_wrong_fails() -> None:
    holds = replace(OTHER, ok=True)
    found = records(entry("A1", GOOD, OTHER), entry("A2", OTHER, BAD), entry("A3", holds), entry("A4"))
    assert [r.verdict for r in found] == ["DIFFERS", "FAIL", "PASS", "NOTHING TO REPRODUCE"]
    assert found[0].line == "A1 | a claim | DIFFERS z < 2: z 4 (4 visits to each of z) | a criterion | DIFFERS"
    assert found[1].measured == "NOT y < 2: y 3; DIFFERS z < 2: z 4 (4 visits to each of z)"
    assert tally(found) == "1 PASS, 1 DIFFERS, 1 FAIL, 1 NOTHING"


def test_an_alias_is_its_own_record_of_one_run() -> None:
    runs = []
    counted = Entry("G3", "c", "k", lambda setting: runs.append(1) or Outcome((GOOD,)))  # type: ignore[func-returns-value]
    found = reproduce([("T30", counted), ("G3", counted)], Setting(), lambda r: None)
    assert [(r.id, r.alias_of, r.verdict) for r in found] == [("T30", "G3", "PASS"), ("G3", None, "PASS")]
    assert len(runs) == 1 and found[0].line.startswith("T30 (= G3) | ")


def test_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tuple(n for n in registry.known() if n[0] == "T")[:7] == ("T1", "T2", "T3", "T4", "T5", "T6", "T7")
    assert registry.known({"T2": "a", "T10": "b", "G3": "c"}, {"T1": "G3"}) == ("G3", "T1", "T2", "T10")
    module = ModuleType("made_up")
    module.ENTRY = entry("G3", GOOD)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "made_up", module)
    found = registry.chosen(["all", "g3"], {"G3": "made_up"}, {"T30": "G3"})
    assert [(n, e.id) for n, e in found] == [("G3", "G3"), ("T30", "G3")]
    with pytest.raises(ConfigError, match="no entry T99; there are G3, T30, and all"):
        registry.chosen(["T99", "G3"], {"G3": "made_up"}, {"T30": "G3"})


def test_every_module_is_the_entry_it_is_registered_as() -> None:
    assert [n for n, e in registry.chosen(["all"]) if registry.ALIASES.get(n, n) != e.id] == []


def call(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["reproduce", *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_the_command(tmp_path: Path) -> None:
    file = tmp_path / "records.json"
    status, out, _ = call("T13", "t3", "--json", str(file), "--smoke")
    *lines, last = out.splitlines()
    assert status == 0 and last == "2 PASS, 0 DIFFERS, 0 FAIL, 0 NOTHING"
    assert [line.split(" | ")[0] for line in lines] == ["T13", "T3"]
    assert all(line.endswith(" | PASS") for line in lines)
    found = json.loads(file.read_text())
    assert [r["id"] for r in found] == ["T13", "T3"]
    assert {"id", "claim", "measured", "criterion", "verdict", "figures"} <= set(found[0])


def test_what_numpy_judged_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("made_up")
    judged = Check("x < 2", "x 1", np.float64(1.0) < 2)  # a truth value of numpy's
    module.ENTRY = entry("T13", judged)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "made_up", module)
    monkeypatch.setitem(registry.MODULES, "T13", "made_up")
    status, _, said = call("T13", "--json", str(tmp_path / "records.json"))
    assert status == 0, said
    assert json.loads((tmp_path / "records.json").read_text())[0]["checks"][0]["ok"] is True


@pytest.mark.parametrize(
    ("check", "status", "said", "counts"),
    [
        (BAD, 1, "NOT y < 2: y 3 | a criterion | FAIL", "0 PASS, 0 DIFFERS, 1 FAIL, 0 NOTHING"),
        (OTHER, 0, f"{OTHER.words} | a criterion | DIFFERS", "0 PASS, 1 DIFFERS, 0 FAIL, 0 NOTHING"),
        (None, 0, " | a criterion | NOTHING TO REPRODUCE", "0 PASS, 0 DIFFERS, 0 FAIL, 1 NOTHING"),
    ],
)
def test_the_command_s_status_by_verdict(
    check: Check | None, status: int, said: str, counts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("made_up")
    module.ENTRY = entry("T13", *([check] if check else []))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "made_up", module)
    monkeypatch.setitem(registry.MODULES, "T13", "made_up")
    found, out, _ = call("T13")
    assert (found, out) == (status, f"T13 | a claim | {said}\n{counts}\n")


def test_unknown_entries() -> None:
    status, out, err = call("T3", "T77")
    assert (status, out) == (2, "")
    assert "there is no entry T77; there are A1, A2" in err


def test_plots(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plot = Plot("work", "window", "accesses", {"NT": [(1, 2), (10, 30)]})
    paths = draw([Record("T1", "", "", "", "PASS", 0.0, plots=(plot,))], tmp_path / "new")
    assert [p.name for p in paths] == ["T1-work.svg", "T1-work.png"]
    assert all(p.stat().st_size > 1000 for p in paths)


def test_plots_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: object) -> object:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigError, match="pip install matplotlib"):
        require_matplotlib("--plots")
    status, _, err = call("T13", "--plots", "nowhere")
    assert status == 2 and "pip install matplotlib" in err
