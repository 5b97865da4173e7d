"""One step of one shard: rows on their way in, clocks, the operators in order, results. Both runtimes drive this.

Here belongs, too, what is decided around a step from numbers alone: late rows, the meter, what is left out under
overload (``pace``, ``valve``, ``harvesting``), who waits (``deferral``). Not here: files, processes, Spark.
"""
