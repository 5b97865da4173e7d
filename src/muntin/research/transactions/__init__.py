"""Golab's thesis, chapter 7: queries as transactions over a window that is updated sub-window by sub-window."""
