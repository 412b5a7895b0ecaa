"""Qlik Replicate's messages (formerly Attunity): `qlik_json` and `qlik_avro`.

* A message lies in an envelope of six members: `magic` (`atMSG`), `type`, `headers`, `messageSchemaId`,
  `messageSchema` and `message`. Of the type `MD` it describes a table, of the type `DT` it is a change. In JSON the
  `message` is an object; in Avro it is bytes, which are Avro themselves, of the schema that `messageSchema` holds or
  that the metadata message with this id holds as `dataSchema`. A change in JSON may come without its envelope.
* A change does not name its table: it has the id of the metadata message that describes it, which may stand behind it
  or in another file.
* `data` is the row after the change, of a DELETE the row that is gone; `beforeData` is the row before an UPDATE.
* A mask is one big-endian number: the bit `ordinal - 1` belongs to the column. A column whose bit is not set in
  `columnMask` is missing from the message, where its value is null; `changeMask` shows which columns changed.
* A REFRESH is a row of a full load: it has neither a time nor a position.
* Bytes are hexadecimal digits in JSON. Times are UTC, with milliseconds.
* A file in Avro has one envelope after the other, with nothing or line ends between them.

Written, every file starts with the metadata message of its table. Where a file holds several definitions (all tables in
the same files, or no new file for a changed definition), the metadata message of each stands once, before its first
change.
"""

from __future__ import annotations

from dataclasses import dataclass

from ggfmt.formats.api import losses
from ggfmt.formats.api.format import Format
from ggfmt.formats.records.options import DialectOptions, primary_keys_option
from ggfmt.model.table import Kind
from ggfmt.options.spec import option
from ggfmt.options.value_types import Choice, Text

STREAM_POSITION, CHANGE_SEQUENCE = "streamPosition", "changeSequence"
BIG_ENDIAN, LITTLE_ENDIAN = "big-endian", "little-endian"


@dataclass(frozen=True)
class QlikOptions(DialectOptions):
    position: str = option(
        Choice(
            {
                STREAM_POSITION: "the place in the log of the source; the change sequence is a token",
                CHANGE_SEQUENCE: "the number that orders the changes of a task; the stream position is a token",
            }
        ),
        STREAM_POSITION,
        "Which of the headers is the position of an operation; the other is a token of its own name.",
    )
    table_name: str = option(
        Text(), "", "The table, such as `S.ORDERS`, of changes that are read without their metadata message."
    )
    primary_keys: tuple[tuple[str, tuple[str, ...]], ...] = primary_keys_option()
    server: str = option(Text(), "", "The name of the server in the metadata messages that are written.")
    task: str = option(Text(), "", "The name of the task in the metadata messages that are written.")


@dataclass(frozen=True)
class QlikAvroOptions(QlikOptions):
    avro_mask_byte_order: str = option(
        Choice({BIG_ENDIAN: "the first byte is the highest", LITTLE_ENDIAN: "the first byte is the lowest"}),
        BIG_ENDIAN,
        "The order of the bytes of a mask.",
    )


# The headers that are tokens, besides the one of `changeSequence` and `streamPosition` that is no position.
TOKENS = ("transactionId", "transactionEventCounter", "transactionLastEvent", "externalSchemaId")

_LOSSES = (
    losses.NESTED_AS_TEXT,
    losses.BEFORE_MISSING_AS_NULL,
    losses.BEFORE_NULL_AS_MISSING,
    losses.TIME_DIGITS.to(3),
    losses.TOKENS_BY_NAME.named(CHANGE_SEQUENCE, *TOKENS, "snapshot").saying(
        f"; with `position={CHANGE_SEQUENCE}`, `{STREAM_POSITION}` is one of them in its place"
    ),
    losses.TYPES_NEAREST.has("Qlik Replicate"),
    losses.CATALOG_NOT_SHOWN,
    losses.TRUNCATE_REFUSED,
)
_NUMBERS = (Kind.INTEGER, Kind.FLOAT, Kind.DOUBLE)

FORMATS = (
    Format(
        name="qlik_json",
        doc="Qlik Replicate in JSON: metadata messages, and changes with masks of their columns.",
        options=QlikOptions,
        writes="ggfmt.formats.qlik.write",
        reads="ggfmt.formats.qlik.read",
        proposed=("fileSuffix=.json",),
        marks=(b'"atMSG"', b'"changeSequence"', b'"headers_operation"'),
        losses=(*_LOSSES, losses.NUMBER_SPELLING.of(*_NUMBERS)),
        times_in_utc=True,
    ),
    Format(
        name="qlik_avro",
        doc="Qlik Replicate in Avro: envelopes of metadata messages, and of changes with masks of their columns.",
        options=QlikAvroOptions,
        writes="ggfmt.formats.qlik.avro_write",
        reads="ggfmt.formats.qlik.avro_read",
        proposed=("fileSuffix=.avro",),
        marks=(b"atMSG\x04",),
        losses=(
            *_LOSSES,
            losses.DIGITS_OF_DOUBLE.of(Kind.FLOAT, Kind.DOUBLE).saying(" with a binary fraction").partly(),
            losses.NUMBER_SPELLING.of(Kind.INTEGER),
        ),
        times_in_utc=True,
    ),
)
