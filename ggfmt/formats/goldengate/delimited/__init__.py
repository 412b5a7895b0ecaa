"""Delimited text, GoldenGate for Big Data 12.2, 6.2: `delimitedtext`.

* One image: of an insert or update the after image, of a delete the before image; a truncate has all columns missing.
* Metadata fields, then the columns, each divided from the next by the field delimiter; a suppressed field leaves none.
* Values are written raw: one that holds a delimiter will be read as more fields. Such values are counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from ggfmt.formats.api.format import Format
from ggfmt.formats.api.losses import (
    BEFORE_NOT_SHOWN,
    CHARACTER_REPLACED,
    DELIMITER_INSIDE,
    EMPTY_FOR_ABSENT,
    KEYS_NOT_SHOWN,
    NESTED_AS_TEXT,
    POSITION_NOT_SHOWN,
    TEXT_AS_STATE,
    TIME_NOT_SHOWN,
    TOKEN_DELIMITERS,
    TYPES_NOT_SHOWN,
)
from ggfmt.formats.goldengate.losses import KEY_UPDATES, TOKENS
from ggfmt.formats.goldengate.options import iso8601_option, op_key_option, pk_update_option
from ggfmt.options.spec import Options, option
from ggfmt.options.value_types import NATIVE, Bool, Charset, Delimiter, Representation


@dataclass(frozen=True)
class DelimitedTextOptions(Options):
    include_column_names: bool = option(Bool(), False, "Write the name of each column as a field before its value.")
    include_op_timestamp: bool = option(Bool(), True, "Write the operation time stamp: when it was committed.")
    include_current_timestamp: bool = option(Bool(), True, "Write the current time stamp: when the message was made.")
    include_op_type: bool = option(Bool(), True, "Write the operation type.")
    include_table_name: bool = option(Bool(), True, "Write the fully qualified table name.")
    include_position: bool = option(Bool(), True, "Write the position in the trail; tokens come behind it.")
    insert_op_key: str = op_key_option("insert", "I")
    update_op_key: str = op_key_option("update", "U")
    delete_op_key: str = op_key_option("delete", "D")
    truncate_op_key: str = op_key_option("truncate", "T")
    encoding: str = option(
        Charset(), NATIVE, "The charset of the output; `native` is the charset of the machine that starts the run."
    )
    field_delimiter: str = option(
        Delimiter(single=True), "\x01", "Stands between fields. Values are written raw: take what they do not hold."
    )
    line_delimiter: str = option(Delimiter(single=True, line=True), "\n", "Stands after each message.")
    key_value_delimiter: str = option(Delimiter(tokens=True), "=", "Stands between the name and the value of a token.")
    key_value_pair_delimiter: str = option(
        Delimiter(tokens=True), ",", "Stands between tokens.", aliases=("kevValuePairDelimiter",)
    )
    pk_update_handling: str = pk_update_option()
    null_value_representation: str = option(Representation(), "NULL", "Stands for a NULL.")
    missing_value_representation: str = option(Representation(), "", "Stands for a column that is not in the image.")
    iso8601_format: bool = iso8601_option()


FORMATS = (
    Format(
        name="delimitedtext",
        doc="Delimited text: one line an operation, metadata fields and then the columns of one image.",
        options=DelimitedTextOptions,
        writes="ggfmt.formats.goldengate.delimited.write",
        reads="ggfmt.formats.goldengate.delimited.read",
        proposed=(
            "format.encoding=UTF-8",
            "format.fieldDelimiter=|",
        ),
        losses=(
            NESTED_AS_TEXT,
            *KEY_UPDATES,
            BEFORE_NOT_SHOWN,
            TEXT_AS_STATE.saying("NULL or for a missing column"),
            DELIMITER_INSIDE,
            CHARACTER_REPLACED,
            EMPTY_FOR_ABSENT,
            TIME_NOT_SHOWN.when("includeOpTimestamp=false"),
            POSITION_NOT_SHOWN.when("includePosition=false"),
            TOKENS,
            TOKEN_DELIMITERS,
            KEYS_NOT_SHOWN,
            TYPES_NOT_SHOWN,
        ),
    ),
)
