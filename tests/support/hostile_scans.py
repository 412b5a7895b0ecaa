"""Native scanners of XML and delimited text, fed with hostile data that are cut anywhere.

What the scanners hand over is checked by Arrow. Some files are read by readers too, with kernels and without.
"""

from __future__ import annotations

from random import Random
from typing import Any

from hostile_text import (
    damaged,
    delimited_file,
    delimited_options,
    properties,
    xml_file,
    xml_shapes,
)

from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context
from ggfmt.formats.goldengate.delimited import DelimitedOptions
from ggfmt.formats.goldengate.delimited.read import line_scanner
from ggfmt.formats.records.scanner import SourceBatch
from ggfmt.kernels import native
from ggfmt.model.table import Column, TableDef

_KINDS = {b"I": b"I", b"U": b"U", b"D": b"D", b"T": b"T", b"INSERT": b"I", b"TRUNCATE": b"T", "é".encode(): b"U"}


def cut(draw: Random, data: bytes) -> bytes:
    data = damaged(draw, data, (b"<", b"&", b"]", b"'", b"\x00", b"\xff", b"")) if draw.random() < 0.3 else data
    return data[: draw.randrange(len(data) + 1)] if draw.random() < 0.5 else data


def route(draw: Random, scanner: Any) -> bool:
    """Whether the scanner only finds the tables of records from now on."""
    routes = draw.random() < 0.3
    if routes:
        scanner.route()
    return routes


def take(scanner: Any, number: int, tokens: bool, routes: bool) -> None:
    """Check the operations that a table had. One that routes makes none."""
    assert not (routes and scanner.rows(number))
    if scanner.rows(number):
        check(SourceBatch.of(scanner.take(number), tokens))


def check(scanned: SourceBatch) -> None:
    """An error if what is held of operations is not as Arrow wants it."""
    for column in (*scanned.before, *scanned.after, *scanned.slots):
        column.values.validate(full=True)
        assert len(column.values) == len(scanned)
        assert column.present is None or len(column.present) == len(scanned)
    scanned.op.validate(full=True)
    if scanned.tokens is not None:
        scanned.tokens.validate(full=True)
    assert scanned.ordinal.null_count == 0 and len(scanned.ordinal) == len(scanned)


def fuzz_xml(draw: Random) -> None:
    keep, tokens = draw.random() < 0.8, draw.random() < 0.5
    scanner = native.XmlScanner(_KINDS, keep, tokens)
    routes = route(draw, scanner)
    shapes = xml_shapes(draw)
    raw = xml_file(draw, shapes)
    for data in (raw, cut(draw, raw), cut(draw, raw)):
        numbers = [
            scanner.bind(name.encode(), tuple(column.encode() for column in columns))
            for name, columns in shapes.items()
        ]
        place = 0
        while 0 <= place < len(data):
            prolog = draw.choice([b"", b'<?xml version="1.0"?>'])
            _, place, *_ = scanner.scan(data, place, -1, 7, prolog)
            place = data.find(b"<operation", place + 1) if place < len(data) else place
        for number in numbers:
            take(scanner, number, tokens, routes)
            scanner.unbind(number)


def fuzz_delimited(draw: Random) -> None:
    op, columns = draw.random() < 0.5, draw.randrange(1, 4)
    texts = {**delimited_options(draw, op), "encoding": "UTF-8"}
    raw = delimited_file(draw, texts, columns, op)
    context = Context(include_tokens=texts.pop("tokens") == "true")
    options = FORMATS["delimitedtext_op" if op else "delimitedtext"].options.parse(properties(texts))
    assert isinstance(options, DelimitedOptions)
    table = TableDef("GG.T", tuple(map(Column, "ABC"[:columns])))
    named: list[str] = []

    def define(name: str) -> TableDef | None:
        if name in ("", "GG.T") and not named:  # damaged lines may have both
            named.append(name)
        return table if name in named else None

    lines = line_scanner(options, context, True, define)
    assert lines is not None
    for data in (raw, cut(draw, raw), cut(draw, raw)):
        _, odd = lines.scan(data, 0, 0)
        assert all(0 <= line.start <= line.end <= len(data) for line in odd)
        taken = lines.take("GG.T")
        if taken is not None:
            check(taken)


def fuzz_delimited_freely(draw: Random) -> None:
    """As no format has it: any fields."""
    texts = delimited_options(draw, True)
    raw = delimited_file(draw, {**texts, "encoding": "UTF-8"}, draw.randrange(1, 4), True)
    places = range(draw.randrange(1, 8))
    scanner = native.DelimitedScanner(
        between=texts["fieldDelimiter"].encode(),
        behind=texts["lineDelimiter"].encode(),
        null=texts["nullValueRepresentation"].encode(),
        missing=texts["missingValueRepresentation"].encode(),
        quoted=draw.random() < 0.5,
        head=len(places),
        op=draw.choice([0, places[-1]]),
        name=tuple(draw.choices(places, k=draw.randrange(3))),
        slots=tuple(draw.choices(places, k=draw.randrange(3))),
        kinds=_KINDS,
    )
    place, ordinal, numbers, routes = 0, 0, [], route(draw, scanner)
    while True:
        lines, place, _, _, unknown = scanner.scan(raw, place, -1, ordinal)
        ordinal += lines
        if unknown is None:
            break
        if draw.random() < 0.2:
            scanner.refuse(unknown)
            continue
        both = draw.random() < 0.7
        fields = [(draw.choice([0, 1, 2, 3] if both else [0, 2, 3]), draw.randrange(3)) for _ in range(len(places))]
        numbers.append(scanner.bind(unknown, tuple(fields), 3, both))
    for number in numbers:
        take(scanner, number, False, routes)
