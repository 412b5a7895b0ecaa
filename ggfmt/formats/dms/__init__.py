"""AWS DMS's JSON for Kinesis and Kafka: `dms_json`. It is read; ggfmt does not write it.

* A record has the row in `data` and the rest in `metadata`. The row is the after image, or the before image of a
  delete.
* Operations are `load`, `insert`, `update` and `delete`, and in the AWS documentation also `create` and `read`.
* DMS omits NULL and empty columns unless `IncludeNullAndEmpty` is set.
* The previous values of an update are in their own member (`BeforeImageSettings`), in the AWS documentation
  `before-image`. Or they are in columns with the prefix `BI_` (`add-before-image-columns`). Columns without a previous
  value are missing.
* The time is `commit-timestamp` (`IncludeTransactionDetails`), or else `timestamp`, the time when DMS made the record.
  The position is `stream-position`. Other members of `metadata` are tokens.
* A record of the type `control` defines a table if it has `table-def` (`IncludeControlDetails`). A `truncate-table` is
  a truncate. ggfmt counts other control records.
"""

from __future__ import annotations

from ggfmt.dataclasses import dataclass
from ggfmt.formats.api.format import DialectOptions, Format, absent_means_option, primary_keys_option
from ggfmt.options.spec import option
from ggfmt.options.value_types import Text


@dataclass(frozen=True)
class DmsOptions(DialectOptions):
    before_image: str = option(
        Text(), "before-image", "For reading: the member with values before an update: `FieldName` in DMS."
    )
    before_prefix: str = option(
        Text(),
        "BI_",
        "For reading: the name prefix of columns with values before an update. If empty, no column has the prefix.",
    )
    absent_means: str = absent_means_option()
    primary_keys: tuple[tuple[str, tuple[str, ...]], ...] = primary_keys_option()


FORMATS = (
    Format(
        name="dms_json",
        doc="AWS DMS: JSON as in Kinesis and Kafka, one row per record, with metadata.",
        options=DmsOptions,
        times_in_utc=True,
    ),
)
