"""Users' scalar functions: how one is made, and how a call of one is bound."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, overload

import pyarrow as pa
from sqlglot import exp

from muntin.aggregates.registry import is_name
from muntin.core.errors import ConfigError, MuntinError
from muntin.cql.coerce import coerce, common_type
from muntin.cql.functions import NAMES
from muntin.cql.operators import TypeClash, describe
from muntin.cql.parse import parse
from muntin.cql.types import from_spark, to_spark
from muntin.plan.catalog import Catalog
from muntin.plan.exprs import USER, Call, Expr
from muntin.plan.user_functions import OnNull, ScalarFunction

Type: TypeAlias = "pa.DataType | str"
Functions = Mapping[str, ScalarFunction] | Iterable[ScalarFunction]


@overload
def function(
    code: Callable[..., Any], *, returns: Type, arguments: Sequence[Type] | None = None, name: str | None = None,
    version: str = "1", on_null: OnNull = "null",
) -> ScalarFunction:  # fmt: skip
    """Of code that is there."""


@overload
def function(
    code: None = None, *, returns: Type, arguments: Sequence[Type] | None = None, name: str | None = None,
    version: str = "1", on_null: OnNull = "null",
) -> Callable[[Callable[..., Any]], ScalarFunction]:  # fmt: skip
    """As a decorator."""


def function(
    code: Callable[..., Any] | None = None,
    *,
    returns: Type,
    arguments: Sequence[Type] | None = None,
    name: str | None = None,
    version: str = "1",
    on_null: OnNull = "null",
) -> ScalarFunction | Callable[[Callable[..., Any]], ScalarFunction]:
    """A scalar function for queries, of Python code over Arrow arrays; also as a decorator.

        @muntin.function(returns="DOUBLE", arguments=["DOUBLE"])
        def kelvin(celsius: pa.Array) -> pa.Array:
            return pc.add(celsius, 273.15)

        muntin.query("SELECT kelvin(t) AS k FROM readings [NOW]", functions=[kelvin], readings=...)

    Args:
        code: takes as many Arrow arrays of one length as the function has arguments, and gives an Arrow array, a NumPy
            array, a pandas column or a list of that length. Equal arguments must give equal answers, row by row.
        returns: type of the answer, as Arrow type or in Spark's DDL. An answer of another type is taken where its
            values are of this one too (whole numbers for DOUBLE; FLOAT rounds), and else stops the query.
        arguments: types that arguments are cast to (None: they come as they are).
        name: how queries call it (None: the name of the code).
        version: what tells it from a function of this name that answers otherwise, in a checkpoint above all: there a
            query goes on under changed code, and asks another question under a changed version (``on_change``).
        on_null: rows in which an argument is NULL have NULL for answer (``"null"``), or are shown to the code
            (``"call"``).

    Raises ConfigError for types and names that cannot be.
    """
    if code is None:
        return lambda own: function(
            own, returns=returns, arguments=arguments, name=name, version=version, on_null=on_null
        )
    called = str(name or getattr(code, "__name__", ""))
    if not called.isidentifier():
        raise ConfigError(f"function {called!r}: the name must be one word of letters, digits and underscores")
    owner = f"function {called!r}"
    if on_null not in ("null", "call"):
        raise ConfigError(f'{owner}: on_null is "null" or "call", not {on_null!r}')
    if isinstance(arguments, str):
        raise ConfigError(f"{owner}: arguments is a list of types, as in [{arguments!r}]")
    takes = None if arguments is None else tuple(_type(t, owner) for t in arguments)
    if takes == ():
        raise ConfigError(f"{owner} has no argument: its answer would be a constant, which is written as one")
    made = ScalarFunction(called, _type(returns, owner), takes, str(version), on_null, code)
    if takes is not None and not _accepts(made, len(takes)):
        raise ConfigError(f"{owner}: its code does not take {len(takes)} arrays, one for each argument")
    return made


def _type(given: Type, owner: str) -> pa.DataType:
    if isinstance(given, pa.DataType):
        return given
    if not isinstance(given, str):
        raise ConfigError(f"{owner}: a type is of Arrow, or a text of Spark's DDL, as in \"DOUBLE\", not {given!r}")
    try:
        return from_spark(given)
    except ValueError as e:
        raise ConfigError(f"{owner}: {e}") from None


def _accepts(made: ScalarFunction, count: int) -> bool:
    try:
        inspect.signature(made.code).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:  # code that does not tell
        return True
    return True


def with_functions(catalog: Catalog, given: Functions) -> Catalog:
    """The catalog with functions, under the names of the mapping where one is given. Raises ConfigError."""
    if isinstance(given, ScalarFunction):
        raise ConfigError(f"functions is a list of functions, as in [{given.name}], or a mapping by name")
    named = given.items() if isinstance(given, Mapping) else ((None, f) for f in given)
    for name, found in named:
        catalog = with_function(catalog, found, name)
    return catalog


def with_function(catalog: Catalog, found: Any, name: str | None = None, replace: bool = False) -> Catalog:
    """The catalog with a function, under another name where one is given. Raises ConfigError for a name taken."""
    if not isinstance(found, ScalarFunction):
        shown = name or getattr(found, "__name__", repr(found))
        raise ConfigError(
            f"function {shown!r}: say what it gives, as in muntin.function({shown}, returns=\"DOUBLE\"), or with "
            "@muntin.function(returns=...) above it"
        )
    if name is not None and name != found.name:
        found = function(
            found.code, returns=found.returns, arguments=found.arguments, name=name, version=found.version,
            on_null=found.on_null,
        )  # fmt: skip
    if not replace and (catalog.scalar(found.name) or catalog.function(found.name)):
        raise ConfigError(f"there is a function {found.name!r} already (names do not tell cases apart)")
    if found.name.lower() in NAMES or is_name(found.name) or not _plain_call(found.name):
        raise ConfigError(f"function {found.name!r}: SQL has something of this name; give another with name=...")
    return catalog.having(found)


def _plain_call(name: str) -> bool:
    """Whether the grammar reads ``name(x)`` as a call of which it knows nothing."""
    try:
        tree = parse(f"SELECT {name}(x) FROM s")
    except MuntinError:
        return False
    return isinstance(tree, exp.Select) and isinstance(tree.expressions[0], exp.Anonymous)


def call(known: ScalarFunction, args: Sequence[Expr]) -> Call:
    """The bound call of a user's function. Raises TypeClash for arguments that it does not take."""
    wanted = known.arguments
    if wanted is not None and len(args) != len(wanted):
        raise TypeClash(f"{known.name} takes {len(wanted)} argument{'s' * (len(wanted) != 1)}, not {len(args)}")
    if not args or (wanted is None and not _accepts(known, len(args))):
        raise TypeClash(f"the code of {known.name} does not take {len(args)} arguments")
    given = list(args)
    for i, (arg, to) in enumerate(zip(args, wanted or (), strict=False)):
        if arg.type != to and common_type(arg.type, to) is None:
            raise TypeClash(f"{known.name} takes {to_spark(to)}, not {describe(arg)}: write CAST(...)")
        given[i] = coerce(arg, to)
    return Call(USER + known.name, tuple(given), known.returns, known.identity, known)
