"""Files for the kernels that read XML and delimited text, by a random source: regular, odd and damaged ones; and how
they are read with kernels and without."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from random import Random
from typing import Any

import dialects
import pytest
from dialects import EVERYTHING, Read, chunk_bytes, told
from scanners import without_kernels

from ggfmt.arrow.arrays import non_null_values
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context, Projection, WriterSettings
from ggfmt.formats.goldengate.xml.write import attribute_text
from ggfmt.formats.records import batching
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import Catalog, Column, TableDef

PROJECTIONS = [EVERYTHING, Projection(), Projection(tokens=True, in_order=True)]
SIZES = [1, 7, 100, 500, 1 << 20]  # of the chunks that a file is cut into

VALUES = (
    *("", " ", "a", "17520.00", "CUST", "x" * 40, "é", "€", "😀", "NULL", "null", "]", "]]", "]]>", "\n", "\t", "a b"),
    *("<", ">", "&", "'", '"', '""', '"a"', '"a""b"', '"', "\r", "\r\n", "\x00", "\x1f", "\x7f", "\x85", "\u2028"),
    *("\ufffe", "\uffff", "\ufdd0", "\ufeff", "|", "||", "=", ",", "1=2,3=4", "1,1=2", "\\", "&amp;", "</operation>"),
)


_PLAIN_VALUES = tuple(text for text in VALUES if not set(text) & set("\r\x00\x1f\ufffe\uffff"))


def batches(
    name: str, data: bytes, source: WriterSettings, size: int, projection: Projection, trusted: Mapping[str, TableDef]
) -> list[tuple[str, list[int]]]:
    """The tables and ordinals of each batch, which decide on what is beside what in files."""
    found = []
    with chunk_bytes(size), pytest.MonkeyPatch.context() as patch:
        patch.setattr(batching, "BATCH_ROWS", 3)
        reader = FORMATS[name].read_support.by(source).reader(Catalog(dict(trusted)), projection, source)
        events = chain.from_iterable(map(reader.read, dialects.chunks_of(name, data, source)))
        for event in chain(events, reader.flush()):
            if isinstance(event, ChangeBatch):
                found.append((event.table.full_name, non_null_values(event.ordinal)))
    return found


# XML


def xml_read(data: bytes, size: int, projection: Projection, *trusted: TableDef) -> Read:
    with chunk_bytes(size):
        tables = {table.full_name: table for table in trusted}
        return dialects.read("xml", data, trusted=tables, projection=projection)


def assert_xml_is_read_the_same(draw: Random, size: int, projection: Projection) -> None:
    data = xml_file(draw)
    given = TableDef("GG.T", (Column("NOTE"), Column("B"), Column("A")))
    trusted = [given] if draw.random() < 0.3 else []
    tables = {name: TableDef(name, (Column("A"), Column("B"))) for name in ("GG.T", "GG.ORDERS", "é")}

    def found() -> tuple[Any, Any]:
        return xml_read(data, size, projection, *trusted), batches("xml", data, told("xml"), size, projection, tables)

    with_kernels = found()
    with without_kernels():
        assert with_kernels == found()


def xml_shapes(draw: Random) -> dict[str, list[str]]:
    """The names of a few tables with those of their columns."""
    return {name: _columns(draw) for name in draw.sample(["GG.T", "GG.ORDERS", "é", "A&B", "T'"], 2)}


def xml_file(draw: Random, shapes: dict[str, list[str]] | None = None) -> bytes:
    """Operations of a few tables, which change their columns at times."""
    shapes = dict(shapes or xml_shapes(draw))
    prolog = draw.choice(
        [
            b"",
            b"",
            b"",
            b"",
            b"<?xml version='1.0' encoding='UTF-8'?>\n",
            b'<?xml version="1.0"?>',
            b"<?xml encoding='latin1'?>",
        ]
    )
    style, damage = draw.choice([0, 0, 0.1, 1]), draw.choice([0, 0, 0.05, 0.3])
    tokens = draw.random() < 0.4
    records = []
    for _ in range(draw.randrange(16)):
        name = draw.choice(list(shapes))
        if draw.random() < 0.05:
            shapes[name] = _columns(draw)
        record = prolog + _Operation(draw, style).written(name, shapes[name], tokens).encode()
        records.append(damaged(draw, record, _XML_PIECES) if draw.random() < damage else record)
    return draw.choice([b"", b"", b"\xef\xbb\xbf", b" \n"]) + b"".join(records)


def _columns(draw: Random) -> list[str]:
    return draw.sample(["A", "B", "ID", "NOTE", "é", "a&b", "<", "\n", "x y"], draw.choice([1, 2, 2, 3, 5, 0]))


class _Operation:
    """Writes an operation: with `style` 0 as GoldenGate does, the more of it the more in ways of its own."""

    def __init__(self, draw: Random, style: float) -> None:
        self._draw = draw
        self._style = style

    def written(self, table: str, columns: list[str], tokens: bool) -> str:
        draw = self._draw
        kind = draw.choice("IUUDT" if draw.random() < 0.95 else ["INSERT", "TRUNCATE", "", "X"])
        sides = {"I": (0, 1), "U": (draw.random() < 0.8, 1), "D": (1, 0)}.get(kind, (draw.random() < 0.1, 0))
        attributes = [("table", table), ("type", kind), ("ts", self._value("t")), ("current_ts", "c")]
        attributes += [("pos", self._value("7")), ("numCols", str(len(columns)))]
        if self._odd():
            draw.shuffle(attributes)
            del attributes[draw.randrange(1, 7) :]
        head = "".join(f" {name}={self._quoted(value)}" for name, value in attributes)
        body = "".join(self._column(name, index, sides) for index, name in enumerate(columns))
        shown = self._tokens() if tokens else ""
        return f"<operation{head}>{self._line(0)}{body}{shown}</operation>{self._line(0)}"

    def _odd(self) -> bool:
        return self._draw.random() < self._style / 4

    def _line(self, depth: int) -> str:
        if self._odd():
            return self._draw.choice(["", " ", "\r\n", "\n\n\t", "<!-- x -->"])
        return "\n" + " " * depth

    def _value(self, usual: str) -> str:
        return self._draw.choice(VALUES) if self._odd() else usual

    def _quoted(self, text: str) -> str:
        escaped = attribute_text(text)
        if self._odd():
            escaped = self._draw.choice([text, escaped.replace(" ", "&#x20;"), escaped.replace("&amp;", "&#38;")])
        return f'"{escaped}"' if self._odd() else f"'{escaped}'"

    def _content(self) -> str:
        text = self._draw.choice(VALUES if self._odd() or self._draw.random() < 0.02 else _PLAIN_VALUES)
        if self._odd():
            escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace("]]>", "]]&gt;")
            return self._draw.choice([text, escaped, escaped + "<![CDATA[]]>", f"&#x{ord((text or 'A')[0]):X};"])
        return "<![CDATA[" + text.replace("]]>", "]]]]><![CDATA[>").replace("\r", "]]>&#13;<![CDATA[") + "]]>"

    def _column(self, name: str, index: int, sides: tuple[object, object]) -> str:
        draw = self._draw
        there = [bool(side) and draw.random() < 0.8 for side in sides]
        shown = []
        for tag, has in zip(("before", "after"), there, strict=True):
            if not any(there):
                break
            if has and draw.random() < 0.8:
                shown.append(f"<{tag}>{self._content()}</{tag}>")
            else:
                shown.append(f"<{tag} {'isNull' if has else 'missing'}={self._quoted('true')}/>")
        if self._odd():
            draw.shuffle(shown)
            del shown[draw.randrange(3) :]
        inside = self._line(2).join(shown or ["<missing/>"])
        head = f" name={self._quoted(name)}" + ("" if self._odd() else f" index='{index}'")
        return f"<col{head}>{self._line(2)}{inside}{self._line(1)}</col>{self._line(1)}"

    def _tokens(self) -> str:
        names = self._draw.choices(["R", "L", "é", ""], k=self._draw.randrange(3))
        pairs = (f"<Name><![CDATA[{name}]]></Name>{self._line(3)}<Value>{self._content()}</Value>" for name in names)
        inside = "".join(f"<token>{self._line(3)}{pair}</token>{self._line(2)}" for pair in pairs)
        return f"<tokens>{self._line(1)}{inside}</tokens>{self._line(0)}"


_XML_PIECES = (
    *(b"<", b">", b"&", b"'", b'"', b"=", b"/", b"</", b"/>", b"]]>", b"<![CDATA[", b"&#0;", b"&#9;", b"&#xD800;"),
    *(b"&lt;", b"&nbsp;", b"&#x10FFFF;", b"&#1114112;", b"&#00000000065;", b"\r", b"\x00", b"\xff", b"\xed\xa0\x80"),
    *(b"<!-- -->", b"<!--", b"<?pi?>", b"<x/>", b"<x>", b"<before/>", b"<missing/>", b" xmlns='u'", b" x:y='1'"),
    *(
        b"<operation ",
        b"</operation>",
        b"\n<operation table='GG.T' type='I'>",
        b"<!DOCTYPE x>",
        b"text",
        b"\xef\xbf\xbe",
    ),
)


def damaged(draw: Random, record: bytes, pieces: tuple[bytes, ...]) -> bytes:
    """The record with something put in, taken out, doubled or cut off."""
    at, end = sorted((draw.randrange(len(record) + 1), draw.randrange(len(record) + 1)))
    near = min(end, at + draw.choice([1, 2, 10]))
    return draw.choice(
        [
            record[:at] + draw.choice(pieces) + record[at:],
            record[:at] + draw.choice(pieces) + record[near:],
            record[:at] + record[near:],
            record[:at] + record[at:near] + record[at:],
            record[:at],
        ]
    )


# Delimited text


def assert_delimited_text_is_read_the_same(draw: Random, size: int, projection: Projection) -> None:
    op, columns, split = draw.random() < 0.5, draw.randrange(1, 4), draw.choice([None, 50])
    options = delimited_options(draw, op)
    data = delimited_file(draw, options, columns, op)
    name = "delimitedtext_op" if op else "delimitedtext"
    source = told(name, Context(include_tokens=options.pop("tokens") == "true"), **properties(options))
    names = ["GG.T", "GG.U"][: draw.randrange(1, 3)]
    trusted = {table: TableDef(table, tuple(map(Column, "ABC"[:columns]))) for table in names}

    def found() -> tuple[Any, Any]:
        with chunk_bytes(size):
            whole = dialects.read(name, data, source, split, trusted, projection)
        return whole, batches(name, data, source, size, projection, trusted)

    with_kernels = found()
    with without_kernels():
        assert with_kernels == found()


_OF_TEXT = ("Delimiter", "Representation")


def properties(options: dict[str, str]) -> dict[str, str]:
    """Options as properties have them, where white space counts within `CDATA[` alone."""
    return {name: f"CDATA[{text}]" if name.endswith(_OF_TEXT) else text for name, text in options.items()}


def delimited_options(draw: Random, op: bool) -> dict[str, str]:
    """Options of the handler; of these, `tokens` are for its context."""
    encoding = draw.choice(["UTF-8", "UTF-8", "UTF-8", "ISO-8859-1", "UTF-16", "US-ASCII", "windows-1252"])
    beyond = "~" if encoding == "US-ASCII" else "é"
    options = {
        "fieldDelimiter": draw.choice(["|", "|", "\x01", "||", beyond, ";", "|-|"]),
        "lineDelimiter": draw.choice(["\n", "\n", "\r\n", "||", beyond, "\n\n", "abab"]),
        "nullValueRepresentation": draw.choice(["NULL", "NULL", "", "é"]),
        "missingValueRepresentation": draw.choice(["", "", "NULL", "-"]),
        "encoding": encoding,
        "tokens": draw.choice(["true", "false"]),
        "includeTableName": draw.choice(["true", "true", "true", "false"]),
        "includeOpTimestamp": draw.choice(["true", "false"]),
        "includePosition": draw.choice(["true", "false"]),
        "includeColumnNames": draw.choice(["false", "true"]),
        "includeMetaColumnNames": draw.choice(["false", "true"]),
        "wrapStringsInQuotes": draw.choice(["false", "true"]),
        "updateOpKey": draw.choice(["U", "U", "I", "é"]),
    }
    if op:
        options["includeGroupCols"] = draw.choice(["false", "true"])
    elif draw.random() < 0.3:
        options["enableFieldDescriptorHeaders"] = "true"
    if draw.random() < 0.2:
        options["metaColumnsTemplate"] = draw.choice(
            [
                "${optype[op_type]},${catalog[c]},${schema[s]},${table[t]},${timestampmicro[m]}",
                "${objectname[o]},${token[o2].R},${optype[op_type]},${position[p]},${alltokens[x]}",
            ]
        )
    return options


def delimited_file(draw: Random, options: dict[str, str], columns: int, op: bool) -> bytes:
    """Lines of tables of so many columns, most of them as the options say."""
    between, behind = options["fieldDelimiter"], options["lineDelimiter"]
    encoding = options["encoding"] if draw.random() < 0.95 else "UTF-8"
    width = columns * ((2 if op else 1) + (options["includeColumnNames"] == "true"))
    wild = draw.choice([0, 0, 0.01, 0.2])
    lines = []
    for _ in range(draw.randrange(12)):
        fields = [*_metadata(draw, options), *(draw.choice(_FIELDS) for _ in range(width))]
        if draw.random() < wild * 2:
            fields[draw.randrange(len(fields))] = draw.choice(VALUES)
        while draw.random() < wild:
            fields.insert(draw.randrange(len(fields) + 1), draw.choice(VALUES))
        while fields and draw.random() < wild:
            fields.pop(draw.randrange(len(fields)))
        line = between.join(fields).encode(encoding, "replace")
        lines.append(damaged(draw, line, (b"\xff", b"\x00", b"\xc3", b"\xa9", b"|")) if draw.random() < wild else line)
    data = behind.encode(encoding, "replace").join(lines)
    return draw.choice([b"", b"", b"\xef\xbb\xbf"]) + data + draw.choice([b"", behind.encode(encoding, "replace")])


_FIELDS = ("a", "", "NULL", "é", "17520.00", '"a"', '"a""b"', '"', "-", "\x00", "x" * 20)


def _metadata(draw: Random, options: dict[str, str]) -> list[str]:
    kind, name = draw.choice("IUD" * 5 + "Té"), draw.choice(["GG.T"] * 5 + ["GG.U"])
    if options.get("metaColumnsTemplate", "").startswith("${obj"):
        fields = [name, "r", kind, "7", draw.choice(["", "R=1", "R=1,L=2"])]
    elif "metaColumnsTemplate" in options:
        fields = [kind, "", *name.split("."), draw.choice(["1700000000000000", "x"])]
    else:
        there = {"includeTableName": name, "includeOpTimestamp": "t", "now": "c", "includePosition": "7"}
        fields = [kind, *(field for option, field in there.items() if options.get(option, "true") == "true")]
        fields += [draw.choice(["", "R=1"])] * (options["tokens"] == "true")
    named = options["includeMetaColumnNames"] == "true"
    return [text for field in fields for text in (["n", field] if named else [field])]
