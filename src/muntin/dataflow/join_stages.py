"""The stage of an n-way join of windows: on the keys that all inputs share, or over their join graph."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from muntin.core.schema import Field, Schema
from muntin.dataflow.conditions import Conditions, KeyClass
from muntin.dataflow.join_layout import Class, Spread, graph_join, relay, relayed_is_cheaper, spread
from muntin.dataflow.stage import Op, SourceInput, Stage
from muntin.operators.compute import Compute
from muntin.operators.joins.join_graph import GraphJoin
from muntin.operators.joins.window_join import WindowJoin
from muntin.optimizer.estimate import flow_of
from muntin.optimizer.statistics import Statistics
from muntin.plan.exprs import Call, Column, Expr, columns_of, conjunction, map_columns
from muntin.plan.nodes import Scan


@dataclass(frozen=True)
class Joined:
    """The stage of a join. It is open: the planner adds operators to it or cuts another.

    ``schema``: the columns that it emits; ``shard_terms``: for each column of its shard key, all plain columns equal to
    it (rows that agree on one of each are on one shard); None when everything is on one shard. An empty set: no column
    tells.
    """

    stages: tuple[Stage, ...]
    schema: Schema
    shard_terms: tuple[frozenset[str], ...] | None


def join_stages(scans: tuple[Scan, ...], conditions: Conditions, needed: frozenset[str], split: bool = False) -> Joined:
    """The stage of a join of windows. ``needed``: plan columns used above the join; ``split``: a join of two windows
    shares hot keys among all shards."""
    columns = _shipped(scans, conditions, needed)
    names = [columns[s.alias].names for s in scans]
    schema = Schema(tuple(f for s in scans for f in columns[s.alias]))
    keys = [n for n, k in enumerate(conditions.keys) if len(k.aliases) == len(scans)]
    if keys:
        shard_keys = [tuple(_key_column(s, conditions, n) for n in keys) for s in scans]
        inputs = tuple(_input(s, columns[s.alias], k, conditions) for s, k in zip(scans, shard_keys, strict=True))
        split = split and len(scans) == 2
        inputs = tuple(replace(i, split=split) for i in inputs)
        ops: tuple[Op, ...] = (WindowJoin(tuple(shard_keys), split=split),)
        closing = [*conditions.rest, *_other_equalities(conditions, keys)]
        if closing:
            ops += (Compute(conjunction(closing)),)
        terms = (frozenset[str](),) if split else tuple(frozenset(_names(conditions.keys[n])) for n in keys)
        return Joined((Stage(inputs, ops, schema, signed=False),), schema, terms)
    classes = _classes(scans, conditions)
    way = spread(names, classes, _rates(scans))
    inputs = tuple(_input(s, columns[s.alias], k, conditions) for s, k in zip(scans, way.keys, strict=True))
    op: GraphJoin = graph_join(names, classes, conditions.rest)
    return Joined((Stage(inputs, (op,), schema, signed=False),), schema, way.terms(classes))


def wants_relays(scans: tuple[Scan, ...], conditions: Conditions) -> bool:
    """Whether relayed stages are cheaper by estimate than what ``join_stages`` plans."""
    classes = _classes(scans, conditions)
    plan = relay(classes, len(scans))
    if plan is None or any(len(c) == len(scans) for c in classes):
        return False
    way: Spread = spread([s.schema.names for s in scans], classes, _rates(scans))
    equal = [Call("eq", (k.terms[0][1], t), pa.bool_()) for k in conditions.keys for _, t in k.terms[1:]]
    return relayed_is_cheaper(scans, conjunction([*equal, *conditions.rest]), way, plan)


def _classes(scans: tuple[Scan, ...], conditions: Conditions) -> tuple[Class, ...]:
    place = {s.alias: i for i, s in enumerate(scans)}
    found = (tuple(sorted((place[a], key_name(a, e, n)) for a, e in k.terms)) for n, k in enumerate(conditions.keys))
    return tuple(c for c in found if len(c) > 1)


def _rates(scans: tuple[Scan, ...]) -> list[float]:
    return [flow_of(s, Statistics()).rate for s in scans]


def source_columns(
    scan: Scan, conditions: Conditions, names: list[tuple[str, Expr]], key: tuple[str, ...]
) -> SourceInput:
    """A window as a stage input: its filters pushed into the source, ``names`` computed there."""
    keep = conjunction([local(e) for e in (*conditions.of(scan.alias), *conditions.constant)])
    shipped = tuple((n, local(e)) for n, e in names)
    return SourceInput(scan.alias, scan.stream, scan.window, keep, shipped, key)


def local(e: Expr) -> Expr:
    """A plan expression over one window, in terms of the stream's own columns."""
    return map_columns(e, lambda c: Column(c.name.split(".", 1)[1], c.type))


def key_name(alias: str, term: Expr, number: int) -> str:
    """The column that carries a key term of an alias: itself when it is plain."""
    return term.name if isinstance(term, Column) else f"{alias}.__key{number}"


def _names(key: KeyClass) -> list[str]:
    return [t.name for _, t in key.terms if isinstance(t, Column)]


def _shipped(scans: tuple[Scan, ...], conditions: Conditions, needed: frozenset[str]) -> dict[str, Schema]:
    """By alias the columns to carry: those used above or by a later condition, and the key terms."""
    used = set(needed) | {c.name for e in conditions.rest for c in columns_of(e)}
    found: dict[str, Schema] = {}
    for scan in scans:
        fields = [f for f in scan.schema if f.name in used]
        for number, key in enumerate(conditions.keys):
            if scan.alias in key.aliases:
                term = key.term(scan.alias)
                name = key_name(scan.alias, term, number)
                if name not in {f.name for f in fields}:
                    fields.append(Field(name, term.type))
        found[scan.alias] = Schema(tuple(fields))
    return found


def _other_equalities(conditions: Conditions, keys: list[int]) -> list[Expr]:
    """Equalities between inputs that are not the join's keys."""
    found: list[Expr] = []
    for n, key in enumerate(conditions.keys):
        if n not in keys:
            (first, _), *others = key.terms
            sides = [(_column(conditions, n, first), _column(conditions, n, a)) for a, _ in others]
            found += [Call("eq", pair, pa.bool_()) for pair in sides]
    return found


def _column(conditions: Conditions, number: int, alias: str) -> Column:
    term = conditions.keys[number].term(alias)
    return Column(key_name(alias, term, number), term.type)


def _key_column(scan: Scan, conditions: Conditions, number: int) -> str:
    return _column(conditions, number, scan.alias).name


def _input(scan: Scan, schema: Schema, key: tuple[str, ...] | None, conditions: Conditions) -> SourceInput:
    """A window as an input; without a key every shard gets it."""
    terms = {
        key_name(scan.alias, k.term(scan.alias), n): k.term(scan.alias)
        for n, k in enumerate(conditions.keys)
        if scan.alias in k.aliases
    }
    names = [(f.name, terms.get(f.name, Column(f.name, f.type))) for f in schema]
    return replace(source_columns(scan, conditions, names, key or ()), everywhere=key is None)
