"""Windows as CQL writes them, in brackets and as calls of TUMBLE, HOP and CUMULATE: the part of the parser that reads
them (see ``dialect``)."""

from __future__ import annotations

import re
from typing import Any, NoReturn

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from muntin.cql.durations import parse_span

WINDOWS_HELP = (
    "a window is [RANGE 10 MINUTES], [RANGE 10 MINUTES SLIDE 1 MINUTE], [RANGE 10 MINUTES DELAY 5 MINUTES], [ROWS 10], "
    "[PARTITION BY k ROWS 10], [PARTITION BY k SESSION 5 MINUTES], [NOW] or [UNBOUNDED]"
)

FUNCTIONS = {
    "TUMBLE": (1, "a size"), "HOP": (2, "a slide and a size"), "CUMULATE": (2, "a step and a size"),
    "SESSION": (1, "a gap"),
}  # fmt: skip
"""Windows that are written as functions in FROM: how many lengths they take, and which."""

_COMMENT = re.compile(r"/\*.*?\*/|--[^\n]*", re.DOTALL)
_ENDS = ("SLIDE", "CUMULATE", "DELAY", "INTERNAL")


class CqlParseError(ParseError):
    """A syntax error that knows its token: characters ``[start, end)`` of the text."""

    def __init__(self, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.message, self.start, self.end = message, start, end


class WindowSpec(exp.Expression):
    """A window as written. ``kind``: now, unbounded, range, rows or session. ``size`` and ``slide`` are number literals
    (microseconds for range, rows for rows); ``slide_kind`` is range or rows; ``delay`` microseconds; ``partition``: the
    PARTITION BY list; ``time``: what a window of another dialect names as its event time."""

    arg_types = {  # noqa: RUF012
        "kind": True, "size": False, "slide": False, "slide_kind": False, "delay": False, "partition": False,
        "internal": False, "function": False, "cumulate": False, "time": False,
    }  # fmt: skip


class WindowParser(SparkParser):
    """Spark's parser that stops at the first error (``CqlParseError``), and reads windows."""

    def raise_error(self, message: str, token: Token | None = None) -> NoReturn:
        """Raise at ``token``, or at the current one, or at the end of the text."""
        raise self._error(message, token)

    def _error(self, message: str, token: Token | None = None) -> CqlParseError:
        at = token or self._curr
        start, end = (at.start, at.end + 1) if at else (len(self.sql), len(self.sql))
        return CqlParseError(message, start, end)

    def _parse_windowing_spans(self, name: str) -> tuple[exp.Expr | None, list[exp.Expr]]:
        """The column of event time, and the lengths."""
        if not self._match(TokenType.COMMA):
            self.raise_error(f"{name} takes a stream, its column of event time, and lengths of time")
        if self._match_text_seq("DESCRIPTOR"):
            self._match_l_paren()
            time = self._parse_column()
            self._match_r_paren()
        else:
            time = self._parse_column()
        spans = []
        while self._match(TokenType.COMMA):
            spans.append(self._parse_span((TokenType.COMMA, TokenType.R_PAREN)))
        count, wanted = FUNCTIONS[name]
        if len(spans) != count:
            self.raise_error(f"{name} takes {wanted}")
        return time, spans

    def _parse_stream_window(self) -> WindowSpec | None:
        if not self._match(TokenType.L_BRACKET):
            return None
        token = self._curr
        if not token:
            self.raise_error(f"a window is opened here and not closed; {WINDOWS_HELP}", self._prev)
        spec = self._parse_window_body()
        if not self._match(TokenType.R_BRACKET):
            self.raise_error(f"expected ] here; {WINDOWS_HELP}")
        return self.expression(spec, token=token)

    def _parse_window_body(self) -> WindowSpec:
        if self._match_text_seq("NOW"):
            return self._internal(WindowSpec(kind="now", **self._parse_delay()))
        if self._match_text_seq("UNBOUNDED") or self._match_text_seq("RANGE", "UNBOUNDED"):
            return self._internal(WindowSpec(kind="unbounded"))
        partition = self._parse_csv(self._parse_column) if self._match(TokenType.PARTITION_BY) else None
        if self._match_text_seq("ROWS"):
            size = self._parse_row_count()
            return self._internal(WindowSpec(kind="rows", size=size, partition=partition, **self._parse_slide()))
        if self._match_text_seq("SESSION"):
            return self._internal(WindowSpec(kind="session", size=self._parse_span(), partition=partition))
        if self._match_texts(("RANGE", "WINDOW")):
            size = self._parse_span()
            moves = self._parse_slide()
            if self._match_text_seq("CUMULATE"):
                moves["cumulate"] = True
            moves |= self._parse_delay()
            return self._internal(WindowSpec(kind="range", size=size, partition=partition, **moves))
        raise self._error(f"unknown window; {WINDOWS_HELP}")

    def _internal(self, spec: WindowSpec) -> WindowSpec:
        if self._match_text_seq("INTERNAL"):
            spec.set("internal", True)
        return spec

    def _parse_slide(self) -> dict[str, Any]:
        if not self._match_text_seq("SLIDE"):
            return {}
        alone = self._next and (self._next.token_type == TokenType.R_BRACKET or self._next.text.upper() in _ENDS)
        said = self._next and self._next.text.upper() == "ROWS"
        if (alone or said) and self._curr.text.isdigit():
            count = self._parse_row_count()
            self._match_text_seq("ROWS")
            return {"slide": count, "slide_kind": "rows"}
        return {"slide": self._parse_span(), "slide_kind": "range"}

    def _parse_delay(self) -> dict[str, Any]:
        return {"delay": self._parse_span()} if self._match_text_seq("DELAY") else {}

    def _parse_row_count(self) -> exp.Expr:
        token = self._curr
        if not token or not token.text.isdigit():
            self.raise_error("expected a number of rows, as in [ROWS 100]")
        self._advance()
        return self.expression(exp.Literal(this=token.text, is_string=False), token=token)

    def _parse_span(self, ends: tuple[TokenType, ...] = (TokenType.R_BRACKET,)) -> exp.Expr:
        """A duration, taken as raw text up to SLIDE, DELAY, INTERNAL or one of ``ends``, the closing bracket."""
        first = self._curr
        while self._curr and self._curr.token_type not in ends and self._curr.text.upper() not in _ENDS:
            self._advance()
        last = self._prev
        if not first or last.start < first.start:
            self.raise_error("expected a length of time, as in 10 MINUTES")
        if not self._curr:
            self.raise_error(f"the window is not closed: ] is missing; {WINDOWS_HELP}", first)
        try:
            span = parse_span(_COMMENT.sub(" ", self.sql[first.start : last.end + 1]))
        except ValueError as e:
            raise CqlParseError(str(e), first.start, last.end + 1) from None
        literal = exp.Literal(this=str(span) if isinstance(span, int) else f"{span.count} MONTHS", is_string=False)
        literal.meta.update(start=first.start, end=last.end)
        return literal
