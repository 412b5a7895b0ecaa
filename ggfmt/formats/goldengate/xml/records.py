"""The records of XML files, found and parsed: one `operation` element each.

A file is a sequence of documents, with or without prologs. Its charset comes from the byte order mark, the first
prolog, or the options of the handler that wrote it. Markup alone decides where a document ends: end tags count only
outside of CDATA sections, comments and processing instructions. All documents of a chunk are parsed at once; if there
are as many elements as end tags, each end tag ends an element. Otherwise they are cut and parsed one by one.

Prologs are cut off, and only elements are parsed: a document type declaration is a syntax error, so that no entity is
expanded and nothing is fetched.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, BinaryIO, NamedTuple

from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.reading import HEAD_OF_LONG, Chunk, Layout, Unroutable, record_size_error
from ggfmt.java.charsets import can_decode, codec_of
from ggfmt.java.text import InvalidValueError
from ggfmt.kernels.primitives import occurrences
from ggfmt.lazy import lazy_regex
from ggfmt.options.value_types import Charset

CHUNK_BYTES = 1 << 20
_UNCLOSED_BYTES = 16 << 20  # a longer section counts as not opened

_MARKS = {
    codecs.BOM_UTF8: "UTF-8",
    codecs.BOM_UTF32_LE: "UTF-32LE",
    codecs.BOM_UTF32_BE: "UTF-32BE",
    codecs.BOM_UTF16_LE: "UTF-16LE",
    codecs.BOM_UTF16_BE: "UTF-16BE",
}
_WIDE = ("UTF-32LE", "UTF-32BE", "UTF-16LE", "UTF-16BE")
_DECLARED = lazy_regex(r"""\s*<\?xml\s[^>]*?encoding\s*=\s*["']([^"']*)["']""")
_PLAIN_PROLOG = lazy_regex(rb"[ \t\r\n]*(<\?xml[^<>]*\?>)")
_NAMED = lazy_regex(rb"""<operation\s[^<>]*?\btable\s*=\s*["']([^<>"'&]+)["']""")
_LONGEST_END_TAG = 64
_LONGEST_TAG = 4096
_REASON_CHARACTERS = 120


@dataclass(frozen=True)
class XmlLayout(Layout):
    """`charset` is Java's name of the charset, `mark` the length of the byte order mark in bytes."""

    charset: str = "UTF-8"
    mark: int = 0


class XmlRecord(NamedTuple):
    """A record of a chunk: its place in the data, and its element or the reason why it has none."""

    start: int
    end: int
    content: Any


def find_layout(head: bytes, charset: str) -> XmlLayout:
    """Return the layout of a file that starts with `head`. `charset` applies if the file does not declare one."""
    for mark, marked in _MARKS.items():
        if head.startswith(mark):
            return XmlLayout(False, charset=marked, mark=len(mark))
    for wide in _WIDE:
        if any(head.startswith(character.encode(codec_of(wide))) for character in "<\n\r\t "):
            return XmlLayout(False, charset=wide)
    declared = _declared_charset(head[:_LONGEST_TAG].decode("latin-1"))
    if declared is None or (declared and markup_of(declared).width > 1):
        return XmlLayout(False, charset=charset)
    return XmlLayout(False, charset=declared or "ISO-8859-1")


def _declared_charset(prolog: str) -> str | None:
    """Return the charset that a prolog declares, empty for an unknown one; None without a prolog."""
    match = _DECLARED.match(prolog)
    if match is None:
        return None
    try:
        return Charset().parse(match[1])
    except InvalidValueError:
        return ""


_TAG = lazy_regex(r"""<(?:[^>"']|"[^"]*"|'[^']*')*""")  # a value may have the character that ends a tag


def sniff(head: bytes) -> str | None:
    layout = find_layout(head, "UTF-8")
    data, markup = head[layout.mark :], markup_of(layout.charset)
    start = markup.start_of_element(data, 0)
    if start is None:
        return None
    tag = _TAG.match(markup.text(data[start : start + _LONGEST_TAG * markup.width]))
    if tag is not None and re.search(r"\stable\s*=", tag[0]) and re.search(r"\stype\s*=", tag[0]):
        return "the first element is an `operation` with `table` and `type`"
    return None


class Markup:
    """The markup that separates records, as bytes of a charset. Places are multiples of `width`."""

    def __init__(self, charset: str) -> None:
        self.charset = charset
        codec = self.codec = codec_of(charset)

        def literal(text: str) -> bytes:
            return re.escape(text.encode(codec))

        self.width = len("<".encode(codec))
        white = b"(?:%s)" % b"|".join(map(literal, " \t\r\n"))
        mark = re.escape("\ufeff".encode(codec, "ignore")) or literal(" ")
        between = b"(?:%s|%s)" % (white, mark)  # joined files have byte order marks between records
        anything = b"(?:.{%d})*?" % self.width
        instruction = literal("<?") + anything + literal("?>")
        comment = literal("<!--") + anything + literal("-->")
        start = literal("<operation") + b"(?=%s|%s|%s)" % (white, literal(">"), literal("/"))
        end = literal("</operation") + white + b"*" + literal(">")
        prolog = b"(?:%s|%s|%s)*" % (between, instruction, comment)
        openings = (end, literal("<![CDATA["), literal("<!--"), literal("<?"))

        def compiled(pattern: bytes) -> re.Pattern[bytes]:
            return re.compile(pattern, re.DOTALL)

        self.white = compiled(between + b"*")
        self.prolog = compiled(prolog)
        self.start = compiled(start)
        self.end = compiled(end)
        self.opening = compiled(b"|".join(b"(%s)" % opening for opening in openings))
        self.restart = compiled(literal("\n") + b"(?=%s*(?:%s|%s))" % (between, literal("<?xml"), start))
        self.closings = {number: text.encode(codec) for number, text in ((2, "]]>"), (3, "-->"), (4, "?>"))}
        self.start_tag, self.end_tag, self.section, self.comment, self.question, self.declaration = (
            text.encode(codec) for text in ("<operation", "</operation", "<![CDATA[", "<!--", "<?", "<?xml")
        )

    def text(self, data: bytes) -> str:
        """Return the data as text in which only ASCII characters are reliable."""
        return data.decode("latin-1" if self.width == 1 else self.codec, "replace")

    def search(self, pattern: re.Pattern[bytes], data: bytes, start: int) -> re.Match[bytes] | None:
        match = pattern.search(data, start)
        while match is not None and match.start() % self.width:
            match = pattern.search(data, match.start() + 1)
        return match

    def find(self, text: bytes, data: bytes, start: int, end: int) -> int:
        at = data.find(text, start, end)
        while at % self.width and at >= 0:
            at = data.find(text, at + 1, end)
        return at

    def rfind(self, text: bytes, data: bytes, start: int, end: int) -> int:
        at = data.rfind(text, start, end)
        while at % self.width and at >= 0:
            at = data.rfind(text, start, at + len(text) - 1)
        return at

    def start_of_element(self, data: bytes, start: int) -> int | None:
        """Return where an `operation` element starts, if only white space and prologs precede it."""
        prolog = self.prolog.match(data, start)
        assert prolog is not None
        return prolog.end() if self.start.match(data, prolog.end()) else None

    def end_of_white(self, data: bytes, start: int) -> int:
        white = self.white.match(data, start)
        assert white is not None
        return white.end()

    def end_of_record(self, data: bytes, start: int) -> int | None:
        """Return where the record at `start` ends, by its first end tag outside of text; None if it does not end."""
        position = start
        while (match := self.search(self.opening, data, position)) is not None:
            closing = self.closings.get(match.lastindex or 0)
            if closing is None:
                return match.end()
            position = self.find(closing, data, match.end(), len(data))
            if position < 0:
                return None
            position += len(closing)
        return None

    def last_end(self, data: bytes, known: int) -> int:
        """Return the end of the last complete record of `data`, or 0. No record ends before `known`."""
        questions = occurrences(data, self.question)
        if occurrences(data, self.comment) or (questions and questions != occurrences(data, self.declaration)):
            last, end = 0, self.end_of_record(data, 0)
            while end is not None:
                last, end = end, self.end_of_record(data, end)
            if last or len(data) < _UNCLOSED_BYTES:
                return last
        since, at = max(0, known - _LONGEST_END_TAG * self.width), len(data)
        while (at := self.rfind(self.end_tag, data, since, at)) >= 0:
            match = self.end.match(data, at)
            section = self.rfind(self.section, data, 0, at)
            if match and (section < 0 or self.find(self.closings[2], data, section, at) >= 0):
                return match.end()
        return 0


markup_of = lru_cache(maxsize=16)(Markup)


def chunks(stream: BinaryIO, file: str, layout: Layout) -> Iterator[Chunk]:
    """Yield the records of a file, about `CHUNK_BYTES` at a time."""
    assert isinstance(layout, XmlLayout)
    markup = markup_of(layout.charset)
    offset, left, more = len(stream.read(layout.mark)), b"", True
    limit = layout.max_record
    while more:
        block = stream.read(max(min(CHUNK_BYTES, limit), min(len(left), limit + 1 - len(left))))
        more = bool(block)
        data = left + block
        cut = markup.last_end(data, len(left)) if more else len(data)
        if cut:
            yield Chunk(file, offset, data[:cut], layout, last=not more)
        left, offset = data[cut:], offset + cut
        if more and len(left) > limit:
            white = markup.end_of_white(left, 0)
            left, offset = left[white:], offset + white
        if more and len(left) > limit:
            size, rest = _pass_over(left, stream, markup, limit)
            head = left[: min(HEAD_OF_LONG, limit)]
            yield Chunk(file, offset, head, layout, ((0, len(head)),), problem=record_size_error(size, limit))
            left, offset = rest, offset + size


def _pass_over(data: bytes, stream: BinaryIO, markup: Markup, limit: int) -> tuple[int, bytes]:
    """Return the size of a too long record, which ends with the next end tag, and the bytes that were read after it."""
    size, start = 0, limit - limit % markup.width
    while (end := markup.search(markup.end, data, start)) is None:
        passed = max(0, len(data) - _LONGEST_END_TAG * markup.width)
        passed -= passed % markup.width
        block = stream.read(CHUNK_BYTES)
        if not block:
            return size + len(data), b""
        data, size, start = data[passed:] + block, size + passed, max(0, start - passed)
    return size + end.end(), data[end.end() :]


def records(chunk: Chunk, start: int = 0) -> list[XmlRecord]:
    """Yield the records of a chunk from a place between records on, damaged ones included."""
    assert isinstance(chunk.layout, XmlLayout)
    markup = markup_of(chunk.layout.charset)
    whole = _all_at_once(chunk.data, start, chunk.layout, markup)
    return whole if whole is not None else list(_one_by_one(chunk.data, start, chunk.layout, markup))


def named_records(chunk: Chunk) -> Iterator[tuple[int, bytes | None]]:
    """Yield the start of each record of a chunk, and the text of its `table` as written, empty without one; None for a
    damaged record.

    Elements are only searched for their tags. If one may be damaged or has other markup in it, all are parsed. Raises:
    Unroutable if the charset has characters of several bytes, or if what follows a damaged record is its end.
    """
    assert isinstance(chunk.layout, XmlLayout)
    markup = markup_of(chunk.layout.charset)
    if markup.width > 1:
        raise Unroutable
    found = _by_tags(chunk.data, markup)
    if found is not None:
        yield from found
        return
    for start, end, content in records(chunk):
        damaged = isinstance(content, Diagnostic)
        if damaged and end < len(chunk.data):
            raise Unroutable
        yield start, None if damaged else (content.get("table") or "").encode()


def _by_tags(data: bytes, markup: Markup) -> list[tuple[int, bytes]] | None:
    """Return the records of data in which start tags and end tags alternate; None for other data."""
    found = []
    position = prologs = 0
    while (start := markup.end_of_white(data, position)) != len(data):
        inside = markup.start_of_element(data, start)
        tag = None if inside is None else _NAMED.match(data, inside)
        close = None if tag is None else markup.end.search(data, tag.end())
        if tag is None or close is None:
            return None
        prologs += inside != start
        position = close.end()
        found.append((start, tag[1]))
    marks = markup.start_tag, markup.end_tag, markup.question, b"<!"
    return found if [occurrences(data, mark) for mark in marks] == [len(found), len(found), prologs, 0] else None


def record_at(chunk: Chunk, start: int) -> XmlRecord | None:
    """Return the first record from a place on; None if there are only byte order marks and the like."""
    assert isinstance(chunk.layout, XmlLayout)
    return next(_one_by_one(chunk.data, start, chunk.layout, markup_of(chunk.layout.charset)), None)


def plain_prolog(chunk: Chunk) -> bytes | None:
    """Return the prolog of the first record, empty without one, which others may share; None for another charset."""
    assert isinstance(chunk.layout, XmlLayout)
    markup = markup_of(chunk.layout.charset)
    if markup.codec != "utf-8":
        return None
    prolog = _PLAIN_PROLOG.match(chunk.data)
    return b"" if prolog is None or _contradicts(prolog[1], chunk.layout, markup) else prolog[1]


def _all_at_once(data: bytes, first: int, layout: XmlLayout, markup: Markup) -> list[XmlRecord] | None:
    """Return the records from a place on if the data contains nothing else, or None."""
    places, bare, prologs = [], [], set()
    position = first
    while (end := markup.search(markup.end, data, position)) is not None:
        start, inside = markup.end_of_white(data, position), markup.start_of_element(data, position)
        if inside is None or inside > end.start():
            return None
        if inside != start:
            prologs.add(data[start:inside])
        position = end.end()
        places.append((start, position))
        bare.append((inside, position))
    if not places or markup.end_of_white(data, position) != len(data):
        return None
    if prologs:
        if any(_contradicts(prolog, layout, markup) for prolog in prologs):
            return None
        data = b"".join(data[start:end] for start, end in bare)
    elif first:
        data = data[first:]
    root = _parsed("<all>".encode(markup.codec) + data + "</all>".encode(markup.codec), markup)
    if isinstance(root, Diagnostic) or len(root) != len(places):
        return None
    if not all(len(element) and element.tag == "operation" for element in root):
        return None  # an element without content may have no end tag
    return [XmlRecord(start, end, element) for (start, end), element in zip(places, root, strict=True)]


def _one_by_one(data: bytes, first: int, layout: XmlLayout, markup: Markup) -> Iterator[XmlRecord]:
    """Yield each record. A damaged one ends before the next line that starts with an operation or a prolog."""
    position = first
    while True:
        start = markup.end_of_white(data, position)
        if start == len(data):
            return
        end = markup.end_of_record(data, start)
        content = _truncated(data, start, markup) if end is None else _one(data[start:end], layout, markup)
        position = len(data) if end is None else end
        if isinstance(content, Diagnostic):
            inside = markup.start_of_element(data, start)
            restart = markup.search(markup.restart, data, (start if inside is None else inside) + markup.width)
            if restart is not None and restart.start() < position:
                position = restart.start()
                content = _one(data[start:position], layout, markup)
        yield XmlRecord(start, position, content)


def _one(record: bytes, layout: XmlLayout, markup: Markup) -> Any:
    start = markup.start_of_element(record, 0)
    if start is None:
        return Diagnostic("GG312", "the record is not an `operation` element")
    if _contradicts(record[:start], layout, markup):
        return Diagnostic("GG312", "the encoding in the prolog is unknown, or is not the encoding of the file")
    return _parsed(record[start:], markup)


def _truncated(data: bytes, start: int, markup: Markup) -> Diagnostic:
    if markup.start_of_element(data, start) is not None:
        return Diagnostic("GG302", "the file ends in the middle of the record")
    return Diagnostic("GG312", "the record is not an `operation` element")


def _contradicts(prolog: bytes, layout: XmlLayout, markup: Markup) -> bool:
    declared = _declared_charset(markup.text(prolog))
    if declared is None or declared == layout.charset or layout.mark:
        return False
    return not declared or markup.width == 1 or markup_of(declared).width != markup.width


def _parsed(data: bytes, markup: Markup) -> Any:
    """Return the element, or a Diagnostic. Data must start with a tag, so that it has no document type."""
    from lxml import etree

    try:
        text = data.decode(markup.codec)
    except UnicodeDecodeError as error:
        if not can_decode(markup.charset):
            message = f"ggfmt cannot read the charset {markup.charset}"
            return Diagnostic("GG303", message, help="convert the file to UTF-8")
        reason = f"the record is not {markup.charset}: it contains the byte {data[error.start]:#04x}"
        return Diagnostic("GG303", reason, help="convert the file, or set `encoding` in `--input-config`")
    try:
        return etree.fromstring(data if markup.codec == "utf-8" else text.encode("utf-8", "surrogatepass"), _parser())
    except etree.XMLSyntaxError as error:
        return Diagnostic("GG312", f"the record is not well-formed XML: {str(error.msg)[:_REASON_CHARACTERS]}")


@lru_cache(maxsize=1)
def _parser() -> Any:
    from lxml import etree

    return etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=True,
        remove_comments=True,
        remove_pis=True,
        collect_ids=False,
    )
