"""Aggregates over the values of one group, each from scratch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cmp_to_key
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from muntin.core.errors import DataError, UnsupportedError
from muntin.plan.exprs import Agg
from muntin.reference.inputs import Functions
from muntin.reference.values import NAN, canonical, checked_int, compare, fit_decimal, is_nan

ORDER = cmp_to_key(compare)
"""Sort key of values that are not NULL."""


def aggregate(agg: Agg, values: Sequence[Any], functions: Functions) -> Any:
    """``agg`` over the values of its argument in a group's rows, in order of event time (for COUNT(*) anything).

    Over no values a count is 0, COLLECT is empty and the others are NULL. Raises DataError when a SUM of integers
    overflows and when a scalar sub-query has more than one row.
    """
    some = [v for v in values if v is not None]
    if agg.distinct:
        some = list({canonical(v): v for v in some}.values())
    match agg.base:
        case "count":
            return len(values) if agg.arg is None else len(some)
        case "collect":
            return tuple(canonical(v) for v in sorted(some, key=ORDER))
        case "first" | "last":
            return canonical(values[0 if agg.fn == "first" else -1]) if values else None
        case "single":
            return _single(values)
        case "arg_max" | "arg_min":
            return _of_extreme([v for v in values if v is not None and v[0] is not None], agg.fn == "arg_max")
        case "frequent" if some:
            return _frequent(some, int(agg.param or 1), agg.share)
        case fn if fn.startswith("approx_"):
            return _near(agg, some)
        case fn if fn.startswith(("covar_", "corr", "regr_")):
            found = regression(fn, some)
            return float(found) if isinstance(found, Fraction) else found
        case "quantile":
            assert agg.param is not None
            return quantile(some, agg.param) if some else None
        case "percentile_disc":
            assert agg.param is not None
            return discrete(some, agg.param) if some else None
        case _ if not some:
            return None
        case "frequent_lists" | "frequent_sketch":
            raise UnsupportedError(f"{agg.base} depends on sub-windows, which a window's contents do not tell")
        case fn if fn.startswith("udaf:"):
            return canonical(functions[fn.removeprefix("udaf:")](sorted(some, key=ORDER)))
        case fn:
            return canonical(_OVER_SOME[fn](some, agg.type))


def _single(values: Sequence[Any]) -> Any:
    if len(values) > 1:
        raise DataError(f"a scalar sub-query has {len(values)} rows: {list(values)}; use an aggregate such as MAX")
    return canonical(values[0]) if values else None


def _near(agg: Agg, values: Sequence[Any]) -> Any:
    """APPROX_*, which are here exact."""
    if agg.fn.startswith("approx_count"):
        found: Any = len({canonical(v) for v in values})
    elif not values:
        return None
    elif agg.fn == "approx_top_k":
        return _frequent(values, int(agg.param or 1), None)[0]
    else:
        found = discrete(values, 0.5 if agg.param is None else agg.param)
    return (found, found, found) if agg.fn.endswith("_bounds") else found


def _frequent(values: Sequence[Any], k: int, share: float | None) -> Any:
    """The ``k`` most frequent values, ties by value: (items of (item, count, at most), threshold, rows, guarantee)."""
    counts: dict[Any, int] = {}
    for v in values:
        counts[canonical(v)] = counts.get(canonical(v), 0) + 1
    least = 0 if share is None else math.floor(share * len(values))
    top = sorted(sorted(counts, key=ORDER), key=lambda v: -counts[v])[:k]
    items = tuple((v, counts[v], counts[v]) for v in top if counts[v] > least)
    return (items, least, len(values), "exact")


def _of_extreme(pairs: Sequence[tuple[Any, Any]], greatest: bool) -> Any:
    """The value of the pair with the greatest (least) key; of equal keys the greatest (least) value, NULL least."""
    if not pairs:
        return None
    best = (max if greatest else min)(ORDER(key) for key, _ in pairs)
    values = [v for key, v in pairs if ORDER(key) == best]
    known = sorted((v for v in values if v is not None), key=ORDER)
    if greatest:
        return canonical(known[-1]) if known else None
    return canonical(known[0]) if len(known) == len(values) else None


def _sum(values: Sequence[Any], type_: pa.DataType) -> Any:
    if pt.is_floating(type_):
        return float_sum([float(v) for v in values])
    if pt.is_decimal(type_):
        with localcontext() as exact:
            exact.prec = 80
            return fit_decimal(sum(values, Decimal(0)), type_)
    return checked_int(sum(values), type_)


def _avg(values: Sequence[Any], type_: pa.DataType) -> Any:
    if isinstance(values[0], float):
        total = float_sum(values)
        return total / len(values)
    if pt.is_decimal(type_):
        units = sum((Fraction(v) for v in values), Fraction(0)) / len(values) * 10**type_.scale
        half_up = math.floor(abs(units) + Fraction(1, 2)) * (1 if units > 0 else -1)
        return fit_decimal(Decimal(half_up).scaleb(-type_.scale, Context(prec=100)), type_)
    return float(sum((Fraction(v) for v in values), Fraction(0)) / len(values))


def _tried(compute: Callable[[Sequence[Any], pa.DataType], Any]) -> Callable[[Sequence[Any], pa.DataType], Any]:
    def or_null(values: Sequence[Any], type_: pa.DataType) -> Any:
        try:
            return compute(values, type_)
        except DataError:
            return None

    return or_null


def float_sum(values: Sequence[float]) -> float:
    """The sum, rounded once, whatever the order; NaN and infinities as IEEE 754 adds them."""
    if any(is_nan(v) for v in values):
        return NAN
    infinities = {v for v in values if math.isinf(v)}
    if infinities:
        return infinities.pop() if len(infinities) == 1 else NAN
    try:
        return math.fsum(values)
    except OverflowError:
        exact = sum((Fraction(v) for v in values), Fraction(0))
        return math.inf if exact > 0 else -math.inf


def quantile(values: Sequence[Any], q: float) -> float:
    """The value at ``q`` (0 to 1) of the sorted values, linear between neighbours; NaN is above every number."""
    ordered = sorted(values, key=ORDER)
    at = q * (len(ordered) - 1)
    low, high = float(ordered[math.floor(at)]), float(ordered[math.ceil(at)])
    share = at - math.floor(at)
    mixed = low if compare(low, high) == 0 else low * (1.0 - share) + high * share
    return NAN if is_nan(mixed) else mixed


def discrete(values: Sequence[Any], q: float) -> Any:
    """The first of the sorted values up to which there is a share ``q`` of them; NaN is above every number."""
    ordered = sorted(values, key=ORDER)
    wanted = Fraction(repr(q)) * len(ordered)
    return canonical(next(v for i, v in enumerate(ordered) if i + 1 >= wanted))


def _variance(sample: bool, root: bool) -> Callable[[Sequence[Any], pa.DataType], Any]:
    def spread(values: Sequence[Any], type_: pa.DataType) -> float | None:
        over = len(values) - (1 if sample else 0)
        if over == 0:
            return None
        if any(isinstance(v, float) and not math.isfinite(v) for v in values):
            return NAN
        exact = [Fraction(v) for v in values]
        mean = sum(exact, Fraction(0)) / len(exact)
        found = float(sum(((v - mean) ** 2 for v in exact), Fraction(0)) / over)
        return math.sqrt(found) if root else found

    return spread


def regression(fn: str, pairs: Sequence[tuple[Any, Any]]) -> Any:
    """``fn`` of the pairs (y, x) by its textbook formula, in fractions; of NaN and infinities NaN, but for averages."""
    n = len(pairs)
    if fn == "regr_count" or not n:
        return n if fn == "regr_count" else None
    if fn in ("regr_avgx", "regr_avgy"):
        return canonical(float_sum([float(p[fn == "regr_avgx"]) for p in pairs]) / n)
    ys, xs = ([_fraction(v) for v in column] for column in zip(*pairs, strict=True))
    syy, sxx, sxy = _comoment(ys, ys), _comoment(xs, xs), _comoment(ys, xs)
    plain = {"covar_pop": sxy / n, "regr_sxx": sxx, "regr_syy": syy, "regr_sxy": sxy}
    if fn in plain:
        return plain[fn]
    if n < 2 and fn in ("covar_samp", "corr"):
        return None
    if fn == "covar_samp":
        return sxy / (n - 1)
    return _line(fn, sum(ys) / n, sum(xs) / n, syy, sxx, sxy)


def _line(fn: str, y: Any, x: Any, syy: Any, sxx: Any, sxy: Any) -> Any:
    """What the line through points says: of their means and sums of products."""
    if fn == "corr":
        return None if 0 in (sxx, syy) else math.copysign(math.sqrt(sxy * sxy / (sxx * syy)), sxy)
    if sxx == 0:
        return None
    if fn == "regr_r2":
        return 1.0 if syy == 0 else sxy * sxy / (sxx * syy)
    return sxy / sxx if fn == "regr_slope" else y - sxy / sxx * x


def _fraction(value: Any) -> Any:
    """A number without error; NaN for infinities too."""
    return NAN if isinstance(value, float) and not math.isfinite(value) else Fraction(value)


def _comoment(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """The sum of the products of distances from the means."""
    u, v = sum(a) / len(a), sum(b) / len(b)
    return sum((x - u) * (y - v) for x, y in zip(a, b, strict=True))


def _extreme(sign: int) -> Callable[[Sequence[Any], pa.DataType], Any]:
    def pick(values: Sequence[Any], type_: pa.DataType) -> Any:
        best = values[0]
        for v in values[1:]:
            if compare(v, best) * sign > 0:
                best = v
        return best

    return pick


_OVER_SOME: dict[str, Callable[[Sequence[Any], pa.DataType], Any]] = {
    "sum": _sum,
    "avg": _avg,
    "try_sum": _tried(_sum),
    "try_avg": _tried(_avg),
    "min": _extreme(-1),
    "max": _extreme(1),
    "median": lambda values, type_: quantile(values, 0.5),
    "var_samp": _variance(True, False),
    "var_pop": _variance(False, False),
    "stddev_samp": _variance(True, True),
    "stddev_pop": _variance(False, True),
}
