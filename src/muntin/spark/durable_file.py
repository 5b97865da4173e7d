"""The durable plan in a checkpoint: one small file, written atomically before a run begins, with a checksum."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence

from muntin.core.errors import StoreError
from muntin.dataflow.durable import DurablePlan, from_json, to_json
from muntin.spark import files

FORMAT = 1
NAME = "plan.json"
KEPT = 3
"""Plans that stay in the file: the one that ran the last batch, and what a run that never did one wrote."""


def read_plans(checkpoint: str) -> list[DurablePlan]:
    """The plans of a checkpoint, oldest first; none for a new one. Raises StoreError: damaged, or newer."""
    path = files.join(checkpoint, NAME)
    raw = files.read(path)
    if raw is None:
        return []
    try:
        value = json.loads(raw)
        body, checksum, found = value["body"], value["checksum"], value["format"]
    except (ValueError, KeyError, TypeError) as e:
        raise StoreError(f"{path} is damaged ({e}); restore the checkpoint or start a new one") from e
    if found != FORMAT:
        raise StoreError(f"{path} has format {found}, this version of Muntin reads {FORMAT}; use the one that wrote it")
    if zlib.crc32(body.encode()) != checksum:
        raise StoreError(f"{path} fails its checksum: it was changed or damaged; restore the checkpoint")
    return [from_json(p) for p in json.loads(body)]


def write_plans(checkpoint: str, before: Sequence[DurablePlan], plan: DurablePlan) -> None:
    """Put a plan beside those that ran before it, in one atomic step."""
    kept = [p for p in before if p.batch < plan.batch][-KEPT:]
    body = json.dumps([to_json(p) for p in (*kept, plan)])
    text = json.dumps({"format": FORMAT, "checksum": zlib.crc32(body.encode()), "body": body})
    files.make_dirs(checkpoint)
    files.write_atomically(files.join(checkpoint, NAME), text.encode())
