"""Rows of a query as records: ggfmt makes a record as wal2json's format 2 has it of each text of test_decoding.

In a text, `'` in a value and `"` in a name are doubled, and nothing else is escaped: a line feed in a value can be
followed by what looks like another text. The quotes show where a text ends.
"""

from __future__ import annotations

from functools import lru_cache

from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.postgresql.query_rows import QueryRow, Records
from ggfmt.lazy import lazy_regex

_NAME = rb'(?:[a-z_][a-z0-9_]*|"[^"]*"(?:"[^"]*")*)'
_TABLE = lazy_regex(rb"(%b)\.(%b)" % (_NAME, _NAME))
_CHANGE = lazy_regex(rb"table (%b)\.(%b): (INSERT|UPDATE|DELETE):( old-key:| \(no-tuple-data\)\Z)?" % (_NAME, _NAME))
_TRUNCATE = lazy_regex(
    rb"table (%b\.%b(?:, %b\.%b)*): TRUNCATE: (?:\(no-flags\)|restart_seqs(?: cascade)?|cascade)" % ((_NAME,) * 4)
)
_CELL = lazy_regex(
    rb" (%b)\[((?:[^\[\]\"]|\"[^\"]*\"|\[\])+)\]:"
    rb"(?:(null|unchanged-toast-datum|true|false)|(B?)'([^']*(?:''[^']*)*)'|([-+.0-9A-Za-z]+))(?= |\Z)" % _NAME
)
_NEW = b" new-tuple:"
_TRANSACTION = lazy_regex(rb"(BEGIN|COMMIT)(?: ([0-9]{1,10}))?(?: \(at [^()\n]*\))?")
_PREPARED = lazy_regex(
    rb"(PREPARE TRANSACTION|COMMIT PREPARED|ROLLBACK PREPARED) ('[^']*(?:''[^']*)*')"
    rb"(?:, txid [0-9]+)?(?: \(at [^()\n]*\))?"
)
_MESSAGE = lazy_regex(rb"message: transactional: [01] prefix: [^\n]*?, sz: ([0-9]{1,10}) content:")
_ROW_IN_MESSAGE = lazy_regex(rb"\n(?:[0-9A-Fa-f]+/[0-9A-Fa-f]+[|\t][0-9]*[|\t])?(?:table |BEGIN|COMMIT|message: )")
# What a text consists of up to its line feed. A value that ends is followed by a blank.
_TEXT = lazy_regex(rb"""(?:[^'"\r\n]+|\r(?!\n)|"[^"]*"|'[^']*'(?:'[^']*')*(?=[ \r\n]|\Z))*""")
_NUMBER = lazy_regex(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?")
_NO_NUMBERS = (b"NaN", b"Infinity", b"-Infinity")
# How values are written, by type; all others are in quotes.
_STYLES = dict.fromkeys(b"smallint integer bigint oid real numeric".split(), b"number") | {
    b"double precision": b"number", b"boolean": b"word", b"bit": b"bits", b"bit varying": b"bits"
}  # fmt: skip
_ESCAPED = lazy_regex(rb'[\x00-\x1f"\\]')
_OPS = {b"INSERT": b"I", b"UPDATE": b"U", b"DELETE": b"D"}
_ACTIONS = {b"BEGIN": b"B", b"COMMIT": b"C", b"PREPARE TRANSACTION": b"PREPARE", b"COMMIT PREPARED": b"PREPARED"}

_HELP = "query the slot again, and write the rows with `psql -At`"
_INVALID = Diagnostic("GG301", "the text is not a record of test_decoding", help=_HELP)
_NO_ROW = Diagnostic("GG301", "a delete does not show its row", help="give the table a replica identity")
_BYTES = Diagnostic(
    "GG314", "a value of `bytea` is not hexadecimal", help="query the slot in a session with `SET bytea_output = hex`"
)
_ROWS_OR_CONTENT = Diagnostic("GG301", "the content of a message has lines that can be records", help=_HELP)
_ROLLED_BACK = Diagnostic(
    "GG302",
    "a prepared transaction is rolled back, whose changes were read",
    help="query a slot without two-phase commit: it has only what was committed",
)
_OPEN = "read the file again with the rows that follow; its changes up to here were read"
_CUT = Diagnostic("GG302", "the transaction has no end", help=_OPEN)
_CUT_BEFORE = Diagnostic("GG302", "the transaction before has no end", help=_OPEN)
_UNDECIDED = Diagnostic("GG302", "a prepared transaction has no end", help=_OPEN)


class TextRecords(Records):
    """Makes records of the texts of a file, in order."""

    def __init__(self) -> None:
        self._begun: bytes | None = None  # the id of the transaction that has no end yet
        self._prepared: set[bytes] = set()  # the names of transactions that are neither committed nor rolled back

    def is_valid(self, data: bytes) -> bool:
        if data.startswith((b"table ", b"message: ")):
            return not isinstance(_change(data), Diagnostic) if data[0] == 116 else _MESSAGE.match(data) is not None
        return (_TRANSACTION.fullmatch(data) or _PREPARED.fullmatch(data)) is not None

    def stop(self, data: bytes, start: int) -> int:
        message = _MESSAGE.match(data, start)
        if message is None:
            return _TEXT.match(data, start).end()  # type: ignore[union-attr]
        end = message.end() + int(message[1])
        line = data.find(b"\n", start)
        # PostgreSQL cuts the content at a zero byte, so that it can be shorter.
        return end if end >= len(data) or data[end : end + 1] in (b"\r", b"\n") or line < 0 else line

    def record(self, row: QueryRow) -> bytes | Diagnostic:
        text = row.data
        if text.startswith(b"table "):
            made = _change(text)
            return made if isinstance(made, Diagnostic) else b"{" + self._place(row) + made
        if text.startswith(b"message: "):
            message = _MESSAGE.match(text)
            if message is not None:
                return _ROWS_OR_CONTENT if _ROW_IN_MESSAGE.search(text) else b'{"action":"M"}'
        elif (found := _TRANSACTION.fullmatch(text)) is not None:
            is_cut, self._begun = self._begun is not None and found[1] == b"BEGIN", None
            if found[1] == b"BEGIN":
                self._begun = found[2] or b""
            return _CUT_BEFORE if is_cut else b'{"action":"%b"}' % _ACTIONS[found[1]]
        elif (found := _PREPARED.fullmatch(text)) is not None:
            self._begun = None
            is_known = found[2] in self._prepared
            self._prepared.discard(found[2])
            if found[1] == b"ROLLBACK PREPARED":
                return _ROLLED_BACK
            if found[1] == b"PREPARE TRANSACTION" and not is_known:
                self._prepared.add(found[2])
            return b'{"action":"%b"}' % _ACTIONS[found[1]]
        return _INVALID

    def end(self) -> Diagnostic | None:
        return _CUT if self._begun is not None else _UNDECIDED if self._prepared else None

    def _place(self, row: QueryRow) -> bytes:
        xid = row.xid or self._begun
        lsn = b'"lsn":"%b",' % row.lsn if row.lsn else b""
        return lsn + (b'"xid":%d,' % int(xid) if xid else b"")


def _change(text: bytes) -> bytes | Diagnostic:
    """Return the members of the record of a change, and the end of the object."""
    found = _CHANGE.match(text)
    if found is None:
        truncate = _TRUNCATE.fullmatch(text)
        if truncate is None:
            return _INVALID
        each = (b'{"kind":"truncate",%b}' % _table(*names.groups()) for names in _TABLE.finditer(truncate[1]))
        return b'"change":[%b]}' % b",".join(each)
    schema, table, op, note = found.groups()
    made, place = b'"action":"%b",%b' % (_OPS[op], _table(schema, table)), found.end()
    if note == b" old-key:" or op == b"DELETE":
        cells, place = _cells(text, place)
        if isinstance(cells, Diagnostic):
            return cells
        if not cells:
            return _NO_ROW
        made += b',"identity":[%b]' % cells
    if op != b"DELETE":
        if note and not text.startswith(_NEW, place):
            return _INVALID
        cells, place = _cells(text, place + len(_NEW) * bool(note))
        if isinstance(cells, Diagnostic):
            return cells
        made += b',"columns":[%b]' % cells
        if op == b"UPDATE" and not note:
            made += b',"pk":[]'  # the scanner knows it from an insert
    return made + b"}" if place == len(text) or note == b" (no-tuple-data)" else _INVALID


def _cells(text: bytes, place: int) -> tuple[bytes | Diagnostic, int]:
    """Return the columns from a place on as the cells of an image, and where they end."""
    cells = []
    while (found := _CELL.match(text, place)) is not None:
        name, type, word, bits, quoted, number = found.groups()
        place = found.end()
        if word == b"unchanged-toast-datum":
            continue
        if word is None or word != b"null":
            style = b"word" if word else b"number" if number else b"bits" if bits else b"quoted"
            if style != _STYLES.get(type, b"quoted"):
                return _INVALID, place
        if number is not None:
            value = number if _NUMBER.fullmatch(number) else b'"%b"' % number if number in _NO_NUMBERS else None
            if value is None:
                return _INVALID, place
        elif quoted is not None:
            if type == b"bytea":
                if not quoted.startswith(b"\\x"):
                    return _BYTES, place
                quoted = quoted[2:]
            value = _json(quoted.replace(b"''", b"'"))
        else:
            value = word
        cells.append(_head(name, type) + value + b"}")
    return b",".join(cells), place


@lru_cache(maxsize=4096)
def _head(name: bytes, type: bytes) -> bytes:
    return b'{"name":%b,"type":%b,"value":' % (_json(_unquoted(name)), _json(type))


@lru_cache(maxsize=4096)
def _table(schema: bytes, table: bytes) -> bytes:
    return b'"schema":%b,"table":%b' % (_json(_unquoted(schema)), _json(_unquoted(table)))


def _unquoted(name: bytes) -> bytes:
    return name[1:-1].replace(b'""', b'"') if name.startswith(b'"') else name


def _json(text: bytes) -> bytes:
    """Return a JSON string; bytes that are not UTF-8 stay, so that the reader refuses the record."""
    return b'"%b"' % _ESCAPED.sub(lambda found: b"\\u%04x" % ord(found[0]), text)
