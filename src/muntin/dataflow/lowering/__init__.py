"""Lowering: each logical node becomes vertices over weighted interval rows (``query`` lists the identities)."""
