"""The sizes of T65 to T68, what they say where a claim does not hold, and what the document's cost would give.

The clock goes by what the product counts (``periodic.product``), and the verdicts by that. The same by the document's
cost is in a note, and what a run of all queries of a group takes, by either, in the record's figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

from muntin.research.harness import Plot, Setting
from muntin.research.periodic.load import GROUPS, LOW, model_of, queries
from muntin.research.periodic.policies import POLICIES, By, Found, Load, measure, run_with, speed, tasks_of

SIZES = (5, 10, 20, 30)
"""Queries of each of the eight groups."""

BY: tuple[By, ...] = ("product", "document")
"""Who counts."""

SEEDS = 3
"""Random workloads of each size."""

Table = Mapping[int, Mapping[str, Found]]
"""Number of queries -> policy -> what was found."""


def base(setting: Setting, rate: int = LOW) -> Load:
    """The workload of one query a group; in a smoke run a quarter of the time."""
    return Load(1, rate, 100 if setting.smoke else 400, clock=setting.clock)


def table(setting: Setting, rate: int) -> Table:
    """Every policy under every size, over three random workloads each; in a smoke run the largest two sizes."""
    sizes = SIZES[-2:] if setting.smoke else SIZES
    loads = {n * len(GROUPS): replace(base(setting, rate), per_group=n) for n in sizes}
    return {n: {p: measure(p, load, SEEDS) for p in POLICIES} for n, load in loads.items()}


def slower(setting: Setting) -> str:
    """Why HS gains less over CS than the document says where CS keeps up: what CS leaves undone, and what HS gains on a
    machine half as fast."""
    load = replace(base(setting), per_group=SIZES[-1])
    asked = sum(1 / q.period for q in queries(load.per_group, load.seed))
    half = speed(load.updates, load.finish, load.by, load.clock) / 2
    cs, late, hs = measure("CS", load), run_with("CS", load, half), run_with("HS", load, half)
    return (
        f"with {len(GROUPS) * load.per_group} queries CS is late by {cs.latency:.2f} updates here and does "
        f"{cs.throughput:.1f} of the {asked:.1f} runs a second that are asked for, so HS can only add early ones; on a "
        f"machine half as fast CS is late by {late.latency:.1f}, HS by {hs.latency:.1f}, and HS/CS is "
        f"{hs.throughput / late.throughput:.2f}"
    )


def own_share(load: Load) -> float:
    """Share of a joint run of all queries of a group that is not the scan, the mean of the groups."""
    shares = []
    for task in tasks_of("aggressive", load):
        model = model_of(load.counts[str(task.group)])
        shares.append(1 - model.scan(task.window) / model.run((task,)))
    return sum(shares) / len(shares)


def dearer(load: Load) -> float:
    """How many times the work of its longest query alone a run of all queries of a group is, the mean of the groups."""
    found = []
    for task in tasks_of("aggressive", load):
        model, longest = model_of(load.counts[str(task.group)]), max(task.queries, key=lambda q: q.window)
        found.append(model.run((task,)) / (model.scan(task.window) + model.finish(longest)))
    return sum(found) / len(found)


def ordered(found: Mapping[str, Found], policies: tuple[str, ...], what: str, slack: float = 0.05) -> bool:
    """Whether each policy has at least as much as the one before, give or take ``slack``."""
    values = [getattr(found[p], what) for p in policies]
    return all(b >= a * (1 - slack) for a, b in pairwise(values))


def plot(found: Table, what: str, unit: str) -> Plot:
    """A curve for each policy over the number of queries."""
    series = {p: [(float(n), getattr(row[p], what)) for n, row in found.items()] for p in POLICIES}
    return Plot(what, "queries", unit, series, log=False)


def figures(found: Table, setting: Setting, rate: int) -> dict[str, object]:
    """All numbers, for the record."""
    sizes = {f"{n} queries": {p: [f.throughput, f.latency] for p, f in row.items()} for n, row in found.items()}
    return {**sizes, "scan and rest of a run of a whole group": whole_runs(replace(base(setting, rate), per_group=30))}


def whole_runs(load: Load) -> dict[str, object]:
    """By group what running all of its queries takes, [scan, what they do of their own], as the product counts it and
    by the document's cost."""
    found: dict[str, object] = {}
    for task in tasks_of("aggressive", load):
        models = {by: model_of(replace(load, by=by).counts[str(task.group)]) for by in BY}
        found[str(task.group)] = {
            by: [round(m.scan(task.window)), round(sum(map(m.finish, task.queries)))] for by, m in models.items()
        }
    return found


def documents(setting: Setting, rate: int, what: str) -> str:
    """The values of the largest size by the document's cost."""
    load = replace(base(setting, rate), per_group=SIZES[-1], by="document", clock="virtual")
    row = {p: measure(p, load, 1 if setting.smoke else SEEDS) for p in POLICIES}
    own = own_share(load), own_share(replace(load, by="product", clock=setting.clock))
    return (
        f"{what} by the document's cost, not the product's: {words(row, what)}; what queries do of their own is "
        f"{own[0]:.0%} of a run of a whole group there, {own[1]:.0%} as the product counts"
    )


def words(row: Mapping[str, Found], what: str) -> str:
    """The values of one size."""
    return ", ".join(f"{p} {getattr(f, what):.2f}" for p, f in row.items())
