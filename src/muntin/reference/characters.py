"""Functions of characters, of bits and of buckets, value by value."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, localcontext
from typing import Any

from muntin.reference.number_texts import to_number
from muntin.reference.spark_names import pattern_of, signed
from muntin.reference.values import Failed, is_nan

_SOUNDEX = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "01230127022455012623017202", strict=True))


def _titled(word: str) -> str:
    return "".join(c.lower() if i else c.title() for i, c in enumerate(word))


def _translate(_: Any, text: str, old: str, new: str) -> str:
    table: dict[int, str] = {}
    for i, c in enumerate(old):
        table.setdefault(ord(c), new[i : i + 1])
    return text.translate(table)


def _mask(_: Any, text: str, *by: str | None) -> str:
    def one(c: str) -> str:
        kind = 0 if c.isupper() else 1 if c.islower() else 2 if c.isdecimal() else 3
        return c if by[kind] is None else str(by[kind])

    return "".join(map(one, text))


def _substring_index(_: Any, text: str, by: str, n: int) -> str:
    places = [i for i in range(len(text)) if by and text.startswith(by, i)]
    if not by or not n:
        return ""
    if len(places) < abs(n):
        return text
    return text[: places[n - 1]] if n > 0 else text[places[n] + len(by) :]


def _levenshtein(_: Any, a: str, b: str) -> int:
    costs = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            row.append(min(row[-1] + 1, costs[j] + 1, costs[j - 1] + (x != y)))
        costs = row
    return costs[-1]


def _soundex(_: Any, text: str) -> str:
    letters = [c.upper() if c.isascii() and c.isalpha() else None for c in text]
    if not letters or letters[0] is None:
        return text
    code, last = letters[0], _SOUNDEX[letters[0]]
    for letter in letters[1:]:
        digit = "0" if letter is None else _SOUNDEX[letter]
        if digit == "7":
            continue
        if digit not in ("0", last) and len(code) < 4:
            code += digit
        last = digit
    return code.ljust(4, "0")


def _luhn(_: Any, text: str) -> bool:
    if not re.fullmatch("[0-9]+", text):
        return False
    worth = [int(c) if i % 2 == 0 else sum(divmod(2 * int(c), 10)) for i, c in enumerate(reversed(text))]
    return sum(worth) % 10 == 0


def _instr(_: Any, text: str, pattern: str) -> int:
    found = pattern_of(pattern).search(text)
    return 0 if found is None else found.start() + 1


def _substr(_: Any, text: str, pattern: str) -> str | None:
    found = pattern_of(pattern).search(text)
    return None if found is None else found.group()


def _format_number(_: Any, x: Any, digits: int) -> str | None:
    if digits < 0:
        return None
    if isinstance(x, float) and not math.isfinite(x):
        return "NaN" if is_nan(x) else "\u221e" if x > 0 else "-\u221e"
    with localcontext() as exact:
        exact.prec = 800
        unit = Decimal(1).scaleb(-digits)
        if isinstance(x, float) and Decimal(repr(x)) == Decimal(repr(x)).quantize(unit):
            x = repr(x)
        return format(Decimal(x).quantize(unit, ROUND_HALF_EVEN), ",f")


def _fixed(_: Any, x: Any, digits: int) -> str:
    if isinstance(x, float) and not math.isfinite(x):
        return "NaN" if is_nan(x) else "Infinity" if x > 0 else "-Infinity"
    with localcontext() as exact:
        exact.prec = 800
        return format(Decimal(repr(x) if isinstance(x, float) else x).quantize(Decimal(1).scaleb(-digits),
                                                                              ROUND_HALF_UP), "f")  # fmt: skip


def _format(kinds: list[Any], text: str, *values: Any) -> str:
    """As printf, but for what Java writes in its own way: NULL, doubles, negative numbers in hexadecimal."""
    given = iter(zip(kinds[1:], values, strict=True))

    def one(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%"
        flags, width, digits, kind = found.groups()
        t, v = next(given)
        shown = _shown(t, v, kind, 6 if digits is None else int(digits), "," in flags)
        size = int(width or 0)
        if v is None:
            shown = ("NULL" if kind == "X" else "null")[: None if digits is None else int(digits)]
        elif "0" in flags and shown.lstrip("-")[0] not in "NI":
            shown = "-" * (shown[0] == "-") + shown.lstrip("-").rjust(size - (shown[0] == "-"), "0")
        return shown.ljust(size) if "-" in flags else shown.rjust(size)

    return re.sub(r"%%|%([-0,]*)([1-9]\d*)?(?:\.(\d+))?([sdfxX])", one, text)


def _shown(t: Any, v: Any, kind: str, digits: int, commas: bool) -> str:
    if v is None:
        return ""
    match kind:
        case "d":
            return f"{v:,}" if commas else str(v)
        case "f":
            return _fixed(None, v, digits)
        case "s":
            return str(v)
        case _:
            return format(v & (2**t.bit_width - 1), kind)


def _bround(_: Any, x: Any, digits: int) -> Any:
    if isinstance(x, float) and not math.isfinite(x):
        return x
    with localcontext() as exact:
        exact.prec = 400
        return Decimal(repr(x) if isinstance(x, float) else x).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN)


def _shift_right_unsigned(t: Any, x: int, n: int) -> int:
    return signed(t, (x & (2**t.bit_width - 1)) >> (n % t.bit_width))


def _bit_get(kinds: Any, x: int, n: int) -> int:
    if not 0 <= n < kinds[0].bit_width:
        raise Failed(n)
    return (x >> n) & 1


def _width_bucket(_: Any, x: float, low: float, high: float, n: int) -> int | None:
    if n <= 0 or n == 2**63 - 1 or is_nan(x) or not math.isfinite(low) or not math.isfinite(high) or low == high:
        return None
    sign = 1 if low < high else -1
    if (x - low) * sign < 0:
        return 0
    if (x - high) * sign >= 0:
        return n + 1
    part = float(n) * ((x - low) * sign) / ((high - low) * sign)
    return int(part) + 1 if part < 2**63 else -(2**63)  # Spark's wraps


CHARACTERS: dict[str, Callable[..., Any]] = {
    "to_number": to_number,
    "initcap": lambda _, s: " ".join(map(_titled, s.split(" "))),
    "translate": _translate,
    "substring_index": _substring_index,
    "levenshtein": _levenshtein,
    "soundex": _soundex,
    "ascii": lambda _, s: ord(s[0]) if s else 0,
    "chr": lambda _, n: "" if n < 0 else chr(n % 256),
    "luhn_check": _luhn,
    "regexp_count": lambda _, s, p: len(list(pattern_of(p).finditer(s))),
    "regexp_substr": _substr,
    "regexp_instr": _instr,
    "regexp_extract_all": lambda _, s, p, g: [m.group(g) or "" for m in pattern_of(p).finditer(s)],
    "format_number": _format_number,
    "bround": _bround,
    "shiftleft": lambda t, x, n: signed(t, x << (n % t.bit_width)),
    "shiftright": lambda t, x, n: x >> (n % t.bit_width),
    "shiftrightunsigned": _shift_right_unsigned,
    "bit_count": lambda _, x: (x & (2**64 - 1)).bit_count(),
    "factorial": lambda _, n: math.factorial(n) if 0 <= n <= 20 else None,
    "width_bucket": _width_bucket,
}
"""By function: the result type and the values of its arguments, none of them NULL."""

SEE_NULL: dict[str, Callable[..., Any]] = {
    "mask": lambda text, *by: None if text is None else _mask(None, text, *by),
}

OF_KINDS: dict[str, Callable[..., Any]] = {"bit_get": _bit_get, "format_string": _format}
"""As ``CHARACTERS``, with the types of the arguments for the result's; ``format_string`` sees NULL."""
