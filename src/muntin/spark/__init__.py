"""The Spark runtime: packed transport, levels as ``mapInArrow`` over shards, checkpoints and sinks.

The only place for pyspark. Here belong what the driver decides before a batch and keeps beside the checkpoint, and what
tasks do around a step. Not here: the step itself (``engine``), what both runtimes need.
"""
