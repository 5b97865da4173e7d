"""Logical plans: frozen nodes that check themselves, windows, expressions, update patterns. No behaviour of
operators."""
