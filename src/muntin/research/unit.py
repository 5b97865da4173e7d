"""The unit of work by which every figure is judged: an operation.

One operation is one touch of one tuple or of one place that holds tuples: a tuple looked at in a loop, a probe or a
search; a bucket, partition or end of a queue visited; a comparison of timestamps; a tuple inserted, deleted or given
out; a negative tuple processed. That is tuples looked at, index accesses and bookkeeping, each as 1, since Golab &
Ozsu (2003, 4.2) count operations on attributes, of which the timestamp is one, and the thesis (3.6) counts accesses.

* Multi-way joins, tuple at a time: ``joins.engine.Counts.operations``.
* The thesis' engines, tuple at a time: ``engines.engine.Measure.work``.
* The product: ``engine.meter.Counter.work``. It works by batches, so that an operation is a row taken in by an
  operator, given out, or looked at in state; figures of the product are compared with figures of the product alone.

Where a cost formula predicts a part of the work (G1, G4 to G10: tuples that inner loops compare), it is held against
that part. Other units (tuples looked at, comparisons of attributes, accesses without comparisons of time, processor
time) are in the records' ``figures`` and decide nothing.
"""
