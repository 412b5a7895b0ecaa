"""Transactions that a kernel takes many at a time, from random and damaged logs: they are as without kernels."""

from __future__ import annotations

import io
import random
import re
import struct
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import binlog_encoder as binlogs
import pytest
from dialects import FILE, chunk_bytes, layout_of, read, told
from scanners import with_kernels, without_kernels

from ggfmt import kernels
from ggfmt.formats.binlog.read import Binlog, RecordRun

NAME = "mysql_binlog"
MARIADB = binlogs.head("10.11.6-MariaDB")
needs_kernels = pytest.mark.skipif(kernels.native is None, reason="there are no kernels")


def mapped(table: str, number: int, charset: int = 45) -> bytes:
    more = binlogs.metadata(["id", "v"], [0], unsigned=[False], charsets=[charset])
    return binlogs.table_map("shop", table, [(3, b""), binlogs.varchar()], more, number)


MAPS = {90: mapped("t", 90), 91: mapped("u", 91, binlogs.LATIN1), 92: mapped("t", 92, binlogs.LATIN1)}
BEGIN, COMMIT = binlogs.query("BEGIN"), binlogs.xid()
ODD = [
    binlogs.query("SAVEPOINT s"), binlogs.query("ROLLBACK TO s"), binlogs.query("TRUNCATE TABLE t", "shop"),
    binlogs.query("INSERT INTO t VALUES (1)", "shop"), binlogs.event(39, b""), binlogs.event(99, b""),
    binlogs.event(5, bytes(9)), binlogs.event(33, b"\1"), binlogs.gtid(7), BEGIN, binlogs.xa_prepare(b"x"),
]  # fmt: skip


def row(draw: random.Random, is_whole: bool, odd: float) -> binlogs.Image:
    text = draw.choice([None, b"", b"plain", '"é\\\n'.encode(), b"x" * 250, b"\xff"][: 5 + bool(odd)])
    whole = {0: struct.pack("<i", draw.randrange(-9, 9)), 1: None if text is None else binlogs.inserted(text)}
    return whole if is_whole else {0: whole[0]}


def rows(draw: random.Random, number: int, odd: float) -> bytes:
    op, is_whole = draw.choice("IUD"), draw.random() < 0.9
    images = [row(draw, is_whole, odd) for _ in range((1 + (op == "U")) * draw.randrange(1, 4))]
    count = 2 if draw.random() >= odd / 9 else 3
    return binlogs.rows(
        op, count, images, number, draw.random() < 0.8, flags=draw.randrange(2), time=draw.randrange(99)
    )


def transaction(draw: random.Random, number: int, odd: float) -> Iterator[bytes]:
    start = draw.randrange(6)
    yield [
        binlogs.gtid(number, server=3), binlogs.maria_gtid(number, flags=draw.random() < 0.1), BEGIN,
        binlogs.event(34, bytes(25)), binlogs.event(42, bytes(25)), binlogs.gtid(1 << 63),
    ][start]  # fmt: skip
    if start not in (1, 2) and draw.random() > odd / 9:
        yield BEGIN
    for _ in range(draw.randrange(3)):
        numbers = draw.sample(sorted(MAPS)[: 2 + (odd == 0)], draw.randrange(1, 3))
        yield from [binlogs.event(29, b"\4text")] * (draw.random() < 0.2)
        yield from (MAPS[number] for number in numbers)
        yield from (rows(draw, draw.choice(numbers), odd) for _ in range(draw.randrange(1, 3)))
        if draw.random() < odd:
            yield draw.choice(ODD)
    if draw.random() >= odd:
        yield COMMIT
    elif draw.random() < 0.8:
        yield binlogs.query(draw.choice(["COMMIT", "ROLLBACK"]))


def without_checksums(log: bytes) -> bytes:
    made, place = [binlogs.head(checked=False)], len(binlogs.head())
    while place < len(log):
        size = int.from_bytes(log[place + 9 : place + 13], "little")
        made.append(log[place : place + 9] + struct.pack("<I", size - 4) + log[place + 13 : place + size - 4])
        place += size
    return b"".join(made)


def items(data: bytes, writes_rows: bool = True, **layout: int) -> list[Any]:
    """The records of a log as JSON, the statements and the problems, with their places, and then the losses."""
    dialect = Binlog(told(NAME))
    dialect.writes_rows = writes_rows
    found: list[Any] = []
    laid_out = replace(layout_of(NAME, data, told(NAME)), **layout)  # type: ignore[arg-type]
    for chunk in dialect.chunks(io.BytesIO(data), FILE, 0, None, laid_out):
        if chunk.problem is not None:
            found.append((chunk.offset, chunk.data, repr(chunk.problem)))
            continue
        chunk = dialect.opened(chunk)
        made: list[Any] = []
        for run in dialect.runs(chunk):
            if isinstance(run, RecordRun):
                lines = [run.text[start:end] for start, end in run.spans]
                assert run.text == b"".join(line + b"\n" for line in lines)
                made += lines
            else:
                made.append(repr(run))
        assert chunk.spans is not None
        found += ((chunk.offset + start, end - start, one) for (start, end), one in zip(chunk.spans, made, strict=True))
    return [*found, dialect.lost]


def check_both_ways(data: bytes, **layout: int) -> list[Any]:
    for writes_rows in (False, True):
        found = items(data, writes_rows, **layout)
        with without_kernels():
            assert items(data, writes_rows, **layout) == found
    return found


@pytest.mark.parametrize("seed", range(60))
def test_random_logs(seed: int) -> None:
    draw = random.Random(seed)
    odd = (0, 0.05, 0.4)[seed % 3]
    events = [event for number in range(40) for event in transaction(draw, number, odd)]
    one, count = draw.choice([binlogs.head(), MARIADB]) + b"".join(events), 1 + (seed % 5 == 0)
    data = one * count
    found = check_both_ways(data)
    assert len(found) > 40
    with chunk_bytes(draw.randrange(1, 2000)):
        assert check_both_ways(data) == found
    check_both_ways(without_checksums(one) * count)
    if not odd:
        with_kernel = read(NAME, data)
        with without_kernels():
            assert read(NAME, data) == with_kernel


def few(start: bytes) -> bytes:
    """A log with three transactions, of which the kernel takes the last two."""
    named = binlogs.maria_gtid if start == MARIADB else binlogs.gtid
    made = start
    for number in range(3):
        events = [named(number), *[BEGIN] * (start != MARIADB), MAPS[90]]
        events += [binlogs.rows("U", 2, [{0: bytes(4)}, {0: bytes(4), 1: None}]), COMMIT]
        for event in events:
            made += binlogs.event(event[4], event[19:-4], at=len(made))
    return made


def without_id(item: tuple[int, int, bytes]) -> tuple[int, int, bytes]:
    """A record without its transaction, which has another name if the event with its name is damaged."""
    return *item[:2], re.sub(rb'"(gtid|transaction)":"[^"]*",', b"", item[2])


@pytest.mark.parametrize("start", [binlogs.head(), MARIADB])
@pytest.mark.parametrize("is_checked", [True, False])
def test_damage_at_every_byte(start: bytes, is_checked: bool) -> None:
    data = few(start)
    data = data if is_checked else without_checksums(data)
    *whole, _ = items(data)
    assert len(whole) == 6
    for place in range(len(start), len(data)):
        for bit in (place % 8, place % 7 + 1 & 7):
            *found, _ = check_both_ways(data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :])
            if is_checked:
                assert {without_id(item) for item in found if isinstance(item[2], bytes)} <= set(map(without_id, whole))
                assert any(not isinstance(item[2], bytes) for item in found)
        *found, _ = check_both_ways(data[:place])
        records = [item for item in found if isinstance(item[2], bytes)]
        assert records == whole[: len(records)] and len(records) % 2 == 0


def wide(count: int, shown: bytes) -> list[bytes]:
    """Transactions with a table of so many columns, whose number is as other bytes in the second one."""
    more = binlogs.metadata([f"c{n}" for n in range(count)], [0], unsigned=[False] * count)
    image = bytes([255]) * ((count + 7) // 8)
    start, rest = bytes([93, 0, 0, 0, 0, 0, 1, 0, 2, 0]), image + bytes(len(image)) + bytes(count)
    table = binlogs.table_map("shop", "w", [(1, b"")] * count, more, 93)
    rows = (binlogs.event(30, start + number + rest) for number in (binlogs.packed(count), shown))
    return [event for one in rows for event in (BEGIN, table, one, COMMIT)]


def plain(*events: bytes) -> list[bytes]:
    return [BEGIN, MAPS[90], *events, COMMIT]


INSERT, OPEN_INSERT = (binlogs.rows("I", 2, [{0: bytes(4), 1: None}], flags=flags) for flags in (1, 0))
MAGIC_TIME = int.from_bytes(binlogs.MAGIC, "little")
UNUSUAL = {
    "two identifiers": [binlogs.gtid(1), binlogs.gtid(2), *plain(INSERT)],
    "an identifier in a transaction": [BEGIN, binlogs.gtid(1), MAPS[90], INSERT, COMMIT],
    "two starts": [BEGIN, *plain(INSERT)],
    "a map of another transaction": [*plain(OPEN_INSERT), BEGIN, INSERT, COMMIT],
    "a map of another statement": plain(INSERT, INSERT),
    "no rows": plain(binlogs.event(30, b"\x5a\0\0\0\0\0\1\0\2\0\2\3")),
    "no room for more": plain(binlogs.event(30, b"\x5a\0\0\0\0\0\1\0\0\0\2\3\2\0\0\0\0")),
    "more": plain(binlogs.event(30, b"\x5a\0\0\0\0\0\1\0\4\0xx\2\3\2\0\0\0\0")),
    "more than there is": plain(binlogs.event(30, b"\x5a\0\0\0\0\0\1\0\xff\0\2\3\2\0\0\0\0")),
    "many maps": [BEGIN, *(mapped("t", n) for n in range(70, 91)), INSERT, COMMIT],
    "a short identifier": [binlogs.event(33, b"\1" + bytes(23)), *plain(INSERT)],
    "a short identifier of MariaDB": [binlogs.event(162, bytes(12)), MAPS[90], INSERT, COMMIT],
    "a short map": [BEGIN, binlogs.event(19, b"\x5a\0\0\0"), INSERT, COMMIT],
    "short rows": plain(binlogs.event(30, b"\x5a\0\0\0\0\0\1\0\2"), binlogs.event(23, b"\x5a\0\0\0\0\0\1\0\2\3")),
    "the start of another log": plain(binlogs.event(29, b"", time=MAGIC_TIME, server=15 << 24), INSERT),
    "a time like the start of another log": plain(binlogs.event(29, b"", time=MAGIC_TIME), INSERT),
    "nothing": [COMMIT, *plain(), binlogs.gtid(1), COMMIT],
    **{f"{count} columns as {shown.hex()}": wide(count, shown) for count, shown in (
        (250, b"\xfa"), (251, b"\xfb"), (251, b"\xfc\xfb\0"),
        (252, b"\xfc\xfc\0"), (253, b"\xfd\xfd\0\0"), (300, b"\xfc\x2c\1"),
    )},
}  # fmt: skip


@pytest.mark.parametrize("what", UNUSUAL)
@pytest.mark.parametrize("is_checked", [True, False])
def test_unusual_transactions(what: str, is_checked: bool) -> None:
    data = few(binlogs.head()) + 2 * b"".join(UNUSUAL[what]) + few(binlogs.head())
    check_both_ways(data if is_checked else without_checksums(few(binlogs.head()) + 2 * b"".join(UNUSUAL[what])))


def test_an_event_beyond_the_limit_is_not_taken() -> None:
    long = binlogs.rows("I", 2, [{0: bytes(4), 1: b"\xfa" + bytes(250)}])
    data = few(binlogs.head()) + b"".join(plain(long))
    for limit in range(150, 300):
        *found, _ = check_both_ways(data, max_record=limit)
        assert len(found) == 8 if limit >= len(long) else "GG316" in str(found), limit


@needs_kernels
def test_the_kernel_takes_all_transactions_but_those_of_new_tables() -> None:
    own, taken = kernels.native, []

    def records(*given: Any) -> Any:
        found = own.binlog_records(*given)
        taken.append(found[1].count(b"\n"))
        return found

    with with_kernels({"binlog_records": records}):
        assert len(read(NAME, few(binlogs.head())).plain) == 3
    assert max(taken) == 4  # two transactions, each with rows and a commit
    log, start = few(binlogs.head()), len(binlogs.head())
    ends = [own.binlog_commits(log, start, end, 1 << 20, True) for end in (len(log), len(log) - 1, start)]
    assert own.binlog_commits(log, start, len(log), len(MAPS[90]) - 1, True) == start, "the map is beyond the limit"
    assert ends == [len(log), start + (len(log) - start) // 3 * 2, start]


@needs_kernels
def test_a_long_log_is_cut_into_chunks_between_transactions() -> None:
    one = b"".join([binlogs.gtid(5), BEGIN, MAPS[90], binlogs.rows("I", 2, [{0: bytes(4), 1: None}]), COMMIT])
    data = binlogs.head() + one * 8000
    assert len(check_both_ways(data)) == 16001
    chunks = list(Binlog.chunks(io.BytesIO(data), FILE, 0, None, layout_of(NAME, data, told(NAME))))
    assert len(chunks) > 1
    assert b"".join(chunk.data for chunk in chunks) == data[len(binlogs.MAGIC) :]
