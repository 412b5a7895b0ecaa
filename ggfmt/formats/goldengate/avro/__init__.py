"""Avro, GoldenGate for Big Data 12.2, 6.4 to 6.6: `avro_row`, `avro_op`, `avro_row_ocf`, `avro_op_ocf`.

* Row messages (`avro_row`, `avro_row_ocf`) have one image: the after image of an insert or update, the before image of
  a delete. A missing column is null. It looks like NULL unless `includeIsMissingFields=true`. In a truncate, all
  columns are missing.
* Operation messages (`avro_op`, `avro_op_ocf`) have both images, and a flag for each column: true if it is missing.
* The metadata fields come first: the fields of a template, or the fixed fields of the release. The fixed field for
  tokens is empty unless `includeTokens=true`.
* A number is a double. From release 12.3 on, a whole number is a long. Options can write exact decimals or strings
  instead. ggfmt rejects a number that is out of the range of its type.
* `avro_row` and `avro_op` write messages one after the other, by default with nothing between them. The other two
  formats write object container files.
* ggfmt rejects a table if Avro for Java does not accept a name, or if two fields would have the same name.
"""

from __future__ import annotations

from functools import partial

from ggfmt.dataclasses import dataclass
from ggfmt.formats.api import losses
from ggfmt.formats.api.format import Context, Format, Name, Records, column_names
from ggfmt.formats.avro.confluent import schema_registry_option
from ggfmt.formats.avro.schemas import is_name
from ggfmt.formats.goldengate import metacolumns
from ggfmt.formats.goldengate import options as shared
from ggfmt.formats.goldengate.schemas import MISSING_SUFFIX
from ggfmt.model.table import Kind, TableDef
from ggfmt.options.spec import option, switch
from ggfmt.options.value_types import Bool, Charset, Delimiter, Int, SchemaDirectory

IMAGE = "columns"  # name of the record of an image in the operation format
PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")


@dataclass(frozen=True)
class AvroOptions(shared.OpKeyOptions):
    encoding: str = option(
        Charset(messages=False), "UTF-8", "The charset of schema files. Messages and container files do not use it."
    )
    treat_all_columns_as_strings: bool = switch("Write every column as a string.", aliases=("treatAllColumnsAsString",))
    generate_schema: bool = switch("Write an Avro schema for each table, `<table>.avsc`.", True)
    schema_directory: str = option(
        SchemaDirectory("generate_schema"),
        shared.SCHEMA_DIRECTORY,
        "The directory for schemas. A relative path is below the output directory.",
    )
    version_schemas: bool = switch("Also write each schema to a file with a time stamp in its name.")
    iso8601_format: bool = shared.iso8601_option()
    meta_columns_template: tuple[metacolumns.MetaColumn, ...] | None = metacolumns.template_option()
    enable_decimal_logical_type: bool = switch(
        "Write numbers that are neither integers nor floating-point exactly, with Avro's logical type decimal.",
        since="19.1",
    )
    oracle_number_scale: int = option(
        Int(0, 38), 38, "With decimals: the scale of a NUMBER without precision and scale.", since="19.1"
    )
    max_precision: int | None = option(
        Int(1),
        None,
        "With decimals: the maximum precision. ggfmt rejects values with more digits. Spark reads up to 38.",
        since="21",
        example="38",
    )
    map_oracle_numbers_as_strings: bool = switch(
        "With decimals: write a NUMBER without precision and scale as a string.", since="19.1"
    )
    map_large_numbers_as_strings: bool = switch(
        "Write numbers as strings if their type has more than 18 digits (long) or 15 digits (double). Decimals are "
        "unchanged.",
        since="19.1",
    )
    enable_timestamp_logical_type: bool = switch(
        "Write dates and times as microseconds since 1970 in UTC. `gg.format.timestamp` is the mask of the texts.",
        since="19.1",
    )

    def metadata(self, context: Context) -> tuple[metacolumns.MetaColumn, ...]:
        return metacolumns.columns_of(self, context, *metacolumns.FIXED_NAMES)


@dataclass(frozen=True)
class AvroOpOptions(AvroOptions):
    line_delimiter: str = option(
        Delimiter(),
        "",
        "The text after each message, in UTF-8. Messages can contain it. If empty, nothing separates messages.",
    )
    wrap_message_in_generic_avro_message: bool = switch(
        "Wrap each message in a message with its table and its schema, as `generic_wrapper.avsc` defines.",
        aliases=("wrapMessageInGenericAvroSchema",),
    )
    generic_wrapper_use_fingerprint: bool | None = option(
        Bool(),
        None,
        "How a wrapper identifies the schema: true writes `schema_fingerprint`, false writes `schema_hash`. "
        "If not set: the hash in release 12.2, the fingerprint in later releases.",
        since="12.3",
    )
    schema_registry: str = schema_registry_option()


@dataclass(frozen=True)
class AvroRowOcfOptions(AvroOptions):
    pk_update_handling: str = shared.pk_update_option()
    include_is_missing_fields: bool = switch(
        "Write a boolean `<COLUMN>_isMissing` after each column, as `avro_op` always does.", since="19.1"
    )


@dataclass(frozen=True)
class AvroRowOptions(AvroRowOcfOptions, AvroOpOptions):
    """The options of rows, after those of messages."""


def avro_names(options: AvroOptions, context: Context, table: TableDef, by_image: bool) -> Records:
    """Return the names in each record of the messages of a table, and those of the records."""
    yield from ([Name(part, "a part of the table's name")] for part in table.parts)
    own = Name(table.name, "the table")
    if len(table.parts) == 1:
        yield [*(Name(kind, "a type of Avro") for kind in PRIMITIVES), own]
    columns = column_names(table, MISSING_SUFFIX if is_flagged(options, by_image) else "")
    images = [Name(image, f"the {image} image") for image in ("before", "after")]
    if by_image:
        yield [Name(IMAGE, "the record of images"), own]
        yield columns
    yield [*(images if by_image else columns), *metacolumns.metadata_names(options, context)]


def is_flagged(options: AvroOptions, by_image: bool) -> bool:
    """Return whether a field after each column says whether the column is missing."""
    return by_image or (isinstance(options, AvroRowOcfOptions) and options.include_is_missing_fields)


_LOSSES = (
    losses.NESTED_AS_TEXT,
    losses.DIGITS_OF_DOUBLE.of(Kind.INTEGER, Kind.FLOAT, Kind.DOUBLE).except_when("treatAllColumnsAsStrings=true"),
    losses.DIGITS_OF_DOUBLE.of(Kind.DECIMAL)
    .except_when("treatAllColumnsAsStrings=true", "enableDecimalLogicalType=true")
    .saying(" of a decimal type"),
    losses.SCALE_OF_COLUMN.when("enableDecimalLogicalType=true"),
    losses.TIME_FILLED.to(6)
    .when("enableTimestampLogicalType=true")
    .saying(". ggfmt rejects a time that does not match the mask"),
    *shared.NO_METADATA,
)
_MISSING = losses.MISSING_AS_NULL.except_when("includeIsMissingFields=true")
_ROW_LOSSES = (*shared.KEY_UPDATES, losses.BEFORE_NOT_SHOWN, _MISSING, *_LOSSES)
_STREAM_LOSSES = (
    losses.KEYS_NOT_SHOWN.saying(" to a reader"),
    losses.TYPES_NOT_SHOWN.saying(": a reader needs the schema"),
)
_CONTAINER_LOSSES = (
    losses.KEYS_NOT_SHOWN.by_template(metacolumns.KEY_COLUMNS),
    losses.TYPES_NEAREST.has("Avro"),
    losses.SIZES_NOT_SHOWN,
    losses.TYPES_NOT_SHOWN.when("treatAllColumnsAsStrings=true"),
)


def _format(name: str, doc: str, options: type[AvroOptions], lost: tuple[losses.Loss, ...]) -> Format:
    container = name.endswith("_ocf")
    proposed = ["fileSuffix=.avro", "format.versionSchemas=true"]
    proposed += ["compressionCodec=snappy"] if container else []
    proposed += ["format.pkUpdateHandling=delete-insert"] if name.startswith("avro_row") else []
    return Format(
        name=name,
        doc=doc,
        options=options,
        schema_kind="avro",
        names=partial(avro_names, by_image=name.startswith("avro_op")),
        legal_name=is_name,
        losses=(*lost, *(_CONTAINER_LOSSES if container else _STREAM_LOSSES)),
        by_table=container,
        proposed=tuple(proposed),
    )


FORMATS = (
    _format(
        "avro_row",
        "Avro: one record per operation, metadata fields and then the columns of one image.",
        AvroRowOptions,
        _ROW_LOSSES,
    ),
    _format("avro_op", "Avro: one record per operation, with its before and after images.", AvroOpOptions, _LOSSES),
    _format(
        "avro_row_ocf", "Avro object container files of the records of `avro_row`.", AvroRowOcfOptions, _ROW_LOSSES
    ),
    _format("avro_op_ocf", "Avro object container files of the records of `avro_op`.", AvroOptions, _LOSSES),
)
