"""Canal's JSON (the flat messages of Alibaba Canal, and those of DTS in this format): `canal_json`.

* A message has rows of one table: `data` has their after images, of a DELETE their before images; `old` has of each
  row of an UPDATE the columns that changed, as they were before. What is not in `old` did not change.
* All values are texts or null; bytes are ISO-8859-1 texts. `mysqlType` and `sqlType` give the types of columns, by
  name: their order means nothing (TiCDC's is random). Columns are in the order of the first row of a table, and a
  definition that was given goes before that.
* Times are milliseconds since 1970: `es` of the change, `ts` of the message.
* DTS wrote a DELETE's rows in `old`, and no `data`, before 2022-03-20.
* TiCDC adds `_tidb`. Its `commitTs` is a token, and its watermarks are counted. A message whose row was too large, so
  that it has the key alone (`onlyHandleKey`) or is in a file elsewhere (`claimCheckLocation`), is a reject.
"""

from __future__ import annotations

from dataclasses import dataclass

from ggfmt.formats.api import losses
from ggfmt.formats.api.format import Format
from ggfmt.formats.records.options import DialectOptions, primary_keys_option
from ggfmt.options.spec import option
from ggfmt.options.value_types import Choice, Int

DELETE_IN_DATA, DELETE_IN_OLD = "data", "old"


@dataclass(frozen=True)
class CanalOptions(DialectOptions):
    delete_rows: str = option(
        Choice(
            {
                DELETE_IN_DATA: "as Canal does",
                DELETE_IN_OLD: "as DTS did before 2022-03-20; `data` is left out",
            }
        ),
        DELETE_IN_DATA,
        "Where a DELETE has its rows.",
    )
    primary_keys: tuple[tuple[str, tuple[str, ...]], ...] = primary_keys_option()
    batch_size: int = option(Int(1), 1, "Put up to this many operations of one type in a message.")


FORMATS = (
    Format(
        name="canal_json",
        doc="Canal, and DTS in Canal's format: JSON, rows of a table with what changed of each.",
        options=CanalOptions,
        writes="ggfmt.formats.canal.write",
        reads="ggfmt.formats.canal.read",
        proposed=("fileSuffix=.json",),
        marks=(b'"isDdl"', b'"type"'),
        losses=(
            losses.NESTED_AS_TEXT,
            losses.BEFORE_OVERLAID,
            losses.TIME_DIGITS.to(3),
            losses.POSITION_BY_GTID,
            losses.TOKENS_BY_NAME.named("id", "gtid"),
            losses.TYPES_NEAREST.has("MySQL"),
            losses.CATALOG_NOT_SHOWN,
        ),
        times_in_utc=True,
    ),
)
