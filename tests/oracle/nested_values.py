"""Rows with structs, arrays and maps, and expressions over them."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from random import Random
from typing import Any

import pyarrow as pa

from muntin.core.schema import Field, Schema
from muntin.cql.binder import bind
from muntin.plan.catalog import Catalog, Stream
from muntin.plan.nodes import Project, walk

PAGE = pa.struct(
    [
        ("url", pa.string()), ("Size", pa.int32()), ("at", pa.timestamp("us", "UTC")),
        ("in", pa.struct([("x", pa.int64())])),
    ]
)  # fmt: skip
SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us", "UTC")), ("page", PAGE), ("tags", pa.list_(pa.string())),
        ("xs", pa.list_(pa.float64())), ("pages", pa.list_(PAGE)), ("m", pa.map_(pa.string(), pa.int64())),
        ("i", pa.int32()), ("s", pa.string()),
    ]
)  # fmt: skip
CATALOG = Catalog((Stream("f", Schema(tuple(Field(f.name, f.type) for f in SCHEMA)), "ts"),))


def page(r: Random) -> dict[str, Any] | None:
    if r.random() < 0.2:
        return None
    at = datetime.fromtimestamp(r.randrange(10**6), UTC)
    inner = r.choice([None, {"x": r.randrange(5)}, {"x": None}])
    url = r.choice(["/a", "/b", None])
    return {"url": url, "Size": r.choice([None, 3, 4]), "at": r.choice([at, None]), "in": inner}


def row(r: Random, second: int) -> dict[str, Any]:
    def some(make: Any) -> Any:
        return None if r.random() < 0.15 else [make() for _ in range(r.randrange(4))]

    return {
        "ts": datetime.fromtimestamp(second, UTC), "page": page(r), "tags": some(lambda: r.choice(["x", "y", None])),
        "xs": some(lambda: r.choice([0.0, -0.0, math.nan, 1.5, None])), "pages": some(lambda: page(r)),
        "m": None if r.random() < 0.15 else [(k, r.choice([1, 2, None])) for k in r.sample("xyz", r.randrange(4))],
        "i": r.choice([None, -2, -1, 0, 1, 2, 5]), "s": r.choice(["x", "z", None]),
    }  # fmt: skip


EXPRESSIONS = [
    "page.url", "f.page.size", "page.in.x", "f.page.at", "tags[0]", "tags[i]", "xs[i]", "pages[1].url", "pages[i].in.x",
    "get(tags, 1)", "element_at(tags, 1)", "element_at(tags, -1)", "element_at(tags, i)", "try_element_at(xs, i)",
    "m['x']", "m[s]", "element_at(m, s)", "size(tags)", "cardinality(m)", "array_size(pages)",
    "array_contains(tags, 'x')", "array_contains(tags, s)", "array_contains(xs, 0)", "array_contains(xs, 1.5)",
    "map_contains_key(m, s)", "map_keys(m)", "map_values(m)", "map_values(m)[0]", "size(map_keys(m))",
    "coalesce(page.url, tags[0], 'none')", "upper(page.url) || s", "page.size + m['x']", "year(page.at)",
]  # fmt: skip


def expressions() -> list[tuple[str, Any]]:
    found = []
    for text in EXPRESSIONS:
        bound = bind(f"SELECT {text} AS value FROM f [NOW]", CATALOG)
        (project,) = [n for n in walk(bound.root) if isinstance(n, Project)]
        found.append((text, dict(project.exprs)["value"]))
    return found
