"""Aggregate functions: how each moves with the rows that enter and leave, and what it keeps.

Here belong accumulators, their inverses, the partials of panes and how those merge. Not here: when a group is shown
(``operators.group_aggregate``), and how structures are laid out (``state``).
"""
