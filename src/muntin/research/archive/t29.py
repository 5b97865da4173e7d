"""T29, thesis 4.4.6: which index suits how many queries, by pages; and what the product advises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from muntin.archive import Layout
from muntin.archive.advice import Workload, advise
from muntin.research.archive.workload import Run, figures, size
from muntin.research.archive.workload import run as through
from muntin.research.harness import Check, Entry, Outcome, Setting

QUERIES = (0, 10, 100, 1_000, 10_000, 100_000, 1_000_000)


def indices(sides: tuple[int, ...]) -> dict[str, Layout]:
    """By the thesis' names."""
    return {
        **{f"NoRebuild {g}x{g}": Layout(g, g, update="norebuild") for g in sides},
        **{f"Rebuild {g}x{g}": Layout(g, g) for g in sides},
    }


def best(found: Mapping[str, Run], probes: int) -> str:
    """The index that costs least between two updates."""
    return min(found, key=lambda name: found[name].update + probes * found[name].probe)


def judge(small: Mapping[str, Run], large: Mapping[str, Run]) -> tuple[Check, ...]:
    """What pays as there are more queries, on both sizes."""
    checks = []
    for what, found in (("small", small), ("large", large)):
        order = {q: best(found, q) for q in QUERIES}
        sides = [int(name.split()[1][0]) for name in order.values()]
        kinds = [name.split()[0] for name in order.values()]
        told = ", ".join(f"{q}: {name}" for q, name in order.items())
        ordered = sides == sorted(sides, reverse=True) and kinds == sorted(kinds)
        ends = kinds[0] == "NoRebuild" and order[QUERIES[-1]] == "Rebuild 2x2" and sides[0] > 2
        checks.append(
            Check(f"{what}: from NoRebuild and many sub-indices to Rebuild 2x2", told, ordered and ends, ENDS)
        )
    return tuple(checks)


ENDS = (
    "by pages NoRebuild and Rebuild lie within 5 % of each other (T26, T28), so which of them is cheapest turns on "
    "half-filled pages; the number of sub-indices falls with the queries as stated"
)


def judge_sides(found: Mapping[str, Run]) -> Check:
    """The number of sub-indices that pays never grows with the queries."""
    sides = [int(best(found, q).split()[1][0]) for q in QUERIES]
    return Check(
        "fewer sub-indices as queries grow", str(sides), sides == sorted(sides, reverse=True) and sides[-1] == 2
    )


def judge_advice(layouts: Sequence[tuple[int, str]]) -> Check:
    """What the product advises, as queries grow: side and kind."""
    sides, kinds = [s for s, _ in layouts], [k for _, k in layouts]
    right = sides == sorted(sides, reverse=True) and kinds == sorted(kinds) and layouts[-1] == (2, "rebuild")
    return Check("the product's advice goes the same way", str(layouts), right and kinds[0] == "norebuild")


def run(setting: Setting) -> Outcome:
    """Both sizes."""
    sides = (2, 4) if setting.smoke else (2, 3, 4, 5)
    small, large = (
        {name: through(x, size(setting.smoke, big)) for name, x in indices(sides).items()} for big in (False, True)
    )
    advised = []
    for q in QUERIES:
        found = advise(Workload(5e8, 5e5, 36, 8192, q))[0].layout
        advised.append((found.insertions, found.update))
    checks = (*judge(small, large), judge_sides(small), judge_sides(large), judge_advice(advised))
    return Outcome(checks, figures={**figures(small), "large": figures(large)})


ENTRY = Entry(
    "T29",
    "4.4.6: small and few queries NoRebuild 4x4, many Rebuild 2x2; large and few NoRebuild 3x3, many NoRebuild 2x2 or "
    "Rebuild 2x2, 3x3",
    "total cost update+q*probe picks the same family ordering as q grows",
    run,
)
