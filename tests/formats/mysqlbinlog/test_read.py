"""The text of a binary log, read: what is odd in rows, values and events. The lines are invented."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from contract.mysqlbinlog import event, query, row, rows
from dialects import Read, chunk_bytes, read, told

import ggfmt
from ggfmt.diagnostics.diagnostic import Abend
from ggfmt.formats import FORMATS
from ggfmt.formats.mysqlbinlog.read import CONTROLS, FLOATS, ZEROS
from ggfmt.model.table import Column, TableDef
from ggfmt.model.type_names import type_of

NAME = "mysqlbinlog_text"
COMMIT = "COMMIT/*!*/;\n"


def table_of(*types: str, name: str = "s.t") -> TableDef:
    columns = [Column(f"c{number}", type_of(type, "mysql", complete=False)) for number, type in enumerate(types, 1)]
    return TableDef(name, tuple(columns))


def found_in(text: str | bytes, *types: str, **options: str) -> Read:
    """What is read, alike in chunks of any size."""
    data = text if isinstance(text, bytes) else text.encode()
    source, trusted = told(NAME, **{"escapes": "mariadb", **options}), {"s.t": table_of(*(types or ("int", "text")))}
    found = read(NAME, data, source, trusted=trusted)
    for size in (1, 300):
        with chunk_bytes(size):
            assert read(NAME, data, source, trusted=trusted) == found
    return found


def insert(*values: str, head: str = "") -> str:
    return head + rows(20, row("I", None, dict(enumerate(values, 1)))) + COMMIT


def value_of(type: str, text: str | bytes, metadata: str = "", **options: str) -> tuple[Any, Read]:
    """The value of a column; None if it is rejected."""
    head = ""
    if metadata:
        head = event(10, "Table_map: `s`.`t` mapped to number 22", f"# Columns(`c1` {metadata})")
    data = insert("@", head=head).encode().replace(b"=@", b"=" + (text if isinstance(text, bytes) else text.encode()))
    found = found_in(data, type, **options)
    return (found.plain[0].after or {}).get("c1") if found.plain else None, found


# Traps


def test_quotes_and_comments_in_values() -> None:
    comment = " /* INT meta=0 nullable=0 is_null=0 */"
    value, _ = value_of("text", f"'it's{comment}' /* VARSTRING(40) meta=40 nullable=1 is_null=0 */")
    assert value == f"it's{comment}"
    assert value_of("int", f"7{comment}")[0] == "7"


def test_control_characters_are_counted() -> None:
    value, found = value_of("text", r"'a\x0ab'")
    assert value == "a\nb"
    assert {remark.detail: count for remark, count in found.remarks.items()} == {CONTROLS: 1}
    assert value_of("text", r"'a\x5cb'")[0] == r"a\x5cb"
    for escapes, text, expected in (
        ("mysql5", r"'a\x0a\x5cx0a\x27'", "a\n\\x0a'"), ("mysql8", r"'a\n\\x0a\'\x1a'", "a\n\\x0a'\x1a"),
    ):  # fmt: skip
        value, found = value_of("text", text, escapes=escapes)
        assert (value, found.remarks) == (expected, {})
    assert value_of("text", r"'a\b'", escapes="auto")[1].reasons[0].startswith("GG314 the text has a backslash")
    assert value_of("text", "'ab'", escapes="auto")[0] == "ab"


@pytest.mark.parametrize(
    ("type", "text", "expected"),
    [
        ("int", "-1 (4294967295)", "-1"), ("int unsigned", "-1 (4294967295)", "4294967295"),
        ("tinyint", "-128 (128)", "-128"), ("tinyint unsigned", "-128 (128)", "128"),
        ("mediumint", "-1 (16777215)", "-1"), ("mediumint unsigned", "-1 (16777215)", "16777215"),
        ("bigint", "-1 (18446744073709551615)", "-1"),
        ("bigint unsigned", "-1 (18446744073709551615)", "18446744073709551615"),
        ("smallint", "-1 (4294967295)", None), ("int", "1.5", None), ("int", "'1'", None),
        ("year", "1900 /* YEAR meta=0 nullable=1 is_null=0 */", "0"), ("year", "2155", "2155"),
        ("decimal(10,2)", "99999999.90", "99999999.90"), ("decimal(10,2)", "'1'", None),
        ("double", "0.10000000000000000555", "0.1"), ("double", "1e+16", "1e+16"), ("double", "x", None),
        ("double", "1.67772e+07         ", "1.67772e+07"),
        ("float", "1.67772e+07         ", "1.67772e+07"),
        ("date", "'2024:02:29'", "2024-02-29"), ("date", "'0000:00:00'", "0000-00-00"), ("date", "'2024-02-29'", None),
        ("time", "'-838:59:59.000000'", "-838:59:59.000000"), ("time", "1", None),
        ("datetime", "'2024-02-29 23:59:59.5'", "2024-02-29 23:59:59.5"),
        ("timestamp(3)", "1709251199.500", "2024-02-29 23:59:59.500"), ("timestamp", "0", "0000-00-00 00:00:00"),
        ("boolean", "1", "true"), ("boolean", "2", None),
        ("bit(5)", "b'10101' /* BIT(5) meta=5 nullable=1 is_null=0 */", "10101"), ("bit(5)", "b'10101'", None),
        ("enum('a')", "1", None), ("json", "JSON_REPLACE(@2, '$.a', 2)", None), ("text", "NULL", None),
        ("varbinary(9)", "'a'", "YQ=="), ("text", b"'\xe9'", None),
    ],
)  # fmt: skip
def test_values(type: str, text: str | bytes, expected: str | None) -> None:
    value, found = value_of(type, text)
    assert value == expected
    assert bool(found.reasons) == (expected is None and text != "NULL")


@pytest.mark.parametrize(
    ("type", "text", "metadata", "expected"),
    [
        ("enum('a')", "2", r"ENUM('a','it\'s','c,d') CHARSET utf8mb4", "it's"), ("enum('a')", "0", "ENUM('a')", ""),
        ("enum('a')", "2", "ENUM('a')", None), ("set('x')", "b'00000101'", "SET('x','y','z')", "x,z"),
        ("text", b"'\xe9'", "VARCHAR(20) CHARSET latin1 COLLATE latin1_swedish_ci", "\u00e9"),
        ("text", b"'\xd6\xd0'", "VARCHAR(20) CHARSET gbk", "\u4e2d"), ("text", b"'\xe9'", "TEXT CHARSET utf8mb4", None),
        ("text", "'a'", "TEXT CHARSET klingon", None), ("bit(5)", "b'00001'", "BIT(5)", "00001"),
        ("binary(4)", r"'\x01'", "BINARY(4)", "AQAAAA=="), ("year", "1900", "YEAR", "0"),
        ("text", "'a'", "BINARY(16)", None), ("text", "'a'", "GEOMETRY", None),
    ],
)  # fmt: skip
def test_values_with_metadata(type: str, text: str | bytes, metadata: str, expected: str | None) -> None:
    value, found = value_of(type, text, metadata)
    assert value == expected
    assert bool(found.reasons) == (expected is None)


def test_the_sign_is_that_of_the_definition_and_not_of_the_metadata() -> None:
    """MariaDB prints the wrong signs after a column of the type YEAR."""
    assert value_of("int", "-1 (4294967295)", "INT UNSIGNED")[0] == "-1"


def test_losses_are_counted() -> None:
    for type, text, detail in (
        ("float", "0.1", FLOATS),
        ("binary(4)", r"'\x01'", CONTROLS),
        ("binary(4)", "'a'", ZEROS),
    ):
        assert detail in {remark.detail for remark in value_of(type, text)[1].remarks}


def test_gaps_are_missing_and_an_insert_has_none() -> None:
    found = found_in(rows(10, row("U", {1: 1}, {3: "NULL"})) + COMMIT, "int", "int", "int")
    assert (found.plain[0].before, found.plain[0].after) == ({"c1": "1"}, {"c3": None})
    assert found_in(insert("1"), "int", "int").reasons == [
        "GG305 an insert lacks a column, whose default the text does not show"
    ]


def test_the_columns_in_the_text_are_those_of_the_definition() -> None:
    head = event(10, "Table_map: `s`.`t` mapped to number 22", "# Columns(`id` INT NOT NULL,", "#         `x` INT)")
    assert found_in(insert("1", "2", head=head), "int", "int").reasons == [
        "GG305 the text has other columns than the definition"
    ]
    assert [reason[:5] for reason in found_in(insert("1", "'a'", "1")).reasons] == ["GG305"]
    found = found_in(rows(10, row("I", None, {1: 1}, table="`s`.`other`")) + COMMIT)
    assert found.reasons == ["GG205 the table `s.other` has no definition"]


def test_rows_of_several_events_follow_the_last_one() -> None:
    first = event(
        10, "Update_rows: table id 22", "#261128 14:57:24 server id 1  end_log_pos 12 \tWrite_rows: table id 23"
    )
    found = found_in(first + "\n".join(row("I", None, {1: 1, 2: "'a'"})) + "\n" + COMMIT)
    assert [item.pos for item in found.plain] == ["12"]


# Statements and transactions


def test_truncates_are_operations_and_other_statements_are_counted() -> None:
    found = found_in(
        query(10, "use `s`/*!*/;\ntruncate t")
        + query(12, "truncate table `s`.`t`")
        + query(14, "create table x (a int)")
    )
    assert ("".join(item.op for item in found.plain), found.others) == ("TT", {"statement": 1})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            query(10, "insert into t\nvalues (1, 'x')"),
            "GG301 a statement changes rows, and the text does not show these",
        ),
        (query(10, "/* x */ UPDATE t set a = 1"), "GG301 a statement changes rows, and the text does not show these"),
        (query(10, "alter table t add c int"), "GG305 the statement alters a table"),
        (insert("1", "'a'").replace(COMMIT, "ROLLBACK/*!*/;\n"), "GG302 a transaction is rolled back"),
        (insert("1", "'a'").replace(COMMIT, ""), "GG302 the last transaction has no end"),
        (
            insert("1", "'a'").replace(COMMIT, "XA PREPARE X'78',X'',1\n/*!*/;\n"),
            "GG302 a prepared transaction has no end",
        ),
        (
            insert("1", "'a'").replace(COMMIT, "XA PREPARE X'78',X'',1\n") + query(30, "XA ROLLBACK X'78',X'',1"),
            "GG302 a transaction is rolled back",
        ),
        (
            insert("1", "'a'") + insert("2", "'a'").replace("end_log_pos 20", "end_log_pos 19"),
            "GG308 `end_log_pos` is lower",
        ),
        ("\n".join(row("I", None, {1: 1})) + "\n" + query(10, "create database x"), "GG301 the row is not in an event"),
    ],
)
def test_what_is_refused(text: str, reason: str) -> None:
    found = found_in(text)
    assert [each[: len(reason)] for each in found.reasons] == [reason]


def test_a_prepared_transaction_that_is_committed() -> None:
    found = found_in(
        insert("1", "'a'").replace(COMMIT, "XA PREPARE X'78',X'',1\n/*!*/;\n") + query(30, "XA COMMIT X'78',X'',1")
    )
    assert (len(found.plain), found.reasons) == (1, [])


def test_lines_of_a_statement_are_no_rows() -> None:
    sql = "create trigger x\n### DELETE FROM `s`.`t`\n### WHERE\n###   @1=1"
    found = found_in(query(10, sql) + insert("1", "'a'"))
    assert ("".join(item.op for item in found.plain), found.reasons) == ("I", [])


@pytest.mark.parametrize(
    "lines",
    [
        ["### INSERT INTO `s`.`t`"], ["### INSERT INTO t", "### SET"], ["### SET", "###   @1=1"],
        ["### INSERT INTO `s`.`t`", "### WHERE", "###   @1=1"], ["### INSERT INTO `s`.`t`", "### SET", "###   @1"],
        ["### INSERT INTO `s`.`t`", "### SET", "###   @2=1", "###   @1=1"],
        ["### UPDATE `s`.`t`", "### WHERE", "###   @1=1"], ["### INSERT INTO `s`.`t`", "###   @1=1", "### SET"],
    ],
)  # fmt: skip
def test_lines_that_are_no_row_are_rejected(lines: list[str]) -> None:
    found = found_in(rows(10, lines) + insert("1", "'a'"))
    assert (len(found.plain), [reason[:5] for reason in found.reasons]) == (1, ["GG301"])


# Commands


@pytest.mark.process
def test_strict_stops_at_a_loss(tmp_path: Path) -> None:
    path, ddl = tmp_path / "log.txt", tmp_path / "s.sql"
    ddl.write_text("create table s.t (c1 int primary key, c2 float);")
    path.write_text(insert("1", "0.1".ljust(20)))
    ggfmt.convert(path, output=tmp_path / "out", to="json", definitions=ddl, master="none")
    with pytest.raises(Abend, match=r"GG407.*FLOAT"):
        ggfmt.convert(path, output=tmp_path / "no", to="json", definitions=ddl, strict=True, master="none")
    with pytest.raises(Abend, match="GG205"):
        ggfmt.convert(path, output=tmp_path / "no", to="json", master="none")


# Damage

STORY = "".join(
    (
        insert("1", "'it's \\x0a'").replace("pos 20", "pos 10"), query(20, "truncate s.t"), insert("2", "NULL"),
        rows(30, row("U", {1: 1, 2: "'a'"}, {1: 2, 2: "'b'"}), row("D", {1: 2, 2: "'b'"}, None)) + COMMIT,
    )
)  # fmt: skip


def images(found: Read) -> list[tuple[Any, Any]]:
    return [(item.before, item.after) for item in found.plain]


@pytest.mark.parametrize("seed", range(4))
def test_damaged_bytes(seed: int) -> None:
    """Nothing breaks, and what is not in the original is in one record, or there is a problem."""
    choose = random.Random(seed)
    data, source, trusted = STORY.encode(), told(NAME, escapes="mariadb"), {"s.t": table_of("int", "text")}
    whole = images(read(NAME, data, source, trusted=trusted))
    for _ in range(100):
        damaged = bytearray(data)
        one, two = choose.randrange(len(data)), choose.randrange(len(data))
        if choose.random() < 0.5:
            damaged[one] = choose.choice(b"'\n#@=` \\x1\x00\xff\r")
        else:
            damaged[one], damaged[two] = damaged[two], damaged[one]
        found = read(NAME, bytes(damaged), source, trusted=trusted)
        assert len([image for image in images(found) if image not in whole]) <= 2 or found.reasons
        assert len(found.plain) >= len(whole) or found.reasons or found.others, bytes(damaged)


def test_a_cut_text_has_a_part_of_the_operations_and_a_problem() -> None:
    data, source, trusted = STORY.encode(), told(NAME, escapes="mariadb"), {"s.t": table_of("int", "text")}
    whole = images(read(NAME, data, source, trusted=trusted))
    for place in range(len(data)):
        found = read(NAME, data[:place], source, trusted=trusted)
        assert images(found) == whole[: len(found.plain)] or found.reasons, data[:place]


def test_a_text_is_recognized_by_an_event() -> None:
    reader = FORMATS[NAME].read_support.reader
    assert reader.sniff(STORY.encode()) == "events as `mysqlbinlog` prints them"
    for head in (b"# at 4\n", b"", b"### INSERT INTO `s`.`t`\n"):
        assert reader.sniff(head) is None
