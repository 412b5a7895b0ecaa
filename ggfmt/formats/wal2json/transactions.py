"""Rows of a query as records: parts of transactions in format 1 become whole, and records get the place of their row.

With `write-in-chunks`, a transaction is a start, `{"change":[`, a row for each change, all but the first with a comma
before it, and an end, `]}`. ggfmt makes a transaction of each change, with the members of the start.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw

from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.json.cut import WHITE
from ggfmt.formats.postgresql.query_rows import QueryRow, Records
from ggfmt.lazy import lazy_regex

BEGIN, COMMIT = b'{"action":"B"}', b'{"action":"C"}'
_START, _END = b'{"change":[', b"]}"
_CHANGE = lazy_regex(rb',|\{\s*"kind"\s*:')
_HELP = "its changes up to here were read; write the file again"
_CUT = Diagnostic("GG302", "the transaction has no end", help=_HELP)
_CUT_BEFORE = Diagnostic("GG302", "the transaction before has no end", help=_HELP)
# The first line of a file with parts of transactions
PARTS = lazy_regex(rb'[ \t]*(?:\{.*"change":[ ]?\[|,?\{"kind":.*\}|\]\})[ \t]*\r?(?:\n|\Z)')


class _Placed(msgspec.Struct):
    lsn: Raw = Raw(b"")
    nextlsn: Raw = Raw(b"")
    xid: Raw = Raw(b"")


_placed = msgspec.json.Decoder(_Placed).decode
_raw = msgspec.json.Decoder(Raw).decode


class TransactionAssembler(Records):
    """Makes records of the rows of a file, in order."""

    def __init__(self) -> None:
        self._start: bytes | None = None  # of the transaction that has no end yet

    @staticmethod
    def is_valid(data: bytes) -> bool:
        text = data.strip(WHITE)
        if _is_start(text):
            text += _END
        elif _CHANGE.match(text):
            text = text.removeprefix(b",")
        try:
            _raw(text)
        except (ValueError, RecursionError):
            return _is_end(text)
        return True

    def record(self, row: QueryRow) -> bytes | Diagnostic:
        text = row.data.strip(WHITE)
        if _is_start(text):
            is_cut, self._start = self._start is not None, _with_place(text + _END, row)[: -len(_END)]
            return _CUT_BEFORE if is_cut else BEGIN
        if _is_end(text):
            self._start = None
            return COMMIT
        if _CHANGE.match(text):
            start = _with_place(_START + _END, row)[: -len(_END)] if self._start is None else self._start
            return start + text.removeprefix(b",") + _END
        return _with_place(text, row)

    def end(self) -> Diagnostic | None:
        return None if self._start is None else _CUT


def _is_start(text: bytes) -> bool:
    return text.startswith(b"{") and text.endswith(b"[")


def _is_end(text: bytes) -> bool:
    return text.translate(None, WHITE) == _END


def _with_place(text: bytes, row: QueryRow) -> bytes:
    """Return a record with the position and the transaction of its row, if it does not have its own."""
    if row.lsn is None or row.xid is None:
        return text
    try:
        placed = _placed(text)
    except (ValueError, RecursionError):
        return text  # the reader finds that it is invalid
    own = b'"lsn":"%b",' % row.lsn if not placed.lsn and not placed.nextlsn else b""
    own += b'"xid":%b,' % row.xid if not placed.xid else b""
    rest = text[1:].lstrip(WHITE)
    return b"{" + (own.removesuffix(b",") if rest.startswith(b"}") else own) + rest
