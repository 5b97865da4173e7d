"""Ayad & Naughton (2004): static optimisation of conjunctive queries with sliding windows, A1 to A13."""
