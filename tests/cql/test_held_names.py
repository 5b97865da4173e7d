"""Which tables a text of another dialect reads."""

from __future__ import annotations

import pytest

from muntin.cql.held_names import held_tables

KNOWN = ["A", "departures", "n"]


@pytest.mark.parametrize(
    ("text", "rewritten", "queries"),
    [
        ("SELECT * FROM A [RANGE 5 SECONDS]", 'SELECT * FROM "held_0" AS A', ["`A` [RANGE 5 SECONDS]"]),
        ("select x.k from a [NOW] x, a[NOW] as y", 'select x.k from "held_0" x, "held_0" as y', ["`A` [NOW]"]),
        ("SELECT n, A.k FROM A WHERE n IN (SELECT n FROM departures)",
         'SELECT n, A.k FROM "held_0" AS A WHERE n IN (SELECT n FROM "held_1" AS departures)', ["`A`", "`departures`"]),
        ("SELECT 'FROM A' AS t, list[1] FROM other JOIN \"departures\" USING (k) -- FROM A",
         "SELECT 'FROM A' AS t, list[1] FROM other JOIN \"held_0\" AS \"departures\" USING (k) -- FROM A",
         ["`departures`"]),
        ("SELECT * FROM A [SESSION 1 HOUR]", 'SELECT * FROM "held_0" AS A', ["`A` [SESSION 1 HOUR]"]),
        ("SELECT * FROM A [RANGE 1 HOUR] LEFT JOIN (A [RANGE 2 HOURS] JOIN n ON true) ON 1 = 1",
         'SELECT * FROM "held_0" AS A LEFT JOIN ("held_1" AS A JOIN "held_2" AS n ON true) ON 1 = 1',
         ["`A` [RANGE 1 HOUR]", "`A` [RANGE 2 HOURS]", "`n`"]),
    ],
)  # fmt: skip
def test_names_in_place_of_tables(text: str, rewritten: str, queries: list[str]) -> None:
    found, tables = held_tables(text, KNOWN, lambda n: f'"{n}"')
    assert found == rewritten
    assert [t.query for t in tables] == [f"SELECT * FROM {q}" for q in queries]
