"""AWS DMS's JSON for Kinesis and Kafka: `dms_json`. It is read; ggfmt does not write it.

* A record has the row in `data` and all else in `metadata`: of an insert and an update it is the row after, of a delete
  the row before. Operations are `load`, `insert`, `update` and `delete`; the description has `create` and `read` too.
* NULL and empty columns are left out, unless `IncludeNullAndEmpty` is set.
* Values of an update before it are in a member of their own (`BeforeImageSettings`), which is called `before-image` in
  the description, or in columns whose names start with `BI_` (`add-before-image-columns`). Which columns they are
  depends on the settings and the database: others are missing.
* The time is `commit-timestamp` (`IncludeTransactionDetails`), or else `timestamp`, which is when DMS made the record;
  the position is `stream-position`. Other members of `metadata` are tokens.
* A record of the type `control` describes a table: with `table-def` (`IncludeControlDetails`) it is a definition, a
  `truncate-table` is a truncate, and others are counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from ggfmt.formats.api.format import Format
from ggfmt.formats.records.options import DialectOptions, absent_means_option, primary_keys_option
from ggfmt.options.spec import option
from ggfmt.options.value_types import Text


@dataclass(frozen=True)
class DmsOptions(DialectOptions):
    before_image: str = option(
        Text(), "before-image", "For reading: the member with values before an update, as `FieldName` calls it."
    )
    before_prefix: str = option(
        Text(),
        "BI_",
        "For reading: what the names of columns start with that have values before an update; empty if none do.",
    )
    absent_means: str = absent_means_option()
    primary_keys: tuple[tuple[str, tuple[str, ...]], ...] = primary_keys_option()


FORMATS = (
    Format(
        name="dms_json",
        doc="AWS DMS: JSON as it is in Kinesis and Kafka, one row a record with its metadata.",
        options=DmsOptions,
        reads="ggfmt.formats.dms.read",
        marks=(b'"record-type"',),
        times_in_utc=True,
    ),
)
