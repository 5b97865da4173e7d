"""Tables for people: numbers to the right, units, and short cells in one line."""

from __future__ import annotations

from muntin.core.shown import html_table
from muntin.dataflow.durable import Since
from muntin.spark.listing import QueryList, QueryRow


def test_short_cells_stay_in_one_line_and_text_is_escaped() -> None:
    shown = html_table(("stream", "columns"), [("a", "x " * 20), ("<b>", "y")], (True,))
    assert shown.count("white-space:nowrap") == 5 and "&lt;b&gt;" in shown and "text-align:right" in shown


def test_a_run_lists_its_queries_with_units() -> None:
    rows = QueryList([QueryRow("q", "SELECT 1", Since(0, 0, None), 1_500_000, 0, 3, 27, 81, 1)])
    head, line = str(rows).splitlines()
    assert "1.5 s" in line and "81 periods" in line and "1 batch" in line
    assert head.index("state rows") + len("state rows") == line.index("27") + 2, "numbers stand to the right"
