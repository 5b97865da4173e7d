"""What a notebook shows, and cells that are run again: drawings, tables, ``replace=True`` and ``drop``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest_spark import Feed, events

from muntin.core.errors import ConfigError
from muntin.session import Session

pytestmark = pytest.mark.spark
TEXT = "SELECT k, COUNT(*) AS n FROM a [RANGE 20 SECONDS SLIDE 3 SECONDS] WHERE name <> '<b>' GROUP BY k"


@pytest.fixture
def source(feed: Callable[[str], Feed]) -> Feed:
    return feed("a").put(events(1, 0, 30, 50))


@pytest.fixture
def session(spark: Any, source: Feed) -> Session:
    session = Session(spark, shards=2)
    session.stream("a", source.replay())
    return session


def test_a_session_shows_what_it_has(session: Session, source: Feed) -> None:
    session.view("big", "SELECT k, v FROM a [RANGE 20 SECONDS] WHERE v > 50")
    session.table("names", source.replay().select("k", "name"))
    session.sql(TEXT, name="q").write()
    shown = session._repr_html_()
    words = ("Streams", "ts timestamp, k bigint", "none", "replayed", "Tables", "static", "Views", "v &gt; 50")
    for word in (*words, "Queries", "not started", "memory"):
        assert word in shown
    assert "<b>'" not in shown
    assert repr(session) == "Session(a, names, big; queries: q)"


def test_a_query_shows_its_plan_and_its_rows(session: Session, capsys: Any) -> None:
    query = session.sql(TEXT, name="q")
    shown = query._repr_html_()
    assert "<svg" in shown and "&lt;b&gt;" in shown and "<b>'" not in shown
    with pytest.raises(ConfigError, match=r"'svg' is a form, no query: session.explain\(form='svg'\) shows"):
        session.explain("svg")
    answer = query.to_pandas()
    assert list(answer.columns) == ["k", "n", "ts"] and answer["ts"].is_monotonic_increasing and len(answer) > 20
    query.show(3)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["k", "n", "ts"] and lines[-1].startswith("the first 3 rows") and len(lines) == 5
    with pytest.raises(ConfigError, match="at least one row"):
        query.show(0)


def test_rows_are_displayed_where_a_notebook_runs(session: Session, monkeypatch: Any, capsys: Any) -> None:
    displayed: list[Any] = []
    shell = SimpleNamespace(get_ipython=lambda: object(), display=SimpleNamespace(display=displayed.append))
    monkeypatch.setitem(sys.modules, "IPython", shell)
    session.sql(TEXT).show(2)
    assert displayed[0]._repr_html_().count("<tr>") == 3 and not capsys.readouterr().out


def test_a_live_query_shows_its_newest_rows_and_its_run(
    spark: Any, source: Feed, tmp_path: Path, capsys: Any
) -> None:
    session = Session(spark, shards=2)
    session.stream("a", source.live())
    query = session.sql(TEXT, name="q").write()
    with pytest.raises(ConfigError, match="has not run"):
        query.show()
    run = session.start(str(tmp_path / "c"))
    with pytest.raises(ConfigError, match="'a' is read by a run that is under way"):
        session.stream("a", source.live(), replace=True)
    session.drop("q")
    with pytest.raises(ConfigError, match="'a' is read by a run that is under way"):
        session.drop("a")
    run.process_all_available()
    run.stop()
    query.show(2)
    assert "the newest 2 of" in capsys.readouterr().out
    answer = query.to_pandas()
    assert len(answer) == len(query.rows()) > 2
    assert answer.equals(answer.sort_values(["ts", "k"], ignore_index=True)), "rows of two shards, in order"
    shown = run._repr_html_()
    assert "50 rows in" in shown and "(ended)" in shown and "SELECT k, COUNT" in shown
    assert repr(run).startswith("Run(ended, ") and repr(run).endswith("queries: q)")
    session.drop("a")
    assert repr(session) == "Session(nothing registered; queries: none)"


def test_a_cell_that_runs_again_replaces_what_it_registered(session: Session, source: Feed) -> None:
    with pytest.raises(ConfigError, match="replace=True"):
        session.stream("a", source.replay())
    session.view("big", "SELECT k, v FROM a [RANGE 20 SECONDS] WHERE v > 50")
    query = session.sql("SELECT COUNT(*) AS n FROM big", name="q")
    before = query.to_pandas()
    session.stream("b", source.replay())
    session.stream("A", source.replay().where("v > 75"), slack="1 second", replace=True)
    assert [(s.name, s.order) for s in session.catalog.streams] == [("A", 0), ("b", 1)]
    assert set(session.frames) == {"A", "b"}
    assert 0 < len(query.to_pandas()) < len(before)
    session.view("big", "SELECT k, v FROM b [RANGE 20 SECONDS] WHERE v > 50", replace=True)
    assert len(query.to_pandas()) == len(before)
    assert session.sql(TEXT, name="q", replace=True) is session.queries["q"] is not query


def test_a_replacement_that_a_query_does_not_fit_is_refused(session: Session, source: Feed) -> None:
    query = session.sql(TEXT, name="q")
    session.view("big", "SELECT v FROM a [RANGE 20 SECONDS]")
    with pytest.raises(ConfigError, match=r"query 'q' would no longer stand .*name.*session.queries\['q'\].drop\(\)"):
        session.stream("a", source.replay().drop("name"), replace=True)
    with pytest.raises(ConfigError, match=r"view 'big' would no longer stand .*session.drop\('big'\)"):
        session.stream("a", source.replay().drop("v"), replace=True)
    assert "name" in session.frames["a"].columns and len(query.to_pandas())


def test_dropping(session: Session, source: Feed) -> None:
    session.sql(TEXT, name="q")
    with pytest.raises(ConfigError, match="query 'q' would no longer stand"):
        session.drop("a")
    with pytest.raises(ConfigError, match="no stream, table, view, aggregate, function or query 'x'"):
        session.drop("x")
    session.table("q", source.replay().select("k", "name"))
    with pytest.raises(ConfigError, match="more than one thing"):
        session.drop("q")
    session.queries["q"].drop()
    for name in ("Q", "A"):
        session.drop(name)
    assert not session.frames and not session.rows and not session.catalog.streams and not session.catalog.tables
    session.stream("a", source.replay())
    assert len(session.sql(TEXT).to_pandas())
