"""Sharing between queries, as rewriting of their common graph: one file a rule, all of them in ``rules.RULES``.

Equal work is one vertex without a rule (``dataflow.graph``); a rule here lets work share that is not equal, such as
windows of different lengths. What a rule makes gives every query the answers of its isolated run.

``window_joins`` rewrites the plans themselves, before they become a graph: which joins come together is settled when a
query is new, and stored with its plan, so that state never has to be laid out anew.
"""
