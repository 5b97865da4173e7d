"""The thesis' examples and figures of scheduling many periodic queries (chapter 8), run on a virtual clock."""
