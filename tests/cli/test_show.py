from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa

from muntin.cli.show import show

ROWS = pa.table(
    {
        "origin": ["EWR", None],
        "n": pa.array([12, 3], pa.int64()),
        "delay": [1.5, None],
        "cost": pa.array([Decimal("1.50"), None], pa.decimal128(6, 2)),
        "ts": pa.array(
            [datetime(2013, 1, 1, 10, tzinfo=UTC), datetime(2013, 1, 1, 11, 0, 0, 500, tzinfo=UTC)],
            pa.timestamp("us", "UTC"),
        ),
    }
)


def shown(form: str) -> str:
    out = io.StringIO()
    show(ROWS, form, out)  # type: ignore[arg-type]
    return out.getvalue()


def test_table() -> None:
    text = shown("table")
    assert "2013-01-01 10:00:00 " in text and "2013-01-01 11:00:00.0005" in text
    assert text.count("NULL") == 3
    assert "│   12 │" in text or "│ 12 │" in text.replace("  ", " ")


def test_csv() -> None:
    header, first, second = shown("csv").splitlines()
    assert header == '"origin","n","delay","cost","ts"'
    assert first.startswith('"EWR",12,1.5,1.50,2013-01-01 10:00:00')
    assert second.startswith(",3,,,2013-01-01 11:00:00.0005")


def test_json_is_one_object_a_line() -> None:
    first, second = map(json.loads, shown("json").splitlines())
    assert first == {"origin": "EWR", "n": 12, "delay": 1.5, "cost": "1.50", "ts": "2013-01-01T10:00:00+00:00"}
    assert second["origin"] is None


def test_wide_rows_are_not_folded_in_a_pipe() -> None:
    out = io.StringIO()
    show(pa.table({f"column{i}": ["x" * 40] for i in range(10)}), "table", out)
    assert ("x" * 40 + " │ ") * 3 in out.getvalue()
