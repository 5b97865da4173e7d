"""JSON one text at a time: a parser of what Jackson takes, paths as Spark follows them, values of a schema and back.

A parsed value is its kind and what it holds: ("object", [(name, value), ...]), ("array", [value, ...]), ("string",
text), ("int", digits), ("float", digits), ("word", name). Strings keep half a surrogate pair as Python does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from muntin.reference import clocks
from muntin.reference.casts import cast
from muntin.reference.values import Failed, coerce, from_outside

Node = tuple[str, Any]

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORD = re.compile(r"true|false|null")
_NO_NUMBER = re.compile(r"NaN|[+-]?Infinity|[+-]INF")
_SHORT = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "'": "'"}
_BACK = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_STEP = re.compile(r"\.([^.\[]+)|\['([^']+)'\]|\[(\d+)\]|\[\*\]")


class Malformed(Exception):
    """The text is no JSON."""


class _Parser:
    def __init__(self, text: str, controls: bool, no_numbers: bool) -> None:
        self.text, self.at, self.controls, self.no_numbers = text, 0, controls, no_numbers

    def blank(self) -> str:
        while self.text[self.at : self.at + 1] in (" ", "\t", "\n", "\r"):
            self.at += 1
        return self.text[self.at : self.at + 1]

    def take(self, wanted: str) -> None:
        if self.blank() not in tuple(wanted):
            raise Malformed
        self.at += 1

    def value(self, depth: int) -> Node:
        c = self.blank()
        if c in ("{", "["):
            if depth == 1_000:
                raise Malformed
            return self.members(c, depth + 1)
        return ("string", self.string()) if c in ('"', "'") else self.plain(depth == 0)

    def members(self, opened: str, depth: int) -> Node:
        self.at += 1
        closed = "}" if opened == "{" else "]"
        found: list[Any] = []
        while not (self.blank() == closed and not found):
            name = None
            if opened == "{":
                if self.blank() not in ('"', "'"):
                    raise Malformed
                name = self.string()
                self.take(":")
            found.append(self.value(depth) if name is None else (name, self.value(depth)))
            if self.blank() == closed:
                break
            self.take(",")
            self.blank()
            if self.text[self.at : self.at + 1] == closed:
                raise Malformed
        self.at += 1
        return ("object" if opened == "{" else "array"), found

    def plain(self, root: bool) -> Node:
        m = _NUMBER.match(self.text, self.at)
        if m:
            if len(re.sub(r"[^0-9]", "", m[0])) > 1_000:
                raise Malformed
            self.at = m.end()
            after = self.text[self.at : self.at + 1]
            if after and (after not in " \t\n\r" if root else after in "0123456789.eE+-"):
                raise Malformed
            return ("float" if m[2] or m[3] else "int"), m[0]
        m = _WORD.match(self.text, self.at) or (_NO_NUMBER.match(self.text, self.at) if self.no_numbers else None)
        if m is None or re.match(r"[0-9A-Za-z_\x7f-\U0010ffff]", self.text[m.end() : m.end() + 1]):
            raise Malformed
        self.at = m.end()
        return "word", m[0].replace("INF", "Infinity").lstrip("+") if "INF" in m[0] or m[0][0] == "+" else m[0]

    def string(self) -> str:
        quote, found = self.text[self.at], []
        self.at += 1
        while (c := self.text[self.at : self.at + 1]) != quote:
            self.at += 1
            if not c or (c < " " and not self.controls):
                raise Malformed
            found.append(self.escape() if c == "\\" else c)
        self.at += 1
        return "".join(found).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")

    def escape(self) -> str:
        c = self.text[self.at : self.at + 1]
        self.at += 1
        if c == "u":
            m = re.compile("[0-9a-fA-F]{4}").match(self.text, self.at)
            if m is None:
                raise Malformed
            self.at += 4
            return chr(int(m[0], 16))
        if c not in _SHORT or not c:
            raise Malformed
        return _SHORT[c]


def parsed(text: str, decoding: bool = False) -> Node | None:
    """The first value of a text; None if it is no JSON. ``decoding``: as ``from_json`` reads it."""
    try:
        return _Parser(text, not decoding, decoding).value(0)
    except Malformed:
        return None


def _again(node: Node, escaped: bool) -> str:
    """A value as Jackson writes it. ``escaped``: characters beyond 16 bits as two escapes."""
    kind, held = node
    if kind == "object":
        return "{" + ",".join(f"{_quoted(n, escaped)}:{_again(v, escaped)}" for n, v in held) + "}"
    if kind == "array":
        return "[" + ",".join(_again(v, escaped) for v in held) + "]"
    if kind == "string":
        return _quoted(held, escaped)
    if kind == "int":
        return "0" if held == "-0" else str(held)
    if kind == "float":
        text = str(cast(float(held), pa.float64(), pa.string()))
        return f'"{text}"' if "Inf" in text else text
    return str(held) if held in ("true", "false", "null") else f'"{held}"'


def _quoted(text: str, escaped: bool) -> str:
    parts = []
    for c in text:
        if c < " " and c not in _BACK:
            parts.append(f"\\u{ord(c):04X}")
        elif escaped and (c > "\uffff" or "\ud800" <= c < "\ue000"):
            units = c.encode("utf-16-be", "surrogatepass").hex().upper()
            parts += [f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4)]
        else:
            parts.append(_BACK.get(c, c))
    return '"' + "".join(parts) + '"'


class _Writer:
    """What Jackson's generator has written; ``inner``: to a buffer of characters, not of bytes."""

    def __init__(self, inner: bool) -> None:
        self.text, self.inner, self.open, self.behind = "", inner, 0, False

    def value(self, text: str) -> None:
        self.text += ("," if self.open else " ") if self.behind else ""
        self.text += text
        self.behind = True

    def start(self) -> None:
        self.value("[")
        self.open, self.behind = self.open + 1, False

    def end(self) -> None:
        self.text += "]"
        self.open, self.behind = self.open - 1, True


def _follow(node: Node, path: list[Any], style: str, out: _Writer) -> bool:
    """``evaluatePath`` of Spark: whether something was found and written."""
    kind, held = node
    if not path:
        if style == "raw" and kind == "string":
            out.text += held
        elif style == "flat" and kind == "array":
            each = [_follow(v, path, style, out) for v in held]
            return any(each)
        else:
            out.value(_again(node, not out.inner))
        return True
    step, rest = path[0], path[1:]
    if isinstance(step, str) and kind == "object":
        return any(n == step and v != ("word", "null") and _follow(v, rest, style, out) for n, v in held)
    if kind != "array" or isinstance(step, str):
        return False
    if isinstance(step, int):
        listed = "quoted" if rest[:1] == [None] else style
        return step < len(held) and _follow(held[step], rest, listed, out)
    if rest[:1] == [None] or style == "quoted":
        below, after = ("flat", rest[1:]) if rest[:1] == [None] else ("quoted", rest)
        out.start()
        found = [_follow(v, after, below, out) for v in held]
        out.end()
        return any(found)
    buffer = _Writer(inner=True)
    buffer.start()
    count = sum([_follow(v, rest, "quoted" if style == "raw" else "flat", buffer) for v in held])
    buffer.end()
    if count:
        out.value(buffer.text if count > 1 else buffer.text[1:-1])
    return count > 0


def _get(_: Any, text: str, path: str) -> str | None:
    node, out = parsed(text), _Writer(inner=False)
    steps = [m[1] or m[2] or (int(m[3]) if m[3] else None) for m in _STEP.finditer(path)]
    if node is None or not _follow(node, steps, "raw", out):
        return None
    return None if re.search("[\ud800-\udfff]", out.text) else out.text


def _array_length(_: Any, text: str) -> int | None:
    node = parsed(text)
    return len(node[1]) if node and node[0] == "array" else None


def _object_keys(_: Any, text: str) -> list[str] | None:
    node = parsed(text)
    return [_whole(n) for n, _ in node[1]] if node and node[0] == "object" else None


def _whole(text: str) -> str:
    return re.sub("[\ud800-\udfff]", "?", text)


def _decoded(kind: pa.DataType, text: str, zone: str | None = None) -> Any:
    if not text.strip("".join(map(chr, range(33)))):
        return None
    node = parsed(text, decoding=True)
    if pt.is_struct(kind):
        return _fields(node[1] if node and node[0] == "object" else [], kind, zone)
    if node is None:
        return None
    if pt.is_list(kind) and pt.is_struct(kind.value_type) and node[0] == "object":
        node = ("array", [node])
    try:
        return _as(node, kind, zone)
    except Failed:
        return None


def _fields(members: list[tuple[str, Node]], kind: pa.DataType, zone: str | None) -> dict[str, Any]:
    found: dict[str, Any] = {f.name: None for f in kind}
    for name, value in members:
        if name in found:
            try:
                found[name] = _as(value, kind.field(name).type, zone)
            except Failed:
                continue
    return found


def _as(node: Node, kind: pa.DataType, zone: str | None) -> Any:
    """The value as ``kind``; Failed if it is of another kind."""
    found, held = node
    if node == ("word", "null"):
        return None
    if pt.is_struct(kind) and found == "object":
        return _fields(held, kind, zone)
    if pt.is_map(kind) and found == "object":
        return [(_whole(n), _as(v, kind.item_type, zone)) for n, v in held]
    if pt.is_list(kind) and found == "array":
        return [_as(v, kind.value_type, zone) for v in held]
    if pt.is_string(kind):
        return _whole(held) if found == "string" else _again(node, escaped=True)
    if pt.is_nested(kind) or found in ("object", "array"):
        raise Failed(held)
    return _plain(found, held, kind, zone)


def _plain(found: str, held: str, kind: pa.DataType, zone: str | None) -> Any:
    if pt.is_boolean(kind) and held in ("true", "false") and found == "word":
        return held == "true"
    if pt.is_integer(kind) and found == "int":
        number = int(held)
        return number - 256 if kind == pa.int8() and 127 < number < 256 else coerce(number, kind)
    if pt.is_floating(kind):
        if found in ("int", "float"):
            return coerce(float(held) + (0.0 if found == "int" else -0.0), kind)
        if held.replace("INF", "Infinity") in ("NaN", "Infinity", "+Infinity", "-Infinity") and held != "INF":
            return float(held.replace("INF", "Infinity"))
    if pt.is_decimal(kind) and found in ("int", "float", "string") and not re.search(r"[\x00-\x20\x7f]", held):
        return cast(held.replace(",", ""), pa.string(), kind) + 0
    if pt.is_timestamp(kind) and kind.tz is not None and found == "int" and -(2**63) <= int(held) < 2**63:
        return (int(held) * 1_000_000 + 2**63) % 2**64 - 2**63
    if found == "string" and pt.is_timestamp(kind):
        if kind.tz is None and re.search(r":[0-9]+:[0-9]+(\.[0-9]*)?[ ]*[^\x00-\x20.0-9]", held):
            raise Failed(held)
        return cast(held, pa.string(), kind, zone)
    if found == "string" and pt.is_date(kind):
        try:
            return cast(held, pa.string(), kind)
        except Failed:
            if re.fullmatch("[+-]?[0-9]+", held):
                return coerce(int(held), pa.int32())
    raise Failed(held)


def written(value: Any, kind: pa.DataType, zone: str | None = None) -> str | None:
    """``to_json``: the value as compact JSON, without fields that are NULL."""
    if value is None:
        return None
    if pt.is_struct(kind):
        parts = [(f.name, written(value.get(f.name), f.type, zone)) for f in kind]
        return "{" + ",".join(f"{_quoted(n, False)}:{t}" for n, t in parts if t is not None) + "}"
    if pt.is_map(kind):
        pairs = value.items() if isinstance(value, dict) else value
        texts = [(cast(k, kind.key_type, pa.string()), written(v, kind.item_type, zone) or "null") for k, v in pairs]
        return "{" + ",".join(f"{_quoted(k, False)}:{t}" for k, t in texts) + "}"
    if pt.is_nested(kind):
        return "[" + ",".join(written(v, kind.value_type, zone) or "null" for v in value) + "]"
    return _leaf(from_outside(value, kind), kind, zone)


def _leaf(value: Any, kind: pa.DataType, zone: str | None) -> str:
    if pt.is_timestamp(kind):
        reading = value if kind.tz is None else clocks.shown(value, zone)
        text = str(cast(reading - reading % 1_000_000, pa.timestamp("us"), pa.string())).replace(" ", "T")
        east = "" if kind.tz is None else _offset((reading - value) // 1_000_000)
        return f'"{text}.{reading % 1_000_000 // 1_000:03}{east}"'
    if pt.is_decimal(kind):
        return str(value)
    text = str(cast(value, kind, pa.string()))
    if pt.is_integer(kind) or pt.is_boolean(kind) or (pt.is_floating(kind) and text[-1] not in "Ny"):
        return text
    return _quoted(text, False)


def _offset(east: int) -> str:
    if not east:
        return "Z"
    minutes, seconds = divmod(abs(east), 60)
    return f"{'-' if east < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}" + (f":{seconds:02}" if seconds else "")


JSON: Mapping[str, Callable[..., Any]] = {
    "get_json_object": _get,
    "json_array_length": _array_length,
    "json_object_keys": _object_keys,
    "from_json": _decoded,
}
"""By function: the result type and the values of its arguments, none of them NULL."""
