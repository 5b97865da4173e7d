"""Golab's thesis (CS-2006-27): one file an entry."""
