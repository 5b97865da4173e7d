"""Gedik et al., GrubJoin: operator throttling and window harvesting, J1 to J19."""
