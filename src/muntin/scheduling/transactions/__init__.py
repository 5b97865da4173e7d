"""Queries as transactions over a window that is updated pane by pane (Golab 2006, chapter 7).

``history``: what happened, and what it guarantees; ``scheduler``: Algorithms 7 and 8 over a circular array of
sub-windows; ``reading``: one query's reads by Algorithm 8, where panes are never changed in place.
"""
