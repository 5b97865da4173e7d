"""Operators: what is done to the rows of one vertex in one step on one shard.

A file holds one operator, its description and its step, or a part that several of them share. Not here: how operators
are connected (``dataflow``), when a step runs (``engine``).
"""
