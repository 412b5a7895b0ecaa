"""Canal's JSON (the flat messages of Alibaba Canal, and those of DTS in this format): `canal_json`.

* A message has rows of one table. `data` has their after images, or the before images of a DELETE. For each row of an
  UPDATE, `old` has the previous values of the changed columns.
* All values are texts or null. Bytes are ISO-8859-1 texts.
* `mysqlType` and `sqlType` contain the types of columns by name. Columns have the order of the first row of a
  table, or of `--definitions`.
* `es` is the time of the change and `ts` the time of the message, in milliseconds since 1970.
* DTS wrote the rows of a DELETE in `old`, without `data`, before 2022-03-20.
* TiCDC adds `_tidb`. ggfmt reads `commitTs` as a token and counts watermarks. ggfmt rejects a message that has only
  the key (`onlyHandleKey`), or whose row is in another file (`claimCheckLocation`).
"""

from __future__ import annotations

from ggfmt.dataclasses import dataclass
from ggfmt.formats.api import losses
from ggfmt.formats.api.format import DialectOptions, Format, primary_keys_option
from ggfmt.options.spec import choice, option
from ggfmt.options.value_types import Int

DELETE_IN_DATA, DELETE_IN_OLD = "data", "old"


@dataclass(frozen=True)
class CanalOptions(DialectOptions):
    delete_rows: str = choice(
        "The member with the rows of a DELETE.",
        (DELETE_IN_DATA, "like Canal"),
        (DELETE_IN_OLD, "like DTS before 2022-03-20, without `data`"),
    )
    primary_keys: tuple[tuple[str, tuple[str, ...]], ...] = primary_keys_option()
    batch_size: int = option(Int(1), 1, "The maximum number of operations of one type in a message.")


FORMATS = (
    Format(
        name="canal_json",
        doc="Canal, and DTS in Canal's format: JSON, rows of a table with the old values of changed columns.",
        options=CanalOptions,
        proposed=("fileSuffix=.json",),
        losses=(
            losses.NESTED_AS_TEXT,
            losses.BEFORE_OVERLAID,
            losses.TIME_DIGITS.to(3),
            losses.POSITION_BY_GTID,
            losses.TOKEN_FROM_POSITION,
            losses.TOKENS_BY_NAME.named("id", "gtid").matching(losses.DIGITS, "id"),
            losses.TYPES_NEAREST.has("MySQL"),
            losses.CATALOG_NOT_SHOWN,
        ),
        times_in_utc=True,
    ),
)
