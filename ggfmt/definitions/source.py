"""A definition file during parsing: its text, and the problems found in it."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.java.text import visible
from ggfmt.model.table import Column, TableDef, split_name

BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
NOT_CHARSETS = {"idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape"}  # Python's, not a file's
LINE_END = re.compile(r"\r\n|\r|\n")


def is_charset(name: str) -> bool:
    try:
        codec = codecs.lookup(name)
        b" ".decode(name)  # codecs from bytes to bytes, such as `hex`, raise LookupError here
    except UnicodeDecodeError:
        pass  # one byte is not enough for UTF-16
    except (LookupError, ValueError):
        return False
    return codec.name.replace("-", "_") not in NOT_CHARSETS


class DefinitionFile:
    """The text of a definition file, its `problems`, and `doubts` about its tables.

    A byte order mark decides the encoding; else it is UTF-8, cp1252 or latin-1, so that there is always a text.
    """

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.problems: list[Diagnostic] = []
        self.doubts: list[Diagnostic] = []
        self._data = data
        marked = [encoding for mark, encoding in BYTE_ORDER_MARKS if data.startswith(mark)]
        for encoding in (*marked, "utf-8", "cp1252", "latin-1"):
            try:
                self._take(data.decode(encoding), encoding)
                break
            except UnicodeDecodeError:
                continue
        self._marked = bool(marked) and self.encoding in marked

    def _take(self, text: str, encoding: str) -> None:
        self.text = text
        self.encoding = encoding
        self._starts = [0, *(match.end() for match in LINE_END.finditer(text))]
        self.lines = LINE_END.split(text)

    def decode(self, encoding: str) -> bool:
        """Decode by the encoding that the file names, unless it is marked; False, with a GG202, if bytes do not fit."""
        if self._marked:
            return True
        try:
            self._take(self._data.decode(encoding), encoding)
        except UnicodeDecodeError as error:
            line, column = self.place(len(self._data[: error.start].decode(self.encoding, "replace")))
            byte = self._data[error.start]
            self.problem(
                f"byte 0x{byte:02X} does not fit the file's encoding `{encoding}`",
                "correct the encoding in the file's first line",
                line=line,
                column=column,
            )
            return False
        return True

    def place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def problem(
        self,
        message: str,
        help: str | None = None,
        *,
        line: int | None = None,
        table: str | None = None,
        field: str | None = None,
        **column: Any,
    ) -> None:
        """Add a GG202 about this file. `line` adds the source line; `column` and `length` are those of a `Span`."""
        source = None if line is None else self.lines[line - 1]
        table, field = table and visible(table), field and visible(field)
        place = Span(self.path, line, source=source, table=table, field=field, **column)
        self.problems.append(Diagnostic("GG202", visible(message), place, help))

    def doubt(self, message: str, help: str, table: str) -> None:
        self.doubts.append(Diagnostic("GG202", visible(message), Span(self.path, table=visible(table)), help))

    def table(self, full_name: str, columns: Sequence[Column], line: int | None = None) -> TableDef | None:
        """Return the table definition; None, with a GG202, if its name or a column name is unusable."""
        column = None if line is None else 1
        before = len(self.problems)
        try:
            split_name(full_name)
            full_name.encode()
        except ValueError as error:
            reason = "holds half a surrogate pair" if isinstance(error, UnicodeEncodeError) else str(error)
            self.problem(f"the table name `{full_name}` {reason}", line=line, column=column)
            return None
        if not columns:
            self.problem("the table has no columns", line=line, column=column, table=full_name)
        seen: set[str] = set()
        for name in (column.name for column in columns):
            if not name or any("\ud800" <= char <= "\udfff" for char in name):
                reason = "holds half a surrogate pair" if name else "is empty"
                self.problem(f"the name of a column {reason}", line=line, column=column, table=full_name)
            elif name in seen:
                self.problem("the table has the column twice", line=line, column=column, table=full_name, field=name)
            seen.add(name)
        return TableDef(full_name, tuple(columns)) if len(self.problems) == before else None
