"""Numba loops over NumPy arrays: pure, with fixed signatures, compiled once and cached. The only place for numba."""
