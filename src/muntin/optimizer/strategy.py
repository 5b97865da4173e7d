"""Execution strategies (thesis 2.3.3, 3.5)."""

from __future__ import annotations

from enum import StrEnum


class Strategy(StrEnum):
    """By the names that the option ``strategy`` takes.

    NT: every expiry is announced by a negative tuple that all operators above process. DIRECT: rows are kept as they
    came, and expired ones looked for among all. UPA: the update pattern of each edge decides.
    """

    NT = "nt"
    DIRECT = "direct"
    UPA = "upa"
