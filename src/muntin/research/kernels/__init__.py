"""Numba loops of the documents' tuple-at-a-time algorithms, with counted work. Nothing that runs a query is here."""
