"""Entries H: shared window joins and their scheduling (Hammad et al. 2003)."""
