"""What the first rows of a file of CSV show: charset, delimiter, quotes, escapes and header."""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Sequence
from itertools import islice

from ggfmt.dataclasses import replace
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.csv import DELIMITERS
from ggfmt.formats.csv.cut import WIDE, CsvLayout, find_rows, has_values, is_value, recoded, with_quotes
from ggfmt.formats.json.cut import BOM
from ggfmt.formats.plain import AUTO, EXCEL, MYSQL, NO, PSQL, YES, PlainCsvOptions
from ggfmt.java.text import visible
from ggfmt.kernels.plain import LETTERS
from ggfmt.lazy import lazy_regex
from ggfmt.options.value_types import EVERY_TABLE, keys_of

_MAX_ROWS = 200
_MIN_ZEROS = 0.7  # the part of the high bytes of UTF-16 that are 0 in a text of mostly ASCII
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, WIDE[0]), (codecs.BOM_UTF16_BE, WIDE[1]))
# Not code page 1252: whole words outside of ASCII, bytes without a character, letters of DOS and Mac, a part in UTF-8.
_NOT_1252 = lazy_regex(
    rb"[\x80-\xff]{3}|[\0\x81\x8d\x8f\x90\x9d]|[a-z][\x82-\x84\x86-\x8c\x8e\x98\x9b\x9f]|\x9f[a-z]|\xc3[\x80-\xbf]"
)
_SEP = lazy_regex(rb"sep=([^\r\n\w\"' ])\r?\n", 0)
_NO_NAMES = frozenset({"null", "none", "na", "n/a", "nan", "-", "?", "\\n"})
_NULL, _WORD = "\\N", "NULL"
NAMES = {",": "a comma", ";": "a semicolon", "\t": "a TAB", "|": "`|`", "\x01": "the byte 1"}
_MIN_ALIKE = 0.5  # the part of the rows that have as many fields as the first


def find_charset(head: bytes) -> tuple[str, int] | None:
    """Return the charset that the first bytes of a text show, and the length of its mark; None for another one than
    UTF-8 and UTF-16."""
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):  # the first one starts with that of UTF-16
        return None
    for mark, charset in _MARKS:
        if head.startswith(mark):
            return charset, len(mark)
    pairs = head[: len(head) // 2 * 2][:256]
    for charset, (zeros, others) in zip(WIDE, ((pairs[1::2], pairs[::2]), (pairs[::2], pairs[1::2])), strict=True):
        if len(pairs) > 3 and zeros.count(0) > _MIN_ZEROS * len(zeros) > 2 * others.count(0):
            return charset, 0
    return ("utf-8", 0) if _is_utf8(head) else None


def _has_single_bytes(charset: str) -> bool:
    """Return whether a byte is a character, and an ASCII one is what it is in ASCII."""
    every = bytes(range(256))
    text = every.decode(charset, "replace")
    return len(text) == len(every) and text[:128] == every[:128].decode("ascii")


def _is_utf8(head: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)  # the head may end within a character
        return True
    except UnicodeDecodeError:
        return False


def is_western(text: bytes) -> bool:
    """Return whether a text of bytes that are not UTF-8 may be in code page 1252."""
    return _NOT_1252.search(text) is None


def find_layout(head: bytes, whole: bool, options: PlainCsvOptions) -> CsvLayout:
    """Return the layout of a file by its first bytes. What they leave open, and no option says, is its `problem`."""
    none = CsvLayout(False, (options.delimiter or ",").encode(), record_end=b"\n")
    found = find_charset(head)
    charset, mark = found or ("windows-1252" if options.preset == EXCEL else "", 0)
    if options.encoding and not mark:
        charset = options.encoding
    if not charset:
        help = "set `encoding=windows-1252`, or the charset of the file, with `--input-option`"
        if not is_western(head):
            help = (
                "set `encoding` to the charset of the file with `--input-option`, or convert it to UTF-8 with `iconv`"
            )
        return replace(none, charset="latin-1", problem=_problem("the file is not in UTF-8", help, "GG303"))
    try:
        charset = codecs.lookup(charset).name
        if charset not in (*WIDE, "utf-8") and not _has_single_bytes(charset):
            raise LookupError
    except LookupError:
        help = "for example `windows-1252`; convert other charsets to UTF-8, for example with `iconv`"
        return replace(none, charset="latin-1", problem=_problem(f"`encoding` cannot be `{charset}`", help))
    data = codecs.getincrementaldecoder(charset)("replace").decode(head[mark:]).encode() if charset != "utf-8" else head
    layout = _find(data, whole, options, none)
    if charset == "utf-8":
        return layout
    skipped = mark + len(recoded(data[: layout.skipped], "utf-8", charset))
    return replace(layout, charset=charset, skipped=skipped)


def _find(data: bytes, whole: bool, options: PlainCsvOptions, layout: CsvLayout) -> CsvLayout:
    """Return the layout of a file by its first bytes in UTF-8."""
    start = len(BOM) if data.startswith(BOM) else 0
    sep = _SEP.match(data, start)
    if sep is not None:
        layout = replace(layout, delimiter=options.delimiter.encode() or sep[1])
        start = sep.end()
    layout = replace(layout, skipped=start)
    if not data[start:].strip():
        return layout
    given = options.delimiter or (sep and sep[1].decode())
    if options.preset in (PSQL, MYSQL):
        layout = replace(layout, escapes=LETTERS, delimiter=(given or "\t").encode())
    layout = replace(layout, quote=_find_quote(data, layout, given, options))
    if not given and layout.escapes != LETTERS:
        widths = {mark: _widths(data, replace(layout, delimiter=mark.encode()), whole) for mark in DELIMITERS}
        found = _best(widths)
        if found is None:
            seen = [mark for mark in DELIMITERS if max(widths[mark], default=1) > 1]
            help = "set `delimiter` with `--input-option`; for a file of one column, to any character that it lacks"
            reason = f"it may be {' or '.join(NAMES[mark] for mark in seen)}" if seen else "the rows have one field"
            return replace(layout, problem=_problem(f"the first rows do not show the delimiter: {reason}", help))
        layout = replace(layout, delimiter=found.encode())
    return _with_names(data, _with_nulls(data, layout, whole, options), whole, options)


def _problem(message: str, help: str, code: str = "GG311") -> Diagnostic:
    return Diagnostic(code, message, help=help)


def first_rows(data: bytes, layout: CsvLayout, whole: bool) -> list[bytes]:
    """Return the first rows of a file, without blank lines."""
    spans, _ = find_rows(data, layout, not whole, layout.skipped)
    return [data[start:end] for start, end in islice(spans, _MAX_ROWS) if end > start]


def _widths(data: bytes, layout: CsvLayout, whole: bool) -> list[int]:
    return [len(with_quotes(row, layout)[1]) for row in first_rows(data, layout, whole)]


def _best(widths: dict[str, list[int]]) -> str | None:
    """Return the delimiter with which most rows have as many fields as the first one; None if several fit."""
    scores: Counter[str] = Counter()
    for mark, counts in widths.items():
        alike = sum(count == counts[0] for count in counts) / len(counts) if counts else 0
        if counts and counts[0] > 1 and alike > _MIN_ALIKE:
            scores[mark] = round(alike * 1000) * 10_000 + counts[0]
    ranked = scores.most_common(2)
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]


def _find_quote(data: bytes, layout: CsvLayout, delimiter: str | None, options: PlainCsvOptions) -> str:
    if options.quote != AUTO:
        return "" if options.quote == "none" else options.quote
    if options.preset == PSQL or (options.preset == MYSQL and (delimiter or "\t") == "\t"):
        return ""
    first = data[layout.skipped :].splitlines()[0]
    for mark in (delimiter or DELIMITERS).encode():
        fields = first.split(bytes([mark]))
        if len(fields) > 1 and any(len(field) > 1 and field[:1] == field[-1:] == b"'" for field in fields):
            return "'"
    return '"'


def _with_nulls(data: bytes, layout: CsvLayout, whole: bool, options: PlainCsvOptions) -> CsvLayout:
    """Return the layout with the text for NULL, and with the escapes that it shows."""
    given = None if options.null_literal == AUTO else options.null_literal
    null_help = "set `nullLiteral=NULL` with `--input-option`; for a text, set `nullLiteral=CDATA[]`"
    unclear = replace(layout, problem=_problem("a field is `NULL` without quotes: it may be NULL or a text", null_help))
    rows = [with_quotes(row, layout) for row in first_rows(data, layout, whole)]
    plain = {text for quotes, texts in rows for quoted, text in zip(quotes, texts, strict=True) if not quoted}
    if layout.escapes == LETTERS:
        is_word = given is None and _WORD in plain and _NULL not in plain
        return unclear if is_word else replace(layout, null=_NULL if given is None else given)
    is_tab, has_quotes = layout.delimiter == b"\t", any(any(quotes) for quotes, _ in rows)
    if options.preset == AUTO and given in (None, _NULL) and _NULL in plain:
        quoted = [text for quotes, texts in rows for is_quoted, text in zip(quotes, texts, strict=True) if is_quoted]
        if any(layout.quote in text for text in quoted) and not any("\\" in text for text in quoted):
            return replace(layout, null=_NULL)  # quotes are doubled, and so backslashes do not escape
        if is_tab and has_quotes:
            help = "set `preset=psql` or `preset=mysql` if backslashes escape, or else `nullLiteral` and `preset=excel`"
            return replace(layout, problem=_problem("the file has `\\N`, and quotes around fields", help))
        return replace(layout, escapes=LETTERS, null=_NULL, quote="" if is_tab else layout.quote)
    if options.preset == AUTO and given is None and is_tab and any("\\" in text for text in plain):
        ways = ["`preset=psql` or `preset=mysql` if backslashes escape", "`preset=excel` if they are a part of values"]
        help = f"set {' or '.join(ways[::-1] if has_quotes else ways)}"
        return replace(layout, problem=_problem("a field has a backslash, which may be an escape", help))
    if given is None and _WORD in plain:
        return unclear
    return replace(layout, null=given or "")


def _with_names(data: bytes, layout: CsvLayout, whole: bool, options: PlainCsvOptions) -> CsvLayout:
    rows, _ = find_rows(data, layout, not whole, layout.skipped)
    if layout.problem is not None or not rows:
        return layout
    header = data[slice(*rows[0])]
    names = with_quotes(header, layout)[1]
    has_header = (
        options.header if options.header != AUTO else _header(header, first_rows(data, layout, whole), layout, options)
    )
    if has_header is None:
        help = "set `header=true` or `header=false` with `--input-option`"
        return replace(layout, problem=_problem("the first row may have names, or values", help))
    special = [name for name in (options.op_column, options.op_ts_column, options.position_column) if name]
    if has_header == NO:
        given = {name for _, columns in options.columns for name in columns}
        lost = next((name for name in special if name not in given), None)
        help = f"give the names of all fields with `columns`: `{EVERY_TABLE}={lost},...`"
        return layout if lost is None else replace(layout, problem=_problem(f"no header names `{visible(lost)}`", help))
    skipped = rows[1][0] if len(rows) > 1 else len(data)
    if keys_of(EVERY_TABLE, options.columns) or options.columns:
        return replace(layout, skipped=skipped)
    shown = ", ".join(f"`{visible(name[:40])}`" for name in names[:20])
    problem = None
    repeated = next((name for name, count in Counter(names).items() if count > 1 or not name), None)
    lost = next((name for name in special if name not in names), None)
    if repeated is not None:
        what = f"names `{visible(repeated[:40])}` twice" if repeated else "has a field without a name"
        problem = _problem(f"the header {what}", f"give all names with `columns`: `{EVERY_TABLE}=A,B,...`")
    elif lost is not None:
        problem = _problem(f"the header does not name `{visible(lost)}`", f"the names are {shown}")
    elif len(set(special)) < len(special):
        problem = _problem("two options name one column", "give the operation, its time and its position own columns")
    return replace(layout, names=tuple(names), skipped=skipped, problem=problem)


def _header(header: bytes, rows: Sequence[bytes], layout: CsvLayout, options: PlainCsvOptions) -> str | None:
    """Return whether the first row has names; None if its fields may be names and values."""
    following = rows[1] if len(rows) > 1 else b""
    names = with_quotes(header, layout)[1]
    if has_values(header, following, layout, layout.null or None):
        return NO
    keys = {name for _, columns in options.primary_keys for name in columns}
    given = {options.op_column, options.op_ts_column, options.position_column, *keys} - {""}
    if any(name in given for name in names) or any(columns == tuple(names) for _, columns in options.columns):
        return YES
    if not _NO_NAMES.isdisjoint(map(str.casefold, names)):
        return None
    columns = list(zip(*(with_quotes(row, layout)[1][: len(names)] for row in rows[1:]), strict=False))
    if any(any(column) and all(is_value(text) for text in column if text) for column in columns):
        return YES
    return None


def note(layout: CsvLayout, options: PlainCsvOptions) -> str:
    """Return what the first rows have shown, as a sentence."""
    mark = layout.delimiter.decode()
    parts = [f"{NAMES.get(mark, f'`{visible(mark)}`')} between fields"]
    first = ", ".join(f"`{visible(name[:40])}`" for name in (layout.names or ())[:3])
    parts += [f"a header ({first}{', ...' * (len(layout.names or ()) > 3)})" if first else "no header"]
    parts += ["letters after backslashes"] * (layout.escapes == LETTERS)
    parts += [f"`{layout.null}` for NULL"] * bool(layout.null)
    parts += [layout.charset.upper()] * (layout.charset != "utf-8")
    rows = f"operations in `{visible(options.op_column)}`" if options.op_column else "each row is an insert"
    return f"CSV with {', '.join(parts)}; {rows}; columns are texts unless `--definitions` has their types"
