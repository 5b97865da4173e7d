"""Which entries there are, and where each one's code is."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence

from muntin.core.errors import ConfigError
from muntin.research.harness import Entry

_THESIS = "muntin.research.thesis"

_JOINS = "muntin.research.joins"

_HARVEST = "muntin.research.harvest"

_STATIC = "muntin.research.static"

_ARCHIVE = "muntin.research.archive"

_FREQUENT = "muntin.research.frequent"

_TRANSACTIONS = "muntin.research.transactions"

MODULES: dict[str, str] = {
    **{f"H{n}": f"muntin.research.shared_joins.h{n:02d}" for n in range(1, 16)},
    **{f"T{n}": f"{_THESIS}.t{n:02d}" for n in (*range(1, 7), *range(9, 22))},
    **{f"T{n}": f"{_ARCHIVE}.t{n:02d}" for n in (8, *range(22, 30))},
    **{f"T{n}": f"{_FREQUENT}.t{n:02d}" for n in range(39, 43)},
    **{f"T{n}": f"{_TRANSACTIONS}.t{n:02d}" for n in range(43, 59)},
    **{f"G{n}": f"{_JOINS}.g{n:02d}" for n in range(1, 17)},
    **{f"T{n}": f"{_THESIS}.t{n:02d}" for n in (7, *range(59, 62))},
    **{f"T{n}": f"muntin.research.periodic.t{n}" for n in range(62, 69)},
    **{f"T{n}": f"{_JOINS}.t{n:02d}" for n in range(33, 39)},
    **{f"A{n}": f"{_STATIC}.a{n:02d}" for n in range(1, 14)},
    **{f"J{n}": f"{_HARVEST}.j{n:02d}" for n in range(1, 20)},
}
"""Id -> module whose ``ENTRY`` it is. Modules are loaded when asked for: some compile kernels."""

CLOCKED = frozenset([*(f"H{n}" for n in (3, 5, *range(8, 14), 15)), "T65", "T66", "T67"])
"""Studies of response times: they run on a clock, counted work's or the machine's."""

ALIASES: dict[str, str] = {"T30": "G3", "T31": "G8", "T32": "G10"}
"""Id -> the id of the same thing in another document; each alias is a record of its own."""


def known(modules: Mapping[str, str] = MODULES, aliases: Mapping[str, str] = ALIASES) -> tuple[str, ...]:
    """Every id, by document and number."""
    return tuple(sorted((*modules, *aliases), key=lambda name: (name[0], int(name[1:]))))


def on_a_clock(names: Sequence[str]) -> None:
    """Raises ConfigError for entries that run on no clock (beside ``all``)."""
    others = [n for n in map(str.upper, names) if n not in CLOCKED and n != "ALL"]
    if others:
        have = sorted(CLOCKED, key=lambda name: (name[0], int(name[1:])))
        raise ConfigError(f"{', '.join(others)}: no clock to choose; --clock is for {', '.join(have)}")


def chosen(
    names: Sequence[str], modules: Mapping[str, str] = MODULES, aliases: Mapping[str, str] = ALIASES
) -> list[tuple[str, Entry]]:
    """The entries asked for, in that order, without regard to case; ``all`` stands for every one.

    Raises:
        ConfigError: an id is not known.
    """
    wanted = [n.upper() for n in names]
    every = known(modules, aliases)
    unknown = [n for n in wanted if n not in every and n != "ALL"]
    if unknown:
        raise ConfigError(f"there is no entry {', '.join(unknown)}; there are {', '.join(every)}, and all")
    ids = dict.fromkeys(i for n in wanted for i in (every if n == "ALL" else (n,)))
    return [(i, importlib.import_module(modules[aliases.get(i, i)]).ENTRY) for i in ids]
