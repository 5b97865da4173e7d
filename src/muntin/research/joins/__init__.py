"""Multi-way window joins: Golab & Ozsu (2003) and chapter 5 of the thesis, on counted kernels."""

from __future__ import annotations
