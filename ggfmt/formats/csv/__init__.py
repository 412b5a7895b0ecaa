"""CSV, as several systems write it: rows, their fields, and their options.

CSV of spreadsheets, databases and scripts, and rows of JSON: one object per line, or an array of objects. A file is a
table, and a row is an insert unless a column shows the type of the operation.
"""

from __future__ import annotations

from ggfmt.dataclasses import dataclass
from ggfmt.java.text import InvalidValueError
from ggfmt.lazy import lazy_regex
from ggfmt.options.spec import option
from ggfmt.options.value_types import Delimiter, TableKeys, Text

# Without quotes, these are no names of columns: what other files have between fields, and numbers and times.
DELIMITERS = ",;\t|\x01"
_DAY = r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}"
VALUE = rf"[+-]?\.?\d[\d.,_]*(?:[eE][+-]?\d+)?|(?:{_DAY})(?:[T :].*)?|\d{{1,2}}:\d\d(?::.*)?"

_WORD = lazy_regex(r"[A-Za-z0-9_\\<>()-]*")


class TableColumns(TableKeys):
    """Tables with their columns, in the order in which files have them."""

    legal = "tables with their columns, such as `S.ORDERS=ID,NAME;S.LINES=ORDER_ID,LINE`"


@dataclass(frozen=True)
class FieldDelimiter(Delimiter):
    """One character that no number, quote or word for NULL has."""

    legal = "one ASCII character, but not a letter, digit, blank, quote, line end or one of `_\\<>()-`"

    def parse(self, text: str) -> str:
        value = super().parse(text)
        if len(value) != 1 or not value.isascii() or value in "\"' \r\n" or _WORD.fullmatch(value):
            raise InvalidValueError(f"cannot be `{text[:60]}`", f"give {self.legal}")
        return value


@dataclass(frozen=True)
class NullWord(Text):
    """A text that needs no quotes between delimiters."""

    legal = "letters, digits and `_\\<>()-`, or nothing"

    def parse(self, text: str) -> str:
        value = super().parse(text)
        if not _WORD.fullmatch(value):
            raise InvalidValueError(f"cannot be `{text[:60]}`", f"give {self.legal}")
        return value


def columns_option() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the option for the columns of tables, for files that do not contain their names."""
    doc = "The columns of tables in the order of the fields, for reading files without a header."
    return option(TableColumns(), (), doc, example="GG.TCUSTORD=CUST_CODE,PRODUCT,AMOUNT")
