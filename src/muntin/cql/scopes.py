"""Names: streams of the catalog, and columns of the scans in FROM. Case does not matter, as in Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from sqlglot import exp

from muntin.core.errors import QueryError
from muntin.cql.places import place_of
from muntin.plan.catalog import Catalog
from muntin.plan.exprs import Column
from muntin.plan.nodes import Scan

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
    streams = [s.name for s in catalog.streams]
    return f"there is no stream {name!r}.{did_you_mean(name, streams)} Registered streams: {listing(streams)}"


@dataclass(frozen=True)
class Scope:
    """The scans of one FROM clause, in text order."""

    scans: tuple[Scan, ...]
    text: str

    def resolve(self, node: exp.Column) -> Column:
        """The one column that ``node`` names.

        Raises:
            QueryError: unknown alias, unknown or ambiguous column; the message lists what is there.
        """
        if node.args.get("db"):
            raise place_of(node, self.text).unsupported(
                f"{node.sql(dialect='spark')} has too many parts: write column or alias.column "
                "(fields of structs are not supported)"
            )
        name = node.name
        scans = self._aliased(node) if node.table else self.scans
        hits = [found for s in scans for found in _columns(s, name)]
        if len(hits) == 1:
            return hits[0]
        raise self._ambiguous(node, hits) if hits else self._unknown(node, scans)

    def columns(self, node: exp.Expr) -> list[tuple[str, Column]]:
        """``(plain name, column)`` of everything that ``*`` or ``alias.*`` stands for."""
        qualified = isinstance(node, exp.Column) and bool(node.table)
        scans = self._aliased(node) if qualified else self.scans
        return [(f.name, Column(f"{s.alias}.{f.name}", f.type)) for s in scans for f in s.stream.schema]

    def _aliased(self, node: exp.Expr) -> tuple[Scan, ...]:
        part = node.args["table"]
        found = tuple(s for s in self.scans if s.alias.lower() == part.name.lower())
        if found:
            return found
        aliases = [s.alias for s in self.scans]
        hidden = next((s for s in self.scans if s.stream.name.lower() == part.name.lower()), None)
        hint = f" The stream is called {hidden.alias} here." if hidden else did_you_mean(part.name, aliases)
        raise place_of(part, self.text).error(f"there is no {part.name!r} in FROM.{hint} FROM has: {listing(aliases)}")

    def _ambiguous(self, node: exp.Column, hits: Sequence[Column]) -> QueryError:
        names = " or ".join(h.name for h in hits)
        return place_of(node.this, self.text).error(f"{node.name!r} is ambiguous: write {names}")

    def _unknown(self, node: exp.Column, scans: Sequence[Scan]) -> QueryError:
        single = len(scans) == 1
        known = [f.name if single else f"{s.alias}.{f.name}" for s in scans for f in s.stream.schema]
        plain = [f.name for s in scans for f in s.stream.schema]
        owner = f"{scans[0].alias} (stream {scans[0].stream.name})" if single else "the streams in FROM"
        return place_of(node.this, self.text).error(
            f"there is no column {node.name!r} in {owner}.{did_you_mean(node.name, plain)} Columns: {listing(known)}"
        )


def _columns(scan: Scan, name: str) -> list[Column]:
    fields = [f for f in scan.stream.schema if f.name.lower() == name.lower()]
    exact = [f for f in fields if f.name == name]
    return [Column(f"{scan.alias}.{f.name}", f.type) for f in (exact if len(exact) == 1 else fields)]
