"""The data of the benchmarks: GoldenGate JSON, one operation a line, the same bytes whenever and wherever it is made.

`python tests/bench/comparison/data.py NAME FILE MEGABYTES` writes one of `SHAPES`.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

ORDER_COLUMNS = (
    "CUST_CODE", "ORDER_DATE", "PRODUCT_CODE", "ORDER_ID", "PRODUCT_PRICE", "PRODUCT_AMOUNT", "TRANSACTION_ID",
)  # fmt: skip
ORDER_NUMBERS = ("PRODUCT_PRICE", "PRODUCT_AMOUNT")
WIDE_COLUMNS = tuple(f"COLUMN_{number:03}" for number in range(120))
WIDE_NUMBERS = WIDE_COLUMNS[::4]
TABLES = 200
_KEY = "ORDER_ID"
_IMAGES = re.compile(r'(?<=":)\{"CUST_CODE[^}]*\}')
_NOT_ESCAPED = 1000
KINDS = "IIUUUUUUUD"  # of ten operations two are inserts, and one is a delete
FILES = 4  # so that a program that does not cut files has work for each core, too

_ONE = ("GG.TCUSTORD",)

Lines = Iterator[bytes]


@dataclass(frozen=True)
class Shape:
    """What a maker makes: the tables, their columns, which of these are numbers, and its lines without an end.

    Every `broken_every`-th line is no record, if that is not 0. With `most_in_file`, files are small: of one line, of
    two, and so on up to that, in turns.
    """

    lines: Callable[[], Lines]
    tables: tuple[str, ...]
    columns: tuple[str, ...]
    numbers: tuple[str, ...]
    broken_every: int = 0
    most_in_file: int = 0


def _record(table: str, kind: str, number: int, images: Sequence[str]) -> str:
    second = number % 60
    before = f',"before":{images[0]}' if kind != "I" else ""
    after = f',"after":{images[-1]}' if kind != "D" else ""
    return (
        f'{{"table":"{table}","op_type":"{kind}","op_ts":"2024-06-02 22:14:{second:02d}.000000",'
        f'"current_ts":"2024-06-02T22:15:{second:02d}.447000","pos":"{number:020d}",'
        f'"tokens":{{"R":"AADPkvAAEAAEqL2A{number % 97:02d}"}}{before}{after}}}\n'
    )


def _order(order: int, price: str, amount: int) -> str:
    return (
        f'{{"CUST_CODE":"C{order % 9973:05d}","ORDER_DATE":"2024-0{order % 9 + 1}-11:15:{order % 60:02d}:00",'
        f'"PRODUCT_CODE":"PRODUCT-{order % 131}","ORDER_ID":"{order}","PRODUCT_PRICE":{price},'
        f'"PRODUCT_AMOUNT":{amount},"TRANSACTION_ID":"{order * 7}"}}'
    )


def orders(tables: Sequence[str]) -> Lines:
    """The order table of GoldenGate's manual: seven columns, all in both images; tables take turns."""
    draw = random.Random(1)
    number = 0
    while True:
        order, price, amount = draw.randrange(10**6), draw.randrange(10**6), draw.randrange(1, 9)
        images = _order(order, f"{price}.00", amount), _order(order, f"{price + 7}.50", amount % 5)
        kind = KINDS[draw.randrange(10)]
        yield _record(tables[number % len(tables)], kind, number, images).encode()
        number += 1


def partial() -> Lines:
    """Orders with compressed updates: images of an update have the key and one to three changed columns in any order,
    and the image of a delete has the key."""
    draw = random.Random(5)
    others = [place for place, name in enumerate(ORDER_COLUMNS) if name != _KEY]
    key = ORDER_COLUMNS.index(_KEY)
    for number, line in enumerate(orders(_ONE)):
        kind = KINDS[draw.randrange(10)]
        images = [image[1:-1].split(",") for image in _IMAGES.findall(line.decode())]
        places = [key] if kind == "D" else [key, *draw.sample(others, draw.randrange(1, 4))]
        if kind == "I":
            places = list(range(len(ORDER_COLUMNS)))
        parts = [f"{{{','.join(image[place] for place in places)}}}" for image in images]
        yield _record(_ONE[0], kind, number, parts).encode()


def escaped() -> Lines:
    """Orders that, after the first ones, have an escape in the name of a column: a native scanner leaves such records
    to slower code."""
    for number, line in enumerate(orders(_ONE)):
        yield line if number < _NOT_ESCAPED else line.replace(b'"CUST_CODE"', b'"CUST\\u005fCODE"')


def wide() -> Lines:
    """120 columns, a quarter of them numbers; a third of the values is NULL, one in twenty is missing."""
    draw = random.Random(2)
    words = [f"word {draw.randrange(10 ** draw.randrange(1, 12))}" for _ in range(997)]
    states = [draw.choices("vnm", (37, 20, 3), k=len(WIDE_COLUMNS)) for _ in range(997)]
    heads = [f'"{name}":' for name in WIDE_COLUMNS]
    numeric = [name in WIDE_NUMBERS for name in WIDE_COLUMNS]

    def image(row: int) -> str:
        members = []
        for place, state in enumerate(states[row % 997]):
            if state == "v":
                value = (
                    f"{row * (place + 1) % 99991}.{place:02}" if numeric[place] else f'"{words[(row + place) % 997]}"'
                )
                members.append(heads[place] + value)
            elif state == "n":
                members.append(heads[place] + "null")
        return f"{{{','.join(members)}}}"

    number = 0
    while True:
        row, kind = draw.randrange(10**6), KINDS[draw.randrange(10)]
        images = image(row) if kind != "I" else "", image(row + 1) if kind != "D" else image(row)
        yield _record("GG.WIDE", kind, number, images).encode()
        number += 1


_TEXTS = (
    'say \\"so\\"', "back\\\\slash", "line\\nend\\ttab", "Grüße, 世界 🎉", "\\u00e4\\ud83d\\ude00", "a/b\\/c", "",
    "plain",
)  # fmt: skip
HOSTILE_EVERY = 100


def hostile() -> Lines:
    """Orders with escapes and multi-byte texts, members in changing order, blanks; every hundredth line is broken."""
    draw = random.Random(3)
    number = 0
    while True:
        order, kind = draw.randrange(10**6), KINDS[draw.randrange(10)]
        images = []
        for price in ("17520.00", "1.5e3"):
            members = [
                f'"CUST_CODE":"C{order % 9973:05d}"',
                f'"ORDER_DATE" : "2024-0{order % 9 + 1}-11:15:{order % 60:02d}:00"',
                f'"PRODUCT_CODE":"{_TEXTS[draw.randrange(len(_TEXTS))]}"',
                f'"ORDER_ID": "{order}"',
                f'"PRODUCT_PRICE":{price}',
                f'"PRODUCT_AMOUNT":{"null" if order % 3 == 0 else order % 9}',
                f'"TRANSACTION_ID":"{_TEXTS[order % len(_TEXTS)]}{order}"',
            ]
            draw.shuffle(members)
            images.append(f"{{{', '.join(members[: 7 - order % 2])}}}")  # every second order lacks a column
        record = [
            '"table":"GG.TCUSTORD"',
            f'"op_type":"{kind}"',
            f'"op_ts":"2024-06-02 22:14:{number % 60:02d}.000000"',
            f'"pos":"{number:020d}"',
        ]
        record += [f'"before":{images[0]}'] if kind != "I" else []
        record += [f'"after": {images[1]}'] if kind != "D" else []
        draw.shuffle(record)
        line = f"{{{','.join(record)}}}"
        number += 1
        if number % HOSTILE_EVERY == 0:
            line = (line[: len(line) // 2], f"WARN {line[1:]}", line.replace(":", "=", 1))[draw.randrange(3)]
        yield f"{line}\n".encode()


_MANY = tuple(f"GG.TCUSTORD{number}" for number in range(TABLES))
_SOME = _MANY[:50]
SHAPES = {
    "orders": Shape(lambda: orders(_ONE), _ONE, ORDER_COLUMNS, ORDER_NUMBERS),
    "partial": Shape(partial, _ONE, ORDER_COLUMNS, ORDER_NUMBERS),
    "escaped": Shape(escaped, _ONE, ORDER_COLUMNS, ORDER_NUMBERS),
    "tables": Shape(lambda: orders(_MANY), _MANY, ORDER_COLUMNS, ORDER_NUMBERS),
    "wide": Shape(wide, ("GG.WIDE",), WIDE_COLUMNS, WIDE_NUMBERS),
    "files": Shape(lambda: orders(_SOME), _SOME, ORDER_COLUMNS, ORDER_NUMBERS, most_in_file=3),
    "hostile": Shape(hostile, _ONE, ORDER_COLUMNS, ORDER_NUMBERS, HOSTILE_EVERY),
}


@dataclass(frozen=True)
class Data:
    """Files to read: how many operations and broken lines are in them, and how many bytes they have."""

    directory: Path
    operations: int
    broken: int
    size: int

    @property
    def files(self) -> list[Path]:
        return sorted(path for path in self.directory.rglob("*") if path.is_file())


def write_lines(path: Path, lines: Lines, size: int) -> int:
    """How many lines there are in a file of at least so many bytes."""
    written = count = 0
    with path.open("wb") as out:
        for line in lines:
            out.write(line)
            written += len(line)
            count += 1
            if written >= size:
                break
    return count


def write_small_files(directory: Path, lines: Lines, most: int, size: int) -> int:
    """How many lines there are in small files of at least so many bytes together."""
    written = count = number = 0
    while written < size:
        some = list(islice(lines, number % most + 1))
        data = b"".join(some)
        (directory / f"changes-{number:06}.json").write_bytes(data)
        written, count, number = written + len(data), count + len(some), number + 1
    return count


def make(directory: Path, name: str, size: int) -> Data:
    """A directory of data in one of the shapes, of at least `size` bytes, in `FILES` files or in small ones."""
    shape = SHAPES[name]
    directory.mkdir(parents=True)
    lines = shape.lines()
    if shape.most_in_file:
        count = write_small_files(directory, lines, shape.most_in_file, size)
    else:
        each = -(-size // FILES)
        count = sum(write_lines(directory / f"changes-{number}.json", lines, each) for number in range(FILES))
    broken = count // shape.broken_every if shape.broken_every else 0
    return Data(directory, count - broken, broken, sum(path.stat().st_size for path in directory.iterdir()))


def definition_files(directory: Path, name: str) -> Path:
    """A JSON schema for each table of a shape, as ggfmt writes them."""
    from ggfmt.formats.api.format import Context
    from ggfmt.formats.goldengate.json import JsonOptions
    from ggfmt.formats.goldengate.json.write import json_schema
    from ggfmt.model.table import STRING, Column, Kind, SqlType, TableDef

    shape = SHAPES[name]
    directory.mkdir(parents=True)
    number = SqlType(Kind.DECIMAL, precision=18, scale=2)
    columns = tuple(Column(name, number if name in shape.numbers else STRING) for name in shape.columns)
    for table in shape.tables:
        (schema,) = json_schema(TableDef(table, columns), JsonOptions(), Context())
        (directory / schema.name).write_bytes(schema.content)
    return directory


if __name__ == "__main__":
    write_lines(Path(sys.argv[2]), SHAPES[sys.argv[1]].lines(), int(sys.argv[3]) * 10**6)
