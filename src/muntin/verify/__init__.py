"""Runs test vectors (inputs, a query, the rows that another system asserts) on a runtime and compares."""

from __future__ import annotations

from muntin.verify.case import VectorCase, load_cases
from muntin.verify.report import CaseResult, render, summary
from muntin.verify.runner import Job, Outcome, Runner, run_on_local, run_on_reference
from muntin.verify.verify import print_results, verify_case, verify_files

__all__ = [
    "CaseResult",
    "Job",
    "Outcome",
    "Runner",
    "VectorCase",
    "load_cases",
    "print_results",
    "render",
    "run_on_local",
    "run_on_reference",
    "summary",
    "verify_case",
    "verify_files",
]
