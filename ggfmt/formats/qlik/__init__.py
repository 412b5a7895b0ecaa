"""Qlik Replicate's messages (formerly Attunity): `qlik_json` and `qlik_avro`.

* A message is in an envelope of six members: `magic` (`atMSG`), `type`, `headers`, `messageSchemaId`, `messageSchema`
  and `message`. The type `MD` is a metadata message, which describes a table. The type `DT` is a change.
* In JSON, `message` is an object. A change in JSON can come without its envelope.
* In Avro, `message` is bytes, and these are Avro too. Their schema is in `messageSchema`, or in the `dataSchema` of
  the metadata message with this id.
* A change does not contain its table name. It has the id of its metadata message, which can come later, or in another
  file.
* `data` is the row after the change, or the deleted row. `beforeData` is the row before an UPDATE.
* A mask is one big-endian number, in which the bit `ordinal - 1` belongs to the column. If the bit of a column is not
  set in `columnMask`, the column is missing. `changeMask` shows the changed columns.
* A REFRESH is a row of a full load. It has neither a time nor a position.
* In JSON, bytes are hexadecimal digits. Times are UTC, with milliseconds.
* A file in Avro has one envelope after the other, with nothing or line ends between them.
* In the output, every file starts with the metadata message of its table. In Kafka, it precedes the changes of the
  table in each topic, or it is in the topic of schemas.
"""

from __future__ import annotations

import re

from ggfmt.dataclasses import dataclass
from ggfmt.formats.api import losses
from ggfmt.formats.api.format import DialectOptions, Format, column_names, primary_keys_option
from ggfmt.lazy import lazy_regex
from ggfmt.model.table import Kind
from ggfmt.options.spec import choice, option
from ggfmt.options.value_types import Text

STREAM_POSITION, CHANGE_SEQUENCE = "streamPosition", "changeSequence"
BIG_ENDIAN, LITTLE_ENDIAN = "big-endian", "little-endian"


@dataclass(frozen=True)
class QlikOptions(DialectOptions):
    position: str = choice(
        "The header that is the position of an operation. The other header becomes a token.",
        (STREAM_POSITION, "the position in the log of the source"),
        (CHANGE_SEQUENCE, "the number that orders the changes of a task"),
    )
    table_name: str = option(
        Text(), "", "For reading: the table, such as `S.ORDERS`, of changes without their metadata message."
    )
    primary_keys: tuple[tuple[str, tuple[str, ...]], ...] = primary_keys_option()
    server: str = option(Text(), "", "For writing: the name of the server in metadata messages.")
    task: str = option(Text(), "", "For writing: the name of the task in metadata messages.")


@dataclass(frozen=True)
class QlikAvroOptions(QlikOptions):
    avro_mask_byte_order: str = choice(
        "The byte order of masks.",
        (BIG_ENDIAN, "the first byte is the most significant"),
        (LITTLE_ENDIAN, "the first byte is the least significant"),
    )


# The headers that are tokens, besides the one of `changeSequence` and `streamPosition` that is no position.
TOKENS = ("transactionId", "transactionEventCounter", "transactionLastEvent", "externalSchemaId")

_NAME = lazy_regex(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def is_name(text: str) -> bool:
    """Return whether a column can have the name in Avro messages."""
    return _NAME.fullmatch(text) is not None


_LOSSES = (
    losses.NESTED_AS_TEXT,
    losses.BEFORE_MISSING_AS_NULL,
    losses.BEFORE_NULL_AS_MISSING,
    losses.TIME_DIGITS.to(3),
    losses.TOKENS_BY_NAME.named(CHANGE_SEQUENCE, *TOKENS, "snapshot")
    .saying(f". With `position={CHANGE_SEQUENCE}`, `{STREAM_POSITION}` replaces `{CHANGE_SEQUENCE}`")
    .matching(losses.WHOLE_NUMBER, "transactionEventCounter")
    .matching("^(?:true|false)$", "transactionLastEvent"),
    losses.TYPES_NEAREST.has("Qlik Replicate"),
    losses.CATALOG_NOT_SHOWN,
    losses.TRUNCATE_REFUSED,
)
_NUMBERS = (Kind.INTEGER, Kind.FLOAT, Kind.DOUBLE)

FORMATS = (
    Format(
        name="qlik_json",
        doc="Qlik Replicate in JSON: metadata messages, and changes with column masks.",
        options=QlikOptions,
        proposed=("fileSuffix=.json",),
        losses=(*_LOSSES, losses.NUMBER_SPELLING.of(*_NUMBERS)),
        times_in_utc=True,
    ),
    Format(
        name="qlik_avro",
        doc="Qlik Replicate in Avro: envelopes with metadata messages, and with changes that have column masks.",
        options=QlikAvroOptions,
        proposed=("fileSuffix=.avro",),
        names=lambda options, context, table: (column_names(table),),
        legal_name=is_name,
        losses=(
            *_LOSSES,
            losses.DIGITS_OF_DOUBLE.of(Kind.FLOAT, Kind.DOUBLE).saying(" of a floating-point type").partly(),
            losses.NUMBER_SPELLING.of(Kind.INTEGER),
        ),
        times_in_utc=True,
    ),
)
