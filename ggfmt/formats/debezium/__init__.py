"""Debezium's change events, in JSON as Connect's JsonConverter makes it, and in Avro: `debezium_json`, `debezium_avro`.

* A record is an envelope (`before`, `after`, `source`, `op`), alone or as the `payload` next to its `schema`. Or a
  record is a row that ExtractNewRecordState flattened, with members such as `__op` next to the columns. A file can mix
  them. ggfmt also reads CloudEvents of Debezium in JSON.
* The `schema` has the types and the encoding of values. Decimals are Base64 of the unscaled number. Dates and times
  are numbers of days, milliseconds, microseconds or nanoseconds. Without a schema, options set the encoding.
* `source` has the table, the position and the time of the change. Its members depend on the connector.
* Debezium has no state "missing". It only has a placeholder for values that the database did not send (PostgreSQL's
  TOAST, LOBs). In its output, ggfmt omits a missing column or writes the placeholder.
* In Avro, records are in object container files, or each follows its schema id (Confluent's framing). Every record has
  all columns, so a missing column is null or the placeholder.
* ggfmt adds the members `source.position` and `source.tokens` for values that have no member in Debezium's source
  block.
"""

from __future__ import annotations

from ggfmt.dataclasses import dataclass
from ggfmt.formats.api import losses
from ggfmt.formats.api.format import DialectOptions, Format, column_names, primary_keys_option
from ggfmt.formats.avro.confluent import FramedOptions
from ggfmt.formats.avro.schemas import is_name
from ggfmt.java.text import InvalidValueError
from ggfmt.model.table import Kind
from ggfmt.options.spec import choice, option, switch
from ggfmt.options.value_types import Text

OWN = "ggfmt"  # the connector in messages of ggfmt, if no token names another
PLACEHOLDER = "__debezium_unavailable_value"
IN_SCHEMA, IN_CATALOG = "schema", "full"
FULL, KEYS = "full", "keys"
TEXT, BASE64 = "text", "base64"
ADAPTIVE, ADAPTIVE_TIME_MICROS = "adaptive", "adaptive_time_microseconds"
MICROS, NANOS, CONNECT, ISO_STRING = "microseconds", "nanoseconds", "connect", "isostring"
REFUSE, INSERT, UPDATE = "refuse", "insert", "update"
STRING, PRECISE, DOUBLE = "string", "precise", "double"
OMITTED, AS_PLACEHOLDER = "omitted", "placeholder"


def placeholder_bytes(option: str) -> bytes:
    """Return the bytes of a placeholder, which may start with `hex:`. Raises: ValueError for invalid digits."""
    return bytes.fromhex(option[4:]) if option.startswith("hex:") else option.encode()


class Placeholder(Text):
    """A text, or `hex:` and hexadecimal digits of bytes."""

    legal = "any string, or `hex:` and an even number of hexadecimal digits"

    def parse(self, text: str) -> str:
        value = super().parse(text)
        try:
            placeholder_bytes(value)
        except ValueError:
            raise InvalidValueError("is not hexadecimal", f"give {self.legal}") from None
        return value


@dataclass(frozen=True)
class EventOptions(DialectOptions):
    """The options of both formats."""

    table_name: str = choice(
        "For reading: the parts of a table name.",
        (
            IN_SCHEMA,
            "database and name if the source has no schemas (MySQL); otherwise schema and name, and the "
            "database becomes the token `db`",
        ),
        (IN_CATALOG, "database, schema and name"),
    )
    table: str = option(Text(), "", "For reading: the table of records that do not name their table.")
    primary_keys: tuple[tuple[str, tuple[str, ...]], ...] = primary_keys_option()
    before_image: str = choice(
        "For reading: the columns that have values in `before`.",
        (FULL, "all columns"),
        (KEYS, "only the primary key, as in PostgreSQL's default replica identity; other columns are missing"),
    )
    flattened_prefix: str = option(
        Text(), "__", "For reading: the prefix of the members that ExtractNewRecordState adds to a row."
    )
    flattened_op: str = choice(
        "For reading: how to read a flattened row without an operation type.",
        (REFUSE, "reject it"),
        (INSERT, "as an insert"),
        (UPDATE, "as an update"),
    )
    unavailable_value_placeholder: str = option(
        Placeholder(),
        PLACEHOLDER,
        "The placeholder for a value that the database did not send. `hex:` starts a placeholder of bytes.",
    )
    decimal_handling_mode: str = choice(
        "How to write decimals.",
        (STRING, "texts with all digits"),
        (PRECISE, "Base64 with the scale of the column, or with a scale per value"),
        (DOUBLE, "JSON numbers with all digits"),
    )
    time_precision_mode: str = choice(
        "How to write dates and times.",
        (TEXT, "texts, unchanged"),
        (
            ADAPTIVE_TIME_MICROS,
            "days for DATE, microseconds for TIME; for TIMESTAMP milliseconds, "
            "microseconds or nanoseconds, by its scale",
        ),
        (CONNECT, "days and milliseconds"),
        (ISO_STRING, "texts in ISO 8601, with `Z`"),
    )
    missing: str = choice(
        "How to write a missing column.",
        (OMITTED, "nothing in JSON, null in Avro"),
        (AS_PLACEHOLDER, "the placeholder in columns of text or bytes; other columns as with `omitted`"),
    )
    topic_prefix: str = option(
        Text(),
        OWN,
        "The logical name of the source for operations without a token `name`, and the first part of schema names.",
    )


@dataclass(frozen=True)
class DebeziumOptions(EventOptions):
    decimal_format: str = choice(
        "For reading records without a schema: the meaning of JSON strings in number columns.",
        (TEXT, "decimal digits"),
        (BASE64, "Base64; `--definitions` must define the scale"),
    )
    time_precision: str = choice(
        "For reading records without a schema: the unit of JSON numbers in date and time columns.",
        (TEXT, "dates and times are texts, not numbers"),
        (ADAPTIVE, "days; milliseconds, microseconds or nanoseconds, by the scale of the column"),
        (ADAPTIVE_TIME_MICROS, "like `adaptive`, but microseconds for TIME"),
        (CONNECT, "days and milliseconds"),
        (MICROS, "days and microseconds"),
        (NANOS, "days and nanoseconds"),
    )
    schemas_enable: bool = switch("Write a schema with each message.")


@dataclass(frozen=True)
class DebeziumAvroOptions(FramedOptions, EventOptions):
    def as_in_json(self) -> DebeziumOptions:
        """Return the options of the same events in JSON with schemas."""
        return self.to(DebeziumOptions, schemas_enable=True)


# The members of source blocks that tokens become: those that are numbers, with their connectors, and texts.
SOURCE_NUMBERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("server_id", "pos", "row", "thread"), ("mysql", "mariadb")),
    "txId": ("postgresql", "yashandb"),
    **dict.fromkeys(("lsn", "xmin", "origin_lsn"), ("postgresql",)),
    **dict.fromkeys(("ssn", "redo_thread", "commit_ts_ms", "start_ts_ms"), ("oracle",)),
    "event_serial_no": ("sqlserver",),
    **dict.fromkeys(("ord", "h", "tord", "txnNumber", "wallTime"), ("mongodb",)),
}
SOURCE_TEXTS = (
    "gtid", "file", "query", "sequence", "origin", "scn", "commit_scn", "lcr_position", "rs_id", "user_name",
    "redo_sql", "row_id", "start_scn", "change_lsn", "commit_lsn", "begin_lsn", "rs", "stxnid", "lsid", "shard",
    "vgtid", "cluster", "ts_hlc", "resolved_ts", "position_scn",
)  # fmt: skip
# The members of transactions, and whether they are numbers.
TRANSACTION = {"id": False, "total_order": True, "data_collection_order": True}
# The tokens that both formats have members for.
_PLACED = ("connector", "name", "snapshot", "db", *(f"transaction.{part}" for part in TRANSACTION))

_FINER = ". ggfmt rejects a finer time"

_OF_FLOATS = losses.DIGITS_OF_DOUBLE.of(Kind.FLOAT, Kind.DOUBLE).saying(" of a floating-point type")
_WITHOUT_PLACEHOLDER = (kind for kind in Kind if kind not in (Kind.STRING, Kind.INTERVAL, Kind.BINARY))
_SCALES_AND_TIMES = (
    losses.SCALE_OF_COLUMN.when(f"decimalHandlingMode={PRECISE}"),
    losses.TIME_FILLED.to(6).saying(_FINER).when(f"timePrecisionMode={ADAPTIVE_TIME_MICROS}"),
    losses.TIME_FILLED.to(3).saying(_FINER).when(f"timePrecisionMode={CONNECT}"),
)
_TYPES_AND_NAMES = (
    losses.TYPES_BY_ENCODING.saying("A decimal without a scale is read as a number.").when(
        f"decimalHandlingMode={PRECISE}"
    ),
    *(
        losses.TYPES_BY_ENCODING.saying("A time without a scale is read with the scale of its unit.").when(
            f"timePrecisionMode={mode}"
        )
        for mode in (ADAPTIVE_TIME_MICROS, CONNECT)
    ),
    losses.CATALOG_NOT_SHOWN.saying(", unless the reader sets `tableName=full`").uncounted(),
)

FORMATS = (
    Format(
        name="debezium_json",
        doc="Debezium: JSON with before and after images, with or without schemas; reads flattened rows too.",
        options=DebeziumOptions,
        proposed=("fileSuffix=.json",),
        losses=(
            losses.NESTED_AS_TEXT.when("schemasEnable=true"),
            losses.PLACEHOLDER_AS_MISSING,
            losses.NUMBER_SPELLING.of(Kind.INTEGER, Kind.FLOAT, Kind.DOUBLE).saying(" other than a decimal"),
            losses.NUMBER_SPELLING.of(Kind.DECIMAL, Kind.NUMBER)
            .saying(" of a decimal type")
            .when(f"decimalHandlingMode={DOUBLE}"),
            *_SCALES_AND_TIMES,
            losses.TIME_SPELLING.when(f"timePrecisionMode={ISO_STRING}").except_when("schemasEnable=true"),
            losses.TOKENS_NOT_SHOWN.partly()
            .saying(" without a member in the source block")
            .named(*_PLACED, *SOURCE_NUMBERS, *SOURCE_TEXTS)
            .except_when("includeTokens=true"),
            losses.KEYS_NOT_SHOWN.saying(", nor which columns cannot be NULL"),
            losses.TYPES_BY_VALUE.except_when("schemasEnable=true"),
            *_TYPES_AND_NAMES,
        ),
        times_in_utc=True,
    ),
    Format(
        name="debezium_avro",
        doc="Debezium in Avro: the same events, in object container files or in Confluent's framing.",
        options=DebeziumAvroOptions,
        proposed=("fileSuffix=.avro", "compressionCodec=snappy"),
        schema_kind="avro",
        schema_in_run=False,
        names=lambda options, context, table: (column_names(table),),
        legal_name=is_name,
        by_table=True,
        losses=(
            losses.NESTED_AS_TEXT,
            losses.MISSING_AS_NULL.except_when(f"missing={AS_PLACEHOLDER}"),
            losses.MISSING_AS_NULL.of(*_WITHOUT_PLACEHOLDER)
            .partly()
            .saying(" of a type other than text and bytes")
            .when(f"missing={AS_PLACEHOLDER}"),
            losses.PLACEHOLDER_AS_MISSING,
            losses.NUMBER_SPELLING.of(Kind.INTEGER).saying(" of an integer type"),
            _OF_FLOATS.partly().except_when(f"decimalHandlingMode={PRECISE}"),
            _OF_FLOATS.when(f"decimalHandlingMode={PRECISE}"),
            losses.DIGITS_OF_DOUBLE.of(Kind.DECIMAL, Kind.NUMBER)
            .saying(" of a decimal type")
            .when(f"decimalHandlingMode={DOUBLE}"),
            *_SCALES_AND_TIMES,
            losses.TOKENS_NOT_SHOWN.named(*_PLACED).except_when("includeTokens=true"),
            losses.KEYS_NOT_SHOWN.saying(", nor which columns cannot be NULL"),
            *_TYPES_AND_NAMES,
        ),
        times_in_utc=True,
    ),
)
