"""Numba loops over NumPy arrays: pure, with fixed signatures, compiled when first called (``lazy``) and cached.

The only place for numba beside ``research.kernels``. Not here: what a step is, and where its arrays are kept.
"""
