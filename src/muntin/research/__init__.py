"""The documents' tables, figures and worked examples, run again: one file an entry, each judged by its criterion."""

from __future__ import annotations

from muntin.research.harness import Check, Entry, Outcome, Record, Setting, reproduce
from muntin.research.registry import chosen, known

__all__ = ["Check", "Entry", "Outcome", "Record", "Setting", "chosen", "known", "reproduce"]
