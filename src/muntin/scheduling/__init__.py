"""What runs next, and together with what: pure functions of tasks and time.

No clock, no state on disk, no operator: who uses them gives the time and does the work. Periodic queries are in
``tasks``, ``costs``, ``hybrid``, ``deadlines``, ``budget`` and ``virtual``; the slices of a shared join in ``slices``,
``routing``, ``slice_clock`` and ``slice_budget``.
"""
