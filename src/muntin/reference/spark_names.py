"""Functions of Spark's, value by value."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from muntin.reference.values import NAN, Failed, is_nan

_MOST_DAYS = 3_660_000


def pattern_of(text: str) -> re.Pattern[str]:
    """A pattern that ends with the end of the text says so by backslash z, which Python calls Z."""
    return re.compile(re.sub(r"\\.", lambda m: "\\Z" if m.group() == "\\z" else m.group(), text))


def _extract(_: Any, text: str, pattern: str, group: int) -> str:
    found = pattern_of(pattern).search(text)
    return "" if found is None else found.group(group) or ""


def _angle(f: Callable[..., float]) -> Callable[..., float]:
    def run(_: Any, *xs: Any) -> float:
        values = [float(x) for x in xs]
        if any(is_nan(x) for x in values):
            return NAN
        try:
            return f(*values)
        except ValueError:
            return NAN
        except OverflowError:
            return math.inf

    return run


def _logarithm(f: Callable[[float], float]) -> Callable[..., Any]:
    def run(_: Any, x: Any) -> Any:
        x = float(x)
        return x if is_nan(x) else f(x) if x > 0 else None

    return run


def _log1p(_: Any, x: Any) -> Any:
    x = float(x)
    return x if is_nan(x) else math.log1p(x) if x > -1 else None


def _over(a: float, b: float) -> float:
    return a / b if b else math.copysign(math.inf, b)


def _atanh(_: Any, x: float) -> float:
    if abs(x) == 1:
        return math.copysign(math.inf, x)
    return math.atanh(x) if abs(x) < 1 else NAN


def _sinh(_: Any, x: float) -> float:
    try:
        return math.sinh(x)
    except OverflowError:
        return math.copysign(math.inf, x)


def _rint(_: Any, x: float) -> float:
    return math.copysign(round(x), x) if math.isfinite(x) else x


def _split(_: Any, text: str, pattern: str) -> list[str]:
    return parts_of(text, pattern)


def parts_of(text: str, pattern: str, most: int | None = None) -> list[str]:
    """The texts between matches, of the first ``most`` of them."""
    ends = [m.span() for m in pattern_of(pattern).finditer(text)][:most]
    return [text[a:b] for a, b in zip([0, *(e for _, e in ends)], [*(s for s, _ in ends), len(text)], strict=True)]


def _add_days(_: Any, day: int, more: int) -> int:
    if abs(more) > _MOST_DAYS:
        raise Failed(more)
    return day + more


def signed(type_: Any, value: int) -> int:
    """The value of so many bits as a number with a sign."""
    bits = type_.bit_width
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


STRICT: dict[str, Callable[..., Any]] = {
    "rlike": lambda _, s, p: pattern_of(p).search(s) is not None,
    "regexp_extract": _extract,
    "regexp_replace": lambda _, s, p, by: pattern_of(p).sub(lambda m: by, s),
    "reverse": lambda _, s: s[::-1],
    "repeat": lambda _, s, n: s * n,
    "lpad": lambda _, s, n, by: s[:n].rjust(n, by),
    "rpad": lambda _, s, n, by: s[:n].ljust(n, by),
    "split": _split,
    "array_join": lambda _, texts, by, *no: by.join(no[0] if t is None else t for t in texts if t is not None or no),
    "octet_length": lambda _, s: len(s.encode()),
    "log1p": _log1p,
    "expm1": _angle(math.expm1),
    "sinh": _sinh,
    "cosh": _angle(math.cosh),
    "tanh": _angle(math.tanh),
    "cbrt": _angle(math.cbrt),
    "rint": _rint,
    "hypot": lambda _, x, y: math.hypot(x, y),
    "instr": lambda _, s, part: s.find(part) + 1,
    "ln": _logarithm(math.log),
    "log10": _logarithm(math.log10),
    "exp": _angle(math.exp),
    "sin": _angle(math.sin),
    "cos": _angle(math.cos),
    "tan": _angle(math.tan),
    "asin": _angle(math.asin),
    "acos": _angle(math.acos),
    "atan": _angle(math.atan),
    "asinh": _angle(math.asinh),
    "acosh": _angle(math.acosh),
    "atanh": _atanh,
    "cot": _angle(lambda x: _over(math.cos(x), math.sin(x))),
    "sec": _angle(lambda x: _over(1.0, math.cos(x))),
    "csc": _angle(lambda x: _over(1.0, math.sin(x))),
    "atan2": _angle(lambda y, x: math.atan2(y + 0.0, x + 0.0)),
    "bit_and": lambda t, a, b: signed(t, a & b),
    "bit_or": lambda t, a, b: signed(t, a | b),
    "bit_xor": lambda t, a, b: signed(t, a ^ b),
    "add_days": _add_days,
    "date_diff": lambda _, end, start: end - start,
    "unix_micros": lambda _, t: t,
    "timestamp_micros": lambda _, n: n,
}
