"""Huawei's CDL JSON (MapReduce Service): `cdl_json`.

* A message has `schema`, by Kafka Connect, and `payload`; the payload's `message_version` is `1.0`, or `2.0` for the
  flavour of Debezium, which is read too.
* `data` is the after image and `before` the before image; each is null where there is none. What is missing cannot be
  told from NULL.
* Decimal numbers are texts. Time stamps are milliseconds since 1970, or texts.
* `unique` has the key columns, with their new values. The transaction has properties, which are whole numbers: `lsn`
  is the position, `txId` the number of the transaction.
* Version 1.0 does not name the database. `HEARTBEAT_IDENTIFIER` does not make a message a heartbeat.
"""

from __future__ import annotations

from dataclasses import dataclass

from ggfmt.formats.api.format import Format
from ggfmt.formats.api.losses import (
    CATALOG_NOT_SHOWN,
    MISSING_AS_NULL,
    NESTED_AS_TEXT,
    NUMBER_SPELLING,
    POSITION_WHOLE_NUMBER,
    SIZES_NOT_SHOWN,
    TIME_CUT,
    TIME_DIGITS,
    TIME_FILLED,
    TOKENS_WHOLE_NUMBERS,
    TRUNCATE_REFUSED,
    TYPES_NEAREST,
    ZONE_CUT,
)
from ggfmt.formats.records.options import DialectOptions, primary_keys_option
from ggfmt.model.table import Kind
from ggfmt.options.spec import option
from ggfmt.options.value_types import Choice, Text

MILLIS, TEXT = "millis", "text"


@dataclass(frozen=True)
class CdlOptions(DialectOptions):
    database_name: str = option(
        Text(), "", "For reading: the database, where messages do not name it; the first part of table names."
    )
    data_store: str = option(
        Text(), "", "The kind of database, such as `ORACLE`, where no token `DATA_STORE` tells it."
    )
    timestamps: str = option(
        Choice({MILLIS: "as milliseconds since 1970", TEXT: "as texts, which keep all digits and zones"}),
        MILLIS,
        "How values of time stamp columns are written.",
    )
    primary_keys: tuple[tuple[str, tuple[str, ...]], ...] = primary_keys_option()


FORMATS = (
    Format(
        name="cdl_json",
        doc="Huawei CDL: JSON, both images of a change with their schema; read in the flavour of Debezium too.",
        options=CdlOptions,
        writes="ggfmt.formats.cdl.write",
        reads="ggfmt.formats.cdl.read",
        proposed=("fileSuffix=.json",),
        marks=(b'"message_version"',),
        losses=(
            NESTED_AS_TEXT,
            MISSING_AS_NULL,
            NUMBER_SPELLING.of(Kind.INTEGER, Kind.FLOAT, Kind.DOUBLE),
            TIME_CUT.to(3).except_when(f"timestamps={TEXT}"),
            ZONE_CUT.except_when(f"timestamps={TEXT}"),
            TIME_FILLED.to(6).except_when(f"timestamps={TEXT}"),
            TIME_DIGITS.to(3),
            POSITION_WHOLE_NUMBER,
            TOKENS_WHOLE_NUMBERS.named("DATA_STORE", "LOB_COLUMNS", "HEARTBEAT_IDENTIFIER", "message_type"),
            TYPES_NEAREST.has("CDL").saying(": dates, times of day and intervals are texts, other numbers decimals"),
            SIZES_NOT_SHOWN,
            CATALOG_NOT_SHOWN,
            TRUNCATE_REFUSED,
        ),
        times_in_utc=True,
    ),
)
