"""Arcion's internal change format, as it is stored in object stores: `arcion_json` and `arcion_csv`.

* A change has the old and the new value of every column, and a number from 0 to 3 per column. Bit 0 (value 1) means
  that the change contains the new value, and bit 1 (value 2) the old value. Other values are written like NULL.
* All values are texts. Messages contain neither types nor keys.
* The table name and its namespace each have a `hash`. ggfmt computes it from the name when it writes.
* `cursor` is a JSON object in a text, with the time of the change in milliseconds since 1970 and the place in the log.
  `operationcount` is another one, with running counts.
* A CSV row has, for each column, the new value, the old value and the number. Then follow the operation type, the
  cursor and the counts. In a snapshot, a row has only the values.
* CSV does not contain the table name. Without a header, it does not contain the column names either.
* Kafka's NATIVE messages are like the JSON messages, but `cursor` is an object, and images have only the existing
  values, without numbers. In snapshots, messages are bare rows: inserts of the table in the option `table`.
* Kafka's JSON messages are Debezium's (`debezium_json`), but an absent image can be an empty object.
"""

from __future__ import annotations

from ggfmt.dataclasses import dataclass
from ggfmt.formats.api import losses
from ggfmt.formats.api.format import DialectOptions, Format, primary_keys_option
from ggfmt.formats.csv import FieldDelimiter, NullWord, columns_option
from ggfmt.options.spec import choice, option, switch
from ggfmt.options.value_types import Text

REALTIME, SNAPSHOT = "realtime", "snapshot"
DIRECTORY, FILE = "directory", "file"
DOUBLED, BACKSLASH = "doubled", "backslash"

# The members of a header, after or instead of the names of columns.
VALUE_SUFFIXES = ("_NEW_VAL", "_OLD_VAL", "_EXISTS_VAL")
LAST_FIELDS = ("opType", "cursor", "operationcount")


@dataclass(frozen=True)
class ArcionJsonOptions(DialectOptions):
    null_literal: str = option(Text(), "null", "The text for NULL and for a missing value.")
    schema_filler: str = option(
        Text(), "", "The schema name for tables without a schema, such as `default_schema`; table names omit it."
    )
    table: str = option(
        Text(), "", "For reading: the table of rows in a NATIVE snapshot, which do not name their table."
    )
    primary_keys: tuple[tuple[str, tuple[str, ...]], ...] = primary_keys_option()


@dataclass(frozen=True)
class ArcionCsvOptions(DialectOptions):
    mode: str = choice(
        "The content of rows.",
        (REALTIME, "changes: three fields per column, then three more fields"),
        (SNAPSHOT, "inserts: one field per column"),
    )
    table_name: str = option(
        Text(), "", "The full name of the table of all files. Default: from the path of each file."
    )
    table_from: str = choice(
        "The part of a file's path that is the table name.",
        (DIRECTORY, "the directory of the file"),
        (FILE, "the file name without its suffixes"),
    )
    columns: tuple[tuple[str, tuple[str, ...]], ...] = columns_option()
    include_header: bool = switch("Start each file with a header line: the names of the fields.")
    delimiter: str = option(FieldDelimiter(), ",", "The character between fields.")
    quote: str = choice(
        "The character around fields that need quotes.", ('"', "the double quote"), ("'", "the single quote")
    )
    escape: str = choice(
        "How to write a quote in a quoted field.",
        (DOUBLED, "a doubled quote"),
        (BACKSLASH, "a backslash before each quote and each backslash"),
    )
    null_literal: str = option(NullWord(), "NULL", "The text for NULL and for a missing value, without quotes.")
    primary_keys: tuple[tuple[str, tuple[str, ...]], ...] = primary_keys_option()


_COMMON = (
    losses.NESTED_AS_TEXT,
    losses.EMPTY_BEFORE_AS_NONE,
    losses.TIME_DIGITS.to(3),
    losses.TOKENS_RESERVED.named("timestamp", "log", "position").saying(", because the cursor uses these names"),
    losses.KEYS_NOT_SHOWN,
    losses.TYPES_NOT_SHOWN,
    losses.TRUNCATE_REFUSED,
)
_SNAPSHOT = tuple(
    loss.when(f"mode={SNAPSHOT}")
    for loss in (
        losses.INSERTS_ONLY,
        losses.MISSING_AS_NULL,
        losses.TIME_NOT_SHOWN,
        losses.POSITION_NOT_SHOWN,
        losses.TOKENS_NOT_SHOWN,
    )
)

FORMATS = (
    Format(
        name="arcion_json",
        doc="Arcion: JSON, both images of all columns; a number per column shows which images have a value.",
        options=ArcionJsonOptions,
        proposed=("fileSuffix=.json",),
        losses=(*_COMMON, losses.TEXT_AS_STATE.saying("NULL")),
        times_in_utc=True,
    ),
    Format(
        name="arcion_csv",
        doc="Arcion: CSV, changes of one table with three fields per column, or the rows of a snapshot.",
        options=ArcionCsvOptions,
        proposed=("fileSuffix=.csv", "format.includeHeader=true"),
        losses=(*_COMMON, *_SNAPSHOT),
        by_table=True,
        times_in_utc=True,
    ),
)
