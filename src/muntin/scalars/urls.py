"""Parts of URLs over Arrow columns, as ``java.net.URI`` takes them apart (RFC 2396, with its deviations)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from muntin.scalars.buffers import text_column
from muntin.scalars.cast_rules import Value
from muntin.scalars.clocks import constant

Function = Callable[[Sequence[Value], pa.DataType], Value]

_MORE = r"%[0-9A-Fa-f]{2}|[^\x00-\x{9f}\pZ]"  # escapes, and characters beyond ASCII
_PLAIN = r"A-Za-z0-9_\-!.~'()*"
_PATH = rf"(?:[{_PLAIN}:@&=+$,;/]|{_MORE})*"
_ANY = rf"(?:[{_PLAIN};/?:@&=+$,\[\]]|{_MORE})*"
_SCHEME = r"[A-Za-z][A-Za-z0-9+.\-]*"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9\-]*[A-Za-z0-9])?"
_LAST = r"[A-Za-z](?:[A-Za-z0-9\-]*[A-Za-z0-9])?"
_BYTE = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_HOST = rf"{_BYTE}(?:\.{_BYTE}){{3}}|(?:{_LABEL}\.)+{_LAST}\.?|{_LABEL}\.?|\[[0-9A-Fa-f:.]+\]"
_SERVER = rf"(?P<user>(?:[{_PLAIN};:&=+$,]|{_MORE})*@)?(?P<host>{_HOST})(?::[0-9]{{0,9}})?"
_NAMED = rf"(?:[{_PLAIN}$,;:@&=+]|{_MORE})*"
_REST = rf"(?P<query>\?{_ANY})?(?P<ref>#{_ANY})?\z"
_WITH_AUTHORITY = rf"\A(?:(?P<scheme>{_SCHEME}):)?(?P<authority>//(?:{_SERVER}|{_NAMED}))(?P<path>(?:/{_PATH})?){_REST}"
_WITHOUT = rf"\A(?:(?P<scheme>{_SCHEME}):)?(?P<path>{_PATH}){_REST}"
_OPAQUE = rf"\A(?P<scheme>{_SCHEME}):(?:[{_PLAIN};?:@&=+$,\[\]]|{_MORE}){_ANY}(?P<ref>#{_ANY})?\z"


def _forms(text: pa.Array) -> list[pa.Array]:
    """What the text has as a URL with an authority (//host), without one, and as one that is no path (mailto:a@b), each
    a struct that is NULL where the text is none."""
    named = pc.match_substring_regex(text, rf"\A{_SCHEME}:")
    opaque = pc.match_substring_regex(text, rf"\A{_SCHEME}:[^/]")
    owned = pc.match_substring_regex(text, rf"\A(?:{_SCHEME}:)?//")
    nothing = pc.match_substring_regex(text, rf"\A(?:{_SCHEME}:|(?:{_SCHEME}:)?//)\z")
    colon = pc.and_not(pc.match_substring_regex(text, r"\A[^/?#:]*:"), named)
    plain = pc.invert(pc.or_(pc.or_(opaque, owned), pc.or_(nothing, colon)))
    chosen = ((owned, _WITH_AUTHORITY), (plain, _WITHOUT), (opaque, _OPAQUE))
    none = pa.scalar(None, pa.string())
    return [
        pc.extract_regex(pc.if_else(pc.and_not(which, nothing), text, none), pattern=pattern)
        for which, pattern in chosen
    ]


def is_url(args: Sequence[Value]) -> Value:
    """Where NULL is the answer of ``parse_url`` itself: the URL has no such part."""
    text = text_column(args[0])
    a, b, c = (form.is_valid() for form in _forms(text))
    return pc.or_(a, pc.or_(b, c))


_PARTS = {"HOST": ("host", 0, 0), "PROTOCOL": ("scheme", 0, 0), "QUERY": ("query", 1, 0), "REF": ("ref", 1, 0),
          "AUTHORITY": ("authority", 2, 0), "USERINFO": ("user", 0, 1), "PATH": ("path", 0, 0)}  # fmt: skip
"""By part: its group, and how many characters around it are none of it."""


def _parsed(args: Sequence[Value], kind: pa.DataType) -> Value:
    """NULL for a text that is no URL, and where it has no such part."""
    text, part = text_column(args[0]), constant(args[1]) or "HOST"
    forms = _forms(text)
    if part != "FILE":
        return _part(forms, part)
    path, query = _part(forms, "PATH"), _part(forms, "QUERY")
    return pc.coalesce(pc.binary_join_element_wise(path, query, "?", null_handling="emit_null"), path)


def _part(forms: Sequence[pa.Array], part: str) -> pa.Array:
    name, before, behind = _PARTS[part]
    found = pa.nulls(len(forms[0]), pa.string())
    for form in forms:
        if form.type.get_field_index(name) < 0:
            continue
        value = pc.struct_field(form, name)
        there = value.is_valid() if part == "PATH" else pc.not_equal(value, "//" if part == "AUTHORITY" else "")
        cut = pc.utf8_slice_codeunits(value, before, -behind or None)
        found = pc.coalesce(found, pc.if_else(there, cut, pa.scalar(None, pa.string())))
    return found


TABLE: Mapping[str, Function] = {"parse_url": _parsed}
