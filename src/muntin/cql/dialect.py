"""CQL as a sqlglot dialect: Spark SQL plus windows in brackets and relation-to-stream wrappers.

Adds to Spark's grammar (Arasu, Babu, Widom, "The CQL continuous query language", sections 6.1 to 6.3):

* ``name [window] alias`` and ``name alias [window]`` in FROM, a ``StreamRef`` with a ``WindowSpec``;
* ``(query) [window] alias`` in FROM, and INTERNAL in a window (Golab's thesis, section 3.4);
* ``Istream(query)``, ``Dstream(query)``, ``Rstream(query)``, ``Istream-restore(query)``, ``Rstream-restore(query)`` and
  ``Wstream(query) [window]`` around a query, a ``ToStream``; the same around the select list, as in
  ``SELECT Istream(*) FROM ...``; ``Wstream(x) [window]`` as the argument of an aggregate, a ``WstreamCall``.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from muntin.cql.spark_names import PARSED_AS_CALLS
from muntin.cql.window_syntax import FUNCTIONS, CqlParseError, WindowParser, WindowSpec

WRAPPERS = ("ISTREAM", "DSTREAM", "RSTREAM", "WSTREAM", "ISTREAM_RESTORE", "RSTREAM_RESTORE", "WSTREAM_RESTORE")
RESTORED = ("ISTREAM", "DSTREAM", "RSTREAM", "WSTREAM")


_CONSTANTS = (exp.Null, exp.Boolean, exp.HexString, exp.Interval)
_NESTED = (TokenType.L_PAREN, TokenType.VALUES, TokenType.LATERAL, TokenType.SELECT, TokenType.WITH)
_IGNORING = (exp.First, exp.Last, exp.FirstValue, exp.LastValue, exp.IgnoreNulls)
_AROUND_CALLS = (exp.Window, exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)
_QUERY = (TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN)
_BITS = ((TokenType.PIPE, exp.BitwiseOr), (TokenType.CARET, exp.BitwiseXor), (TokenType.AMP, exp.BitwiseAnd))
"""What binds least comes first."""


class StreamRef(exp.Table):
    """A name in FROM with an optional ``window``."""

    arg_types = {**exp.Table.arg_types, "window": False}  # noqa: RUF012


class ToStream(exp.Expression):
    """``kind`` (istream, dstream, rstream, istream_restore, rstream_restore, wstream, ...) applied to the query
    ``this``; ``window`` is the window after wstream."""

    arg_types = {"this": True, "kind": True, "window": False, "with_": False}  # noqa: RUF012


class WstreamCall(exp.Expression, exp.Func):
    """``Wstream(expressions) [window]`` inside an expression."""

    arg_types = {"expressions": True, "window": False}  # noqa: RUF012
    is_var_len_args = True


class CqlParser(WindowParser):
    """Spark's parser with CQL's windows and wrappers. Stops at the first error (``CqlParseError``)."""

    FUNCTIONS = {  # noqa: RUF012
        # ..._UTC_TIMESTAMP: not AT TIME ZONE, which gives what a clock shows; DATE_FORMAT: its letters stay as they
        # are; aggregates of pairs: with DISTINCT sqlglot takes both arguments for one
        k: v
        for k, v in SparkParser.FUNCTIONS.items()
        if k not in ("FROM_UTC_TIMESTAMP", "TO_UTC_TIMESTAMP", "DATE_FORMAT")
        and not k.startswith(("CORR", "COVAR_", "REGR_"))
        and k not in PARSED_AS_CALLS
    }

    FUNCTION_PARSERS = {  # noqa: RUF012
        k: v for k, v in SparkParser.FUNCTION_PARSERS.items() if k not in ("CHAR", "CHR", "DECODE", "INITCAP")
    }

    TERM = {**SparkParser.TERM, TokenType.DPIPE: exp.DPipe}  # noqa: RUF012

    def _parse_bitwise(self, level: int = 0) -> exp.Expr | None:
        """``|`` binds less than ``^``, that less than ``&``, that less than shifts, and those less than ``+`` and
        ``||``, as in Spark; sqlglot takes all of them from left to right."""
        if level == len(_BITS):
            return self._parse_shift()
        token, kind = _BITS[level]
        this = self._parse_bitwise(level + 1)
        while self._match(token):
            this = self.expression(kind(this=this, expression=self._parse_bitwise(level + 1)))
        return this

    def _parse_shift(self) -> exp.Expr | None:
        """``<<``, ``>>`` and ``>>>``, which sqlglot does not know."""
        this = self._parse_term()
        while True:
            if self._match_pair(TokenType.LT, TokenType.LT):
                this = self.expression(exp.BitwiseLeftShift(this=this, expression=self._parse_term()))
            elif self._match_pair(TokenType.GT, TokenType.GT):
                unsigned, by = self._match(TokenType.GT), self._parse_term()
                if unsigned and (this is None or by is None):
                    self.raise_error("an expression is missing here")
                called = exp.Anonymous(this="shiftrightunsigned", expressions=[this, by])
                this = self.expression(called if unsigned else exp.BitwiseRightShift(this=this, expression=by))
            else:
                return this

    def _parse_statement(self) -> exp.Expr | None:
        if not self._curr:
            self.raise_error("the query is empty: it starts with SELECT, or with Istream(, Dstream( or Rstream(")
        if self._at_wrapper():
            return self._parse_to_stream()
        if self._curr.token_type not in (TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN):
            self.raise_error("a query starts with SELECT, or with Istream(, Dstream( or Rstream( around a SELECT")
        return super()._parse_statement()

    def _wrapper(self) -> tuple[str, int] | None:
        """The kind of a wrapper that begins here, and its number of tokens up to the opening parenthesis."""
        at, tokens = self._index, self._tokens
        texts = [t.text.upper() for t in tokens[at : at + 3]]
        follows = [t.token_type for t in tokens[at : at + 4]]
        if len(follows) > 1 and texts[0] in WRAPPERS and follows[1] == TokenType.L_PAREN:
            return texts[0].lower(), 2
        dashed = len(follows) > 3 and texts[0] in RESTORED and texts[1:] == ["-", "RESTORE"]
        return (f"{texts[0].lower()}_restore", 4) if dashed and follows[3] == TokenType.L_PAREN else None

    def _at_wrapper(self) -> bool:
        return self._curr is not None and self._wrapper() is not None

    def _open_wrapper(self) -> tuple[Token, str, str]:
        """Step into the parentheses of a wrapper: its token, its kind and its name as written."""
        token, found = self._curr, self._wrapper()
        assert found is not None
        kind, length = found
        if kind == "dstream_restore" or kind == "wstream_restore":
            raise self._no_restore(kind)
        self._advance(length)
        return token, kind, self.sql[token.start : self._prev.start].strip()

    def _no_restore(self, kind: str) -> CqlParseError:
        name = kind.split("_")[0].capitalize()
        why = (
            "the window on its results needs them as they come" if name == "Wstream" else "deletions have nothing lost"
        )
        return self._error(
            f"{name}-restore is not defined: {why}. Restore goes with Istream-restore(...) and Rstream-restore(...)"
        )

    def _parse_to_stream(self) -> ToStream:
        token, kind, name = self._open_wrapper()
        query = self._parse_to_stream() if self._at_wrapper() else self._parse_query()
        if query is None:
            self.raise_error(f"{name}( takes a query: write {name}(SELECT ...)")
        if not self._match(TokenType.R_PAREN):
            self.raise_error(f"the parenthesis opened by {name}( is not closed here")
        window = self._parse_stream_window() if kind == "wstream" else None
        return self.expression(ToStream(this=query, kind=kind, window=window), token=token)

    def _parse_query(self) -> exp.Expr | None:
        """A SELECT or set operation with its modifiers, in parentheses or not."""
        this = self._parse_select(nested=True, parse_subquery_alias=False, parse_set_operation=False)
        whole: exp.Expr | None = self._parse_query_modifiers(self._parse_set_operations(this))
        return whole

    def _parse_projections(self) -> tuple[list[exp.Expr], list[exp.Expr] | None]:
        """As Spark's; a wrapper around the whole list is kept in the first expression's ``meta``."""
        start = self._index
        if self._at_wrapper():
            token, kind, _ = self._open_wrapper()
            found = [] if self._curr and self._curr.token_type in _QUERY else self._parse_expressions()
            if found and self._match(TokenType.R_PAREN):
                window = self._parse_stream_window() if kind == "wstream" else None
                if self._curr and self._curr.token_type == TokenType.FROM:
                    found[0].meta["to_stream"] = (kind, window, token.start, token.end)
                    return found, None
            self._retreat(start)
        return super()._parse_projections()

    def _parse_function(
        self, functions: Any = None, anonymous: bool = False, optional_parens: bool = True, any_token: bool = False
    ) -> exp.Expr | None:
        """As Spark's, and ``Wstream(x) [window]``."""
        if self._curr and self._curr.text.upper() == "WSTREAM" and self._at_wrapper():
            token = self._curr
            self._advance(2)
            found = self._parse_expressions()
            self._match_r_paren()
            call = WstreamCall(expressions=found, window=self._parse_stream_window())
            return self.expression(call, token=token)
        return super()._parse_function(functions, anonymous, optional_parens, any_token)

    def _parse_function_call(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        """As Spark's; sqlglot's builders of nodes stumble over calls with too few arguments."""
        token = self._curr
        try:
            found: exp.Expr | None = super()._parse_function_call(*args, **kwargs)
            return _named(found, token) if found is not None else None
        except (IndexError, KeyError, AttributeError, ValueError) as e:
            if isinstance(e, ParseError):
                raise
            raise self._error(f"{token.text} cannot be called with these arguments", token) from None

    def validate_expression(self, expression: Any, args: list[Any] | None = None) -> Any:
        """As Spark's; an argument of a call that its node does not have is one too many."""
        built = super().validate_expression(expression, args)
        for arg in args or ():
            if isinstance(arg, exp.Expr) and not _is_within(arg, built):
                spans = [(n.meta["start"], n.meta["end"] + 1) for n in arg.walk() if "start" in n.meta]
                start, end = min(spans, default=(self._prev.start, self._prev.end + 1))
                raise CqlParseError("this argument is one too many: the call takes no such argument", start, end)
        return built

    def _parse_select_query(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        """As Spark's; a SELECT remembers its place."""
        token = self._curr
        query = super()._parse_select_query(*args, **kwargs)
        first = query
        while isinstance(first, exp.SetOperation):
            first = first.this
        if isinstance(first, exp.Select) and token.token_type == TokenType.SELECT:
            first.update_positions(token)
        return query

    def _parse_set_operations(self, this: exp.Expr | None) -> exp.Expr | None:
        """As Spark's; the operation remembers its place."""
        token = self._curr
        query = super()._parse_set_operations(this)
        if query is not this and isinstance(query, exp.SetOperation):
            query.update_positions(token)
        return query

    def _parse_limit(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        """As Spark's, but without a word of FETCH that sqlglot skips."""
        found: exp.Expr | None = super()._parse_limit(*args, **kwargs)
        if isinstance(found, exp.Limit) and self._prev.text.upper() == "ONLY":
            self.raise_error("this does not belong here: write LIMIT k, or FETCH FIRST k ROWS ONLY", self._prev)
        return found

    def parse_set_operation(self, *args: Any, **kwargs: Any) -> exp.SetOperation | None:
        """As Spark's, but without the words of joins that sqlglot skips before UNION, EXCEPT and INTERSECT."""
        token = self._curr
        found: exp.SetOperation | None = super().parse_set_operation(*args, **kwargs)
        if found is not None and token.token_type in self.JOIN_METHODS:
            self.raise_error("this does not belong here", token)
        return found

    def expression(self, instance: Any, token: Token | None = None, comments: list[str] | None = None) -> Any:
        """As Spark's; constants that sqlglot leaves without a place take that of the last token read."""
        built = super().expression(_quantile(instance), token, comments)
        if isinstance(built, _CONSTANTS) and "start" not in built.meta:
            built.update_positions(self._prev)
        return built

    def _parse_table(
        self,
        schema: bool = False,
        joins: bool = False,
        alias_tokens: Any = None,
        parse_bracket: bool = False,
        is_db_reference: bool = False,
        parse_partition: bool = False,
        consume_pipe: bool = False,
    ) -> exp.Expr | None:
        this = self._parse_from_item(alias_tokens)
        if joins:
            for join in self._parse_joins():
                this.append("joins", join)
        return this

    def _parse_join(
        self, skip_join_token: bool = False, parse_bracket: bool = False, alias_tokens: Any = None
    ) -> exp.Join | None:
        """As Spark's, but a comma must be followed by a stream and ON by a condition."""
        if self._match(TokenType.COMMA):
            comma: exp.Join = self.expression(exp.Join(this=self._parse_table(alias_tokens=alias_tokens), kind="CROSS"))
            comma.meta["comma"] = True
            return comma
        join: exp.Join | None = super()._parse_join(skip_join_token, parse_bracket, alias_tokens)
        if join is not None and self._prev.token_type == TokenType.ON:
            self.raise_error("a condition is missing after ON")
        return join

    def _parse_from_item(self, alias_tokens: Any) -> exp.Expr:
        if self._at_wrapper():
            return self._with_alias(self._parse_to_stream(), alias_tokens)
        if self._curr and self._curr.token_type in _NESTED:
            query = self._parse_wrapped_query(alias_tokens) or super()._parse_table(alias_tokens=alias_tokens)
            if query is None:
                raise self._error("expected a stream name or a sub-query")
            return query
        return self._parse_windowing(alias_tokens) or self._parse_stream_ref(alias_tokens)

    def _parse_windowing(self, alias_tokens: Any) -> exp.Expr | None:
        """``TABLE(TUMBLE(TABLE s, DESCRIPTOR(ts), size))``, HOP(..., slide, size), SESSION(TABLE s PARTITION BY k,
        DESCRIPTOR(ts), gap), TABLE( and DESCRIPTOR or not."""
        index = self._index
        wrapped = self._match_text_seq("TABLE") and self._match(TokenType.L_PAREN)
        name = self._curr.text.upper() if self._curr else ""
        if name not in FUNCTIONS or not self._next or self._next.token_type != TokenType.L_PAREN:
            self._retreat(index)
            return None
        token = self._curr
        self._advance(2)
        self._match_text_seq("TABLE")
        ref = self._parse_stream_ref(alias_tokens)
        keys = self._parse_session_keys() if name == "SESSION" else None
        time, spans = self._parse_windowing_spans(name)
        for _ in range(1 + bool(wrapped)):
            if not self._match(TokenType.R_PAREN):
                self.raise_error(f"the parenthesis opened by {name}( is not closed here", token)
        sizes = {"size": spans[-1], "slide": spans[0].copy(), "slide_kind": "range"}
        spec = WindowSpec(kind="range", function=name, cumulate=name == "CUMULATE", **sizes)
        if name == "SESSION":
            spec = WindowSpec(kind="session", size=spans[0], partition=keys)
        spec.set("time", time)
        ref.set("window", self.expression(spec, token=token))
        ref.set("alias", self._parse_table_alias(alias_tokens or self.TABLE_ALIAS_TOKENS) or ref.args.get("alias"))
        return ref

    def _parse_session_keys(self) -> list[exp.Expr] | None:
        """``PARTITION BY k``, ``PARTITION BY (k, m)`` or nothing."""
        if not self._match(TokenType.PARTITION_BY):
            return None
        if not self._match(TokenType.L_PAREN):
            key = self._parse_column()
            return [] if key is None else [key]
        keys: list[exp.Expr] = self._parse_csv(self._parse_column)
        self._match_r_paren()
        return keys

    def _parse_wrapped_query(self, alias_tokens: Any) -> exp.Expr | None:
        """A query in parentheses with its window and alias; None, with nothing read, when there is none."""
        index = self._index
        if not self._match(TokenType.L_PAREN):
            return None
        inner: exp.Expr | None = None
        if self._at_wrapper():
            inner = self._parse_to_stream()
        elif self._curr and self._curr.token_type in _QUERY:
            inner = self._parse_query()
        if inner is None:
            self._retreat(index)
            return None
        if not self._match(TokenType.R_PAREN):
            self.raise_error("the parenthesis around this sub-query is not closed here")
        return self._with_alias(inner, alias_tokens)

    def _with_alias(self, inner: exp.Expr, alias_tokens: Any) -> exp.Expr:
        """A query in FROM, with its window before or after the alias."""
        window = self._parse_stream_window()
        query = exp.Subquery(this=inner, alias=self._parse_table_alias(alias_tokens or self.TABLE_ALIAS_TOKENS))
        if self._curr and self._curr.token_type == TokenType.L_BRACKET:
            if window is not None:
                self.raise_error("this sub-query already has a window: write one, before or after the alias")
            window = self._parse_stream_window()
        query.set("window", window)
        return query

    def _parse_stream_ref(self, alias_tokens: Any) -> StreamRef:
        token = self._curr
        table = self._parse_table_parts()
        if table is None:
            raise self._error("expected the name of a stream here")
        window = self._parse_stream_window()
        alias = self._parse_table_alias(alias_tokens or self.TABLE_ALIAS_TOKENS)
        if alias is not None and self._curr and self._curr.token_type == TokenType.L_BRACKET:
            if window is not None:
                self.raise_error("this stream already has a window: write one, before or after the alias")
            window = self._parse_stream_window()
        ref = StreamRef(**{k: v for k, v in table.args.items() if v})
        ref.set("alias", alias)
        ref.set("window", window)
        ref.set("sample", self._parse_table_sample())
        ref.set("pivots", self._parse_pivots())
        return self.expression(ref, token=token)

def _as_name(token: Token) -> Token:
    """The word WINDOW as a name; other tokens as they are."""
    if token.token_type != TokenType.WINDOW:
        return token
    return Token(TokenType.VAR, token.text, token.line, token.col, token.start, token.end, token.comments)


def _named(call: exp.Expr, token: Token) -> exp.Expr:
    """The call, which remembers its name as written, and its place where sqlglot has none."""
    inner = call
    while isinstance(inner, _AROUND_CALLS) and isinstance(inner.this, exp.Expr):
        inner = inner.this
    if isinstance(inner, exp.Func) and "called" not in inner.meta:
        inner.meta["called"] = token.text
        placeless = not any("start" in n.meta for n in inner.walk())
        if placeless or (isinstance(inner, exp.AggFunc) and "start" not in inner.meta):
            inner.update_positions(token)
    return call


def _quantile(node: Any) -> Any:
    """PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x), as QUANTILE(x, q), PERCENTILE_DISC as PERCENTILE_DISC(x, q);
    other nodes as they are."""
    if not (isinstance(node, exp.WithinGroup) and isinstance(node.this, exp.PercentileCont | exp.PercentileDisc)):
        return node
    call, keys = node.this, node.expression.expressions
    if call.args.get("expression") or len(keys) != 1 or keys[0].args.get("desc"):
        return node
    if isinstance(call, exp.PercentileCont):
        made: exp.Expr = exp.Quantile(this=keys[0].this, quantile=call.this)
    else:
        made = exp.PercentileDisc(this=keys[0].this, expression=call.this)
    made.meta.update(call.meta)
    return made


def _is_within(arg: exp.Expr, built: exp.Expr) -> bool:
    """Whether an argument is part of the node of its call; a constant may have changed its form there."""
    if isinstance(arg, exp.Boolean) and isinstance(built, _IGNORING):
        return True  # FIRST(x, true) is FIRST(x) IGNORE NULLS
    if isinstance(arg, exp.Literal) and built.args.get("format"):
        return True  # written in the letters of another language
    leaf = isinstance(arg, exp.Literal | exp.Column)
    return any(n is arg or (leaf and n.name.lower() == arg.name.lower()) for n in built.walk())


class Cql(Spark):
    """The dialect; used through ``cql.parse``."""

    Parser = CqlParser

    class Tokenizer(Spark.Tokenizer):
        """Spark's; a quote written twice is a quote, as in ``'it''s'`` (Spark 4)."""

        STRING_ESCAPES = ["\\", "'", '"']  # noqa: RUF012

    def tokenize(self, sql: str, *args: Any, **kwargs: Any) -> list[Token]:
        """As Spark's; ``window(ts, size)`` is a call, though its name begins a clause elsewhere."""
        tokens: list[Token] = super().tokenize(sql, *args, **kwargs)
        return [_as_name(a) if b.token_type == TokenType.L_PAREN else a for a, b in pairwise(tokens)] + tokens[-1:]

    def to_json_path(self, path: exp.Expr | None) -> exp.Expr | None:
        """The path as it stands: no function here reads one, and sqlglot would log what it does not understand."""
        return path
