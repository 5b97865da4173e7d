"""Parts of URLs, step by step as ``java.net.URI`` reads them."""

from __future__ import annotations

import re
from typing import Any

from muntin.reference.values import Failed

_PLAIN = r"A-Za-z0-9_\-!.~'()*"


def _only(text: str, letters: str) -> bool:
    """Whether there are no others than such letters, escapes, and characters beyond ASCII that are seen."""
    rest = re.sub("%[0-9A-Fa-f]{2}", "", text)
    left = re.sub(f"[{_PLAIN}{letters}]", "", rest)
    return all(ord(c) > 0x9F and not c.isspace() for c in left)


def parse_url(_: Any, text: str, part: str) -> str | None:
    """``part`` of the URL, None where it has none. Raises Failed for a text that is no URL."""
    found = _parts(text)
    if part == "FILE":
        path, query = found["PATH"], found["QUERY"]
        return path if path is None or query is None else f"{path}?{query}"
    return found[part]


def _parts(text: str) -> dict[str, str | None]:
    found: dict[str, str | None] = dict.fromkeys(("HOST", "PROTOCOL", "QUERY", "REF", "AUTHORITY", "USERINFO", "PATH"))
    rest, mark, ref = text.partition("#")
    first = re.match("[^/?#:]*:", rest)
    if mark:
        found["REF"] = ref
    if not _only(ref, r";/?:@&=+$,\[\]"):
        raise Failed(text)
    if first:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.\-]*:", first[0]):
            raise Failed(text)
        found["PROTOCOL"], rest = first[0][:-1], rest[first.end() :]
        if not rest.startswith("/"):
            if not rest or not _only(rest, r";/?:@&=+$,\[\]"):
                raise Failed(text)
            return found
    if rest.startswith("//"):
        rest = _with_authority(rest[2:], found, text, bool(mark))
    path, query_mark, query = rest.partition("?")
    if not _only(path, ":@&=+$,;/") or not _only(query, r";/?:@&=+$,\[\]"):
        raise Failed(text)
    found["PATH"] = path
    if query_mark:
        found["QUERY"] = query
    return found


def _with_authority(rest: str, found: dict[str, str | None], text: str, marked: bool) -> str:
    authority = re.match("[^/?]*", rest)
    assert authority is not None
    if not authority[0]:
        if not rest and not marked:
            raise Failed(text)
        return rest
    found["AUTHORITY"] = authority[0]
    user, at, place = authority[0].rpartition("@")
    host, _, port = place.partition(":") if not place.startswith("[") else place.partition("]:")
    host += "]" if place.startswith("[") and not host.endswith("]") else ""
    if (not at or _only(user, ";:&=+$,")) and _is_host(host) and re.fullmatch("[0-9]{0,9}", port):
        found["HOST"], found["USERINFO"] = host, user if at else None
    elif not _only(authority[0], "$,;:@&=+"):
        raise Failed(text)
    return rest[authority.end() :]


def _is_host(host: str) -> bool:
    if re.fullmatch(r"\[[0-9A-Fa-f:.]+\]", host):
        return True
    labels = host.removesuffix(".").split(".")
    if len(labels) == 4 and all(re.fullmatch("[0-9]{1,3}", n) and int(n) < 256 and str(int(n)) == n for n in labels):
        return host[-1:] != "."
    plain = all(re.fullmatch("[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?", n) for n in labels)
    return plain and (len(labels) == 1 or labels[-1][0].isalpha())
