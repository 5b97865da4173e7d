"""Formats of sources and sinks, and their options: what Spark would pass over in silence, or tell in the first batch.

Spark ignores options that it does not know. Here those of its own formats are checked by name (as the registries
``DataSourceOptions`` of its readers and writers list them, and its manual); options with a dot are Hadoop's or a
client's and pass, as do all options of formats that others bring.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from muntin.core.errors import ConfigError
from muntin.cql.scopes import did_you_mean, listing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OWN_SINKS = ("memory", "blackhole", "table", "archive")
"""Sinks that are no format of Spark's."""

_READ_FILES = (
    "path", "basePath", "pathGlobFilter", "modifiedBefore", "modifiedAfter", "recursiveFileLookup",
    "ignoreCorruptFiles", "ignoreMissingFiles", "maxFilesPerTrigger", "maxBytesPerTrigger", "latestFirst",
    "fileNameOnly", "maxFileAge", "cleanSource", "sourceArchiveDir", "maxCachedFiles", "discardCachedInputRatio",
)  # fmt: skip
_WRITE_FILES = ("path", "maxRecordsPerFile", "partitionOverwriteMode")
_TEXTS = (
    "charset", "columnNameOfCorruptRecord", "compression", "dateFormat", "enableDateTimeParsingFallback", "encoding",
    "lineSep", "locale", "mode", "multiLine", "samplingRatio", "singleVariantColumn", "timeFormat", "timeZone",
    "timestampFormat", "timestampNTZFormat",
)  # fmt: skip
_FILES: Mapping[str, tuple[str, ...]] = {
    "parquet": ("compression", "datetimeRebaseMode", "int96RebaseMode", "mergeSchema"),
    "orc": ("compression", "mergeSchema"),
    "text": ("compression", "encoding", "lineSep", "wholetext"),
    "csv": (
        *_TEXTS, "charToEscapeQuoteEscaping", "codec", "columnPruning", "comment", "delimiter", "emptyValue",
        "enforceSchema", "escape", "escapeQuotes", "extension", "header", "ignoreLeadingWhiteSpace",
        "ignoreTrailingWhiteSpace", "inferSchema", "inputBufferSize", "maxCharsPerColumn", "maxColumns", "nanValue",
        "negativeInf", "nullValue", "positiveInf", "preferDate", "quote", "quoteAll", "sep", "unescapedQuoteHandling",
    ),
    "json": (
        *_TEXTS, "allowBackslashEscapingAnyCharacter", "allowComments", "allowNonNumericNumbers",
        "allowNumericLeadingZeros", "allowSingleQuotes", "allowUnquotedControlChars", "allowUnquotedFieldNames",
        "dropFieldIfAllNull", "explodeEmbeddedArray", "ignoreNullFields", "inferTimestamp", "prefersDecimal", "pretty",
        "primitivesAsString", "sortKeys", "useUnsafeRow", "writeNonAsciiCharacterAsCodePoint",
    ),
}  # fmt: skip
FILE_FORMATS = frozenset(_FILES) | {"avro", "xml", "binaryFile"}
"""Formats of files: they take a path."""

_SOURCES: Mapping[str, tuple[str, ...]] = {
    "rate": ("rowsPerSecond", "rampUpTime", "numPartitions", "useManualClock"),
    "rate-micro-batch": ("rowsPerBatch", "numPartitions", "startTimestamp", "advanceMillisPerBatch"),
    "socket": ("host", "port", "includeTimestamp"),
    "kafka": (
        "assign", "subscribe", "subscribePattern", "startingOffsets", "endingOffsets", "startingTimestamp",
        "endingTimestamp", "startingOffsetsByTimestamp", "endingOffsetsByTimestamp",
        "startingOffsetsByTimestampStrategy", "failOnDataLoss", "maxOffsetsPerTrigger", "minOffsetsPerTrigger",
        "maxTriggerDelay", "minPartitions", "maxRecordsPerPartition", "groupIdPrefix", "includeHeaders",
    ),
    **{name: (*own, *_READ_FILES) for name, own in _FILES.items()},
}  # fmt: skip
_SINKS: Mapping[str, tuple[str, ...]] = {
    "kafka": ("topic", "includeHeaders"), "console": ("numRows", "truncate"), "noop": (), "memory": (), "blackhole": (),
    **{name: (*own, *_WRITE_FILES) for name, own in _FILES.items()},
}  # fmt: skip
_MODES = ("append", "overwrite", "ignore", "error", "errorifexists")


def unknown_option(format: str, options: Iterable[str], sink: bool) -> tuple[str, str] | None:
    """The first option that the format does not have, and what to say of it; None where all are known or it is not
    known which there are."""
    known = (_SINKS if sink else _SOURCES).get(format.lower())
    if known is None:
        return None
    lower = {k.lower() for k in known}
    odd = next((o for o in options if "." not in o and o.lower() not in lower), None)
    if odd is None:
        return None
    there = f"They are {listing(sorted(known))}" if known else "It has none"
    return odd, f"{format} has no option {odd!r}.{did_you_mean(odd, known)} {there}"


_NEEDED: Mapping[tuple[str, bool], tuple[tuple[str, ...], ...]] = {
    ("kafka", False): (("kafka.bootstrap.servers",), ("subscribe", "subscribePattern", "assign")),
    ("kafka", True): (("kafka.bootstrap.servers",),),
    ("socket", False): (("host",), ("port",)),
}
"""By format, and whether it is a sink: of each group of options exactly one must be there."""


def missing_option(format: str, options: Iterable[str], sink: bool) -> tuple[str, str] | None:
    """The first option that the format cannot do without, or of which there is one too many, and what to say of it;
    None for nothing."""
    given = {o.lower() for o in options}
    for group in _NEEDED.get((format.lower(), sink), ()):
        there = [o for o in group if o.lower() in given]
        what = f"one of {', '.join(group)}" if len(group) > 1 else group[0]
        if not there:
            return group[0], f"is missing: {format} needs {what}"
        if len(there) > 1:
            return there[1], f"{format} takes {what}, not {' and '.join(there)}"
    return None


def wrong_mode(format: str, mode: str) -> str | None:
    """What is wrong with the mode of a sink; None for nothing."""
    if mode.lower() not in _MODES:
        return f"mode is one of {', '.join(_MODES)}, not {mode!r}"
    if mode.lower() != "append" and (format in _FILES or format in ("memory", "blackhole", "archive")):
        return f"{format} is written batch by batch, so its mode is append, not {mode!r}"
    return None


def check_sink(spark: SparkSession, format: str, mode: str, options: Mapping[str, Any], what: str) -> None:
    """Raises ConfigError for a format that Spark cannot find, an unknown option or mode; ``what``: whose sink."""
    odd = unknown_option(format, options, sink=True)
    fault = wrong_mode(format, mode) or (odd[1] if odd is not None else None)
    if fault is None and format not in OWN_SINKS:
        fault = missing_format(spark, format)
    if fault is None and (lacking := missing_option(format, options, sink=True)) is not None:
        fault = f"option {lacking[0]} {lacking[1]}" if lacking[0] not in options else lacking[1]
    if fault is not None:
        raise ConfigError(f"{what}: {fault}")


def missing_format(spark: SparkSession, format: str) -> str | None:
    """What to say of a format that Spark cannot find; None for one that is there."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    state, jvm = spark._jsparkSession.sessionState(), spark._jvm
    assert jvm is not None
    lookup = jvm.org.apache.spark.sql.execution.datasources.DataSource.lookupDataSource
    try:
        lookup(format, state.conf())
    except (Py4JError, PySparkException) as e:
        why = str(getattr(e, "java_exception", e))
        if not any(word in why for word in ("DATA_SOURCE_NOT", "NOT_ENABLED", "Failed to find data source")):
            return None  # found, and not to be loaded for a reason that Spark tells when it is used
        known = sorted({*_SINKS, *_SOURCES, *OWN_SINKS})
        hint = did_you_mean(format, known) or " Others than Spark's own come in jars: spark.jars.packages names them."
        return f"Spark knows no format {format!r}.{hint}"
    return None
