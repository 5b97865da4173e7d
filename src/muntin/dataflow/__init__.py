"""From bound queries to what runs: one graph of vertices, how rows are spread over shards, and EXPLAIN of all that.

Here belong the lowering of plans, what queries share (``sharing``), what a checkpoint remembers of them (``durable``),
and which history a new one may take over (``history``). Not here: what a vertex does (``operators``), and when
(``engine``).
"""
