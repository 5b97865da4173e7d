"""The three engines that thesis 3.6 compares, built from counted state structures (``kernels.strategies``)."""

from __future__ import annotations
