"""Windows that an operator keeps: of rows, of sessions, of time that moves with rows, and on results."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from muntin.dataflow.builder import Places
from muntin.dataflow.lowering.negation import Negation
from muntin.dataflow.lowering.nodes import columns, names_read, taken_whole
from muntin.dataflow.values import Loose, Named, Names, Placed, Value, loose
from muntin.operators.fired_window import FiredWindow
from muntin.operators.rewind import Rewind
from muntin.operators.rows_window import RowsWindow
from muntin.operators.session_window import SessionWindow
from muntin.operators.snap import Snap
from muntin.operators.time_window import meaning_of
from muntin.optimizer.statistics import Statistics
from muntin.plan.nodes import BoundQuery, Node, Output, Rewindow, Scan, has_internal, ticks_of
from muntin.plan.windows import Range, Rows, Session, Ticks, Unbounded, as_external, moves_with_rows, own_ticks


class Windows(Negation):
    """Windows other than those of time, which are intervals of rows. ``keep_unread``: those that count rows keep
    columns that nothing reads, too."""

    def __init__(self, query: BoundQuery, places: Places, known: Statistics, keep_unread: bool = False) -> None:
        super().__init__(query, places, known)
        self.keep_unread = keep_unread
        self.scope: Node = query.root
        """The query being lowered: the whole one, or the inside of a window on results."""

    def output(self, node: Output) -> Placed:
        """What a query shows (filled in by ``lowering.query``)."""
        raise NotImplementedError

    def counted_window(self, node: Scan, ticks: Ticks | None) -> Placed | None:
        """The rows of a stream in a window that looks at other rows; None for a window of time."""
        match node.window:
            case Rows() as window:
                rows = self._counted(node, window.by)
                return self.rows_window(rows, window, f"{node.alias}.", ticks, node.stream.order_by)
            case Session() as window:
                read = self._read_of(node, names_read(self.scope), window.by)
                return self.session_window(self.build.project(self._unbounded(node), read), window, f"{node.alias}.")
            case Range(rows=int()) as window:
                return self.fired_window(self._counted(node), window)
            case _:
                return None

    def _unbounded(self, scan: Scan) -> Loose:
        return loose(replace(scan, window=Unbounded()), None)

    def _read_of(self, scan: Scan, read: Collection[str], by: Sequence[str]) -> Named:
        """The columns of a stream that are read, and those that its window is by."""
        own = {f"{scan.alias}.{name}" for name in by}
        return tuple((n, e) for n, e in columns(scan.schema) if n in read or n in own)

    def _counted(self, scan: Scan, by: Sequence[str] = ()) -> Value:
        """The rows of a stream for a window that counts them: with what is read of them, since which rows are in it
        does not depend on other columns. INTERNAL windows tell rows apart that come and go in one instant."""
        if self.keep_unread or any(has_internal(n) for n in (self.query.root, self.scope)):
            return self._unbounded(scan)
        order = (scan.stream.order_by,) if scan.stream.order_by else ()
        read = names_read(self.scope) | taken_whole(self.scope)
        kept = self._read_of(scan, read, (*by, *order)) or self._read_of(scan, (), (scan.stream.ts,))
        return self.build.project(self._unbounded(scan), kept)

    def rows_window(
        self, value: Value, window: Rows, prefix: str, ticks: Ticks | None, order_by: str | None = None
    ) -> Placed:
        """The last rows (of each partition). ``prefix``: what names of the window's columns begin with; ``order_by``:
        the column that orders rows of one instant."""
        by = tuple(prefix + b for b in window.by)
        (here,) = self.build.colocate([value], [by])
        by_value = not isinstance(value, Loose)  # results of a query
        names = Names(here)
        order = names.column(prefix + order_by) if order_by else None
        op = RowsWindow(window.count, window.slide, names.columns(by), order, by_value)
        rows = self.build.apply(op, [here], here.schema, True, domain=self.shared_time)
        own = own_ticks(window, self.query.options)
        if own is not None:  # [ROWS n SLIDE t]: the contents of its own last instant
            rows = self.build.apply(Snap(own), [rows], rows.schema, True)
        return rows if ticks is None else self.build.apply(Snap(ticks), [rows], rows.schema, True)

    def session_window(self, value: Value, window: Session, prefix: str) -> Placed:
        """The rows of sessions, when they end."""
        by = tuple(prefix + b for b in window.by)
        (here,) = self.build.colocate([value], [by])
        op = SessionWindow(window.gap, Names(here).columns(by))
        return self.build.apply(op, [here], here.schema, False)

    def fired_window(self, value: Value, window: Range) -> Placed:
        """A time window that moves when enough rows have come; numbering the rows takes one shard."""
        assert window.rows is not None
        (here,) = self.build.colocate([value], [()])
        op = FiredWindow(as_external(replace(window, rows=None)), window.rows, meaning_of(self.query.options))
        return self.build.apply(op, [here], here.schema, True, domain=self.shared_time)

    def rewindow(self, node: Rewindow, ticks: Ticks | None) -> Value:
        """A window over a query's output stream."""
        shown = self.output(node.input)
        inner = ticks_of(node.input, self.query.options)
        shift = -1 if self.query.options.bounds == "start" and inner is not None else 0
        entry = Unbounded() if moves_with_rows(node.window) else as_external(node.window)
        rows = self.build.apply(Rewind(entry, meaning_of(self.query.options), shift), [shown], shown.schema, False)
        if isinstance(node.window, Session):
            return self.session_window(rows, node.window, "")
        if isinstance(node.window, Rows):
            return self.rows_window(rows, node.window, "", ticks)
        if isinstance(node.window, Range) and node.window.rows is not None:
            return self.fired_window(rows, node.window)
        return rows if ticks is None else self.build.apply(Snap(ticks), [rows], rows.schema, False)
