"""Events of binary logs: transactions, checksums, compression, and what ggfmt refuses. By MySQL's manual."""

from __future__ import annotations

import io
import lzma
import random
import re
import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import binlog_encoder as binlogs
import pyarrow as pa
import pytest
from dialects import DATA, Read, read, told
from scanners import without_kernels

from ggfmt.formats import FORMATS
from ggfmt.formats.binlog import log
from ggfmt.model.table import Column, Kind, SqlType, TableDef
from ggfmt.model.type_names import type_of

NAME = "mysql_binlog"
NAMES = ["id", "v"]
MAP = binlogs.table_map(
    "shop", "t", [(3, b""), binlogs.varchar()], binlogs.metadata(NAMES, [0], unsigned=[False], charsets=[45])
)
BEGIN, COMMIT, ROLLBACK = binlogs.query("BEGIN"), binlogs.xid(), binlogs.query("ROLLBACK")


def row(id: int, text: str | None = "a") -> dict[int, bytes | None]:
    return {0: struct.pack("<i", id), 1: None if text is None else binlogs.inserted(text)}


def insert(id: int, text: str | None = "a", **others: Any) -> bytes:
    return binlogs.rows("I", 2, [row(id, text)], **others)


def parsed(*events: bytes, head: bytes | None = None, **others: Any) -> Read:
    data = (binlogs.head() if head is None else head) + b"".join(events)
    found = read(NAME, data, **others)
    with without_kernels():
        assert read(NAME, data, **others) == found
    return found


def ids(found: Read) -> list[Any]:
    return [(item.after or item.before or {}).get("id") for item in found.plain]


def test_transactions() -> None:
    found = parsed(
        binlogs.gtid(3), BEGIN, MAP, insert(1), COMMIT,
        binlogs.gtid(4), BEGIN, MAP, insert(2), ROLLBACK,
        BEGIN, MAP, insert(3), binlogs.query("SAVEPOINT `a b`"), MAP, insert(4), binlogs.query("ROLLBACK TO `a b`"),
        MAP, insert(5), binlogs.query("COMMIT"),
    )  # fmt: skip
    assert ids(found) == ["1", "3", "5"]
    assert (found.others, found.reasons) == ({"transaction commit": 2, "transaction rollback": 1}, [])
    assert found.plain[0].tokens["gtid"] == "3e11fa47-71ca-11e1-9e33-c80aa9429562:3"
    assert found.plain[1].tokens["transaction"] == found.plain[2].tokens["transaction"]


def test_a_transaction_without_its_end_is_left_out() -> None:
    found = parsed(BEGIN, MAP, insert(1), COMMIT, binlogs.gtid(2), BEGIN, MAP, insert(2))
    assert ids(found) == ["1"]
    assert found.reasons == ["GG302 the last transaction has no end, and ggfmt leaves it out"]
    found = parsed(binlogs.gtid(1), BEGIN, MAP, insert(1), binlogs.gtid(2), BEGIN, MAP, insert(2), COMMIT)
    assert ids(found) == ["2"]
    assert found.reasons == ["GG302 a transaction has no end, and ggfmt leaves it out"]


def test_a_transaction_is_not_joined_with_the_next_one() -> None:
    for more in ([BEGIN], [binlogs.head(), BEGIN], [binlogs.head()]):
        found = parsed(BEGIN, MAP, insert(1), *more, MAP, insert(2), COMMIT)
        assert ids(found) == ["2"]
        assert found.reasons == ["GG302 a transaction has no end, and ggfmt leaves it out"]
    maria = binlogs.head("10.11.6-MariaDB")
    assert ids(parsed(binlogs.maria_gtid(1), BEGIN, MAP, insert(1), COMMIT, head=maria)) == ["1"]


def test_xa_transactions() -> None:
    first, second = (
        [binlogs.query(f"XA START X'{n}',X'',1"), MAP, insert(int(n)), binlogs.query(f"XA END X'{n}',X'',1"),
         binlogs.xa_prepare(bytes.fromhex(n))] for n in ("31", "32")
    )  # fmt: skip
    other = [BEGIN, MAP, insert(1), COMMIT]
    found = parsed(
        *first, *second, *other, binlogs.query("XA COMMIT X'32',X'',1"), binlogs.query("xa rollback X'31',X'',1")
    )
    assert (ids(found), found.reasons) == (["1", "32"], [])
    found = parsed(*first, *other, binlogs.query("XA COMMIT X'33',X'',1"))
    assert ids(found) == ["1"]
    assert found.reasons == [
        "GG302 the XA transaction X'31',X'',1 is prepared, and the file does not have its end",
        "GG305 the XA transaction X'33',X'',1 was prepared in another log",
    ]
    found = parsed(*first[:-1], binlogs.xa_prepare(b"\x31", one_phase=True))
    assert (ids(found), found.reasons) == (["31"], [])


def test_long_transactions_are_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "_HELD_BYTES", 200)
    monkeypatch.setattr(log, "CHUNK_BYTES", 500)
    rows = [event for n in range(40) for event in (MAP, insert(n))]
    undone = [binlogs.query("SAVEPOINT s"), *rows[:60], binlogs.query("ROLLBACK TO s")]
    found = parsed(BEGIN, *rows, *undone, MAP, insert(99), COMMIT, BEGIN, *rows, ROLLBACK)
    assert ids(found) == [*map(str, range(40)), "99"]


def test_a_wrong_checksum_is_an_error_with_its_place() -> None:
    good = [binlogs.head(), BEGIN, MAP, insert(1)]
    start = sum(map(len, good))
    damaged = bytearray(insert(2, at=start))
    damaged[40] ^= 1
    found = parsed(*good[1:], bytes(damaged), MAP, insert(3), COMMIT)
    assert ids(found) == ["1", "3"]
    assert found.reasons == ["GG313 the checksum of the event is wrong"]
    span = found.rejects[0].diagnostic.span
    assert (span.file, span.offset, found.rejects[0].record) == ("f", start, bytes(damaged))


def test_a_checksum_is_wrong_wherever_a_byte_changes() -> None:
    data = binlogs.head() + b"".join([BEGIN, MAP, insert(1), COMMIT, BEGIN, MAP, insert(2), COMMIT])
    whole = read(NAME, data)
    draw = random.Random(1)
    for _ in range(300):
        place = draw.randrange(4, len(data))
        found = read(NAME, data[:place] + bytes([data[place] ^ (1 << draw.randrange(8))]) + data[place + 1 :])
        assert found.reasons
        assert all(item in whole.plain for item in found.plain)


def test_a_cut_file() -> None:
    data = binlogs.head() + b"".join([BEGIN, MAP, insert(1), COMMIT, BEGIN, MAP, insert(2), COMMIT])
    whole = read(NAME, data)
    edges = {len(data) - len(COMMIT)}
    for end in range(1, len(data)):
        found = read(NAME, data[:end])
        assert found.plain == whole.plain[: len(found.plain)]
        assert found.reasons or len(found.plain) == 1 or end == len(binlogs.head()) or end in edges or end == 4, end


def test_an_event_beyond_the_limit_is_refused_alone() -> None:
    data = binlogs.head() + b"".join([BEGIN, MAP, insert(1, flags=0), insert(2, "x" * 200), COMMIT])
    reader = FORMATS[NAME].read_support.reader
    layout = replace(reader.layout(data, True, told(NAME)), max_record=len(insert(2, "x" * 200)) - 1)
    found = list(reader.chunks(io.BytesIO(data), "f", 0, None, layout))
    problem = next(chunk for chunk in found if chunk.problem is not None)
    assert (problem.offset, problem.problem and problem.problem.code) == (data.index(insert(2, "x" * 200)), "GG316")
    assert b"".join(chunk.data for chunk in found if chunk.problem is None) == data[4:].replace(
        insert(2, "x" * 200), b""
    )


def test_logs_without_checksums_and_of_a_running_server() -> None:
    def plain(event: bytes) -> bytes:
        return event[:9] + struct.pack("<I", len(event) - 4) + event[13:-4]

    events = map(plain, (BEGIN, MAP, insert(1), COMMIT))
    assert ids(parsed(*events, head=binlogs.head(checked=False))) == ["1"]
    running = binlogs.MAGIC + binlogs.description(flags=1)
    assert parsed(BEGIN, MAP, insert(1), COMMIT, head=running).reasons == []


def test_several_logs_in_a_single_file() -> None:
    one = binlogs.head() + BEGIN + MAP + insert(1) + COMMIT
    assert ids(parsed(BEGIN, MAP, insert(1), COMMIT, one)) == ["1", "1"]


def test_what_is_no_log() -> None:
    assert parsed(head=b"\xfebix" + bytes(60)).reasons == ["GG313 the file does not start like a binary log"]
    assert parsed(head=binlogs.MAGIC + bytes(60)).reasons == ["GG313 an event cannot have 0 bytes"]
    old = binlogs.head(version="5.5.1")[:-5] + b"\xff" + bytes(4)
    assert "it is unknown whether events have checksums" in parsed(head=old).reasons[0]


def transaction(*events: bytes) -> bytes:
    return b"".join(event[:9] + struct.pack("<I", len(event) - 4) + event[13:-4] for event in events)


@pytest.mark.parametrize("is_packed", [True, False])
def test_compressed_transactions_of_mysql(is_packed: bool) -> None:
    inner = transaction(BEGIN, MAP, insert(1), insert(2), COMMIT)
    packed = pa.compress(inner, codec="zstd", asbytes=True) if is_packed else None
    before = [binlogs.gtid(5), BEGIN, MAP, insert(0), COMMIT]
    event = binlogs.payload(inner, packed)  # whose second rows have no table map
    # the table map holds until the end of the statement, which the first rows are
    inner = transaction(BEGIN, MAP, insert(1, flags=0), insert(2), COMMIT)
    packed = pa.compress(inner, codec="zstd", asbytes=True) if is_packed else None
    data = binlogs.head() + b"".join([*before, binlogs.gtid(6), binlogs.payload(inner, packed), *before])
    found = _read_packed(data)
    assert ids(found) == ["0", "1", "2", "0"]
    place = len(binlogs.head()) + len(b"".join(before)) + len(binlogs.gtid(6))
    assert [item.pos for item in found.plain[1:3]] == [f"f:{place}"] * 2
    assert found.plain[1].tokens["gtid"].endswith(":6")
    undone = transaction(BEGIN, MAP, insert(1), ROLLBACK)
    assert ids(_read_packed(binlogs.head() + binlogs.payload(undone))) == []
    assert len(_read_packed(binlogs.head() + event).reasons) == 1


def _read_packed(data: bytes) -> Read:
    return read(NAME, data)


def test_damaged_compressed_transactions_are_refused() -> None:
    inner = transaction(BEGIN, MAP, insert(1), COMMIT)
    packed = pa.compress(inner, codec="zstd", asbytes=True)
    for wrong in (packed[:-3], packed[:9] + b"xx" + packed[11:]):
        assert parsed(binlogs.payload(inner, wrong)).reasons == ["GG313 the compressed transaction is damaged"]
    assert parsed(binlogs.payload(inner + b"x", packed)).reasons == ["GG313 the compressed transaction is damaged"]
    assert parsed(binlogs.payload(inner[:-1])).reasons == ["GG313 the compressed transaction is damaged"]


def test_compressed_events_of_mariadb() -> None:
    plain = insert(7)
    body = plain[19:-4]
    place = 6 + 2 + 2 + 1 + 1
    event = binlogs.event(169, binlogs.deflated(body, place))
    head = binlogs.head("10.11.6-MariaDB-log")
    assert ids(parsed(binlogs.maria_gtid(1), MAP, event, COMMIT, head=head)) == ["7"]
    damaged = binlogs.event(169, binlogs.deflated(body, place)[:-6])
    reasons = parsed(binlogs.maria_gtid(1), MAP, damaged, COMMIT, head=head).reasons
    assert reasons == ["GG313 the compressed part of the event is damaged"]
    sql = "TRUNCATE TABLE t".ljust(300)
    query = binlogs.query(sql, "shop")[19:-4]
    event = binlogs.event(165, binlogs.deflated(query, len(query) - 300))
    assert [item.op for item in parsed(binlogs.maria_gtid(2, 1), event, head=head).plain] == ["T"]


def test_what_ggfmt_refuses() -> None:
    body = insert(1)[19:-4]
    reasons = parsed(
        BEGIN, binlogs.event(39, body), binlogs.event(26, b"\1\0\0"), binlogs.event(164, b"\1"), binlogs.event(99, b""),
        binlogs.event(99, b"", flags=0x80), insert(1), COMMIT,
    ).reasons  # fmt: skip
    assert reasons == [
        "GG305 ggfmt cannot read partial updates of JSON",
        "GG305 ggfmt cannot read an incident: the server lost changes",
        "GG305 ggfmt cannot read encrypted events",
        "GG305 ggfmt cannot read events of the kind number 99",
        "GG313 the event has rows of a table without a table map before it",
    ]


def test_statements_with_rows_are_losses() -> None:
    found = parsed(
        BEGIN, binlogs.query("/* c */ insert into `t``x` values (1)", "shop"), COMMIT,
        binlogs.query("UPDATE other.t SET a = 1", "shop"), binlogs.query("call p()", "shop"),
        binlogs.query("CREATE TABLE n AS SELECT 1", "shop"), binlogs.query("create table n (`select` int)", "shop"),
    )  # fmt: skip
    assert {remark.table: count for remark, count in found.remarks.items()} == {
        "shop.t`x": 1, "other.t": 1, "shop.*": 1, "shop.n": 1,
    }  # fmt: skip
    assert all(remark.is_loss for remark in found.remarks)
    assert found.others == {"statement with rows": 4, "transaction commit": 1, "ddl create": 1}


def by_place(*types: tuple[int, bytes], extra: bytes = b"") -> Sequence[bytes]:
    return binlogs.table_map("shop", "t", types, extra), binlogs.rows("I", 2, [row(-1, "é")])


def test_names_come_from_the_definition_by_place() -> None:
    mapped, rows = by_place((3, b""), binlogs.varchar())
    found = parsed(BEGIN, mapped, rows, COMMIT)
    (reject,) = found.rejects
    assert reject.diagnostic.message == "the log does not name the columns of the table"
    assert re.search(r"`--definitions`, after a line `USE \w+;` if it names no database", str(reject.diagnostic.help))
    assert "binlog_row_metadata=FULL" in (reject.diagnostic.help or "")
    signed = TableDef("shop.t", (Column("id", type_of("int", "mysql")), Column("v", SqlType(Kind.STRING))))
    assert parsed(BEGIN, mapped, rows, COMMIT, trusted={"shop.t": signed}).plain[0].after == {"id": "-1", "v": "é"}
    unsigned = TableDef("shop.t", (Column("n", type_of("int unsigned", "mysql")), Column("v", SqlType(Kind.BINARY))))
    found = parsed(BEGIN, mapped, rows, COMMIT, trusted={"shop.t": unsigned})
    assert found.plain[0].after == {"n": "4294967295", "v": "w6k="}
    short = TableDef("shop.t", (Column("id"),))
    (reason,) = parsed(BEGIN, mapped, rows, COMMIT, trusted={"shop.t": short}).reasons
    assert reason == "GG305 the table has 2 columns in the log, and 1 in its definition"


def test_columns_that_an_image_lacks_are_missing() -> None:
    found = parsed(
        BEGIN, MAP, binlogs.rows("U", 2, [{0: b"\1\0\0\0"}, {1: None}], flags=0),
        binlogs.rows("D", 2, [{0: b"\1\0\0\0"}], flags=0), binlogs.rows("I", 2, [{1: None}]), COMMIT,
    )  # fmt: skip
    update, delete, inserted = found.plain
    assert (update.before, update.after) == ({"id": "1"}, {"id": "1", "v": None})
    assert (delete.before, inserted.after) == ({"id": "1"}, {"v": None})
    ((remark, count),) = found.remarks.items()
    assert (remark.code, remark.table, count) == ("GG330", "shop.t", 1)


def test_a_table_map_holds_until_the_end_of_its_statement() -> None:
    other = binlogs.table_map("shop", "u", [(3, b"")], binlogs.metadata(["n"], [0], unsigned=[True]), number=91)
    found = parsed(
        BEGIN, MAP, other, insert(1, flags=0), binlogs.rows("I", 1, [{0: b"\xff\xff\xff\xff"}], number=91),
        binlogs.rows("I", 2, [], number=0xFFFFFF), COMMIT,
    )  # fmt: skip
    assert [(table.full_name, item.after) for table, item in found.operations] == [
        ("shop.t", {"id": "1", "v": "a"}), ("shop.u", {"n": "4294967295"}),
    ]  # fmt: skip


@pytest.mark.skipif(not (DATA / "mariadb-binlog").is_dir(), reason="the recorded messages are not there")
def test_damaged_recordings_are_read_without_wrong_rows() -> None:
    """Whatever is changed in a recording, an operation is as before, or is not there, and then there is a reject."""
    data = lzma.decompress((DATA / "mariadb-binlog" / "binlog.000001.xz").read_bytes())
    whole = read(NAME, data)
    known = {(table.full_name, repr(replace(item, tokens={}))) for table, item in whole.operations}
    draw = random.Random(7)
    for turn in range(40):
        changed = bytearray(data)
        place = draw.randrange(4, len(data))
        if turn % 4 == 0:
            changed = changed[:place]
        elif turn % 4 == 1:
            del changed[place : place + draw.randrange(1, 9)]
        elif turn % 4 == 2:
            changed[place] ^= 1 << draw.randrange(8)
        else:
            other = draw.randrange(4, len(data) - 8)
            changed[place : place + 8], changed[other : other + 8] = data[other : other + 8], data[place : place + 8]
        found = read(NAME, bytes(changed))
        assert found.reasons or len(changed) < len(data) or bytes(changed) == data
        for table, item in found.operations:  # whose tokens have another transaction if its start is damaged
            assert (table.full_name, repr(replace(item, tokens={}))) in known


def test_a_statement_with_an_identifier_is_a_transaction_of_its_own() -> None:
    for identifier in (binlogs.gtid(3), binlogs.maria_gtid(3, 1)):
        found = parsed(identifier, binlogs.query("truncate t", "shop"), BEGIN, MAP, insert(1), COMMIT)
        truncate, own = found.plain
        assert "gtid" in truncate.tokens
        assert "gtid" not in own.tokens and own.tokens["transaction"].startswith("f:")
    inside = parsed(binlogs.gtid(3), BEGIN, binlogs.query("insert into x values (1)", "shop"), MAP, insert(1), COMMIT)
    assert [item.tokens["gtid"] for item in inside.plain] == [f"{binlogs.SERVER}:3"]
