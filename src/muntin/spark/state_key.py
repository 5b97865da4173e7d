"""The key under which states of user-defined aggregates are stored: whoever lacks it cannot make a worker read one."""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import stat
import uuid
from collections.abc import Mapping
from dataclasses import replace

from muntin.core.errors import StoreError
from muntin.dataflow.graph import QueryPlan
from muntin.spark import files
from muntin.state.files import writing

log = logging.getLogger("muntin")

VARIABLE = "MUNTIN_STATE_KEY"
"""Environment of the driver: any text makes the key; ``off`` stores and reads states without one."""

FILE = ".muntin.key"


def with_key(queries: Mapping[str, QueryPlan], root: str) -> dict[str, QueryPlan]:
    """The queries with the key of the checkpoint (or store) at ``root`` in their user-defined aggregates, if any.

    Without ``MUNTIN_STATE_KEY`` it is a file there that only its owner may read, made at the first start. Raises
    StoreError for a file that is another user's, or that others may read.
    """
    if not any(q.functions for q in queries.values()):
        return dict(queries)
    key = state_key(root)
    return {
        name: replace(q, functions=tuple((f, replace(code, key=key)) for f, code in q.functions))
        for name, q in queries.items()
    }


def state_key(root: str) -> bytes | None:
    """The key; None where it is switched off."""
    text = os.environ.get(VARIABLE)
    if text is not None:
        return None if text in ("", "off") else hashlib.sha256(text.encode()).digest()
    path = files.join(files.absolute(root), FILE)
    if files.place(root)[0] == "file":
        return _own_file(path)
    found = files.read(path)
    if found is None:
        found = secrets.token_hex(32).encode()
        files.write_atomically(path, found)
        log.warning(
            "%s: whoever may write there may also replace the key of the states of user-defined aggregates, and so run "
            "code in the workers; set %s to keep the key elsewhere", root, VARIABLE,
        )  # fmt: skip
    return hashlib.sha256(found).digest()


def _own_file(path: str) -> bytes:
    if not os.path.lexists(path):
        _make(path)
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    with open(handle, "rb") as f:
        found = os.fstat(handle)
        if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
            raise StoreError(
                f"{path} keeps others from putting code into the workers' states, but it is another user's or open to "
                f"others (mode {stat.S_IMODE(found.st_mode):o}); give it to the user of the driver with mode 600, or "
                f"set {VARIABLE}"
            )
        return hashlib.sha256(f.read()).digest()


def _make(path: str) -> None:
    files.make_dirs(os.path.dirname(path))
    part = f"{path}.{uuid.uuid4().hex}"
    with writing(path, files.WHAT):
        handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with open(handle, "wb") as f:
            f.write(secrets.token_hex(32).encode())
            f.flush()
            os.fsync(handle)
        os.rename(part, path)
