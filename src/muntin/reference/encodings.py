"""Hashes, and bytes and numbers in letters, value by value: Python's own where it has them, else by the definition."""

from __future__ import annotations

import hashlib
import math
import re
import struct
import zlib
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any
from urllib.parse import quote_plus

import pyarrow as pa
import pyarrow.types as pt

from muntin.reference.urls import parse_url
from muntin.reference.values import Failed, from_outside

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _data(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _sha2(_: Any, value: str | bytes, bits: int) -> str | None:
    name = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}.get(bits)
    return hashlib.new(name, _data(value)).hexdigest() if name else None


def _hex(_: Any, value: Any) -> str:
    return f"{value & (2**64 - 1):X}" if isinstance(value, int) else _data(value).hex().upper()


def _unhex(_: Any, text: str) -> bytes | None:
    return bytes.fromhex("0" * (len(text) % 2) + text) if re.fullmatch("[0-9A-Fa-f]*", text) else None


def _base64(_: Any, value: str | bytes) -> str:
    bits = "".join(f"{b:08b}" for b in _data(value))
    letters = "".join(_ALPHABET[int(bits[i : i + 6].ljust(6, "0"), 2)] for i in range(0, len(bits), 6))
    return letters + "=" * (-len(letters) % 4)


def _unbase64(_: Any, text: str) -> bytes:
    """Digits up to the padding, what is neither skipped; behind the padding no digit may come."""
    before, pad, after = text.partition("=")
    digits = [_ALPHABET.index(c) for c in before if c in _ALPHABET]
    rest = len(digits) % 4
    if rest == 1 or (pad and rest == 0) or (pad and rest == 2 and not after.startswith("=")):
        raise Failed(text)
    if any(c in _ALPHABET for c in after):
        raise Failed(text)
    bits = "".join(f"{d:06b}" for d in digits)
    return bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits) - 7, 8))


def _decode(_: Any, value: str | bytes) -> str:
    try:
        return _data(value).decode()
    except UnicodeDecodeError:
        raise Failed(value) from None


def _url_decode(_: Any, text: str) -> str:
    if re.search("%(?![0-9A-Fa-f]{2})", text):
        raise Failed(text)
    data = re.sub(b"%(..)", lambda m: bytes.fromhex(m[1].decode()), text.replace("+", " ").encode())
    return data.decode(errors="replace")


def _conv(_: Any, text: str, given: int, wanted: int) -> str | None:
    text = text.strip(" ")
    if not text:
        return None
    minus, number = text[0] == "-", 0
    for c in text[minus:]:
        digit = _DIGITS.find(c.upper()) if c.isascii() else -1
        if not 0 <= digit < given:
            break
        number = number * given + digit
    if number >= 2**64:
        raise Failed(text)
    if minus and wanted > 0:
        number = 2**64 - 1 if number >= 2**63 else -number % 2**64
    if wanted < 0 and number >= 2**63:
        number, minus = 2**64 - number, True
    digits, base = "", abs(wanted)
    while number or not digits:
        digits, number = _DIGITS[number % base] + digits, number // base
    return "-" * (minus and wanted < 0) + digits


# --- hashes of several values -----------------------------------------------------------------------------------------


def _signed(n: int, bits: int) -> int:
    n &= 2**bits - 1
    return n - 2**bits if n >> (bits - 1) else n


def _turned(n: int, by: int, bits: int) -> int:
    n &= 2**bits - 1
    return ((n << by) | (n >> (bits - by))) & (2**bits - 1)


def _murmur(words: list[int], seed: int, size: int) -> int:
    h = seed
    for word in words:
        k = _turned((word * 0xCC9E2D51), 15, 32) * 0x1B873593 & 0xFFFFFFFF
        h = (_turned(h ^ k, 13, 32) * 5 + 0xE6546B64) & 0xFFFFFFFF
    h ^= size
    h = (h ^ (h >> 16)) * 0x85EBCA6B & 0xFFFFFFFF
    h = (h ^ (h >> 13)) * 0xC2B2AE35 & 0xFFFFFFFF
    return h ^ (h >> 16)


def _murmur_bytes(data: bytes, seed: int) -> int:
    """Bytes behind the last whole word are words of their own."""
    whole = len(data) // 4 * 4
    words = [*struct.unpack(f"<{whole // 4}I", data[:whole]), *struct.unpack(f"{len(data) - whole}b", data[whole:])]
    return _murmur([w & 0xFFFFFFFF for w in words], seed, len(data))


_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5


def _xx(data: bytes, seed: int) -> int:
    """XXH64, by its specification."""
    p, h = 0, seed + _P5
    if len(data) >= 32:
        held = [seed + _P1 + _P2, seed + _P2, seed, seed - _P1]
        while p + 32 <= len(data):
            words = struct.unpack("<4Q", data[p : p + 32])
            held = [_turned(a + w * _P2, 31, 64) * _P1 for a, w in zip(held, words, strict=True)]
            p += 32
        h = sum(_turned(a, n, 64) for a, n in zip(held, (1, 7, 12, 18), strict=True))
        for a in held:
            h = (h ^ _turned(a * _P2, 31, 64) * _P1 & 2**64 - 1) * _P1 + _P4
            h &= 2**64 - 1
    h = (h + len(data)) & 2**64 - 1
    while p + 8 <= len(data):
        word = struct.unpack("<Q", data[p : p + 8])[0]
        h, p = _turned(h ^ _turned(word * _P2, 31, 64) * _P1 & 2**64 - 1, 27, 64) * _P1 + _P4, p + 8
        h &= 2**64 - 1
    if p + 4 <= len(data):
        h, p = _turned(h ^ struct.unpack("<I", data[p : p + 4])[0] * _P1 & 2**64 - 1, 23, 64) * _P2 + _P3, p + 4
    for byte in data[p:]:
        h = _turned((h & 2**64 - 1) ^ byte * _P5 & 2**64 - 1, 11, 64) * _P1
    h &= 2**64 - 1
    h = (h ^ (h >> 33)) * _P2 & 2**64 - 1
    h = (h ^ (h >> 29)) * _P3 & 2**64 - 1
    return h ^ (h >> 32)


def _hashed(value: Any, t: pa.DataType, seed: int, of: Callable[[bytes, int], int]) -> int:
    """One value folded into the hash: what stands in whole words is hashed as its bytes are."""
    if value is None:
        return seed
    if pt.is_struct(t):
        for field in t:
            seed = _hashed(value.get(field.name), field.type, seed, of)
        return seed
    if isinstance(value, list):
        for v in value:
            seed = _hashed(v, t.value_type, seed, of)
        return seed
    value = from_outside(value, t)
    if isinstance(value, str | bytes):
        return of(_data(value), seed)
    if isinstance(value, float):
        value = math.nan if math.isnan(value) else value + 0.0
        return of(struct.pack("<f" if pt.is_float32(t) else "<d", value), seed)
    if isinstance(value, Decimal):
        whole = int(value.scaleb(t.scale, Context(prec=100)))
        if t.precision > 18:
            size = next(n for n in range(1, 17) if -(2 ** (8 * n - 1)) <= whole < 2 ** (8 * n - 1))
            return of(whole.to_bytes(size, "big", signed=True), seed)
        return of(struct.pack("<q", whole), seed)
    wide = pt.is_int64(t) or pt.is_timestamp(t)
    return of(struct.pack("<q" if wide else "<i", int(value)), seed)


def _fold(of: Callable[[bytes, int], int], bits: int) -> Callable[..., int]:
    def run(kinds: list[pa.DataType], values: list[Any]) -> int:
        seed = 42
        for value, t in zip(values, kinds, strict=True):
            seed = _hashed(value, t, seed, of)
        return _signed(seed, bits)

    return run


HASHES: dict[str, Callable[[list[pa.DataType], list[Any]], int]] = {
    "hash": _fold(_murmur_bytes, 32),
    "xxhash64": _fold(_xx, 64),
}
"""By function: the types of its arguments and their values, which may be NULL."""

ENCODINGS: dict[str, Callable[..., Any]] = {
    "md5": lambda _, v: hashlib.md5(_data(v), usedforsecurity=False).hexdigest(),
    "sha1": lambda _, v: hashlib.sha1(_data(v), usedforsecurity=False).hexdigest(),
    "sha2": _sha2,
    "crc32": lambda _, v: zlib.crc32(_data(v)),
    "hex": _hex,
    "bin": lambda _, n: f"{n & (2**64 - 1):b}",
    "unhex": _unhex,
    "base64": _base64,
    "unbase64": _unbase64,
    "encode": lambda _, s: s.encode(),
    "decode": _decode,
    "url_encode": lambda _, s: quote_plus(s, safe="*").replace("~", "%7E"),
    "url_decode": _url_decode,
    "conv": _conv,
    "parse_url": parse_url,
}
"""By function: the result type and the values of its arguments, none of them NULL."""
