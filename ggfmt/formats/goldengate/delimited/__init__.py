"""Delimited text: `delimitedtext` (GoldenGate for Big Data 12.2, 6.2) and `delimitedtext_op` (from 12.3.2 on).

* `delimitedtext` writes one image: the after image of an insert or update, the before image of a delete. In a
  truncate, all columns are missing.
* `delimitedtext_op` writes both images. All columns of an absent image are missing.
* The metadata fields come first, then the columns. A field that is switched off leaves no gap.
* ggfmt writes values raw. A value that contains a delimiter is read back as several fields. ggfmt counts such values.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from ggfmt.dataclasses import dataclass
from ggfmt.formats.api import losses
from ggfmt.formats.api.format import Context, Format
from ggfmt.formats.goldengate import metacolumns
from ggfmt.formats.goldengate import options as shared
from ggfmt.options.spec import option, switch
from ggfmt.options.value_types import NATIVE, Charset, Delimiter, Representation


class FieldShown(Enum):
    """What a field after the metadata shows of its column: its name, its value, or its value in one of the images."""

    NAME = "name"
    VALUE = "value"
    BEFORE = "before"
    AFTER = "after"


class Cell(NamedTuple):
    """A field after the metadata. `column` is the place of its column."""

    part: FieldShown
    column: int


@dataclass(frozen=True)
class DelimitedOptions(shared.OpKeyOptions):
    include_column_names: bool = switch("Write the name of each column as a field before its value.")
    include_op_timestamp: bool = shared.metadata_option(
        "the operation time stamp: when the source committed the operation"
    )
    include_current_timestamp: bool = shared.metadata_option("the current time stamp: when the message was written")
    include_op_type: bool = shared.metadata_option("the operation type")
    include_table_name: bool = shared.metadata_option("the fully qualified table name")
    include_position: bool = shared.metadata_option("the position in the trail. Tokens follow the position")
    encoding: str = option(
        Charset(), NATIVE, "The charset of the output. `native`: the charset of the machine that starts the run."
    )
    field_delimiter: str = option(
        Delimiter(single=True),
        "\x01",
        "The text between fields. No value should contain it, because values are written raw.",
    )
    line_delimiter: str = option(Delimiter(single=True, line=True), "\n", "The text after each message.")
    key_value_delimiter: str = option(
        Delimiter(tokens=True), "=", "The text between the name and the value of a token."
    )
    key_value_pair_delimiter: str = option(
        Delimiter(tokens=True), ",", "The text between tokens.", aliases=("kevValuePairDelimiter",)
    )
    null_value_representation: str = option(Representation(), "NULL", "The text for NULL.")
    missing_value_representation: str = option(Representation(), "", "The text for a missing column.")
    iso8601_format: bool = shared.iso8601_option()
    meta_columns_template: tuple[metacolumns.MetaColumn, ...] | None = metacolumns.template_option()
    include_meta_column_names: bool = switch(
        "Write the name of each metadata column as a field before its value.", since="12.3.2"
    )
    wrap_strings_in_quotes: bool = switch(
        "Put text values in quotes, and double the quotes inside them.", since="12.3.2"
    )
    disable_escaping: bool = switch(
        "No effect: ggfmt always writes values raw, because the escapes of GoldenGate are unknown.", since="19.1"
    )

    def metadata(self, context: Context) -> tuple[metacolumns.MetaColumn, ...]:
        return metacolumns.chosen_columns(self, context, "op_type", "table", "op_ts", "current_ts", "pos")

    def cells(self, columns: int) -> tuple[Cell, ...]:
        """Return the fields after the metadata, in a table of so many columns."""
        raise NotImplementedError


@dataclass(frozen=True)
class DelimitedTextOptions(DelimitedOptions):
    pk_update_handling: str = shared.pk_update_option()
    enable_field_descriptor_headers: bool = switch(
        "Start each file with a header line: the names of all fields.", since="19.1"
    )

    def cells(self, columns: int) -> tuple[Cell, ...]:
        named = [FieldShown.NAME, FieldShown.VALUE] if self.include_column_names else [FieldShown.VALUE]
        return tuple(Cell(part, column) for column in range(columns) for part in named)


@dataclass(frozen=True)
class DelimitedTextOpOptions(DelimitedOptions):
    include_group_cols: bool = switch("Write all names, then all before values, then all after values.", since="19.1")

    def cells(self, columns: int) -> tuple[Cell, ...]:
        parts = [FieldShown.NAME] * self.include_column_names + [FieldShown.BEFORE, FieldShown.AFTER]
        if self.include_group_cols:
            return tuple(Cell(part, column) for part in parts for column in range(columns))
        return tuple(Cell(part, column) for column in range(columns) for part in parts)


_LOSSES = (
    losses.NESTED_AS_TEXT,
    losses.TEXT_AS_STATE.saying("NULL or a missing column"),
    losses.DELIMITER_INSIDE,
    losses.CHARACTER_REPLACED,
    *shared.NO_FIXED_METADATA,
    losses.TOKEN_DELIMITERS,
    losses.KEYS_NOT_SHOWN,
    losses.TYPES_NOT_SHOWN,
)


FORMATS = (
    Format(
        name="delimitedtext",
        doc="Delimited text: one line per operation, metadata fields and then the columns of one image.",
        options=DelimitedTextOptions,
        proposed=("format.encoding=UTF-8", "format.fieldDelimiter=|"),
        losses=(*shared.KEY_UPDATES, losses.BEFORE_NOT_SHOWN, *_LOSSES),
    ),
    Format(
        name="delimitedtext_op",
        doc="Delimited text: one line per operation, metadata fields and then each column before and after.",
        options=DelimitedTextOpOptions,
        proposed=(
            "format.encoding=UTF-8",
            "format.fieldDelimiter=|",
            "format.metaColumnsTemplate=${optype[op_type]},${objectname[table]},${timestamp[op_ts]},"
            "${currenttimestampiso8601[current_ts]},${position[pos]},${alltokens[tokens]}",
        ),
        losses=(losses.NO_BEFORE_AS_EMPTY, *_LOSSES),
        since="19.1",
    ),
)
