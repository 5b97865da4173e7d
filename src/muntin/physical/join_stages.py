"""Stages of an n-way join: as many inputs as possible in one operator on one key, a new stage where the key changes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from muntin.core.schema import Field, Schema
from muntin.optimizer.estimate import flow_of
from muntin.optimizer.statistics import Statistics
from muntin.physical.conditions import Conditions, KeyClass, aliases
from muntin.physical.join_layout import chain, graph_join, in_stages, spread
from muntin.physical.stage import Compute, DerivedInput, Input, Op, SourceInput, Stage, WindowJoin
from muntin.plan.exprs import Call, Column, Expr, columns_of, conjunction, map_columns
from muntin.plan.nodes import Scan


@dataclass(frozen=True)
class Joined:
    """The stages of a join. The last one is open: the planner adds operators to it or cuts another.

    ``schema``: the columns that it emits; ``shard_terms``: for each column of its shard key, all plain columns equal to
    it (rows that agree on one of each are on one shard); None when everything is on one shard.
    """

    stages: tuple[Stage, ...]
    schema: Schema
    shard_terms: tuple[frozenset[str], ...] | None


@dataclass(frozen=True)
class _Part:
    """Something that a join stage can take as input: a window, or the result of an earlier stage."""

    aliases: frozenset[str]
    scan: Scan | None
    stage: int
    schema: Schema


def join_stages(scans: tuple[Scan, ...], conditions: Conditions, needed: frozenset[str]) -> Joined:
    """The stages of a join of windows. ``needed``: plan columns used above the join.

    Inputs that all share a key are one stage; others one stage over the join graph, or left-deep stages over keys, the
    key that covers most inputs first, where that is cheaper by estimate.
    """
    columns = _shipped(scans, conditions, needed)
    if not any(len(k.aliases) == len(scans) for k in conditions.keys):
        graph = _graph_stage(scans, conditions, columns)
        if graph is not None:
            return graph
    return _left_deep(scans, conditions, columns)


def _graph_stage(scans: tuple[Scan, ...], conditions: Conditions, columns: dict[str, Schema]) -> Joined | None:
    """One stage over the join graph; None where stages by key are cheaper."""
    place = {s.alias: i for i, s in enumerate(scans)}
    classes = tuple(
        tuple(sorted((place[a], key_name(a, e, n)) for a, e in k.terms)) for n, k in enumerate(conditions.keys)
    )
    shared = tuple(c for c in classes if len(c) > 1)
    names = [columns[s.alias].names for s in scans]
    rates = [flow_of(s, Statistics()).rate for s in scans]
    way = spread(names, shared, rates)
    groups = chain([frozenset(i for i, _ in c) for c in shared], len(scans))
    if in_stages(scans, conjunction([*_equal_terms(conditions), *conditions.rest]), way, groups):
        return None
    inputs = tuple(
        _input(_Part(frozenset([s.alias]), s, -1, columns[s.alias]), key or (), conditions, everywhere=key is None)
        for s, key in zip(scans, way.keys, strict=True)
    )
    schema = Schema(tuple(f for s in scans for f in columns[s.alias]))
    stage = Stage(inputs, (graph_join(names, shared, conditions.rest),), schema, signed=False)
    return Joined((stage,), schema, way.terms(shared))


def _equal_terms(conditions: Conditions) -> list[Expr]:
    return [Call("eq", (k.terms[0][1], t), pa.bool_()) for k in conditions.keys for _, t in k.terms[1:]]


def _left_deep(scans: tuple[Scan, ...], conditions: Conditions, columns: dict[str, Schema]) -> Joined:
    waiting = {s.alias: _Part(frozenset([s.alias]), s, -1, columns[s.alias]) for s in scans}
    open_rest = list(conditions.rest)
    stages: list[Stage] = []
    current: _Part | None = None
    keys: list[KeyClass] = []
    while current is None or waiting:
        parts, keys = _next_parts(current, waiting, conditions)
        covered = frozenset(a for p in parts for a in p.aliases)
        closing, open_rest = _closed_by(open_rest, covered)
        closing += _equalities(conditions, keys, parts)
        stage = _stage(parts, keys, closing, conditions)
        stages.append(stage)
        waiting = {a: p for a, p in waiting.items() if a not in covered}
        current = _Part(covered, None, len(stages) - 1, stage.schema)
    terms = tuple(frozenset(_names(k)) for k in keys) if keys else None
    return Joined(tuple(stages), stages[-1].schema, terms)


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


def _next_parts(
    current: _Part | None, waiting: dict[str, _Part], conditions: Conditions
) -> tuple[list[_Part], list[KeyClass]]:
    """The inputs of the next stage and its keys: the largest set joined on one key, else a cross product of two."""
    done = current.aliases if current else frozenset()
    choices = [k for k in conditions.keys if (k.aliases & waiting.keys()) and (current is None or k.aliases & done)]
    if choices:
        best = max(choices, key=lambda k: len(k.aliases & waiting.keys()))
        parts = [p for a, p in waiting.items() if a in best.aliases]
        if current:
            parts = [current, *parts]
        elif len(parts) == 1:
            parts = list(waiting.values())[:2]
        keys = [k for k in conditions.keys if all(k.aliases & p.aliases for p in parts)]
        return parts, keys
    nexts = list(waiting.values())
    return ([current, nexts[0]] if current else nexts[:2]), []


def _closed_by(predicates: list[Expr], covered: frozenset[str]) -> tuple[list[Expr], list[Expr]]:
    closed = [p for p in predicates if aliases(p) <= covered]
    return closed, [p for p in predicates if not aliases(p) <= covered]


def _equalities(conditions: Conditions, keys: list[KeyClass], parts: list[_Part]) -> list[Expr]:
    """Equalities between inputs of this stage that are not its key."""
    found: list[Expr] = []
    for number, key in enumerate(conditions.keys):
        inside = [(p, a) for p in parts for a in sorted(p.aliases & key.aliases)]
        by_part = dict(reversed(inside))
        if key in keys or len(by_part) < 2:
            continue
        (_, first), *others = by_part.items()
        found += [_eq(key, number, first, other) for _, other in others]
    return found


def _eq(key: KeyClass, number: int, left: str, right: str) -> Expr:
    sides = [Column(key_name(a, key.term(a), number), key.term(a).type) for a in (left, right)]
    return Call("eq", tuple(sides), pa.bool_())


def _stage(parts: list[_Part], keys: list[KeyClass], closing: list[Expr], conditions: Conditions) -> Stage:
    numbers = [conditions.keys.index(k) for k in keys]
    columns = [tuple(_key_column(p, conditions.keys[n], n) for n in numbers) for p in parts]
    inputs = tuple(_input(p, k, conditions) for p, k in zip(parts, columns, strict=True))
    ops: tuple[Op, ...] = (WindowJoin(tuple(columns)),)
    if closing:
        ops += (Compute(conjunction(closing)),)
    schema = Schema(tuple(f for p in parts for f in p.schema))
    return Stage(inputs, ops, schema, signed=False)


def _key_column(part: _Part, key: KeyClass, number: int) -> str:
    alias = min(part.aliases & key.aliases)
    return key_name(alias, key.term(alias), number)


def _input(part: _Part, key: tuple[str, ...], conditions: Conditions, everywhere: bool = False) -> Input:
    if part.scan is None:
        return DerivedInput(part.stage, part.schema, key)
    terms = {
        key_name(part.scan.alias, k.term(part.scan.alias), n): k.term(part.scan.alias)
        for n, k in enumerate(conditions.keys)
        if part.scan.alias in k.aliases
    }
    names = [(f.name, terms.get(f.name, Column(f.name, f.type))) for f in part.schema]
    return replace(source_columns(part.scan, conditions, names, key), everywhere=everywhere)
