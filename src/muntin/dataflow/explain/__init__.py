"""EXPLAIN: the logical plan with update patterns, the rules that fired, the plan that they made, and its graph.

``record`` gathers what is known as data; ``text``, ``dot``, ``svg`` and ``plain`` (JSON) render it. EXPLAIN ANALYZE is
the same with the counters of a run (``engine.meter``).
"""

from muntin.dataflow.explain.forms import FORMS, Form, explain, explain_as, explain_graph
from muntin.dataflow.explain.words import Asked, asked

__all__ = ["FORMS", "Asked", "Form", "asked", "explain", "explain_as", "explain_graph"]
