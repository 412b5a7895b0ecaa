"""The start and the end of JSON records: one rule for every place of a file, however the file is split.

A record starts at the next byte that is neither white space nor a delimiter. A byte order mark between records, as in
joined files, counts as white space. A record ends with the JSON value that starts there. Some errors inside strings and
numbers do not change where the value ends: halves of surrogate pairs, `NaN`, and, if line ends have no meaning, control
characters. If no value ends, the record is damaged:

* In a file of lines, if the error is in the first line of the record, the record ends with that line. If the line is
  the start of a value, and the error is in a later line or the file ends first, the record ends before the next line
  that starts with a brace. So a record that a crash truncated does not hide the records after it, and an object inside
  a damaged, indented record does not become a record.
* In all other files the record ends before the next line that starts with a brace.
* A value that is nested too deeply for decoders ends with its last bracket if this is in the same line; otherwise it is
  damaged.

The time is linear in the data: a decoder finds an error at its place, and decodes a record once to find its end.
"""

from __future__ import annotations

import msgspec

from ggfmt.formats.api.reading import Layout, Spans
from ggfmt.lazy import lazy_regex

WHITE = b" \t\r\n"
BOM = b"\xef\xbb\xbf"

_decode = msgspec.json.Decoder(msgspec.Raw).decode
_PLACE = lazy_regex(r"\(byte (\d+)\)")
_TRAILING = "trailing characters"
_SPACED = bytes(0x20 if code < 0x20 else code for code in range(256))
_BRACKETS_OR_QUOTE = lazy_regex(rb'[\[{]+|[\]}]+|"')
_QUOTE_OR_ESCAPE = lazy_regex(rb'["\\]')
_NOT_WHITE = lazy_regex(rb"[^ \t\r\n]")
_NOT_WHITE_NOR_BRACKET = lazy_regex(rb"[^ \t\r\n\[\]]")
_START_OF_LINE = lazy_regex(rb"\n(?=(?:\xef\xbb\xbf)?\{)")
# A word or an escape that the end of the data cuts causes an error at most this many bytes before the end.
_MAX_CUT = 16


def is_value(data: bytes, start: int, end: int) -> bool:
    """Return whether a range contains one JSON value, and otherwise only white space."""
    try:
        _decode(memoryview(data)[start:end])
    except (ValueError, RecursionError):
        return False
    return True


def find_value(view: memoryview, place: int, stop: int) -> tuple[int | None, int | None]:
    """Return the end of the value at a place; or None and the place of the error. The place is None if the data end
    too early. An error at the place itself may mean that the value is nested too deeply."""
    try:
        _decode(view[place:stop])
    except RecursionError:
        return None, place
    except ValueError as error:
        reason = str(error)
        found = _PLACE.search(reason)
        if found is None:
            return None, None
        at = place + int(found[1])
        if _TRAILING not in reason:
            return None, at
        stop = at - 1  # the decoder counts the trailing characters from one
    return place + len(bytes(view[place:stop]).rstrip(WHITE)), None


class RecordBoundaries:
    """The records of data that start at the start of a record; `more`: other bytes follow. `spans`: starts and ends of
    all records whose end is certain. `stop`: the start of the first other record; without one, the end of the data.
    `long`: the record at `stop` exceeds the layout's limit. `open`: this record has no error so far."""

    def __init__(self, data: bytes, layout: Layout, more: bool) -> None:
        self.spans = Spans()
        self.open = False
        self._data = data
        self._view = memoryview(data)
        self._lines = layout.splittable
        self._delimiter = layout.delimiter
        self._limit = layout.max_record
        self._start = _NOT_WHITE_NOR_BRACKET if layout.array else _NOT_WHITE
        self._more = more
        self._lenient: memoryview | None = None
        self._margin = max(_MAX_CUT, len(layout.delimiter))
        self.stop = self._run()
        self.long = len(data) - self.stop > self._limit

    def _run(self) -> int:
        size = len(self._data)
        place = self._next(0)
        while place < size and not self._may_be_delimiter(place):
            end = self._end_in_line(place) or self._end(place)
            if end is None or end - place > self._limit:
                return place
            self.spans.add(place, end)
            place = self._next(end)
        return min(place, size)

    def _may_be_delimiter(self, place: int) -> bool:
        """Return whether the data end with a possible start of a delimiter or a byte order mark."""
        left = len(self._data) - place
        between = (text for text in (self._delimiter, BOM) if left < len(text))
        return self._more and any(text.startswith(self._data[place:]) for text in between)

    def _next(self, place: int) -> int:
        """Return the next place that is neither white space, byte order mark nor delimiter."""
        while (found := self._start.search(self._data, place)) is not None:
            place = found.start()
            if self._data.startswith(BOM, place):
                place += len(BOM)
                continue
            if not self._delimiter or not self._data.startswith(self._delimiter, place):
                return place
            place += len(self._delimiter)
        return len(self._data)

    def _end_in_line(self, place: int) -> int | None:
        """Return the end of a record that fills the rest of its line, as most records do; else None."""
        line = self._data.find(b"\n", place, place + self._limit) if self._lines else -1
        if line < 0:
            return None
        if not is_value(self._data, place, line):
            return None
        return place + len(self._data[place:line].rstrip(WHITE))

    def _end(self, place: int) -> int | None:
        """Return the end of the record at a place; None if more data may change it, or if it exceeds the limit."""
        stop = min(len(self._data), place + self._limit + 1)
        end, mistake = find_value(self._view, place, stop)
        bracket = self._data[place] in b"[{"
        if end is None and mistake is not None and not (bracket and mistake == place):
            if self._lenient is None:
                self._lenient = memoryview(_lenient(self._data, self._lines))
            end, mistake = find_value(self._lenient, place, stop)
        if end is None and bracket and mistake == place:
            end, mistake = self._deep(place, stop)
        goes_on = self._more or stop < len(self._data)
        if end is not None:
            # More may follow a word or a number at the end of the data.
            return None if goes_on and end == stop and self._data[end - 1] not in b'}]"' else end
        if goes_on and (mistake is None or mistake >= stop - self._margin):
            self.open = True
            return None
        return self._damaged(place, stop if mistake is None else mistake)

    def _deep(self, place: int, stop: int) -> tuple[int | None, int | None]:
        """Find the end as `find_value`, of a value that is nested too deeply: count its brackets, in its line."""
        line = self._data.find(b"\n", place, stop)
        last = stop if line < 0 else line
        closes = any(self._data.find(bracket, place, last) >= 0 for bracket in (b"]", b"}"))
        end = Nesting().end(self._data, place, last) if closes else None
        if end is not None or line < 0:
            return end, None
        return None, line + 1  # no record that ends in this line contains the error

    def _damaged(self, place: int, mistake: int) -> int | None:
        line = self._data.find(b"\n", place)
        if self._lines and line >= 0 and mistake <= line:
            return line
        following = _START_OF_LINE.search(self._data, place)
        if following is None:
            return None if self._more else max(place + 1, len(self._data.rstrip(WHITE)))
        return following.start()


class Nesting:
    """Finder of the last bracket of a value, by counting brackets over pieces of data."""

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._escaped = False

    def end(self, data: bytes, start: int, stop: int) -> int | None:
        """Return the end of the value in the next piece; None if the value does not end there."""
        place = start + self._escaped
        self._escaped = False
        while place < stop:
            token = (_QUOTE_OR_ESCAPE if self._in_string else _BRACKETS_OR_QUOTE).search(data, place, stop)
            if token is None:
                return None
            place = token.end()
            kind = data[place - 1]
            if kind in b"[{":
                self._depth += place - token.start()
            elif kind in b"]}":
                if self._depth <= place - token.start():
                    return token.start() + self._depth
                self._depth -= place - token.start()
            elif kind == ord('"'):
                self._in_string = not self._in_string
            else:
                place += 1
        self._escaped = place > stop
        return None


def _lenient(data: bytes, lines: bool) -> bytes:
    """Replace errors inside strings and numbers by valid text of the same length."""
    data = data.replace(b"\\u", b"\\b").replace(b"NaN", b"100").replace(b"Infinity", b"10000000")
    return data if lines else data.translate(_SPACED)
