"""Which calls are aggregates, and what each is called in the plan."""

from __future__ import annotations

from sqlglot import exp

from muntin.plan.catalog import Catalog

AGGREGATES: dict[type[exp.Expr], str] = {
    exp.Count: "count", exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max", exp.Median: "median",
    exp.Quantile: "quantile", exp.Stddev: "stddev_samp", exp.StddevSamp: "stddev_samp", exp.StddevPop: "stddev_pop",
    exp.Variance: "var_samp", exp.VariancePop: "var_pop", exp.First: "first", exp.Last: "last",
    exp.FirstValue: "first", exp.LastValue: "last", exp.ArrayAgg: "collect",
}  # fmt: skip
_NAMED = {"collect": "collect", "var": "var_samp", "std": "stddev_samp", "stdev": "stddev_samp"}


def function_of(node: exp.Expr, catalog: Catalog) -> str | None:
    """``Agg.fn`` of an aggregate call (count for COUNT(DISTINCT ...) too); None for everything else."""
    if not isinstance(node, exp.Anonymous):
        return AGGREGATES.get(type(node))
    name = str(node.this)
    known = catalog.function(name)
    return f"udaf:{known.name}" if known is not None else _NAMED.get(name.lower())


_SHOWN = {"stddev_samp": "STDDEV", "var_samp": "VARIANCE"}


def function_name(node: exp.Expr, catalog: Catalog) -> str | None:
    """An aggregate's name for messages; None for everything else."""
    fn = function_of(node, catalog)
    if fn is None or isinstance(node, exp.Anonymous):
        return fn if fn is None else str(node.this).upper()
    return _SHOWN.get(fn, fn.upper())


def has_aggregate(node: exp.Expr, catalog: Catalog) -> bool:
    """Whether an aggregate is called in the expression, outside its sub-queries."""
    found = node.walk(prune=lambda n: isinstance(n, exp.Query))
    return any(function_of(n, catalog) is not None for n in found)
