"""Synopses of sliding windows as the documents have them, tuple by tuple, with counted probes (Golab 2006, 2.3.4, 8.3).

What the product runs is ``muntin.operators.synopsis``: panes with running totals, and the best of a window's panes for
MIN and MAX. Here are the structures that it was chosen from, and those over join results.
"""
