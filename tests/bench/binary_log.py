"""How many MB of a binary log one core reads in a second: `python tests/bench/binary_log.py`, or with files of logs.

Without files, it reads a log like that of a shop: an insert of many rows in one transaction, and then single rows.
"""

from __future__ import annotations

import io
import struct
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import binlog_encoder as binlogs

from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Projection, WriterSettings
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import Catalog

NAME = "mysql_binlog"
ROWS, PER_EVENT, SINGLE = 400_000, 80, 40_000
_TYPES = [(8, b""), (3, b""), binlogs.varchar(320), (246, b"\x0a\2"), (18, b"\0")]
_NAMES = ["id", "customer", "note", "price", "created"]


def row(number: int) -> binlogs.Image:
    note = b"order number %d of the customer" % number
    return {
        0: struct.pack("<q", number), 1: struct.pack("<i", number % 977), 2: struct.pack("<H", len(note)) + note,
        3: (0x80000000 | number % 90000).to_bytes(4, "big") + bytes([number % 100]),
        4: ((1 << 39) + ((2024 * 13 + 2 << 5 | 29) << 17 | 12 << 12 | number % 60)).to_bytes(5, "big"),
    }  # fmt: skip


def logs() -> tuple[bytes, bytes]:
    more = binlogs.metadata(_NAMES, [0], unsigned=[True, False, False], charsets=[45])
    mapped = binlogs.table_map("shop", "orders", _TYPES, more)
    begin = binlogs.query("BEGIN", "shop")
    many = [binlogs.head(), binlogs.gtid(1), begin, mapped]
    for first in range(0, ROWS, PER_EVENT):
        is_last = first + PER_EVENT >= ROWS
        many.append(binlogs.rows("I", 5, [row(n) for n in range(first, first + PER_EVENT)], flags=int(is_last)))
    single = [binlogs.head()]
    for number in range(SINGLE):
        single += (binlogs.gtid(number + 1), begin, mapped, binlogs.rows("I", 5, [row(number)]), binlogs.xid())
    return b"".join([*many, binlogs.xid()]), b"".join(single)


def measure(what: str, data: bytes) -> None:
    support, source = FORMATS[NAME].read_support, WriterSettings()
    assert support.discovery is not None
    layout = support.reader.layout(data[:4096], False, source)
    discovery = support.discovery(Catalog({}), False, source)
    started = time.process_time()
    for chunk in support.reader.chunks(io.BytesIO(data), what, 0, None, layout):
        discovery.read(chunk)
    found = time.process_time() - started
    tables = support.discovery.settle([discovery.findings()], Catalog({}), False).tables
    reader = support.reader(Catalog({}).with_tables(tables), Projection(), source)
    operations = 0
    started = time.process_time()
    for chunk in support.reader.chunks(io.BytesIO(data), what, 0, None, layout):
        operations += sum(len(event) for event in reader.read(chunk) if isinstance(event, ChangeBatch))
    operations += sum(len(event) for event in reader.flush() if isinstance(event, ChangeBatch))
    taken = time.process_time() - started
    size = len(data) / 1e6
    print(
        f"{what}: {size:.0f} MB, {operations:,} operations: {size / taken:.0f} MB/s, {operations / taken:,.0f}/s; "
        f"discovery {size / found:.0f} MB/s"
    )


if __name__ == "__main__":
    if sys.argv[1:]:
        for name in sys.argv[1:]:
            measure(name, Path(name).read_bytes())
    else:
        many, single = logs()
        measure("one transaction", many)
        measure("single rows", single)
