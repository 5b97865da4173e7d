"""H14, Hammad et al. 3.4: what giving out results costs.

In operations (``research.unit``) of the section's streams, and as the meter counts those of the product's shared join
and of the queries that read it, by hash and over a condition that no index serves.
"""

from __future__ import annotations

from random import Random

from muntin.research.harness import Check, Entry, Outcome, Setting
from muntin.research.shared_joins import product
from muntin.research.shared_joins.workload import TABLE_1, Access, arrivals_of, rows_work


def share(access: Access) -> float:
    """Results in all operations of the join over the Uniform windows."""
    rows = arrivals_of(2_000, 100.0 if access == "hash" else 15.0, 600.0, 1)
    work, results = rows_work(rows, TABLE_1["Uniform"], access)
    return float(results.sum() / work.sum())


def judge(shares: dict[str, float], counted: dict[str, float]) -> tuple[Check, ...]:
    """Not trivial by hash, and more than by nested loops."""
    by_hash = f"{shares['hash']:.0%} on the document's streams, {counted['hash']:.0%} in the product"
    loops = f"{shares['nlj']:.1%} and {counted['nlj']:.0%} by nested loops"
    return (
        Check("by hash >= 10 %", by_hash, min(shares["hash"], counted["hash"]) >= 0.1),
        Check("more than by nested loops", loops, shares["hash"] > shares["nlj"] and counted["hash"] > counted["nlj"]),
    )


def run(setting: Setting) -> Outcome:
    """Both ways of access, both ways of counting."""
    batches = product.draw_batches(Random("H14"), 10, 20 if setting.smoke else 60, 40)
    counted = {
        "hash": product.output_share(product.HASH, batches)[0], "nlj": product.output_share(product.LOOPS, batches)[0]
    }  # fmt: skip
    return Outcome(judge({"hash": share("hash"), "nlj": share("nlj")}, counted))


ENTRY = Entry(
    "H14",
    "producing output tuples is up to 40% of execution time",
    "share of output construction and routing in hash mode >= 10% and larger for hash than for NLJ",
    run,
)
