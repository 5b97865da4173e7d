"""What a user gives as a stream or a table, as Arrow columns: frames, rows, files. Needs neither Spark nor a JVM.

Anything with Arrow's stream interface (``__arrow_c_stream__``: Arrow, Polars, DuckDB, ...) is taken as it is. A pandas
frame keeps an index that has a name or is one of times, as a column. A batch DataFrame of Spark's is collected, one of
Spark Connect too.
"""

from __future__ import annotations

import glob
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.json

from muntin.core.errors import ConfigError
from muntin.core.schema import Field, Schema

BATCH_ROWS = 1 << 18
"""Rows that are handled at a time."""

FORMATS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json"}
"""A file's format by its extension; JSON is one object a line."""

PACKED = (".gz", ".bz2")
"""Extensions behind that of a text file which is compressed, as ``.csv.gz``."""

_SPECIAL = "*?["


@dataclass(frozen=True)
class Separated:
    """A CSV of another form: ``sep`` between its fields; ``names`` of its columns where it has no ``header`` (none:
    ``_c0``, ``_c1``, ..., as Spark calls them); ``null``: what stands for NULL beside an empty field."""

    sep: str = ","
    header: bool = True
    names: tuple[str, ...] = ()
    null: str = ""


@dataclass(frozen=True)
class Part:
    """Some rows of an input, in its own order; ``read`` gives some of its columns."""

    rows: int
    read: Callable[[Sequence[str]], pa.Table]


@dataclass(frozen=True)
class Input:
    """An input as its owner typed it: ``schema`` of the columns as they are stored, and its parts."""

    schema: pa.Schema
    parts: tuple[Part, ...]


def read_input(given: Any, owner: str, kind: str | Separated | None = None) -> Input:
    """The input behind a table, a frame, rows or a path. ``owner`` names it in messages: ``stream 'flights'``;
    ``kind``: the format of its files (``parquet``, ``csv``, ``json``, or a CSV of a form), by default what their names
    say.

    Parquet is read by row groups, as far as columns are asked for; everything else is, or comes, into memory whole.

    Raises ConfigError for what is none of these, and for files that are missing or unreadable.
    """
    if isinstance(given, str | Path):
        return _of_files([str(given)], owner, kind)
    if isinstance(given, list) and given and all(isinstance(g, str | Path) for g in given):
        return _of_files([str(g) for g in given], owner, kind)
    return _of_table(_as_table(given, owner))


def _as_table(given: Any, owner: str) -> pa.Table:
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    try:
        match given:
            case pa.Table():
                return given
            case pa.RecordBatch():
                return pa.Table.from_batches([given])
            case pa.RecordBatchReader():
                return given.read_all()
            case list() if given and all(isinstance(g, pa.RecordBatch) for g in given):
                return pa.Table.from_batches(given)
            case list() if given and all(isinstance(g, Mapping) for g in given):
                return _of_rows(given)
            case _ if pandas is not None and isinstance(given, pandas.DataFrame):
                timed = isinstance(given.index, pandas.DatetimeIndex)
                frame = given.reset_index() if timed or any(n is not None for n in given.index.names) else given
                return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
            case _ if polars is not None and isinstance(given, polars.LazyFrame):
                raise ConfigError(f"{owner}: this Polars frame is lazy; give frame.collect()")
            case _ if any(kind.__module__.startswith("pyspark.sql.") for kind in type(given).__mro__):
                return _of_spark(given, owner)
            case _ if hasattr(given, "__arrow_c_stream__"):
                return pa.table(given)
    except (pa.ArrowException, TypeError, ValueError) as e:
        raise ConfigError(f"{owner}: its rows do not fit into columns: {_first_line(e)}") from None
    if isinstance(given, list) and not given:
        raise ConfigError(f"{owner}: an empty list has no columns; give an Arrow table with a schema")
    raise ConfigError(
        f"{owner}: {type(given).__name__} is no input; give an Arrow table, a pandas, Polars or Spark frame, a list of "
        "dicts, or the path of Parquet, CSV or JSON files"
    )


def _of_spark(frame: Any, owner: str) -> pa.Table:
    """A DataFrame of Spark's, classic or of Spark Connect: its rows come into this process."""
    if not hasattr(frame, "toArrow"):
        raise ConfigError(f"{owner}: {type(frame).__name__} of Spark is no input; give a DataFrame")
    if frame.isStreaming:
        raise ConfigError(
            f"{owner}: this DataFrame is streaming; muntin.Session(spark) answers live streams, muntin.query what "
            "batch DataFrames hold"
        )
    table: pa.Table = frame.toArrow()
    return table


def _of_rows(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Columns in the order in which they first appear; what a row lacks is NULL."""
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: pa.array([row.get(name) for row in rows]) for name in names})


def _of_table(table: pa.Table) -> Input:
    def part(start: int) -> Part:
        rows = table.slice(start, BATCH_ROWS)
        return Part(len(rows), lambda columns: rows.select(list(columns)))

    return Input(table.schema, tuple(part(start) for start in range(0, len(table), BATCH_ROWS)))


# --- files ------------------------------------------------------------------------------------------------------------


def _of_files(paths: Sequence[str], owner: str, kind: str | Separated | None) -> Input:
    form, known = (kind, "csv") if isinstance(kind, Separated) else (Separated(), kind)
    found = [file for path in paths for file in _matching(path, owner, known)]
    kinds = {file: known or format_of(file) for file in found}
    unknown = [file for file, kind in kinds.items() if kind is None]
    if unknown:
        raise ConfigError(f"{owner}: cannot tell the format of {unknown[0]!r}; names end in {', '.join(FORMATS)}")
    several = sorted({str(kind) for kind in kinds.values()})
    if len(several) > 1:
        raise ConfigError(f"{owner}: its files are of several formats: {', '.join(several)}")
    try:
        match kinds[found[0]]:
            case "parquet":
                return _of_parquet(found)
            case "csv":
                return _of_table(_together([_read_csv(file, form) for file in found]))
            case _:
                return _of_table(_together([_read_json(file) for file in found]))
    except (OSError, pa.ArrowException) as e:
        raise ConfigError(f"{owner}: cannot read {', '.join(paths)}: {_first_line(e)}") from None


def format_of(file: str | Path) -> str | None:
    """The format that a file's name says; files of text may be packed."""
    path = Path(file)
    packed = path.suffix.lower() in PACKED
    kind = FORMATS.get((path.with_suffix("") if packed else path).suffix.lower())
    return None if packed and kind == "parquet" else kind


def _matching(path: str, owner: str, known: str | None) -> list[str]:
    """The files of a path, a directory or a glob, in order of their names; hidden ones (``_`` or ``.``) left out."""
    if "://" in path:
        raise ConfigError(f"{owner}: {path} is no local file; read it into an Arrow table (pyarrow.fs), or use Spark")
    if Path(path).is_file():
        return [path]
    if Path(path).is_dir():
        found = [p for p in Path(path).rglob("*") if p.is_file() and (known or format_of(p))]
        files = sorted(str(p) for p in found if not any(n[0] in "_." for n in p.relative_to(path).parts))
        if not files:
            raise ConfigError(f"{owner}: the directory {path!r} has no file that ends in {', '.join(FORMATS)}")
        return files
    files = sorted(f for f in glob.glob(path, recursive=True) if Path(f).is_file())
    if not files:
        what = "no file matches" if any(c in path for c in _SPECIAL) else "there is no file or directory"
        raise ConfigError(f"{owner}: {what} {path!r}")
    return files


def _of_parquet(files: Sequence[str]) -> Input:
    dataset = ds.dataset(list(files), format="parquet", partitioning="hive")
    groups = [g for fragment in dataset.get_fragments() for g in fragment.split_by_row_group()]

    def part(group: Any) -> Part:
        return Part(group.count_rows(), lambda columns: group.to_table(schema=dataset.schema, columns=list(columns)))

    return Input(dataset.schema, tuple(map(part, groups)))


def _read_csv(file: str, form: Separated) -> pa.Table:
    """An empty field is NULL, as Spark has it, and nothing else is that the form does not name."""
    nulls = list(dict.fromkeys(["", form.null]))
    options = pyarrow.csv.ConvertOptions(null_values=nulls, strings_can_be_null=True, quoted_strings_can_be_null=False)
    table = pyarrow.csv.read_csv(
        file,
        read_options=pyarrow.csv.ReadOptions(autogenerate_column_names=not form.header),
        parse_options=pyarrow.csv.ParseOptions(delimiter=form.sep),
        convert_options=options,
    )
    names = form.names or (table.column_names if form.header else [f"_c{i}" for i in range(table.num_columns)])
    if len(names) != table.num_columns:
        raise pa.ArrowInvalid(f"{file} has {table.num_columns} columns, and {len(names)} names are given")
    return table.rename_columns(list(names))


def _read_json(file: str) -> pa.Table:
    """Text that is a time throughout is read as one, as Spark's ``inferTimestamp`` has it."""
    options = pyarrow.json.ReadOptions(block_size=8 << 20)
    table = pyarrow.json.read_json(file, read_options=options)
    for i, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            table = table.set_column(i, field.name, _times_of(table.column(i)))
    return table


def _times_of(column: pa.ChunkedArray) -> pa.ChunkedArray:
    first = next((v for v in column.drop_null().slice(0, 1).to_pylist()), None)
    for kind in (pa.timestamp("us", "UTC"), pa.timestamp("us")) if first is not None else ():
        try:
            pa.array([first]).cast(kind)  # a look at one value before all
            return column.cast(kind)
        except pa.ArrowInvalid:
            continue
    return column


def _together(tables: Sequence[pa.Table]) -> pa.Table:
    """Files of text, whose times without an offset count as UTC."""
    whole = pa.concat_tables(tables, promote_options="permissive")
    for i, field in enumerate(whole.schema):
        if pa.types.is_timestamp(field.type) and field.type.tz is None:
            whole = whole.set_column(i, field.name, whole.column(i).cast(pa.timestamp(field.type.unit, "UTC")))
    return whole


# --- types ------------------------------------------------------------------------------------------------------------


def as_engine(t: pa.DataType) -> pa.DataType:
    """The type in which a column goes through a query: that in which Spark would hand it over."""
    if pa.types.is_timestamp(t):
        return pa.timestamp("us", "UTC" if t.tz else None)
    if pa.types.is_dictionary(t):
        return as_engine(t.value_type)
    if pa.types.is_large_string(t) or pa.types.is_string_view(t):
        return pa.string()
    if pa.types.is_large_binary(t) or pa.types.is_binary_view(t):
        return pa.binary()
    if pa.types.is_large_list(t):
        return pa.list_(as_engine(t.value_type))
    if pa.types.is_date64(t):
        return pa.date32()
    widened = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64()}
    return widened.get(t, t)


def schema_of(stored: pa.Schema, owner: str) -> Schema:
    """The columns as queries see them. Raises ConfigError for names that are not told apart."""
    seen: dict[str, str] = {}
    for name in stored.names:
        other = seen.setdefault(name.lower(), name)
        if stored.names.count(name) > 1:
            raise ConfigError(f"{owner}: column {name!r} is there more than once; rename one of them")
        if other != name:
            raise ConfigError(
                f"{owner}: the names of columns {other!r} and {name!r} differ in letter case alone; rename one of them"
            )
    return Schema(tuple(Field(f.name, as_engine(f.type)) for f in stored))


def converted(rows: pa.Table, schema: Schema, owner: str) -> pa.Table:
    """Some columns of an input in the types of ``schema``.

    Nanoseconds are cut to microseconds, which a warning says. Raises ConfigError for values that a type cannot hold.
    """
    columns = []
    for name in rows.column_names:
        field = schema.get(name)
        assert field is not None
        try:
            columns.append(rows.column(name).cast(field.type))
        except pa.ArrowInvalid as e:
            held = rows.schema.field(name).type
            if not (pa.types.is_timestamp(held) and held.unit == "ns" and pa.types.is_timestamp(field.type)):
                raise ConfigError(f"{owner}: column {name!r} does not fit {field.type}: {_first_line(e)}") from None
            warnings.warn(f"{owner}: column {name!r} has nanoseconds, which are cut to microseconds", stacklevel=2)
            columns.append(pc.floor_temporal(rows.column(name), unit="microsecond").cast(field.type))
    return pa.table(columns, names=rows.column_names) if columns else rows


def whole(given: Input, schema: Schema, owner: str) -> pa.Table:
    """All rows of an input, in the types of ``schema``."""
    parts = [converted(part.read(schema.names), schema, owner) for part in given.parts]
    return pa.concat_tables(parts) if parts else schema.to_arrow().empty_table()


def _first_line(e: Exception) -> str:
    text = str(e).strip()
    return text.splitlines()[0] if text else type(e).__name__
