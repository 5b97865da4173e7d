"""The bundled sample: departures and weather of New York's airports, January and February 2013 (see README.md here)."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path

SAMPLES = ("flights", "weather")
"""Names that ``sample`` knows."""


def sample(name: str) -> Path:
    """Path of a bundled Parquet file, ``flights`` or ``weather``; ValueError for another name."""
    if name not in SAMPLES:
        raise ValueError(f"no sample {name!r}; there are {', '.join(SAMPLES)}")
    # An installed package lies unpacked, so the path stays good after the context closes.
    with as_file(files(__name__) / f"{name}.parquet") as path:
        return path
