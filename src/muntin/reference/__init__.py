"""The naive evaluator: what a query means, written down row by row. Slow on purpose; the oracle of every layer."""

from __future__ import annotations

from muntin.reference.answers import Answer, ResultRow, answers, run
from muntin.reference.inputs import Functions, Streams, Tables
from muntin.reference.scalar import eval_expr

__all__ = ["Answer", "Functions", "ResultRow", "Streams", "Tables", "answers", "eval_expr", "run"]
