"""GoldenGate JSON as a scanner meets it: regular lines, and among them what defeats it. Made from a seed, so that tests
and the fuzzer of kernels share it."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping

import pytest
from reading import EVERYTHING, JsonDiscovery, Ranges, Read, chunks_of, layout_of, read

from ggfmt import kernels
from ggfmt.formats.api.format import Projection
from ggfmt.formats.api.reading import DiscoveryResult
from ggfmt.model.table import Catalog, Column, Kind, SqlType, TableDef

NUMBER = SqlType(Kind.DECIMAL)
TABLES: Mapping[str, TableDef] = {
    "S.ORDERS": TableDef(
        "S.ORDERS", (Column("ID", NUMBER, key=1), Column("NAME"), Column("PRICE", NUMBER), Column("N"))
    ),
    "S.ÜNI": TableDef("S.ÜNI", (Column("ключ", key=1), Column("a"), Column("b"), Column(""))),
    "S.ODD": TableDef("S.ODD", (Column('q"uote', key=1), Column("back\\slash"))),
    "S.EMPTY": TableDef("S.EMPTY", ()),
}
PROJECTIONS = (
    EVERYTHING,
    Projection(),
    Projection(row_only=True),
    Projection(row_only=True, key_updates=True, tokens=True),
    Projection(tokens=True, in_order=True),
)

_TEXTS = (
    "", "x", "C00001", "two words", 'say "so"', "back\\slash", "line\nend", "\t", "ünï", "漢字", "🦆", "\u0000", "/",
)  # fmt: skip
_VALUES = (
    "null", "0", "-0", "12", "-7.50", "1E+2", "123456789012345678901234567890", "true", "false", '{"a": [1, {}]}', "[]",
)  # fmt: skip
_BROKEN = (
    "01", "+1", "1.", ".5", "1e", "nul", "NaN", '"', "{", "[1,]", '{"a"}', '"\\x"', '"\\ud800"', '"\\uDC00\\ud800"', "",
)  # fmt: skip


def text(draw: random.Random) -> str:
    """A JSON string, escaped in one way or another."""
    value = draw.choice(_TEXTS) * draw.choice((1, 1, 1, 5, 40))
    made = json.dumps(value, ensure_ascii=draw.random() < 0.3)
    return made.replace("/", "\\/") if draw.random() < 0.2 else made


def value(draw: random.Random, hostile: float) -> str:
    if draw.random() < hostile / 4:
        return draw.choice(_BROKEN)
    return text(draw) if draw.random() < 0.7 else draw.choice(_VALUES)


def joined(members: list[str], draw: random.Random, hostile: float) -> str:
    if draw.random() < hostile:
        draw.shuffle(members)
    if members and draw.random() < hostile / 4:
        members.append(draw.choice(members))
    space = draw.choice((" ", "\t", "  ", "\r")) if draw.random() < hostile else ""
    return f"{{{space}{f'{space},{space}'.join(members)}{space}}}"


def image(table: TableDef, draw: random.Random, hostile: float) -> str:
    names = [name for name in table.column_names if draw.random() > hostile / 3]
    if draw.random() < hostile / 5:
        names.append("UNKNOWN")
    quoted = (json.dumps(name, ensure_ascii=draw.random() < hostile / 3) for name in names)
    return joined([f"{name}:{value(draw, hostile)}" for name in quoted], draw, hostile)


def tokens(draw: random.Random, hostile: float) -> str:
    pairs = [f"{text(draw)}:{text(draw)}" for _ in range(draw.choice((0, 1, 2)))]
    if draw.random() < hostile / 3:
        pairs.append(f'"T":{draw.choice(_VALUES)}')
    return joined(pairs, draw, hostile) if draw.random() > hostile / 4 else "null"


def record(draw: random.Random, number: int, hostile: float) -> str:
    name = draw.choice(tuple(TABLES)) if draw.random() < 0.6 else "S.ORDERS"
    table = TABLES[name]
    if draw.random() < hostile / 10:
        name = draw.choice(("S.NONE", "", "A.B.C.D"))
    kind = draw.choice(("I", "U", "U", "D", "T", "INSERT", "UPDATE", "DELETE", "TRUNCATE"))
    if draw.random() < hostile / 10:
        kind = draw.choice(("X", "PK", "i"))
    members = [f'"table":{json.dumps(name, ensure_ascii=draw.random() < hostile / 4)}', f'"op_type":"{kind}"']
    members.append(f'"op_ts":{value(draw, hostile) if draw.random() < hostile else text(draw)}')
    members += ['"current_ts":"2024-01-01T00:00:00.000000"'] * (draw.random() < 0.9)
    position = (
        f'"{number:020d}"' if draw.random() > hostile else draw.choice(("17", "-0", "1.5", "null", str(2**70), '"p"'))
    )
    members.append(f'"pos":{position}')
    members += ['"primary_keys":["ID"]'] * (draw.random() < 0.3)
    members += [f'"tokens":{tokens(draw, hostile)}'] * (draw.random() < 0.5)
    fair = draw.random() > hostile / 4
    if (kind[0] in "UD") == fair or draw.random() < hostile / 10:
        members.append(f'"before":{image(table, draw, hostile) if draw.random() > hostile / 6 else "null"}')
    if (kind[0] in "UI") == fair:
        members.append(
            f'"after":{image(table, draw, hostile) if draw.random() > hostile / 6 else value(draw, hostile)}'
        )
    members += [f'"extra{draw.choice("12")}":{value(draw, 0)}'] * (draw.random() < hostile / 4)
    return joined(members, draw, hostile)


def line(draw: random.Random, number: int, hostile: float) -> bytes:
    if draw.random() < hostile / 20:
        columns = [{"name": column.name} for column in draw.sample(TABLES["S.ORDERS"].columns, draw.choice((3, 4)))]
        made = json.dumps({"op_type": "OBJECT_METADATA", "table": "S.ORDERS", "columns": columns})
    else:
        made = (
            draw.choice(("null", "", " ", "{}", "[]", "17", '{"$schema":1}'))
            if draw.random() < hostile / 10
            else record(draw, number, hostile)
        )
    data = made.encode("utf-8", "surrogatepass")
    if draw.random() < hostile / 8 and data:
        place = draw.randrange(len(data))
        data = draw.choice(
            (
                data[:place],
                data[:place] + b"\n" + data[place:],
                data[:place] + bytes([draw.randrange(256)]) + data[place + 1 :],
            )
        )
    return data + (b"\r\n" if draw.random() < hostile / 4 else b"\n")


def file(seed: int, lines: int, hostile: float) -> bytes:
    """A file of lines; `hostile` is about the share of those that are not regular."""
    draw = random.Random(seed)
    data = b"".join(line(draw, number, hostile) for number in range(lines))
    return data.rstrip() if draw.random() < 0.2 else data


def read_exactly(data: bytes, projection: Projection, ranges: Ranges = ((0, None),)) -> Read:
    """As `read`, without the scanner."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "native", None)
        return read(data, TABLES, projection, ranges)


def assert_same(data: bytes, projection: Projection, ranges: Ranges = ((0, None),)) -> Read:
    """What is read with the scanner is what is read without it; it is handed back."""
    with_kernels, without = read(data, TABLES, projection, ranges), read_exactly(data, projection, ranges)
    assert with_kernels.operations == without.operations
    assert with_kernels.rejects == without.rejects
    assert with_kernels.definitions == without.definitions
    assert with_kernels.others == without.others
    assert with_kernels.members == without.members
    return with_kernels


def discover(data: bytes, every_shape: bool, trusted: Mapping[str, TableDef], ranges: Ranges) -> DiscoveryResult:
    """The definitions that one pass over the ranges of a file finds, each range in a split of its own."""
    catalog, layout = Catalog(dict(trusted)), layout_of(data)
    findings = []
    for start, length in ranges:
        discovery = JsonDiscovery(catalog, every_shape)
        for chunk in chunks_of(data, layout, start, length):
            if chunk.problem is None:
                discovery.read(chunk)
        findings.append(discovery.findings())
    return JsonDiscovery.settle(findings, catalog, every_shape)


def assert_same_definitions(
    data: bytes, every_shape: bool, trusted: Mapping[str, TableDef] = {}, ranges: Ranges = ((0, None),)
) -> DiscoveryResult:
    """The definitions found with the scanner are those found without it, which may need two passes; they are handed
    back."""

    def found() -> DiscoveryResult:
        once = discover(data, every_shape, trusted, ranges)
        return once if once.complete else discover(data, True, trusted, ranges)

    with_kernels = found()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "native", None)
        assert found() == with_kernels
    return with_kernels


def partial_file(seed: int, lines: int, hostile: float) -> bytes:
    """A file of lines whose images have some of the columns each, in one order or another; with keys at times."""
    draw = random.Random(seed)
    names = [f"C{number}" for number in range(6)]
    kinds = {name: draw.choice(('"x"', "1", "true", "null", "1.5", "{}")) for name in names}
    made = []
    for number in range(lines):
        columns = draw.sample(names, draw.randrange(len(names)))
        if draw.random() > hostile:
            columns.sort()
        values = (value(draw, 0) if draw.random() < hostile / 4 else kinds[name] for name in columns)
        pairs = ",".join(f'"{name}":{text}' for name, text in zip(columns, values, strict=True))
        image = f"{{{pairs}}}"
        keys = ',"primary_keys":["C1"]' if draw.random() < hostile else ""
        name = draw.choice(("A.B", "A.B", "A.C", "A.Ö"))
        images = draw.choice(('"before":%s', '"before":{},"after":%s', '"after":%s', '"before":null,"after":%s'))
        made.append(f'{{"table":"{name}","op_type":"{draw.choice("IUUD")}"{keys},{images % image}}}\n'.encode())
        if draw.random() < hostile / 8:
            made.append(line(draw, number, hostile))
        if draw.random() < hostile / 20:
            described: dict[str, dict[str, str]] = {column: {} for column in draw.sample(names, 3)}
            made.append(
                json.dumps({"op_type": "OBJECT_METADATA", "table": "A.C", "columns": described}).encode() + b"\n"
            )
    return b"".join(made)
