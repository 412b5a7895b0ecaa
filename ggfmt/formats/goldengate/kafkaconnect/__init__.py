"""The messages of GoldenGate's Kafka Connect handler: `kafkaconnect_json` and, in Avro, `kafkaconnect_avro`.

* A handler of `type=kafkaconnect` has no formatter, and writes these messages without a `format`. The properties
  belong to the handler: `gg.handler.<name>.messageFormatting` and so on.
* The converter makes the bytes: Kafka's JSON converter, or Confluent's converters for Avro and JSON Schema with a
  schema registry. A run to files writes JSON, unless the handler has `format=kafkaconnect_avro`, which GoldenGate
  ignores.
* In GoldenGate, the properties of the Kafka producer set whether the converter writes schemas. ggfmt has the property
  `schemasEnable` instead.
* A message is a Connect struct with all of its fields. An insert has a null `before`, a delete a null `after`. A
  missing column is null, like NULL.
* Operation messages have both images. Row messages have the columns next to the metadata.
* Up to release 19.1, the metadata fields are fixed. From 21 on, messages have only the fields of
  `metaColumnsTemplate`. Without a template, row messages do not even contain their operation type.
* Whole numbers are int64, other numbers are doubles in Java's notation, and dates and times are texts. With logical
  types, decimals are Base64, and times are milliseconds since 1970.
* In JSON, each message is one line. In Avro, messages are in object container files, or each follows its schema id
  (Confluent's framing). The Avro converter refuses a name such as `N$`, and ggfmt rejects such a table.
* Files do not have the keys of Kafka messages.
"""

from __future__ import annotations

from ggfmt.dataclasses import dataclass
from ggfmt.formats.api import losses
from ggfmt.formats.api.format import Context, Format, Name, Records, column_names, primary_keys_option
from ggfmt.formats.avro.confluent import FramedOptions
from ggfmt.formats.avro.schemas import is_name
from ggfmt.formats.goldengate import metacolumns
from ggfmt.formats.goldengate import options as shared
from ggfmt.formats.goldengate.schemas import MISSING_SUFFIX
from ggfmt.model.table import Kind, TableDef
from ggfmt.options.spec import choice, option, switch
from ggfmt.options.value_types import Int, Text

HANDLER_TYPE = "kafkaconnect"
ROW, OP = "row", "op"
REFUSE, INSERT, UPDATE = "refuse", "insert", "update"
BASE64, NUMERIC = "BASE64", "NUMERIC"


@dataclass(frozen=True)
class ConnectOptions(shared.OpKeyOptions):
    """The options of both formats."""

    message_formatting: str = choice(
        "The structure of messages.",
        (ROW, "the columns of one image, next to the metadata"),
        (OP, "both images, in `before` and `after`"),
    )
    pk_update_handling: str = shared.pk_update_option()
    include_table_name: bool = shared.metadata_option("the name of the table, as `table`")
    include_op_type: bool = shared.metadata_option("the type of the operation, as `op_type`")
    include_op_timestamp: bool = shared.metadata_option("the time of the operation, as `op_ts`")
    include_current_timestamp: bool = shared.metadata_option("the time of writing, as `current_ts`")
    include_position: bool = shared.metadata_option("the position of the operation, as `pos`")
    include_primary_keys: bool = shared.metadata_option(
        "the names of the primary key's columns, as `primary_keys`", False
    )
    iso8601_format: bool = shared.iso8601_option(default=False, aliases=())
    meta_columns_template: tuple[metacolumns.MetaColumn, ...] | None = metacolumns.template_option()
    treat_all_columns_as_strings: bool = switch("Write every column as a string.")
    map_large_numbers_as_strings: bool = switch(
        "Write numbers as strings if their type has more digits than a double or an int64."
    )
    enable_decimal_logical_type: bool = switch(
        "Write decimal numbers as Connect's Decimal, with the scale of their column."
    )
    oracle_number_scale: int = option(
        Int(0, 38), 38, "The scale of a Decimal whose column has none, such as a NUMBER without precision."
    )
    enable_timestamp_logical_type: bool = switch(
        "Write dates and time stamps as Connect's Timestamp, in milliseconds since 1970."
    )
    include_is_missing_fields: bool = switch(
        f"Write a field `<column>{MISSING_SUFFIX}` after each column: true if the column is missing, not NULL."
    )
    enable_nonnullable: bool = switch(
        "Mark columns that cannot be NULL as required in schemas. ggfmt rejects messages without them."
    )
    schema_namespace: str = option(
        Text(),
        "",
        "The namespace of schema names. If empty, the schema name is the full table name.",
        example="com.example.company",
    )
    table: str = option(Text(), "", "For reading: the table of messages that do not name their table.", since="")
    row_op: str = choice(
        "For reading: how to read a row without an operation type.",
        (REFUSE, "reject it"),
        (INSERT, "an insert"),
        (UPDATE, "an update"),
        since="",
    )
    primary_keys: tuple[tuple[str, tuple[str, ...]], ...] = primary_keys_option()

    def metadata(self, context: Context) -> tuple[metacolumns.MetaColumn, ...]:
        return metacolumns.chosen_columns(
            self, context, "table", "op_type", "op_ts", "current_ts", "pos", "primary_keys"
        )


@dataclass(frozen=True)
class KafkaConnectOptions(ConnectOptions):
    schemas_enable: bool = switch(
        "Write a schema with each message, like `value.converter.schemas.enable` of the Kafka producer.", True, since=""
    )
    decimal_format: str = choice(
        "How to write Connect's Decimal, like `value.converter.decimal.format` of the Kafka producer.",
        (BASE64, "as Base64 of its digits"),
        (NUMERIC, "as a number with the digits of its scale"),
        since="",
    )
    whole_numbers_as_integers: bool = switch(
        "Write a whole number of a NUMBER without precision as `21`, not as `21.0`. Its schema stays `double`.",
        since="",
    )


@dataclass(frozen=True)
class KafkaConnectAvroOptions(FramedOptions, ConnectOptions):
    def as_in_json(self) -> KafkaConnectOptions:
        """Return the options of the same messages in JSON with schemas."""
        return self.to(KafkaConnectOptions)


def _names(options: ConnectOptions, context: Context, table: TableDef) -> Records:
    metadata = metacolumns.metadata_names(options, context)
    columns = column_names(table, MISSING_SUFFIX if options.include_is_missing_fields else "")
    if options.message_formatting == ROW:
        return ([*metadata, *columns],)
    return [*metadata, *(Name(image, f"the {image} image") for image in ("before", "after"))], columns


def struct_name(options: ConnectOptions, table: TableDef) -> str:
    """Return the name of the struct of a message."""
    return f"{options.schema_namespace}.{table.name}" if options.schema_namespace else table.full_name


def _avro_names(options: ConnectOptions, context: Context, table: TableDef) -> Records:
    *_, last = parts = struct_name(options, table).split(".")
    yield from ([Name(part, "a part of the schema's name", "schemaNamespace")] for part in parts)
    yield [Name(ROW, "the struct of images"), Name(last, "the table")] if options.message_formatting == OP else []
    yield from _names(options, context, table)


_AS_STRINGS = "treatAllColumnsAsStrings=true"
_DECIMALS = "enableDecimalLogicalType=true"
_TIMES = "enableTimestampLogicalType=true"
_ROWS = f"messageFormatting={ROW}"

_PROPOSED = (
    "kafkaProducerConfigFile=kafkaconnect.properties",
    "topicMappingTemplate=${fullyQualifiedTableName}",
    "keyMappingTemplate=${primaryKeys}",
    "format.messageFormatting=op",
    "format.includePrimaryKeys=true",
)
_LOSSES = (
    *(loss.when(_ROWS, *loss.only) for loss in shared.KEY_UPDATES),
    losses.BEFORE_NOT_SHOWN.when(_ROWS),
    losses.MISSING_AS_NULL.except_when("includeIsMissingFields=true"),
    losses.NESTED_AS_TEXT,
    losses.NUMBER_SPELLING.of(Kind.INTEGER).except_when(_AS_STRINGS),
    losses.DIGITS_OF_DOUBLE.of(Kind.FLOAT, Kind.DOUBLE).except_when(_AS_STRINGS),
    losses.DIGITS_OF_DOUBLE.of(Kind.DECIMAL, Kind.NUMBER).except_when(_AS_STRINGS, _DECIMALS),
    losses.SCALE_OF_COLUMN.when(_DECIMALS).except_when(_AS_STRINGS),
    losses.TIME_CUT.to(3).when(_TIMES).except_when(_AS_STRINGS),
    losses.TIME_FILLED.to(6).when(_TIMES).except_when(_AS_STRINGS),
    *shared.NO_FIXED_METADATA,
    losses.KEYS_NOT_SHOWN.except_when("includePrimaryKeys=true").by_template(metacolumns.KEY_COLUMNS),
)
_CONNECT_TYPES = (losses.TYPES_NEAREST.has("Connect"), losses.SIZES_NOT_SHOWN)

FORMATS = (
    Format(
        name="kafkaconnect_json",
        since="12.3",
        doc="GoldenGate's Kafka Connect handler, through Kafka's JSON converter: JSON with or without schemas.",
        options=KafkaConnectOptions,
        proposed=("fileSuffix=.json", *_PROPOSED),
        names=_names,
        losses=(
            *_LOSSES,
            *(loss.when("schemasEnable=true") for loss in _CONNECT_TYPES),
            losses.TYPES_BY_VALUE.when("schemasEnable=false"),
            losses.TYPES_NOT_SHOWN.when(_AS_STRINGS),
        ),
    ),
    Format(
        name="kafkaconnect_avro",
        since="12.3",
        doc="GoldenGate's Kafka Connect handler, through Confluent's Avro converter.",
        options=KafkaConnectAvroOptions,
        proposed=("fileSuffix=.avro", f"format={HANDLER_TYPE}_avro", *_PROPOSED),
        schema_kind="avro",
        schema_in_run=False,
        names=_avro_names,
        legal_name=is_name,
        by_table=True,
        losses=(*_LOSSES, *_CONNECT_TYPES, losses.TYPES_NOT_SHOWN.when(_AS_STRINGS)),
    ),
)
