"""Huawei's CDL JSON (MapReduce Service): `cdl_json`.

* A message has a Kafka Connect `schema` and a `payload`. `message_version` in the payload is `1.0`, or `2.0` for the
  Debezium variant. ggfmt reads both and writes 1.0.
* `data` is the after image and `before` the before image. A missing column looks like NULL.
* Decimals are texts. Time stamps are milliseconds since 1970, or texts.
* `unique` has the key columns with their new values.
* `lsn` is the position, `txId` the number of the transaction. Both are whole numbers.
* `HEARTBEAT_IDENTIFIER` does not make a message a heartbeat.
"""

from __future__ import annotations

from ggfmt.dataclasses import dataclass
from ggfmt.formats.api import losses
from ggfmt.formats.api.format import DialectOptions, Format, primary_keys_option
from ggfmt.model.table import Kind
from ggfmt.options.spec import choice, option
from ggfmt.options.value_types import Text

MILLIS, TEXT = "millis", "text"


@dataclass(frozen=True)
class CdlOptions(DialectOptions):
    database_name: str = option(
        Text(), "", "For reading: the database of messages without a database, as the first part of table names."
    )
    data_store: str = option(
        Text(), "", "The kind of database, such as `ORACLE`, of operations without a token `DATA_STORE`."
    )
    timestamps: str = choice(
        "How to write the values of time stamp columns.",
        (MILLIS, "as milliseconds since 1970"),
        (TEXT, "as texts, with all digits and zones"),
    )
    primary_keys: tuple[tuple[str, tuple[str, ...]], ...] = primary_keys_option()


FORMATS = (
    Format(
        name="cdl_json",
        doc="Huawei CDL: JSON, both images of a change with their schema; reads CDL's Debezium flavor too.",
        options=CdlOptions,
        proposed=("fileSuffix=.json",),
        losses=(
            losses.NESTED_AS_TEXT,
            losses.MISSING_AS_NULL,
            losses.NUMBER_SPELLING.of(Kind.INTEGER, Kind.FLOAT, Kind.DOUBLE),
            losses.TIME_CUT.to(3).except_when(f"timestamps={TEXT}"),
            losses.ZONE_CUT.except_when(f"timestamps={TEXT}"),
            losses.TIME_FILLED.to(6).except_when(f"timestamps={TEXT}"),
            losses.TIME_DIGITS.to(3),
            losses.POSITION_WHOLE_NUMBER,
            losses.TOKENS_WHOLE_NUMBERS.named(
                "DATA_STORE", "LOB_COLUMNS", "HEARTBEAT_IDENTIFIER", "message_type"
            ).matching("(?s).", "DATA_STORE"),
            losses.TOKENS_RESERVED.named("lsn").saying(", because the position uses the name"),
            losses.TOKENS_ADDED.saying("the token `DATA_STORE` where it is absent and `dataStore` is set"),
            losses.TYPES_NEAREST.has("CDL").saying(
                ". Dates, times of day and intervals are read as texts, other numbers as decimals. "
                "A message that lacks the value of a column that cannot be NULL says that all columns can be NULL"
            ),
            losses.SIZES_NOT_SHOWN,
            losses.CATALOG_NOT_SHOWN,
            losses.TRUNCATE_REFUSED,
        ),
        times_in_utc=True,
    ),
)
