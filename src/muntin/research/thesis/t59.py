"""T59, thesis section 8.3: which synopses a query with a predicate may read, on the example of Q1 to Q6.

The product has no matching of synopses by their predicates: every row is kept under the set of all predicates that it
fulfils (``operators.predicate_index``), which is the finest disjoint cover of them all, so that any query can be
answered and SUM of overlapping predicates is right without a rule that rejects it. The covers of the text are
``plan.dnf``; both are judged here.
"""

from __future__ import annotations

from random import Random

import pyarrow as pa

from muntin.core.schema import Schema
from muntin.cql.binder import bind
from muntin.dataflow.planner import plan_queries
from muntin.local.runtime import LocalPipeline
from muntin.operators.synopsis import Synopsis
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.dnf import Dnf, dnf_of, is_cover, is_disjoint_cover, is_subcover, is_supercover
from muntin.plan.nodes import Filter, walk
from muntin.research.harness import Check, Entry, Outcome, Setting

SCHEMA = Schema.of(ts=pa.int64(), protocol=pa.string(), user=pa.string(), length=pa.int64())
CATALOG = Catalog((Stream("S", SCHEMA, "ts", ts_unit=1_000_000),))
QUERIES = {
    "Q1": ("SUM", "protocol = 'TCP'"),
    "Q2": ("SUM", "protocol = 'UDP'"),
    "Q3": ("SUM", "protocol = 'TCP' OR protocol = 'UDP'"),
    "Q4": ("MAX", "protocol = 'TCP'"),
    "Q5": ("MAX", "user = 'U'"),
    "Q6": ("MAX", "protocol = 'TCP' OR user = 'U'"),
    "Q7": ("SUM", "protocol = 'TCP' OR user = 'U'"),
}
"""The text's queries, and Q7: the SUM of Q6's rows, of which Q4's and Q5's predicates overlap."""

DUPLICATE_SENSITIVE = frozenset(["SUM", "COUNT", "AVG"])


def text(name: str) -> str:
    """A query with a window: 60 seconds, every 5."""
    function, where = QUERIES[name]
    return f"SELECT {function}(length) AS a FROM S [RANGE 60 SECONDS SLIDE 5 SECONDS] WHERE {where}"


def predicates() -> dict[str, Dnf]:
    """The queries' predicates in normal form."""
    bound = {name: bind(text(name), CATALOG).root for name in QUERIES}
    filters = {name: next(n for n in walk(root) if isinstance(n, Filter)) for name, root in bound.items()}
    return {name: dnf_of(f.predicate) for name, f in filters.items()}


def usable(function: str, parts: list[Dnf], whole: Dnf) -> bool:
    """Rule SS4 for windows of one length: whether synopses of ``parts`` may answer an aggregate over ``whole``."""
    return is_disjoint_cover(parts, whole) if function in DUPLICATE_SENSITIVE else is_cover(parts, whole)


def matched(p: dict[str, Dnf]) -> dict[str, bool]:
    """What the text says of the example, and whether the matcher says so."""
    return {
        "{Q1, Q2} disjoint cover of Q3": is_disjoint_cover([p["Q1"], p["Q2"]], p["Q3"]),
        "Q1 subcover of Q3": is_subcover(p["Q1"], p["Q3"]) and not is_subcover(p["Q3"], p["Q1"]),
        "{Q4, Q5} cover of Q6": is_cover([p["Q4"], p["Q5"]], p["Q6"]),
        "{Q4, Q5} not disjoint": not is_disjoint_cover([p["Q4"], p["Q5"]], p["Q6"]),
        "MAX may read them": usable("MAX", [p["Q4"], p["Q5"]], p["Q6"]),
        "SUM may not": not usable("SUM", [p["Q4"], p["Q5"]], p["Q7"]),
        "Q3 supercover of Q1 and Q2": is_supercover(p["Q3"], p["Q1"]) and is_supercover(p["Q3"], p["Q2"]),
    }


def data(rows: int) -> pa.Table:
    """Packets, 20 a second."""
    rng = Random(59)
    return pa.table(
        {
            "ts": [i // 20 for i in range(rows)],
            "protocol": [rng.choice(["TCP", "UDP", "ICMP", None]) for _ in range(rows)],
            "user": [rng.choice(["U", "V", None]) for _ in range(rows)],
            "length": [rng.randint(40, 1500) for _ in range(rows)],
        }
    )


def answers(names: list[str], rows: int) -> tuple[LocalPipeline, dict[str, list[int | None]]]:
    """The pipeline of some queries, and what each shows."""
    pipeline = LocalPipeline(plan_queries(bind(text(n), CATALOG) for n in names))
    found = [pipeline.push_all({"S": data(rows)}), pipeline.finish_all()]
    tables = [pa.concat_tables(parts) for parts in zip(*found, strict=True)]
    return pipeline, {n: t.column("a").to_pylist() for n, t in zip(names, tables, strict=True)}


def judge(
    rules: dict[str, bool], together: dict[str, list[int | None]], alone: dict[str, list[int | None]], synopses: int
) -> tuple[Check, ...]:
    """The matcher, the answers, and that they come from one synopsis."""
    missed = [what for what, ok in rules.items() if not ok]
    totals = zip(*(together[q] for q in ("Q1", "Q2", "Q3")), strict=True)
    subtracted = all((q3 or 0) - (q2 or 0) == (q1 or 0) for q1, q2, q3 in totals)
    differ = [n for n in alone if together[n] != alone[n]]
    return (
        Check("the matcher finds the text's covers", f"not: {missed}" if missed else "all found", not missed),
        Check("answers equal direct evaluation", f"{differ or 'none'} differ", not differ),
        Check("Q1 = Q3 - Q2", str(subtracted), subtracted),
        Check("one synopsis for all of them", f"{synopses}", synopses == 1),
    )


def run(setting: Setting) -> Outcome:
    """All queries together, each alone, and the matcher."""
    rows = 2_000 if setting.smoke else 20_000
    pipeline, together = answers(list(QUERIES), rows)
    alone = {n: answers([n], rows)[1][n] for n in QUERIES}
    synopses = sum(isinstance(v.op, Synopsis) for v in pipeline.graph.vertices)
    return Outcome(judge(matched(predicates()), together, alone, synopses))


ENTRY = Entry(
    "T59",
    "covers, subcovers, supercovers and disjoint covers of Q1 to Q6 let queries share synopses",
    "matcher returns the text's covers; answers equal direct evaluation; SUM with overlapping predicates rejected",
    run,
)
