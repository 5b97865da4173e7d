"""Golab's thesis, chapter 6: frequent items over sliding windows."""
