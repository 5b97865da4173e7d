"""Which calls are aggregates, and what each is called in the plan."""

from __future__ import annotations

from sqlglot import exp

from muntin.plan.catalog import AggregateFunction, Catalog

AGGREGATES: dict[type[exp.Expr], str] = {
    exp.Count: "count", exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max", exp.Median: "median",
    exp.Quantile: "quantile", exp.Stddev: "stddev_samp", exp.StddevSamp: "stddev_samp", exp.StddevPop: "stddev_pop",
    exp.Variance: "var_samp", exp.VariancePop: "var_pop", exp.First: "first", exp.Last: "last",
    exp.FirstValue: "first", exp.LastValue: "last", exp.ArrayAgg: "collect", exp.ArrayUniqueAgg: "collect",
    exp.CountIf: "count", exp.LogicalOr: "max", exp.LogicalAnd: "min",
}  # fmt: skip
_NAMED = {"collect": "collect", "var": "var_samp", "std": "stddev_samp", "stdev": "stddev_samp", "every": "min"}
_AROUND = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls)


def bare(node: exp.Expr) -> exp.Expr:
    """The call without FILTER (WHERE ...) and IGNORE NULLS around it."""
    while isinstance(node, _AROUND):
        node = node.this
    return node


def function_of(node: exp.Expr, catalog: Catalog) -> str | None:
    """``Agg.fn`` of an aggregate call (without ``_distinct``), FILTER included; None for everything else."""
    node = bare(node)
    if type(node) in AGGREGATES:
        return AGGREGATES[type(node)]
    known = registered(node, catalog)
    if known is not None:
        return f"udaf:{known.name}"
    return _NAMED.get(str(node.this).lower()) if isinstance(node, exp.Anonymous) else None


def registered(node: exp.Expr, catalog: Catalog) -> AggregateFunction | None:
    """The user-defined aggregate that a call names, also where sqlglot has a node of its own for the name."""
    if not isinstance(node, exp.Func):
        return None
    return catalog.function(str(node.this if isinstance(node, exp.Anonymous) else node.meta.get("called", "")))


_SHOWN = {"stddev_samp": "STDDEV", "var_samp": "VARIANCE"}
_BOOLEANS: dict[type[exp.Expr], str] = {exp.CountIf: "COUNT_IF", exp.LogicalOr: "BOOL_OR", exp.LogicalAnd: "BOOL_AND"}


def function_name(node: exp.Expr, catalog: Catalog) -> str | None:
    """An aggregate's name for messages; None for everything else."""
    fn, node = function_of(node, catalog), bare(node)
    if fn is None or isinstance(node, exp.Anonymous):
        return fn if fn is None else str(node.this).upper()
    if fn.startswith("udaf:"):
        return fn.removeprefix("udaf:").upper()
    return _BOOLEANS.get(type(node)) or _SHOWN.get(fn, fn.upper())


def has_aggregate(node: exp.Expr, catalog: Catalog) -> bool:
    """Whether an aggregate is called in the expression, outside its sub-queries."""
    found = node.walk(prune=lambda n: isinstance(n, exp.Query))
    return any(function_of(n, catalog) is not None for n in found)
