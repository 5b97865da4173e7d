"""A store on disk for rows that expire: results of a query, or whatever has a time and an expiry.

The doubly partitioned index of Golab (2006), chapter 4, and the wave indices that it is compared with. May be in here:
layouts, the manifest, sub-indices as Parquet files, the writer, the reader, advice. Knows neither queries nor Spark.
"""

from muntin.archive.layout import WAVES, Layout
from muntin.archive.reader import Snapshot, snapshot
from muntin.archive.wanted import Wanted
from muntin.archive.writer import Archive, create, open_archive

__all__ = ["Archive", "create", "open_archive", "snapshot", "Snapshot", "Wanted", "Layout", "WAVES"]
