"""Bytes and whole numbers written in letters, and read: hexadecimal, binary, base 64, other bases, URLs, UTF-8.

Whole columns at a time over their bytes. A text that none of them reads is NULL here; ``evaluate`` makes an error of it
where Spark has one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from muntin.scalars.buffers import (
    Bools,
    Bytes,
    Ints,
    bytes_column,
    columns,
    counted,
    kept,
    nulls,
    packed,
    raw,
    rows_of,
    text_column,
)
from muntin.scalars.cast_rules import Value, by_value, convert
from muntin.scalars.clocks import constant

Function = Callable[[Sequence[Value], pa.DataType], Value]
Longs = NDArray[np.uint64]

_HEX = np.frombuffer(b"0123456789ABCDEF", np.uint8)
_DIGITS = np.frombuffer(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", np.uint8)
_BASE64 = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8)
_PLAIN_IN_URLS = np.isin(
    np.arange(256), [*b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-*_"]
)
_PAD, _NONE = 254, 255


def _read_by(letters: Bytes, ignore_case: bool = False) -> Bytes:
    """By byte the digit that it is; 255 for none."""
    table = np.full(256, _NONE, np.uint8)
    table[letters] = np.arange(len(letters))
    if ignore_case:
        table[ord("a") : ord("z") + 1] = table[ord("A") : ord("Z") + 1]
    return table


_OF_DIGIT = _read_by(_DIGITS, ignore_case=True)
_OF_BASE64 = _read_by(_BASE64)
_OF_BASE64[ord("=")] = _PAD


def _starts(sizes: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(sizes)])


# --- hexadecimal and binary -------------------------------------------------------------------------------------------


def _hex(args: Sequence[Value], kind: pa.DataType) -> Value:
    """Two digits a byte; of a whole number its 64 bits, without zeros before them."""
    (value,) = columns(args)
    if pa.types.is_integer(value.type):
        return hexadecimal(convert(value, pa.int64()))
    value = bytes_column(value)
    data, starts = raw(value)
    return packed(_HEX[np.stack([data >> 4, data & 15], axis=1)].ravel(), 2 * starts, kind, nulls(value))


def hexadecimal(value: pa.Array) -> pa.Array:
    """Whole numbers as the digits of as many bits as their type has, without zeros before them."""
    words = _words(value)[:, 8 - value.type.bit_width // 8 :]
    digits = _HEX[np.stack([words >> 4, words & 15], axis=2).reshape(len(words), -1)]
    return _without_zeros(digits, value, pa.string())


def _bin(args: Sequence[Value], kind: pa.DataType) -> Value:
    (value,) = columns(args)
    return _without_zeros(_HEX[np.unpackbits(_words(value), axis=1)], value, kind)


def _words(value: pa.Array) -> Bytes:
    """Eight bytes of each number, the highest first."""
    numbers = convert(value, pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return numbers.astype(">i8").view(np.uint8).reshape(-1, 8)


def _without_zeros(digits: Bytes, value: pa.Array, kind: pa.DataType) -> pa.Array:
    """Rows of digits as texts, from the first that is not 0, or the last."""
    keep = np.logical_or.accumulate(digits != _HEX[0], axis=1)
    keep[:, -1] = True
    return packed(digits[keep], _starts(keep.sum(axis=1)), kind, nulls(value))


def _unhex(args: Sequence[Value], kind: pa.DataType) -> Value:
    """NULL for what is not hexadecimal; an odd number of digits has a 0 before it."""
    value = text_column(args[0])
    data, starts = raw(value)
    digits = _OF_DIGIT[data]
    bad = counted(digits > 15, starts) > 0
    sizes = np.where(bad, 0, np.diff(starts))
    held, begins = kept(digits, starts, np.repeat(~bad, np.diff(starts)))
    made = _starts((sizes + 1) // 2)
    pairs = np.zeros(2 * made[-1], np.uint8)
    row = rows_of(begins)
    pairs[np.arange(len(held)) - begins[row] + 2 * made[row] + (sizes % 2)[row]] = held
    return packed(((pairs[::2] << 4) | pairs[1::2]).astype(np.uint8), made, kind, bad | nulls(value))


# --- base 64 ----------------------------------------------------------------------------------------------------------


def _base64(args: Sequence[Value], kind: pa.DataType) -> Value:
    """RFC 2045 without line ends, as Spark writes it."""
    value = bytes_column(args[0])
    data, starts = raw(value)
    sizes = np.diff(starts)
    groups = _starts((sizes + 2) // 3)
    whole = np.zeros(3 * groups[-1], np.uint32)
    row = rows_of(starts)
    whole[np.arange(len(data)) - starts[row] + 3 * groups[row]] = data
    words = (whole[::3] << 16) | (whole[1::3] << 8) | whole[2::3]
    letters = _BASE64[np.stack([(words >> s) & 63 for s in (18, 12, 6, 0)], axis=1)]
    last = groups[1:] - 1
    letters[last[sizes % 3 > 0], 3] = ord("=")
    letters[last[sizes % 3 == 1], 2] = ord("=")
    return packed(letters.ravel(), 4 * groups, kind, nulls(value))


def _unbase64(args: Sequence[Value], kind: pa.DataType) -> Value:
    """As ``java.util.Base64``'s decoder for MIME: what is no digit is skipped, padding ends the text."""
    value = text_column(args[0])
    data, starts = raw(value)
    digits = _OF_BASE64[data]
    row, at = rows_of(starts), np.arange(len(data))
    pads = np.flatnonzero(digits == _PAD)
    places = np.append(pads, len(data))
    first = np.minimum(places[np.searchsorted(pads, starts[:-1])], starts[1:])  # the end of a row without padding
    digit = digits < 64
    before = digit & (at < first[row])
    held, begins = kept(digits, starts, before)
    sizes = np.diff(begins)
    padded = first < starts[1:]
    second = np.append(digits, [_NONE, _NONE])[first + 1] == _PAD
    wrong = (sizes % 4 == 1) | (padded & (sizes % 4 == 0))
    wrong |= padded & (sizes % 4 == 2) & ~(second & (first + 1 < starts[1:]))
    wrong |= counted(digit & ~before, starts) > 0
    groups = _starts((sizes + 3) // 4)
    whole = np.zeros(4 * groups[-1], np.uint32)
    of = rows_of(begins)
    whole[np.arange(len(held)) - begins[of] + 4 * groups[of]] = held
    words = (whole[::4] << 18) | (whole[1::4] << 12) | (whole[2::4] << 6) | whole[3::4]
    made = np.stack([(words >> s) & 255 for s in (16, 8, 0)], axis=1).astype(np.uint8).ravel()
    used = sizes * 6 // 8
    group = rows_of(groups)
    keep = (np.arange(len(made)) - np.repeat(3 * groups[group], 3)) < np.repeat(used[group], 3)
    return packed(made[keep], _starts(used), kind, wrong | nulls(value))


# --- texts as bytes ---------------------------------------------------------------------------------------------------


def _decode(args: Sequence[Value], kind: pa.DataType) -> Value:
    """Bytes in UTF-8 as a text; NULL where they are none."""
    value = bytes_column(args[0])
    try:
        return pc.cast(value, kind)
    except pa.ArrowInvalid:
        return by_value(value, kind, _utf8)


def _utf8(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _url_encode(args: Sequence[Value], kind: pa.DataType) -> Value:
    """As ``java.net.URLEncoder``: a space is +."""
    value = text_column(args[0])
    data, starts = raw(value)
    coded = ~_PLAIN_IN_URLS[data] & (data != ord(" "))
    places = _starts(np.where(coded, 3, 1))
    out = np.empty(places[-1], np.uint8)
    at = places[:-1]
    out[at] = np.where(coded, ord("%"), np.where(data == ord(" "), ord("+"), data))
    out[at[coded] + 1], out[at[coded] + 2] = _HEX[data[coded] >> 4], _HEX[data[coded] & 15]
    return packed(out, places[starts], kind, nulls(value))


def _url_decode(args: Sequence[Value], kind: pa.DataType) -> Value:
    """NULL where a % has no two digits behind it; what is no UTF-8 becomes U+FFFD."""
    value = text_column(args[0])
    data, starts = raw(value)
    coded = np.flatnonzero(data == ord("%"))
    ends = starts[1:][rows_of(starts)[coded]]
    digits = _OF_DIGIT[np.append(data, [0, 0])]
    high, low = digits[coded + 1], digits[coded + 2]
    right = (coded + 2 < ends) & (high < 16) & (low < 16)
    out = np.where(data == ord("+"), np.uint8(ord(" ")), data)
    out[coded[right]] = (high[right] << 4) | low[right]
    keep = np.ones(len(data), np.bool_)
    keep[coded[right] + 1] = keep[coded[right] + 2] = False
    wrong = np.zeros(len(data), np.bool_)
    wrong[coded[~right]] = True
    bad = counted(wrong, starts) > 0
    made = packed(*kept(out, starts, keep), pa.binary(), bad | nulls(value))  # type: ignore[arg-type]
    try:
        return pc.cast(made, kind)
    except pa.ArrowInvalid:
        return by_value(made, kind, lambda v: v.decode(errors="replace"))


# --- other bases ------------------------------------------------------------------------------------------------------


def _conv(args: Sequence[Value], kind: pa.DataType) -> Value:
    """A number in one base in another; NULL of an empty text, and where it has more than 64 bits.

    Digits up to the first that the base does not have, a minus before them.
    """
    texts, given, wanted = _trimmed(args[0]), constant(args[1]) or 10, constant(args[2]) or 10
    data, starts = raw(texts)
    minus = np.append(data, 0)[starts[:-1]] == ord("-")
    minus &= np.diff(starts) > 0
    number, over = _number(_OF_DIGIT[data], starts[:-1] + minus, starts[1:], given)
    signed = number.view(np.int64)
    if wanted > 0:
        signed = np.where(minus, np.where(signed < 0, -1, -signed), signed)
    else:
        minus |= signed < 0
        signed = np.where(signed < 0, -signed, signed)
    made = _in_base(signed.view(np.uint64), abs(wanted), minus & (wanted < 0))
    return packed(*made, kind, nulls(texts) | over | (np.diff(starts) == 0))


def _trimmed(value: Value) -> pa.Array:
    return pc.utf8_trim(text_column(value), characters=" ")


def no_digits(args: Sequence[Value]) -> Value:
    """Where NULL is the answer of ``conv`` itself."""
    return pc.equal(_trimmed(args[0]), "")


def _number(digits: Bytes, low: Ints, high: Ints, base: int) -> tuple[Longs, Bools]:
    """The digits of each row up to the first that the base does not have, and whether they have too many bits."""
    number, over = np.zeros(len(low), np.uint64), np.zeros(len(low), np.bool_)
    open_ = np.flatnonzero(low < high)
    most = np.uint64(2**64 - 1)
    place = 0
    while len(open_):
        digit = digits[low[open_] + place]
        open_, digit = open_[digit < base], digit[digit < base].astype(np.uint64)
        over[open_] |= number[open_] > (most - digit) // np.uint64(base)
        number[open_] = number[open_] * np.uint64(base) + digit
        place += 1
        open_ = open_[low[open_] + place < high[open_]]
    return number, over


def _in_base(number: Longs, base: int, minus: Bools) -> tuple[Bytes, Ints]:
    """Digits of the numbers, from the first that is not 0, or the last, after a minus where one is asked for."""
    letters = np.zeros((len(number), 65), np.uint8)
    for place in range(64, 0, -1):
        letters[:, place] = _DIGITS[number % np.uint64(base)]
        number = number // np.uint64(base)
        if not number.any():
            letters[:, 1:place] = _DIGITS[0]
            break
    keep = np.logical_or.accumulate((letters != _DIGITS[0]) & (letters != 0), axis=1)
    keep[:, -1] = True
    first = keep.argmax(axis=1)
    rows = np.flatnonzero(minus)
    letters[rows, first[rows] - 1], keep[rows, first[rows] - 1] = ord("-"), True
    return letters[keep], _starts(keep.sum(axis=1))


TABLE: Mapping[str, Function] = {
    "hex": _hex,
    "bin": _bin,
    "unhex": _unhex,
    "base64": _base64,
    "unbase64": _unbase64,
    "encode": lambda args, kind: pc.cast(convert(args[0], pa.string()), kind),
    "decode": _decode,
    "url_encode": _url_encode,
    "url_decode": _url_decode,
    "conv": _conv,
}
