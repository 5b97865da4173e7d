"""Aggregate functions: how each moves with the rows that enter and leave, and what it keeps.

Here belong, one file an aggregate, its description (``aggregates.description``: names, types, NULL rule, value over
nothing), its accumulators, its inverse, the partials of panes and how those merge; ``aggregates.registry`` lists them
and is what others ask. Shared parts have files of their own. Not here: when a group is shown
(``operators.group_aggregate``), and how structures are laid out (``state``).
"""
