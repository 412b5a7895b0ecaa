"""A terminal as far as ggfmt's progress bar uses one: text, a cursor, and windows that change their width."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\x1b\[([0-9?]*)([A-Za-z])|(.)", re.DOTALL)


class Screen:
    """The rows of a terminal.

    `reflows`: a narrower window breaks rows into several, as tmux does; otherwise it cuts them off, as xterm does.
    """

    def __init__(self, columns: int, *, reflows: bool) -> None:
        self.columns, self.reflows = columns, reflows
        self._rows = [""]
        self._broken = [False]  # whether a row goes on in the next one
        self._row = self._column = 0
        self._wraps = True

    def feed(self, shown: str) -> None:
        for token in _TOKEN.finditer(shown):
            number, command, character = token.groups()
            if command is None:
                self._put(character)
            elif command in "JK":
                self._rows[self._row] = self._rows[self._row][: self._column]
                self._broken[self._row] = False
                if command == "J":
                    del self._rows[self._row + 1 :], self._broken[self._row + 1 :]
            elif command == "C":
                self._column = min(self._column + 1, self.columns - 1)
            elif (number, command) in (("?7", "l"), ("?7", "h")):
                self._wraps = command == "h"
            else:
                assert command == "m", f"a sequence that the screen does not know: {token[0]!r}"

    def resize(self, columns: int) -> None:
        self.columns = columns
        if not self.reflows:
            self._rows = [row[:columns] for row in self._rows]
            self._column = min(self._column, columns - 1)
            return
        rows, broken, place = list[str](), list[bool](), (0, 0)
        line, offset = "", None
        for number, (row, goes_on) in enumerate(zip(self._rows, self._broken, strict=True)):
            if number == self._row:
                offset = len(line) + self._column
            line += row
            if goes_on:
                continue
            if offset is not None:
                place = (len(rows) + offset // columns, offset % columns)
            parts = [line[start : start + columns] for start in range(0, len(line), columns)] or [""]
            rows += parts
            broken += [True] * (len(parts) - 1) + [False]
            line, offset = "", None
        self._rows, self._broken, (self._row, self._column) = rows, broken, place
        while len(self._rows) <= self._row:
            self._new_row()

    def rows(self) -> list[str]:
        """Return the rows, without empty ones at the end."""
        return "\n".join(row.rstrip() for row in self._rows).rstrip("\n").split("\n")

    def _put(self, character: str) -> None:
        if character == "\r":
            self._column = 0
        elif character == "\n":
            self._row += 1
            if self._row == len(self._rows):
                self._new_row()
        else:
            if self._column >= self.columns:
                if self._wraps:
                    self._broken[self._row] = True
                    self._row, self._column = self._row + 1, 0
                    if self._row == len(self._rows):
                        self._new_row()
                else:
                    self._column = self.columns - 1
            row = self._rows[self._row].ljust(self._column)
            self._rows[self._row] = row[: self._column] + character + row[self._column + 1 :]
            self._column += 1

    def _new_row(self) -> None:
        self._rows.append("")
        self._broken.append(False)
