"""Values of rows, with the kernel and exactly. Binary forms are MySQL's, made here by hand or by the manual."""

from __future__ import annotations

import random
import struct
from decimal import Decimal
from typing import Any

import binlog_encoder as binlogs
import msgspec
import pytest
from dialects import Read, read
from scanners import without_kernels

from ggfmt.formats.binlog.events import EventError
from ggfmt.formats.binlog.json_binary import json_text
from ggfmt.formats.binlog.rows import RowJsonWriter
from ggfmt.formats.binlog.table_map import BinlogColumn, LoggedTable, LoggedType, charset_of
from ggfmt.formats.records.problems import RecordError

T = LoggedType


def written(column: BinlogColumn, value: bytes) -> Any:
    """The value in JSON, the same with the kernel and without; the text of the error if it has none."""
    table = LoggedTable("d", "t", (column,), ("c",), (), True)

    def once() -> Any:
        data = b"\0" + value
        try:
            count, (text,) = RowJsonWriter(table, "d.t").write(data, 0, len(data), [b"\1"])
        except RecordError as error:
            return error.diagnostic.message
        except EventError as error:
            return str(error)
        rows = msgspec.json.decode(b"[%b]" % text, type=list[dict[str, msgspec.Raw]])
        assert len(rows) == count
        return " ".join(bytes(row["c"]).decode() for row in rows)

    found = once()
    with without_kernels():
        assert once() == found
    return found


def decimal(text: str, precision: int, scale: int) -> bytes:
    """A decimal by the manual: groups of nine digits in four bytes, from the point to both sides."""
    sizes = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4]
    whole, _, part = text.lstrip("-").partition(".")
    whole, part = whole.zfill(precision - scale) if precision > scale else "", part.ljust(scale, "0")
    first = (precision - scale) % 9
    groups = [whole[:first], *(whole[n : n + 9] for n in range(first, len(whole), 9))]
    groups += [part[n : n + 9] for n in range(0, scale, 9)]
    data = b"".join(int(group).to_bytes(sizes[len(group)], "big") for group in groups if group)
    if text.startswith("-"):
        data = bytes(byte ^ 0xFF for byte in data)
    return bytes([data[0] ^ 0x80]) + data[1:]


def test_decimals() -> None:
    draw = random.Random(3)
    for _ in range(400):
        precision = draw.randrange(1, 66)
        scale = draw.randrange(0, min(precision, 38) + 1)
        digits = "".join(draw.choice("0000123456789") for _ in range(precision))
        whole = digits[: precision - scale].lstrip("0") or "0"
        text = whole + ("." + digits[precision - scale :] if scale else "")
        text = "-" + text if draw.random() < 0.5 and Decimal(text) else text
        column = BinlogColumn(0, T.DECIMAL, digits=scale, precision=precision)
        assert written(column, decimal(text, precision, scale)) == f'"{text}"'


def datetime_bits(year: int, month: int, day: int, hour: int, minute: int, second: int) -> int:
    return ((year * 13 + month) << 5 | day) << 17 | hour << 12 | minute << 6 | second


@pytest.mark.parametrize(
    ("kind", "digits", "value", "text"),
    [
        (T.DATETIME, 0, (datetime_bits(2024, 2, 29, 23, 59, 58) + (1 << 39)).to_bytes(5, "big"), "2024-02-29 23:59:58"),
        (T.DATETIME, 0, (1 << 39).to_bytes(5, "big"), "0000-00-00 00:00:00"),
        (T.DATETIME, 3, (1 << 39).to_bytes(5, "big") + struct.pack(">H", 1230), "0000-00-00 00:00:00.123"),
        (T.DATETIME, 6, (datetime_bits(9999, 12, 0, 0, 0, 0) + (1 << 39)).to_bytes(5, "big") + b"\x0f\x42\x3f",
         "9999-12-00 00:00:00.999999"),
        (T.TIMESTAMP, 0, bytes(4), "0000-00-00 00:00:00"),
        (T.TIMESTAMP, 1, bytes(4) + b"\x0a", "1970-01-01 00:00:00.1"),
        (T.TIMESTAMP, 2, b"\xff\xff\xff\xff\x63", "2106-02-07 06:28:15.99"),
        (T.TIME, 0, (0x800000 + (838 << 12 | 59 << 6 | 59)).to_bytes(3, "big"), "838:59:59"),
        (T.TIME, 0, (0x800000 - (1 << 12)).to_bytes(3, "big"), "-01:00:00"),
        (T.TIME, 2, ((1 << 31) - (1 << 8) - 5).to_bytes(4, "big"), "-00:00:01.05"),
        (T.TIME, 6, ((1 << 47) - 1).to_bytes(6, "big"), "-00:00:00.000001"),
        (T.DATE, 0, (2024 << 9 | 2 << 5 | 30).to_bytes(3, "little"), "2024-02-30"),
        (T.OLD_DATETIME, 0, struct.pack("<Q", 20240229235958), "2024-02-29 23:59:58"),
        (T.OLD_TIME, 0, (8385959).to_bytes(3, "little"), "838:59:59"),
        (T.OLD_TIMESTAMP, 0, struct.pack("<I", 1), "1970-01-01 00:00:01"),
    ],
)  # fmt: skip
def test_times(kind: LoggedType, digits: int, value: bytes, text: str) -> None:
    assert written(BinlogColumn(0, kind, (digits + 1) // 2, digits), value) == f'"{text}"'


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        (BinlogColumn(0, T.INT24, 3), b"\xff\xff\xff", "-1"),
        (BinlogColumn(0, T.INT24, 3, unsigned=True), b"\xff\xff\xff", "16777215"),
        (BinlogColumn(0, T.LONGLONG, 8), b"\0" * 7 + b"\x80", "-9223372036854775808"),
        (BinlogColumn(0, T.LONGLONG, 8, unsigned=True), b"\xff" * 8, "18446744073709551615"),
        (BinlogColumn(0, T.BIT, 2, 9), b"\1\xff", "511"),
        (BinlogColumn(0, T.YEAR), b"\0", "0"),
        (BinlogColumn(0, T.YEAR), b"\xff", "2155"),
        (BinlogColumn(0, T.FLOAT, 4), struct.pack("<f", 0.1), "0.1"),
        (BinlogColumn(0, T.FLOAT, 4), struct.pack("<f", 16777216), "1.6777216E7"),
        (BinlogColumn(0, T.DOUBLE, 8), struct.pack("<d", 1e300), "1e300"),
        (BinlogColumn(0, T.DOUBLE, 8), struct.pack("<d", -0.0), "-0.0"),
        (BinlogColumn(0, T.DOUBLE, 8), struct.pack("<d", float("nan")), '"NaN"'),
        (BinlogColumn(0, T.STRING, 4, charset="binary"), b"\2ab", '"YWIAAA=="'),
        (BinlogColumn(0, T.BLOB, 2, charset="binary"), b"\2\0ab", '"YWI="'),
        (BinlogColumn(0, T.VARCHAR, 300, charset="utf8mb4"), b"\5\0\"\n\\\xc3\xa9", '"\\"\\n\\\\é"'),
        (BinlogColumn(0, T.VARCHAR, 30, charset="latin1"), b"\2\xe9\x80", '"é€"'),
        (BinlogColumn(0, T.VARCHAR, 30, charset="gbk"), b"\2\xd6\xd0", '"中"'),
        (BinlogColumn(0, T.VARCHAR, 30, charset="utf16"), b"\2\x65\xe5", '"日"'),
        (BinlogColumn(0, T.VARCHAR, 30, charset="ascii"), b"\1\xe9", "the bytes of a text are not ascii"),
        (BinlogColumn(0, T.VARCHAR, 30), b"\1\xe9", "the bytes of a text are not utf8mb4"),
        (BinlogColumn(0, T.VARCHAR, 30, charset="geostd8"), b"\1a", "ggfmt cannot read the charset `geostd8`"),
        (BinlogColumn(0, T.ENUM, 1, symbols=("a", 'b"')), b"\2", '"b\\""'),
        (BinlogColumn(0, T.ENUM, 1, symbols=("a",)), b"\0", '""'),
        (BinlogColumn(0, T.ENUM, 1, symbols=("a",)), b"\2", "the ENUM has no member 2"),
        (BinlogColumn(0, T.ENUM, 1), b"\1", "the log does not have the members of the ENUM or SET"),
        (BinlogColumn(0, T.SET, 1, symbols=("a", "b", "c")), b"\5", '"a,c"'),
        (BinlogColumn(0, T.SET, 8, symbols=tuple(map(str, range(64)))), b"\1" + bytes(6) + b"\x80", '"0,63"'),
        (BinlogColumn(0, T.SET, 1, symbols=("a",)), b"\2", "the SET has an unknown member"),
        (BinlogColumn(0, T.GEOMETRY, 4), b"\2\0\0\0ab", '"YWI="'),
        (BinlogColumn(0, T.VARCHAR_COMPRESSED, 1201, charset="utf8mb4"),
         bytes.fromhex("0a0089b44b4c4a4e1c6a0800"), f'"{"abc" * 60}"'),
        (BinlogColumn(0, T.BLOB_COMPRESSED, 2, charset="latin1"), bytes.fromhex("080089647bf992f60000"),
         f'"{"é" * 100}"'),
        (BinlogColumn(0, T.VARCHAR_COMPRESSED, 21, charset="binary"), b"\6\0short", '"c2hvcnQ="'),
        (BinlogColumn(0, T.VARCHAR_COMPRESSED, 21), b"\3\x89\x02x", "a compressed value is damaged"),
        (BinlogColumn(0, T.LONG, 4), b"\1\0", "the event ends too early"),
        (BinlogColumn(0, T.DATETIME, 0), (1 << 39 | 31 << 12).to_bytes(5, "big"), "a time is invalid"),
    ],
)  # fmt: skip
def test_values(column: BinlogColumn, value: bytes, text: str) -> None:
    assert written(column, value) == text


def test_random_bytes_are_read_alike() -> None:
    """Whatever bytes rows have, the kernel and the exact writer find the same."""
    draw = random.Random(11)
    columns = [
        BinlogColumn(0, T.DATETIME, 3, 6), BinlogColumn(0, T.TIME, 1, 1), BinlogColumn(0, T.TIMESTAMP, 2, 3),
        BinlogColumn(0, T.DATE), BinlogColumn(0, T.DECIMAL, digits=4, precision=20), BinlogColumn(0, T.DOUBLE, 8),
        BinlogColumn(0, T.FLOAT, 4), BinlogColumn(0, T.VARCHAR, 20), BinlogColumn(0, T.SET, 2, symbols=("x", "y")),
        BinlogColumn(0, T.DECIMAL, digits=0, precision=9), BinlogColumn(0, T.LONGLONG, 8),
        BinlogColumn(0, T.BIT, 8, 64),
    ]  # fmt: skip
    for turn in range(3000):
        written(
            columns[turn % len(columns)], bytes(draw.choice(b"\0\1\x7f\x80\xff\x99") for _ in range(draw.randrange(12)))
        )


# JSON of MySQL, in the forms of `json_binary.h`


def small(kind: int, parts: list[tuple[int, bytes | int]], keys: list[str] | None = None) -> bytes:
    """An object or an array with two-byte offsets; parts are values in the entry (int) or after it (bytes)."""
    count, entries, values = len(parts), b"", b""
    names = [key.encode() for key in keys or ()]
    place = 4 + 4 * len(names) + 3 * count
    heads = b""
    for name in names:
        heads += struct.pack("<HH", place, len(name))
        place += len(name)
    for type, value in parts:
        if isinstance(value, int):
            entries += struct.pack("<BH", type, value & 0xFFFF)
        else:
            entries += struct.pack("<BH", type, place + len(values))
            values += value
    body = heads + entries + b"".join(names) + values
    return bytes([kind]) + struct.pack("<HH", count, 4 + len(body)) + body


TEXT = b"\x05caf\xc3\xa9"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "null"),
        (b"\4\1", "true"),
        (b"\5\xff\xff", "-1"),
        (b"\x0a" + b"\xff" * 8, "18446744073709551615"),
        (b"\x0b" + struct.pack("<d", 2.0), "2.0"),
        (b"\x0c" + TEXT, '"café"'),
        (small(0, [(5, -3), (12, TEXT), (4, 0)], ["a", "bb", "c"]), '{"a": -3, "bb": "café", "c": null}'),
        (small(2, [(6, 65535), (2, small(2, [(4, 2)])[1:]), (0, small(0, [], [])[1:])]), "[65535, [false], {}]"),
        (b"\x0f\xf6\x04\x03\x02\x80\x01\x32"[:2] + b"\x04\x03\x02\x81\x32", "1.50"),
        (b"\x0f\x0c\x08" + struct.pack("<q", datetime_bits(2024, 2, 29, 1, 2, 3) << 24 | 5),
         '"2024-02-29 01:02:03.000005"'),
        (b"\x0f\x0a\x08" + struct.pack("<q", datetime_bits(2024, 2, 29, 0, 0, 0) << 24), '"2024-02-29"'),
        (b"\x0f\x0b\x08" + struct.pack("<q", -((1 << 12) << 24)), '"-01:00:00.000000"'),
        (b"\x0f\xfc\x02ab", '"base64:type252:YWI="'),
    ],
)  # fmt: skip
def test_json(data: bytes, text: str) -> None:
    assert json_text(data) == text


@pytest.mark.parametrize(
    "data", [b"\x0e", b"\4\3", b"\0\1\0", b"\2\1\0\xff\0\5\1\0", b"\x0c\5ab", b"\x0c\2\xff\xff", b"\5\1"]
)
def test_damaged_json_is_refused(data: bytes) -> None:
    with pytest.raises(EventError):
        json_text(data)


def test_json_never_fails_otherwise() -> None:
    draw = random.Random(5)
    good = small(0, [(5, -3), (12, TEXT), (2, small(2, [(4, 2), (12, TEXT)])[1:])], ["a", "bb", "c"])
    for _ in range(3000):
        data = bytearray(good)
        for _ in range(draw.randrange(1, 4)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        try:
            json_text(bytes(data))
        except EventError:
            pass


def test_charsets_by_collation() -> None:
    assert [charset_of(n) for n in (8, 45, 255, 63, 28, 1069, 2048, 2304, 3000, 250)] == [
        "latin1", "utf8mb4", "utf8mb4", "binary", "gbk", "utf8mb4", "utf8mb3", "utf8mb4", "utf16", "gb18030",
    ]  # fmt: skip
    assert charset_of(9999) is None


def table_of(*types: tuple[int, bytes], extra: bytes, version: str = "8.0.36") -> Read:
    nulls: binlogs.Image = dict.fromkeys(range(len(types)))
    mapped = binlogs.table_map("d", "t", types, extra)
    rows = binlogs.rows("I", len(types), [nulls])
    return read("mysql_binlog", binlogs.head(version) + binlogs.query("BEGIN") + mapped + rows + binlogs.xid())


def test_metadata_of_both_servers() -> None:
    types = [
        (13, b""),
        (3, b""),
        (255, b"\4"),
        binlogs.varchar(40),
        (254, b"\xf7\1"),
        (254, b"\xf8\1"),
        (254, b"\xde\x58"),
    ]
    names = ["y", "n", "g", "v", "e", "s", "c"]
    lists = {"enums": [["a", "b"]], "sets": [["x"]]}
    mysql = binlogs.metadata(names, [1, 0], unsigned=[False], charsets=[8, 45], **lists)  # type: ignore[arg-type]
    maria = binlogs.metadata(names, [1, 0], unsigned=[True, False], charsets=[63, 8, 45], **lists)  # type: ignore[arg-type]
    for extra, version in ((mysql, "8.0.36"), (maria, "10.11.6-MariaDB")):
        ((table, _),) = table_of(*types, extra=extra, version=version).operations
        found = {column.name: column.type for column in table.columns}
        assert table.key_names == ("n", "y")
        assert (found["n"].bits, found["v"].length, found["c"].length) == (32, 40, 150)


def test_a_default_charset_and_others() -> None:
    types = [binlogs.varchar(40), binlogs.varchar(40), (252, b"\2")]
    extra = binlogs.metadata(["a", "b", "c"], [], default_charset=[45, 1, 8, 2, 63])
    ((table, _),) = table_of(*types, extra=extra).operations
    assert [str(column.type) for column in table.columns] == ["string(10)", "string(40)", "binary"]


def test_damaged_table_maps_are_refused() -> None:
    types = [(3, b""), binlogs.varchar()]
    good = binlogs.metadata(["a", "b"], [0], unsigned=[False], charsets=[45])
    for extra in (good[:-1], binlogs.metadata(["a", "a"], [0]), binlogs.metadata(["a", "b"], [7]),
                  binlogs.metadata(["a", "b"], [0], charsets=[45, 45])):  # fmt: skip
        found = table_of(*types, extra=extra)
        assert (found.plain, len(found.reasons)) == ([], 1)
    assert table_of((77, b""), extra=b"").reasons == ["GG313 the table map has a column of the unknown type 77"]
    for kind in (7, 11, 12):
        maria = table_of((kind, b""), extra=binlogs.metadata(["t"], []), version="10.11.6-MariaDB")
        assert (maria.plain, len(maria.reasons)) == ([], 1)
        assert table_of((kind, b""), extra=binlogs.metadata(["t"], [])).reasons == []
