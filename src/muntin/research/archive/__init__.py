"""Golab's thesis, chapter 4 (and Figure 2.6): indices on disk for rows that expire, in pages and in sub-indices."""
