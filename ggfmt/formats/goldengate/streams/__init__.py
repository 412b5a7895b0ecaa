"""GoldenGate Data Streams 26ai, the operation model of its JSON: `goldengate_streams_json`.

* A record is one operation: `qual_table`, `op_type` as a word, `op_ts`, `pos`, optional members such as `xid`, and the
  images `before` and `after`. Options rename the images. A missing column has no member. NULL is `null`.
* An `OBJECT_METADATA` record contains the columns of a table with their JSON types, and is a schema change. ggfmt
  counts JSON schemas, `STREAM_METADATA` and DDL.
* A record can be the `data` of a CloudEvents envelope. A JSON array can contain several records.
* An UPSERT is an insert or an update. The option `upsert` sets how to read it.
* In the output, each file starts with the object metadata of its table.
"""

from __future__ import annotations

from typing import ClassVar

from ggfmt.dataclasses import dataclass
from ggfmt.formats.api import format as dialects
from ggfmt.formats.api import losses
from ggfmt.formats.api.format import Context, Format, Name, Records
from ggfmt.formats.goldengate.options import op_key_option
from ggfmt.java.text import InvalidValueError, visible
from ggfmt.model.table import Kind, TableDef
from ggfmt.options.spec import choice, option, switch
from ggfmt.options.value_types import Delimiter, Text

REFUSE, INSERT, UPDATE = "refuse", "insert", "update"

# Members that are tokens, in the order of the output.
TOKENS = ("xid", "csn", "op_seqno", "trans_ind")
MEMBERS = frozenset(
    {"qual_table", "table", "op_type", "op_ts", "pos", *TOKENS, "primary_keys", "tokens", "columns", "ddl", "data"}
    | {"specversion", "$schema"}
)


@dataclass(frozen=True)
class ImageName(Text):
    """The name of an image member; `other` is the default name of the other image."""

    keeps_empty: ClassVar[bool] = False
    legal = "a name of 1 to 32 characters without quotes and backslashes, different from other members"
    other: str = ""

    def parse(self, text: str) -> str:
        value = super().parse(text)
        odd = any(character in '"\\' or character < " " for character in value)
        if odd or not 1 <= len(value) <= 32 or value in MEMBERS or value == self.other:
            raise InvalidValueError(f"cannot be `{visible(value[:40])}`", f"give {self.legal}")
        return value


@dataclass(frozen=True)
class StreamsOptions(dialects.DialectOptions):
    insert_op_key: str = op_key_option("insert", "INSERT")
    update_op_key: str = op_key_option("update", "UPDATE")
    delete_op_key: str = op_key_option("delete", "DELETE")
    truncate_op_key: str = op_key_option("truncate", "TRUNCATE")
    upsert: str = choice(
        "For reading: how to read an UPSERT.", (REFUSE, "reject it"), (INSERT, "as an insert"), (UPDATE, "as an update")
    )
    before_image_name: str = option(ImageName(other="after"), "before", "The name of the before image.")
    after_image_name: str = option(ImageName(other="before"), "after", "The name of the after image.")
    include_object_metadata_records: bool = switch("Write OBJECT_METADATA records with the columns of tables.", True)
    include_primary_keys: bool = switch("Write the names of the primary key's columns.")
    treat_all_columns_as_strings: bool = switch("Write every column as a string.")
    omit_null_column_values: bool = switch("Leave out columns that are NULL.")
    absent_means: str = dialects.absent_means_option()
    delimiter: str = option(Delimiter(), "\n", "The text after each record.")
    primary_keys: tuple[tuple[str, tuple[str, ...]], ...] = dialects.primary_keys_option()


def _names(options: StreamsOptions, context: Context, table: TableDef) -> Records:
    before = Name(options.before_image_name, "the before image", "beforeImageName")
    return ((before, Name(options.after_image_name, "the after image", "afterImageName")),)


FORMATS = (
    Format(
        name="goldengate_streams_json",
        doc="GoldenGate Data Streams: JSON, one operation per record; the stream describes its tables.",
        options=StreamsOptions,
        proposed=("fileSuffix=.json",),
        names=_names,
        losses=(
            losses.NESTED_AS_TEXT,
            losses.NULL_AS_MISSING.when("omitNullColumnValues=true", f"absentMeans={dialects.ABSENT_MISSING}"),
            losses.MISSING_AS_NULL.when(f"absentMeans={dialects.ABSENT_NULL}"),
            losses.NUMBER_SPELLING.of(Kind.INTEGER, Kind.DECIMAL, Kind.NUMBER, Kind.FLOAT, Kind.DOUBLE).except_when(
                "treatAllColumnsAsStrings=true"
            ),
            losses.TOKENS_BY_NAME.named(*TOKENS).except_when("includeTokens=true"),
            losses.KEY_IN_TABLE_ORDER.when("includeObjectMetadataRecords=true"),
            losses.KEYS_NOT_SHOWN.when("includeObjectMetadataRecords=false").except_when("includePrimaryKeys=true"),
            losses.TYPES_BY_VALUE,
            losses.TYPES_NOT_SHOWN.when("treatAllColumnsAsStrings=true"),
        ),
    ),
)
