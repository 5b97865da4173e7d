"""Operators of a stage, one per file: each turns a batch into a batch, with what it must remember in the shard's
state."""
