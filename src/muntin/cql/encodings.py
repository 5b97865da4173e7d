"""Hashes, and bytes and whole numbers written in letters: Spark's functions, computed by ``scalars`` everywhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from muntin.cql.coerce import coerce
from muntin.cql.operators import TypeClash, choose, compare, describe
from muntin.cql.takes import plain_count, plain_text, string, whole
from muntin.cql.types import family
from muntin.plan.exprs import Call, Expr, Literal

Builder = Callable[[Sequence[Expr]], Expr]
_STRING, _INT, _BIGINT, _BINARY = pa.string(), pa.int32(), pa.int64(), pa.binary()
_HASHED = ("number", "string", "boolean", "timestamp", "date", "binary", "null")


def _bytes(name: str, e: Expr) -> Expr:
    """A text, which stands for its bytes in UTF-8, or a binary value."""
    if family(e.type) not in ("string", "binary", "null"):
        raise TypeClash(f"{name} takes a STRING or a BINARY, not {describe(e)}; write CAST(... AS STRING)")
    return coerce(e, _STRING) if family(e.type) == "null" else e


def _of_bytes(fn: str, result: pa.DataType = _STRING) -> Builder:
    return lambda args: Call(fn, (_bytes(fn.upper(), args[0]),), result)


def _of_text(fn: str, result: pa.DataType = _STRING) -> Builder:
    return lambda args: Call(fn, (string(fn.upper(), args[0]),), result)


def _sha2(args: Sequence[Expr]) -> Expr:
    bits = plain_count("SHA2", args[1], 0, 512)
    return Call("sha2", (_bytes("SHA2", args[0]), Literal(bits, _INT)), _STRING)


def _hash(fn: str, result: pa.DataType) -> Builder:
    def build(args: Sequence[Expr]) -> Expr:
        for e in args:
            _hashable(fn.upper(), e, e.type)
        return Call(fn, tuple(args), result)

    return build


def _hashable(name: str, e: Expr, t: pa.DataType) -> None:
    if pa.types.is_map(t):
        raise TypeClash(f"{name} takes no maps, as {describe(e)}: equal ones may have their keys in another order")
    if family(t) == "nested":
        for i in range(t.num_fields):
            _hashable(name, e, t.field(i).type)
    elif family(t) not in _HASHED or pa.types.is_unsigned_integer(t):
        raise TypeClash(f"{name} takes no values of the type of {describe(e)}: CAST them")


def _hex(args: Sequence[Expr]) -> Expr:
    e = args[0]
    return Call("hex", (coerce(e, _BIGINT) if pa.types.is_integer(e.type) else _bytes("HEX", e),), _STRING)


def _charset(name: str, e: Expr) -> None:
    charset = plain_text(name, e, "the plain name of a character set")
    if charset.upper() not in ("UTF-8", "UTF8"):
        raise TypeClash(f"{name} knows UTF-8 alone here, not {charset!r}")


def _encode(args: Sequence[Expr]) -> Expr:
    _charset("ENCODE", args[1])
    return Call("encode", (string("ENCODE", args[0]),), _BINARY)


def _binary(args: Sequence[Expr]) -> Expr:
    e = _bytes("BINARY", args[0])
    return e if family(e.type) == "binary" else Call("encode", (e,), _BINARY)


def _decode(args: Sequence[Expr]) -> Expr:
    """decode(bytes, charset); of more arguments decode(x, v1, result1, v2, result2, ..., default)."""
    if len(args) == 2:
        _charset("DECODE", args[1])
        return Call("decode", (_bytes("DECODE", args[0]),), _STRING)
    x, *rest = args
    pairs = [(compare("eq_null_safe", x, v), r) for v, r in zip(rest[::2], rest[1::2], strict=False)]
    return choose(pairs, rest[-1] if len(rest) % 2 else None)


def _conv(args: Sequence[Expr]) -> Expr:
    """conv(digits, base, base): NULL of a text without any, and of bases that are none."""
    text = coerce(args[0], _STRING) if pa.types.is_integer(args[0].type) else string("CONV", args[0])
    given, wanted = (plain_count("CONV", a, -(2**31), 2**31 - 1) for a in args[1:])
    if not (2 <= given <= 36 and 2 <= abs(wanted) <= 36):
        return Literal(None, _STRING)
    return Call("conv", (text, Literal(given, _INT), Literal(wanted, _INT)), _STRING)


_URL_PARTS = ("HOST", "PATH", "QUERY", "REF", "PROTOCOL", "FILE", "AUTHORITY", "USERINFO")


def _parse_url(trying: bool) -> Builder:
    """parse_url(url, part[, key]): with a key what stands behind it in the query, without one the part."""

    def build(args: Sequence[Expr]) -> Expr:
        name = "TRY_PARSE_URL" if trying else "PARSE_URL"
        part = plain_text(name, args[1], "a plain part")
        if part not in _URL_PARTS:
            raise TypeClash(f"{name} takes one of {', '.join(_URL_PARTS)}, not {part!r}")
        call: Expr = Call("parse_url", (string(name, args[0]), Literal(part, _STRING)), _STRING)
        call = Call("try", (call,), _STRING) if trying else call
        if len(args) < 3:
            return call
        key = plain_text(name, args[2], "a plain key")
        if part != "QUERY" or not key.replace("_", "").replace("-", "").isalnum() or not key.isascii():
            raise TypeClash(f"{name} takes a key of letters, digits, _ and - with part QUERY, not {key!r} with {part}")
        pair = f"(?:&|^){key}=([^&]*)"
        found = Call("rlike", (call, Literal(pair, _STRING)), pa.bool_())
        value = Call("regexp_extract", (call, Literal(pair, _STRING), Literal(1, _INT)), _STRING)
        return choose([(found, value)], None)

    return build


TABLE: dict[str, tuple[int, int, Builder]] = {
    "md5": (1, 1, _of_bytes("md5")),
    **dict.fromkeys(("sha", "sha1"), (1, 1, _of_bytes("sha1"))),
    "sha2": (2, 2, _sha2),
    "crc32": (1, 1, _of_bytes("crc32", _BIGINT)),
    "hash": (1, 1_000, _hash("hash", _INT)),
    "xxhash64": (1, 1_000, _hash("xxhash64", _BIGINT)),
    "hex": (1, 1, _hex),
    "bin": (1, 1, lambda args: Call("bin", (whole("BIN", args[0], _BIGINT),), _STRING)),
    "unhex": (1, 1, _of_text("unhex", _BINARY)),
    "base64": (1, 1, _of_bytes("base64")),
    "unbase64": (1, 1, _of_text("unbase64", _BINARY)),
    "encode": (2, 2, _encode),
    "binary": (1, 1, _binary),
    "decode": (2, 1_000, _decode),
    "url_encode": (1, 1, _of_text("url_encode")),
    "url_decode": (1, 1, _of_text("url_decode")),
    "try_url_decode": (1, 1, lambda args: Call("try", (_of_text("url_decode")(args),), _STRING)),
    "conv": (3, 3, _conv),
    "parse_url": (2, 3, _parse_url(trying=False)),
    "try_parse_url": (2, 3, _parse_url(trying=True)),
}
"""By name: the least and the most arguments, and the builder."""
