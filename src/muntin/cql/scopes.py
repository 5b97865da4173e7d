"""Names: what a catalog offers, and columns of the sources in FROM. Case does not matter, as in Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import pyarrow as pa
from sqlglot import exp

from muntin.core.errors import QueryError
from muntin.cql.places import place_of
from muntin.plan.catalog import Catalog
from muntin.plan.exprs import Column, Expr
from muntin.plan.nodes import Node

_LISTED = 12


def listing(names: Sequence[str]) -> str:
    """The names for a message, cut after a dozen."""
    shown = ", ".join(names[:_LISTED])
    return f"{shown}, ... ({len(names)} in all)" if len(names) > _LISTED else shown or "none"


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """`` Did you mean x?`` for near misses, else nothing."""
    by_lower = {k.lower(): k for k in known}
    near = [by_lower[n] for n in get_close_matches(name.lower(), list(by_lower), n=3, cutoff=0.6)]
    return f" Did you mean {' or '.join(near)}?" if near else ""


def unknown_stream(name: str, catalog: Catalog) -> str:
    """Message for a FROM name that is not registered."""
    groups = {
        "streams": [s.name for s in catalog.streams],
        "tables": [t.name for t in catalog.tables],
        "views": [v.name for v in catalog.views],
    }
    every = [n for names in groups.values() for n in names]
    shown = [f"Registered {word}: {listing(names)}" for word, names in groups.items() if names]
    lines = ". ".join(shown or ["Nothing is registered"])
    return f"there is no stream {name!r}.{did_you_mean(name, every)} {lines}"


@dataclass(frozen=True)
class Source:
    """One item of FROM. ``alias`` as written; ``plan_alias`` is what the plan's columns begin with (another one where
    an enclosing query uses the alias too); ``what``: the kind of thing and its registered name, for messages."""

    node: Node
    alias: str
    plan_alias: str
    what: str = "sub-query"
    name: str = ""

    @property
    def columns(self) -> list[tuple[str, Column]]:
        """Plain names and the plan's columns."""
        cut = len(self.plan_alias) + 1
        return [(f.name[cut:], Column(f.name, f.type)) for f in self.node.schema]

    def named(self, name: str) -> list[Column]:
        """The columns called ``name``; an exact spelling wins over others."""
        found = [(n, c) for n, c in self.columns if n.lower() == name.lower()]
        exact = [c for n, c in found if n == name]
        return exact if len(exact) == 1 else [c for _, c in found]


@dataclass(frozen=True)
class Merged:
    """A column of JOIN ... USING: what its plain name stands for, and the columns of the joined sources under it."""

    name: str
    value: Expr
    parts: frozenset[Column]


@dataclass(frozen=True)
class Scope:
    """The sources of one FROM clause, in text order, inside ``outer``.

    ``merged``: columns of JOIN ... USING. ``barrier``: why queries inside cannot use columns of this scope and those
    around it, when they cannot.
    """

    sources: tuple[Source, ...]
    text: str
    outer: Scope | None = None
    barrier: str | None = None
    merged: tuple[Merged, ...] = ()

    @property
    def depth(self) -> int:
        """How many queries enclose this one whose columns it may use."""
        return 0 if self.outer is None or self.outer.barrier is not None else self.outer.depth + 1

    def local(self) -> set[str]:
        """Names of the plan's columns of this scope."""
        return {c.name for s in self.sources for _, c in s.columns}

    def every(self) -> set[str]:
        """Names of the plan's columns of this scope and the enclosing ones."""
        return self.local() | (self.outer.every() if self.outer is not None else set())

    def aliases(self) -> Iterator[str]:
        """Lower-case aliases taken here and in the enclosing queries."""
        yield from (s.plan_alias.lower() for s in self.sources)
        if self.outer is not None:
            yield from self.outer.aliases()

    def value(self, node: exp.Column) -> tuple[Expr, tuple[str, ...]]:
        """What ``a.b.c`` begins with, a column or the value of one of JOIN ... USING, and the fields behind it.

        Raises QueryError as ``resolve``.
        """
        found = self.used(node)
        return (found.value, ()) if found is not None else self.path(node)

    def used(self, node: exp.Column) -> Merged | None:
        """The column of JOIN ... USING that a plain name is, in the innermost query that has such a column."""
        if node.table:
            return None
        hits = self.hits(node)
        if not hits:
            return self.outer.used(node) if self.outer is not None and self.barrier is None else None
        return next((m for m in self.merged if m.name.lower() == node.name.lower() and m.parts >= {*hits}), None)

    def resolve(self, node: exp.Column) -> Column:
        """The one column that ``node`` names, here or in an enclosing query.

        Raises:
            QueryError: unknown alias, unknown or ambiguous column; the message lists what is there.
        """
        hits = self.hits(node)
        if len(hits) == 1:
            return hits[0]
        if hits:
            raise self._ambiguous(node, hits)
        outside = self.outer if not self._owns(node) else None
        barrier = None
        while outside is not None:
            barrier = barrier or outside.barrier
            if outside.hits(node) or outside._owns(node):
                return outside._seen_from_inside(node, barrier)
            outside = outside.outer
        raise self._unknown(node, self._aliased(node) if node.table else self.sources)

    def path(self, node: exp.Column) -> tuple[Column, tuple[str, ...]]:
        """The column that begins ``a.b.c``, and the fields behind it: of ``a.b`` a column b of an alias a wins over a
        field b of a column a, as in Spark.

        Raises QueryError as ``resolve``.
        """
        parts = [node.args[k] for k in ("catalog", "db", "table", "this") if node.args.get(k)]
        if len(parts) == 1:
            return self.resolve(node), ()
        qualified = exp.Column(this=parts[1].copy(), table=parts[0].copy())
        plain = exp.Column(this=parts[0].copy())
        fields = tuple(p.name for p in parts)
        if not self._sees(qualified):
            columns = self._sees(plain)
            if columns and pa.types.is_struct(columns[0].type):
                return self.resolve(plain), fields[1:]
        return self.resolve(node if len(parts) == 2 else qualified), fields[2:]

    def _sees(self, node: exp.Column) -> list[Column]:
        """The columns that ``node`` may name, of the innermost query that has any."""
        return self.hits(node) or (self.outer._sees(node) if self.outer is not None else [])

    def _seen_from_inside(self, node: exp.Column, barrier: str | None) -> Column:
        found = self.resolve(node)
        if barrier is not None:
            raise place_of(node, self.text).unsupported(f"{found.name} belongs to the enclosing query: {barrier}")
        return found

    def hits(self, node: exp.Column) -> list[Column]:
        """The columns of this scope that ``node`` may name."""
        sources = [s for s in self.sources if not node.table or s.alias.lower() == node.table.lower()]
        return [c for s in sources for c in s.named(node.name)]

    def columns(self, node: exp.Expr) -> list[tuple[str, Expr]]:
        """``(plain name, column)`` of everything that ``*`` or ``alias.*`` stands for; of sources that are joined with
        USING ``*`` gives its columns first, once."""
        if isinstance(node, exp.Column) and node.table:
            return [c for s in self._aliased(node) for c in s.columns]
        found: list[tuple[str, Expr]] = []
        shown: set[Merged] = set()
        for source in self.sources:
            own = [c for _, c in source.columns]
            first = [m for m in self.merged if m not in shown and any(c in m.parts for c in own)]
            shown |= {*first}
            found += [(m.name, m.value) for m in first]
            found += [(n, c) for n, c in source.columns if not any(c in m.parts for m in self.merged)]
        return found

    def _owns(self, node: exp.Column) -> bool:
        return bool(node.table) and any(s.alias.lower() == node.table.lower() for s in self.sources)

    def _aliased(self, node: exp.Expr) -> tuple[Source, ...]:
        part = node.args["table"]
        found = tuple(s for s in self.sources if s.alias.lower() == part.name.lower())
        if found:
            return found
        aliases = [s.alias for s in self.sources]
        hidden = next((s for s in self.sources if s.name.lower() == part.name.lower()), None)
        hint = f" The {hidden.what} is called {hidden.alias} here." if hidden else did_you_mean(part.name, aliases)
        whole = f"{part.name}.{node.name}"
        if any(n.lower() == whole.lower() for s in self.sources for n, _ in s.columns):
            hint = f" The column {whole} has a point in its name: write `{whole}`."
        raise place_of(part, self.text).error(f"there is no {part.name!r} in FROM.{hint} FROM has: {listing(aliases)}")

    def _ambiguous(self, node: exp.Column, hits: Sequence[Column]) -> QueryError:
        names = " or ".join(h.name for h in hits)
        return place_of(node.this, self.text).error(f"{node.name!r} is ambiguous: write {names}")

    def _unknown(self, node: exp.Column, sources: Sequence[Source]) -> QueryError:
        if node.name.lower() in ("window_start", "window_end"):
            return place_of(node.this, self.text).error(
                f"{node.name} is there in the outermost select list over TUMBLE, HOP and window(...) (beside "
                f"[RANGE ... SLIDE ...] write {node.name.upper()}()), or of a sub-query in FROM: at an instant there "
                "is one window, and a join meets rows of that window alone; leave it out elsewhere"
            )
        if node.name.lower() in ("window", "session_window"):
            name = node.name.lower()
            raise place_of(node.this, self.text).error(
                f"there is no column {name!r}, a struct: write {name}.start and {name}.end, which are columns of their "
                f"own over GROUP BY {name}(...)"
            )
        single = len(sources) == 1
        known = [n if single else f"{s.alias}.{n}" for s in sources for n, _ in s.columns]
        plain = [n for s in sources for n, _ in s.columns]
        owner = _owner(sources[0]) if single else "the streams in FROM"
        return place_of(node.this, self.text).error(
            f"there is no column {node.name!r} in {owner}.{did_you_mean(node.name, plain)} Columns: {listing(known)}"
        )


def _owner(source: Source) -> str:
    what = f"{source.what} {source.name}" if source.name else source.what
    return f"{source.alias} ({what})"


def free_alias(wanted: str, taken: set[str]) -> str:
    """``wanted``, or ``wanted_1``, ``wanted_2``, ...: the first that no alias in ``taken`` (lower case) equals."""
    name, n = wanted, 0
    while name.lower() in taken:
        n += 1
        name = f"{wanted}_{n}"
    return name
