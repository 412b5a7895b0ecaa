"""Files that people hand to ggfmt, and that hold no changes, or changes in a form that it does not read."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress

from ggfmt.formats.json.files import UnsupportedMessages

_CAPTURE = "capture the changes with Debezium, Maxwell or another system that `ggfmt formats` lists"
_ROWS = "changes have operations, in a form that `ggfmt formats` lists; to compare rows, use `ggfmt compare`"
_NO_CHANGES = "name only files with changes in a format that `ggfmt formats` lists"
_CONSOLE = "dump the topic again without `print.headers=true`, or with `kcat -J`"
_DEFINE = "pass it with `--definitions`, and name the files with changes as input"
_UTF_8 = "convert it to UTF-8, for example with `iconv -f %s -t UTF-8`"


def _looks(*rows: tuple[bytes, str, str]) -> tuple[tuple[re.Pattern[bytes], UnsupportedMessages], ...]:
    flags = re.DOTALL | re.IGNORECASE
    return tuple((re.compile(look, flags), UnsupportedMessages(what, help)) for look, what, help in rows)


# What the first bytes look like; the first that fits counts. The names of other tools are those of their own pages.
_BINARY = _looks(
    (rb"\xff\xfe|\xfe\xff|(?:[^\0]\0){8}|(?:\0[^\0]){8}", "a text in UTF-16", _UTF_8 % "UTF-16"),
    (rb"PGCOPY\n\xff\r\n", "a binary COPY file of PostgreSQL", _ROWS),
    (rb"PGDMP", "an archive of pg_dump", "make SQL of it with `pg_restore -f -`; its rows have no operations"),
    (rb"\xfebin", "a binary log of MySQL", "read the log with Maxwell, Debezium or Canal"),
    (rb"ARROW1\0\0|FEA1", "an Arrow or Feather file", _ROWS),
    (rb"\xff\xd8\xff|\x89PNG|GIF8", "an image", _NO_CHANGES),
    (rb"%PDF-", "a PDF document", _NO_CHANGES),
    (rb"-----BEGIN PGP|\x8c\x0d\x04", "an encrypted file", "decrypt it first"),
)
_TEXTS = _looks(
    (rb"\s*<!doctype html|\s*<(?:html\b|table (?:border|class))", "an HTML page", _NO_CHANGES),
    (rb"\s*<[?!\w]", "an XML document without changes", _NO_CHANGES),
    (rb"\*\+- Defgen version|Definition for table ", "a file with table definitions", _DEFINE),
    (rb"(?:.*\n)?\s*create\s[^;('\"]*?\btable\b|(?:.*\n)?\s*insert\s+into\s", "a SQL script", _DEFINE),
    (rb"\*{20,}\s.*Oracle GoldenGate ", "a report of GoldenGate", _NO_CHANGES),
    (rb"BEGIN \d+\n|(?:.*\n)?.*\btable \S+: (?:INSERT|UPDATE|DELETE): ", "output of test_decoding", _CAPTURE),
    (rb'\{"action" ?: ?"[BIUDCTM]"', "output of wal2json", _CAPTURE),
    (rb"[^\n]*(?:aws:dynamodb|\"dynamodb\" ?: ?\{)", "a stream of DynamoDB", _CAPTURE),
    (rb'\s*\{"type" ?: ?"(?:SCHEMA|RECORD|STATE)"', "output of a Singer tap", _CAPTURE),
    (rb"[^\n]*_change_type\b", "a change data feed of Delta", _CAPTURE),
    (rb"[^\n]*METADATA\$ACTION", "a stream of Snowflake", _CAPTURE),
    (rb"[^\n]*\bSQL_REDO\b", "output of LogMiner", _CAPTURE),
    (rb"(?:Key format|Value format|Format|rowtime):", "output of PRINT in ksqlDB", "dump the topic with `kcat -J`"),
    (rb"(?:Struct)?\{\w+=", "text of a Java map", "set `value.converter` to JsonConverter in the connector"),
    (rb"(?:\w+:[^\t\n]*\t)*(?:NO_HEADERS|[\w.-]+:[^\t\n{]*)\t(?=[^\n]*\{)", "a dump with headers", _CONSOLE),
    (rb'\s*"(?:\{|\[)\\?', "JSON in a JSON text", "unpack it, for example with `jq -r .`"),
    (rb"\s*\{\s*\}|\s*null\s*\Z", "JSON without a record", _NO_CHANGES),
    (rb"\s*[\[{]\s*[{\"]", "JSON of no system that ggfmt knows", _ROWS),
)
_DELIMITERS = (b",", b";", b"\t", b"|")


def identify_foreign(head: bytes) -> UnsupportedMessages | None:
    """Return what a file with such first bytes probably is, if it fits no format; None if it may be anything."""
    return _look_at(head, _BINARY) or _other_charset(head) or _look_at(head, _TEXTS) or _table(head)


def _look_at(
    head: bytes, looks: tuple[tuple[re.Pattern[bytes], UnsupportedMessages], ...]
) -> UnsupportedMessages | None:
    return next((known for look, known in looks if look.match(head)), None)


def _other_charset(head: bytes) -> UnsupportedMessages | None:
    text = head[: head.rfind(b"\n") + 1] or head  # the head may end within a character
    try:
        text.decode()
        return None
    except UnicodeDecodeError:
        if re.search(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]", text):
            return UnsupportedMessages("a binary file", _NO_CHANGES)
    with suppress(UnicodeDecodeError):
        if re.search("[\u4e00-\u9fff]{2}", text.decode("gbk")):
            return UnsupportedMessages("a text in GBK", _UTF_8 % "GBK")
    return UnsupportedMessages("a text that is not in UTF-8", _UTF_8 % "WINDOWS-1252")


def _table(head: bytes) -> UnsupportedMessages | None:
    lines = [line for line in head.splitlines()[:20] if line]
    counts = (Counter(line.count(delimiter) for line in lines) for delimiter in _DELIMITERS)
    if len(lines) > 1 and any(not count[0] and count.most_common(1)[0][1] * 2 > len(lines) for count in counts):
        return UnsupportedMessages("a table of rows", _ROWS)
    return None
