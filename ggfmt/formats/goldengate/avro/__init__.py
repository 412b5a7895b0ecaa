"""Avro, GoldenGate for Big Data 12.2, 6.4 to 6.6: `avro_row`, `avro_op`, `avro_row_ocf`, `avro_op_ocf`.

* Row messages have one image: of an insert or update the after image, of a delete the before image; a column that is
  missing, as all are of a truncate, is null, so that the row format does not tell it from NULL. Operation messages
  have both images, and a flag for each column that tells whether it is missing.
* Keys and tokens are in every schema; the tokens are empty unless the handler includes them.
* A number is a double, or, by the types of release 12.3, a long if it is whole: then a text must be a long to Java's
  `BigDecimal.longValueExact`. A number out of the range of its type cannot be written.
* Messages are written one after the other, with nothing between them by default, or into object container files.
* A name that Avro for Java refuses, or that two fields would have, makes the table one that cannot be written.
"""

from __future__ import annotations

from dataclasses import dataclass

from ggfmt.formats.api.format import Format
from ggfmt.formats.api.loss import Loss
from ggfmt.formats.api.losses import (
    BEFORE_NOT_SHOWN,
    DIGITS_OF_DOUBLE,
    EMPTY_FOR_ABSENT,
    KEYS_NOT_SHOWN,
    MISSING_AS_NULL,
    NESTED_AS_TEXT,
    SIZES_NOT_SHOWN,
    TYPES_NEAREST,
    TYPES_NOT_SHOWN,
)
from ggfmt.formats.goldengate.losses import KEY_UPDATES, NUMBERS, TOKENS
from ggfmt.formats.goldengate.options import SCHEMA_DIRECTORY, iso8601_option, op_key_option, pk_update_option
from ggfmt.options.spec import Options, option
from ggfmt.options.value_types import Bool, Charset, Delimiter, SchemaDirectory


@dataclass(frozen=True)
class AvroOptions(Options):
    """What all Avro formats have."""

    insert_op_key: str = op_key_option("insert", "I")
    update_op_key: str = op_key_option("update", "U")
    delete_op_key: str = op_key_option("delete", "D")
    truncate_op_key: str = op_key_option("truncate", "T")
    encoding: str = option(
        Charset(messages=False), "UTF-8", "The charset of schema files; messages and container files have none."
    )
    treat_all_columns_as_strings: bool = option(
        Bool(), False, "Write every column as a string.", aliases=("treatAllColumnsAsString",)
    )
    generate_schema: bool = option(Bool(), True, "Write an Avro schema for each table, `<table>.avsc`.")
    schema_directory: str = option(
        SchemaDirectory("generate_schema"),
        SCHEMA_DIRECTORY,
        "Where schemas are written; a relative one is below the output.",
    )
    version_schemas: bool = option(Bool(), False, "Keep a copy of every schema written, with a time stamp in its name.")
    iso8601_format: bool = iso8601_option()


@dataclass(frozen=True)
class AvroOpOptions(AvroOptions):
    line_delimiter: str = option(
        Delimiter(),
        "",
        "Stands after each message, in UTF-8; without one, messages touch. A message may hold any delimiter.",
    )
    wrap_message_in_generic_avro_message: bool = option(
        Bool(),
        False,
        "Write each message as the payload of another that names its table and its schema; see `generic_wrapper.avsc`.",
        aliases=("wrapMessageInGenericAvroSchema",),
    )
    generic_wrapper_use_fingerprint: bool | None = option(
        Bool(),
        None,
        "Name the schema in a wrapper by its fingerprint (`schema_fingerprint`), else by its hash (`schema_hash`); "
        "without the property, the release decides: by its hash in 12.2, by its fingerprint from 12.3 on.",
        since="12.3",
    )


@dataclass(frozen=True)
class AvroRowOptions(AvroOpOptions):
    pk_update_handling: str = pk_update_option()


@dataclass(frozen=True)
class AvroRowOcfOptions(AvroOptions):
    pk_update_handling: str = pk_update_option()


_LOSSES = (
    NESTED_AS_TEXT,
    DIGITS_OF_DOUBLE.of(*NUMBERS).except_when("treatAllColumnsAsStrings=true"),
    EMPTY_FOR_ABSENT,
    TOKENS,
)
_ROW_LOSSES = (*KEY_UPDATES, BEFORE_NOT_SHOWN, MISSING_AS_NULL, *_LOSSES)
_STREAM_LOSSES = (KEYS_NOT_SHOWN.saying(" to a reader"), TYPES_NOT_SHOWN.saying(": a reader needs the schema"))
_CONTAINER_LOSSES = (
    TYPES_NEAREST.has("Avro"),
    SIZES_NOT_SHOWN,
    TYPES_NOT_SHOWN.when("treatAllColumnsAsStrings=true"),
)


def _format(name: str, doc: str, options: type[AvroOptions], losses: tuple[Loss, ...]) -> Format:
    container = name.endswith("_ocf")
    proposed = ["fileSuffix=.avro", "format.versionSchemas=true"]
    proposed += ["compressionCodec=snappy"] if container else []
    proposed += ["format.pkUpdateHandling=delete-insert"] if name.startswith("avro_row") else []
    return Format(
        name=name,
        doc=doc,
        options=options,
        writes="ggfmt.formats.goldengate.avro.write",
        reads="ggfmt.formats.goldengate.avro.read",
        marks=(b"Obj\x01",) if container else (),
        schema_kind="avro",
        losses=(*losses, *(_CONTAINER_LOSSES if container else _STREAM_LOSSES)),
        by_table=container,
        proposed=tuple(proposed),
    )


FORMATS = (
    _format(
        "avro_row",
        "Avro: one record an operation, metadata fields and then the columns of one image.",
        AvroRowOptions,
        _ROW_LOSSES,
    ),
    _format("avro_op", "Avro: one record an operation, with its before and after images.", AvroOpOptions, _LOSSES),
    _format(
        "avro_row_ocf", "Avro object container files of the records of `avro_row`.", AvroRowOcfOptions, _ROW_LOSSES
    ),
    _format("avro_op_ocf", "Avro object container files of the records of `avro_op`.", AvroOptions, _LOSSES),
)
