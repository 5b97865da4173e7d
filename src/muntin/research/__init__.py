"""The documents' tables, figures and worked examples, run again: one file an entry, each judged by its criterion.

A folder a subject; ``registry`` lists all entries. Here belong, too, the documents' algorithms and structures that the
product does without, counted (loops in ``kernels``). Not here: anything that a query runs.
"""

from __future__ import annotations

from muntin.research.harness import Check, Entry, Outcome, Record, Setting, reproduce
from muntin.research.registry import chosen, known

__all__ = ["Check", "Entry", "Outcome", "Record", "Setting", "chosen", "known", "reproduce"]
