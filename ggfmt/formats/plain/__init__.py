"""Rows of any table as CSV, `csv`, and as JSON, `jsonl`, which no system of changes has written. They are read only.

* A row is an insert. If a column has the type of the operation (`opColumn`), a row may also be an update, a delete or a
  truncate. The row of a delete is its before image, and the row of an insert or update its after image.
* The name of the file names the table, or `tableName`.
* In CSV, nothing between two delimiters is NULL, and an empty text has quotes. Columns are texts, unless a definition
  has their types. In JSON, values have the types of JSON.
* ggfmt finds the delimiter, the quotes, the header and the charset of CSV in the first rows. If several fit, or the
  first row may be a header and a row, ggfmt stops and asks for the option.
* After a backslash, PostgreSQL's `COPY` and MySQL's `OUTFILE` write letters for control characters, and `\\N` is NULL.
"""

from __future__ import annotations

from ggfmt.dataclasses import dataclass
from ggfmt.formats.api.format import DialectOptions, Format, primary_keys_option
from ggfmt.formats.csv import FieldDelimiter, NullWord, columns_option
from ggfmt.options.spec import choice, option
from ggfmt.options.value_types import Delimiter, Text

AUTO, YES, NO = "auto", "true", "false"
PSQL, MYSQL, EXCEL = "psql", "mysql", "excel"

# The texts for types of operations that systems write, in any case.
WORDS = {
    "I": ("I", "INSERT", "C", "CREATE", "R", "READ"),
    "U": ("U", "UPDATE"),
    "D": ("D", "DELETE"),
    "T": ("T", "TRUNCATE"),
}


@dataclass(frozen=True)
class OptionalDelimiter(FieldDelimiter):
    """A delimiter, or nothing."""

    def parse(self, text: str) -> str:
        return super().parse(text) if Delimiter.parse(self, text) else ""


@dataclass(frozen=True)
class PlainJsonOptions(DialectOptions):
    table_name: str = option(
        Text(), "", "The full name of the table of all files. Default: from the name of each file."
    )
    op_column: str = option(
        Text(),
        "",
        "The column with the type of the operation, such as `I` or `update`. Default: each row is an insert.",
    )
    op_ts_column: str = option(
        Text(), "", "The column with the time of the operation: ISO 8601, in UTC unless it has an offset."
    )
    position_column: str = option(Text(), "", "The column with the position of the operation.")
    primary_keys: tuple[tuple[str, tuple[str, ...]], ...] = primary_keys_option()


@dataclass(frozen=True)
class PlainCsvOptions(PlainJsonOptions):
    preset: str = choice(
        "The program that wrote the file, which decides what the first rows do not show.",
        (AUTO, "as the first rows show"),
        (PSQL, "`COPY` of PostgreSQL in its text format: letters after backslashes, no quotes, `\\N` is NULL"),
        (MYSQL, "`OUTFILE`, `mysqldump --tab` or `mysql -B`: letters after backslashes; `\\N` is NULL"),
        (EXCEL, "Excel: WINDOWS-1252 if the file is not in UTF-8, and perhaps a first line `sep=;`"),
    )
    header: str = choice(
        "Whether the first row has the names of the columns.",
        (AUTO, "if the first row cannot be a row of the table"),
        (YES, "the first row has names"),
        (NO, "the first row has values; names come from `columns` or `--definitions`"),
    )
    columns: tuple[tuple[str, tuple[str, ...]], ...] = columns_option()
    delimiter: str = option(
        OptionalDelimiter(), "", "The character between fields. Default: as the first rows show.", example=";"
    )
    quote: str = choice(
        "The character around fields.",
        (AUTO, "as the first rows show"),
        ('"', "the double quote"),
        ("'", "the single quote"),
        ("none", "a quote is a part of a value"),
    )
    null_literal: str = option(NullWord(), AUTO, "The text for NULL without quotes. `auto`: nothing, or `\\N`.")
    encoding: str = option(Text(), "", "The charset, such as `windows-1252`. Default: UTF-8, or UTF-16 as bytes show.")


FORMATS = (
    Format(
        name="csv",
        doc="CSV: rows of a table, with a column for the type of the operation, or as inserts.",
        options=PlainCsvOptions,
        times_in_utc=True,
        any_text=True,
    ),
    Format(
        name="jsonl",
        doc="JSON: rows of a table, one object each, with a member for the type of the operation, or as inserts.",
        options=PlainJsonOptions,
        times_in_utc=True,
        any_text=True,
    ),
)
