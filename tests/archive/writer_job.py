"""Writes numbered batches to an archive until it is killed or done: PATH FROM TO."""

from __future__ import annotations

import sys

import pyarrow as pa

from muntin.archive import open_archive


def rows_of(number: int) -> pa.Table:
    """Batch ``number``: ten rows of time ``number + 1``, with lifetimes from 1 to 10."""
    return pa.table(
        {
            "k": [f"k{i % 3}" for i in range(10)],
            "v": list(range(number * 10, number * 10 + 10)),
            "ts": [number + 1] * 10,
            "exp": [number + 2 + i for i in range(10)],
        }
    )


if __name__ == "__main__":
    archive = open_archive(sys.argv[1])
    for number in range(int(sys.argv[2]), int(sys.argv[3])):
        archive.write(rows_of(number), batch=("job", number))
