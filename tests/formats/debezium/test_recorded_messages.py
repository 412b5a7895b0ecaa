"""Recorded messages of Debezium: what its documentation shows, what Flink tests with, and a stream of PostgreSQL whose
rows are worked out from the statements that made it."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from debezium_recording import KEYS, Row, ordered_lines, orders
from dialects import DATA, Read, lines, read, told, transactions_of
from oracle import PlainOperation

from ggfmt.formats.api.format import Projection
from ggfmt.model.table import Column, Kind, SqlType, TableDef

NAME = "debezium_json"
DOCS = DATA / "debezium"
LIVE = DATA / "debezium-live"

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="the recorded messages are not there")


# What each file of the documentation holds: operations by table, and other records.
EXAMPLES: dict[str, tuple[list[tuple[str, str]], dict[str, int]]] = {
    **dict.fromkeys(
        (
            "oracle_L1426",
            "oracle_L657",
            "oracle_L891",
            "postgresql_L637",
            "sqlserver_L616",
            "sqlserver_L822",
            "sqlserver_L940",
        ),
        ([], {"key": 1}),
    ),
    **dict.fromkeys(
        ("oracle_L943", "postgresql_L457", "sqlserver_L1524"), ([], {"transaction begin": 1, "transaction end": 1})
    ),
    "oracle_L1956": ([("DEBEZIUM.TEST_TABLE", "T")], {}),
    "postgresql_L763": ([("public.customers", "I")], {}),
    "postgresql_L1045": ([("public.customers", "U")], {}),
    "postgresql_L1150": ([("public.customers", "D")], {}),
    "postgresql_L1249": ([("public.customers", "T")], {}),
    "postgresql_L1328": ([], {"message": 1}),
    "sqlserver_L668": ([], {}),  # a schema change alone
    "sqlserver_L1317": ([("dbo.customers", "U")], {}),
}
# Source blocks of these are cut short, so that they do not name the table.
NAMELESS = {
    "oracle_L1573": "I", "oracle_L1815": "U", "oracle_L1890": "D", "oracle_L988": "I", "postgresql_L499": "I",
    "sqlserver_L1568": "I",
}  # fmt: skip
# A key and a value as one object, and three times as one member.
TWICE = {"postgresql_L543": "schema", "sqlserver_L855": "schema", "sqlserver_L1045": "payload.ts_ms"}


def example(name: str) -> bytes:
    return (DOCS / f"debezium_docs__{name}.json").read_bytes()


def test_there_is_an_expectation_for_every_file_of_the_documentation() -> None:
    found = {path.stem.removeprefix("debezium_docs__") for path in DOCS.glob("debezium_docs__*.json")}
    assert found == {*EXAMPLES, *NAMELESS, *TWICE}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_of_the_documentation(name: str) -> None:
    operations, others = EXAMPLES[name]
    found = read(NAME, example(name))
    assert found.reasons == []
    assert [(table.full_name, item.op) for table, item in found.operations] == operations
    assert found.others == others


@pytest.mark.parametrize("name", NAMELESS)
def test_examples_that_do_not_name_their_table_need_the_option(name: str) -> None:
    assert read(NAME, example(name)).reasons == ["GG305 the record does not name its table"]
    found = read(NAME, example(name), told(NAME, table="S.T"))
    assert [(table.full_name, item.op) for table, item in found.operations] == [("S.T", NAMELESS[name])]


@pytest.mark.parametrize("name", TWICE)
def test_examples_with_a_member_twice(name: str) -> None:
    assert read(NAME, example(name)).reasons == [f"GG329 the record has the member `{TWICE[name]}` twice"]


def test_values_of_the_examples() -> None:
    (made,) = read(NAME, example("postgresql_L763")).plain
    assert (made.op_ts, made.pos) == ("2019-05-28 08:58:24.863123", '["24023119","24023128"]')
    assert made.after == {"id": "1", "first_name": "Anne", "last_name": "Kretchmar", "email": "annek@noanswer.org"}
    assert made.tokens["snapshot"] == "true"
    (cut,) = read(NAME, example("sqlserver_L1317")).plain
    assert (cut.op_ts, cut.pos) == ("2019-06-05 10:19:55.937000", "00000027:00000ac0:0007:00000027:00000ac0:0002:2")
    (table,) = (event.table for event in read(NAME, example("sqlserver_L668")).definitions)
    assert [(c.name, str(c.type), c.key) for c in table.columns] == [
        ("id", "integer", 1),
        ("first_name", "string(255)", 0),
        ("last_name", "string(255)", 0),
        ("email", "string(255)", 0),
    ]


def applied(operations: Iterable[PlainOperation], keys: tuple[str, ...]) -> dict[tuple[Any, ...], Row]:
    """The rows that operations leave, by their key; what an image lacks stays as it was."""
    rows: dict[tuple[Any, ...], Row] = {}
    for item in operations:
        if item.op == "T":
            rows.clear()
        if item.op == "D":
            assert item.before is not None
            del rows[tuple(item.before[key] for key in keys)]
        if item.after is not None:
            key = tuple(item.after[name] for name in keys)
            assert (key in rows) == (item.op == "U")
            rows[key] = {**rows.get(key, {}), **item.after}
    return rows


def test_the_stream_that_flink_is_tested_with() -> None:
    found = read(NAME, (DOCS / "apache_flink-connector-kafka__debezium-data-schema-exclude.txt").read_bytes())
    assert found.reasons == []
    assert {table.full_name for table, _ in found.operations} == {"inventory.products"}
    sums: dict[str | None, Decimal] = {}
    for row in applied(found.plain, ("id",)).values():
        sums[row["name"]] = sums.get(row["name"], Decimal()) + Decimal(row["weight"] or 0)
    shown = [f"+I[changelog_topic, products, {name}, {total:.3f}]" for name, total in sums.items()]
    text = (DOCS / "apache_flink-connector-kafka__debezium-data-schema-exclude.expected.txt").read_text("utf-8")
    assert sorted(shown) == sorted(line for line in text.splitlines() if line.startswith("+I["))
    assert found.plain[0].tokens["snapshot"] == "true"
    assert found.plain[-1].op == "D"
    assert found.plain[-1].pos == "mysql-bin.000003:2443:0"


def test_all_types_of_mysql() -> None:
    """The payloads show columns that their own schemas lack, which is a reject; without them, types are as declared."""
    events = json.loads((DOCS / "apache_flink-cdc__debezium-data-schema-include.json").read_text("utf-8"))
    assert list(events) == ["expected_snapshot", "expected_binlog"]
    for name, record in events.items():
        assert read(NAME, lines(record)).reasons == [
            "GG204 an image has a column that the definition of the table lacks"
        ]
        fields = record["schema"]["fields"]
        fields = next((field["fields"] for field in fields if field["field"] == "after"), fields)
        told_columns = {field["field"] for field in fields}
        for image in ("before", "after"):
            if record["payload"][image] is not None:
                record["payload"][image] = {k: v for k, v in record["payload"][image].items() if k in told_columns}
        found = read(NAME, lines(record))
        assert found.reasons == []
        ((table, item),) = found.operations
        row = item.after
        assert row is not None
        assert item.op == ("I" if name == "expected_snapshot" else "U")
        number = int.from_bytes(base64.b64decode("EtaH"), "big")
        assert row["decimal_c"] == str(Decimal(number).scaleb(-4)) == "123.4567"
        assert row["numeric_c"] == "346"
        assert row["big_decimal_c"] == f"{Decimal(int.from_bytes(base64.b64decode('FJqkSQ=='), 'big')).scaleb(-65):f}"
        assert row["date_c"] == str(date(1970, 1, 1) + timedelta(days=18460))
        assert row["time_c"] == "18:00:22.000000"
        assert row["datetime3_c"] == "2020-07-17 18:00:22.123"
        assert row["datetime6_c"] == "2020-07-17 18:00:22.123456"
        assert row["timestamp_c"] in ("2020-07-17T18:00:22Z", "2020-07-17T18:33:22Z")
        assert row["big_c"] == "9223372036854775807"
        assert row["bit1_c"] == "false"
        assert row["real_c"] == "123.102"
        kinds = {column.name: str(column.type) for column in table.columns}
        assert kinds["decimal_c"] == "decimal(8,4)"
        assert kinds["datetime6_c"] == "timestamp(6)"
        assert kinds["file_uuid"] == "binary"


# PostgreSQL: rows by the statements

DECIMALS = {"price": 2, "big": 10, "money": 9}


ORDERS = TableDef(
    "shop.orders",
    (
        Column("id", SqlType(Kind.INTEGER), key=1),
        Column("customer"),
        Column("price", SqlType(Kind.DECIMAL, precision=12, scale=2)),
        Column("qty", SqlType(Kind.INTEGER)),
        Column("ratio", SqlType(Kind.DOUBLE)),
        Column("weight", SqlType(Kind.FLOAT)),
        Column("paid", SqlType(Kind.BOOLEAN)),
        Column("placed", SqlType(Kind.TIMESTAMP, scale=6)),
        Column("seen", SqlType(Kind.TIMESTAMP, scale=6)),
        Column("day", SqlType(Kind.DATE)),
        Column("clock", SqlType(Kind.TIME, scale=6)),
        Column("code"),
        Column("doc"),
        Column("raw", SqlType(Kind.BINARY)),
        Column("tags"),
        Column("bits"),
        Column("money", SqlType(Kind.NUMBER)),
        Column("big", SqlType(Kind.DECIMAL, precision=38, scale=10)),
        Column("note"),
    ),
)
LINES = TableDef(
    "shop.lines",
    (
        Column("order_id", SqlType(Kind.INTEGER), key=1),
        Column("line_no", SqlType(Kind.INTEGER), key=2),
        Column("sku"),
        Column("amount", SqlType(Kind.DECIMAL, precision=10, scale=3)),
        Column("span", SqlType(Kind.INTERVAL)),
        Column("extra"),
    ),
)
WITHOUT = {"beforeImage": "full", "decimalFormat": "base64", "timePrecision": "adaptive", "primaryKeys": KEYS}


def live(name: str) -> bytes:
    return (LIVE / f"postgresql-{name}.jsonl").read_bytes()


def with_schema() -> Read:
    return read(NAME, live("with-schema"), told(NAME, primaryKeys=KEYS))


def without_schema() -> Read:
    trusted = {table.full_name: table for table in (ORDERS, LINES)}
    return read(NAME, live("without-schema"), told(NAME, **WITHOUT), trusted=trusted)


def of_table(found: Read, name: str) -> list[PlainOperation]:
    return [item for table, item in found.operations if table.full_name == name]


needs_live = pytest.mark.skipif(not LIVE.is_dir(), reason="the recorded stream is not there")


@needs_live
@pytest.mark.parametrize("make", [with_schema, without_schema])
def test_the_recorded_stream_gives_the_rows_that_its_statements_make(make: Callable[[], Read]) -> None:
    found = make()
    assert found.reasons == []
    assert found.others == {"tombstone": 64, "transaction begin": 22, "transaction end": 22}
    assert applied(of_table(found, "shop.lines"), ("order_id", "line_no")) == ordered_lines()
    weird = {
        ("1",): {"the key": "1", "Válue": "zażółć", "select": "2"},
        ("2",): {"the key": "2", "Válue": "𝔘😀", "select": "3"},
    }
    assert applied(of_table(found, "shop.Weird Näme"), ("the key",)) == weird
    nokey = of_table(found, "shop.nokey")
    assert nokey[-1].op == "T"
    assert applied(nokey[:-1], ("a",)) == {
        (a,): {"a": a, "b": b} for a, b in (("2", "y"), ("3", "tx2"), ("4", "tx"))
    }  # fmt: skip
    assert applied(nokey, ("a",)) == {}


@needs_live
def test_the_recorded_orders_are_read_by_their_definition() -> None:
    """Without a schema, decimals, dates and times are read as the options and the definition say."""
    rows = applied(of_table(without_schema(), "shop.orders"), ("id",))
    expected = orders()
    assert set(rows) == {(str(g),) for g in expected}
    for g, wanted in expected.items():
        row: dict[str, Any] = dict(rows[str(g),])
        if row["bits"] is not None:
            row["bits"] = int.from_bytes(base64.b64decode(row["bits"]), "little")
        for name, unpack in (
            ("ratio", float),
            ("weight", lambda text: struct.unpack("f", struct.pack("f", float(text)))[0]),
        ):
            if row[name] is not None:
                row[name] = unpack(row[name])
        if row["money"] is not None:  # zeros at the end are not written
            assert not row["money"].endswith("0")
            row["money"] = f"{Decimal(row['money']):.9f}"
        assert row == wanted
        if wanted["weight"] == 0:
            assert str(row["weight"]) == str(wanted["weight"])


@needs_live
def test_both_recordings_tell_the_same_changes() -> None:
    def shown(found: Read, name: str) -> list[PlainOperation]:
        tokens = {"connector": "", "name": "", "db": ""}
        return [replace(item, op_ts="", pos="", tokens=tokens) for item in of_table(found, name)]

    one, other = with_schema(), without_schema()
    for name in ("shop.lines", "shop.Weird Näme", "shop.nokey"):
        assert shown(one, name) == shown(other, name)
    assert [len(event.table.columns) for event in one.definitions if event.table.full_name == "shop.lines"] == [5, 6, 5]
    types = {(c.name, str(c.type)) for event in one.definitions for c in event.table.columns}
    assert {("amount", "decimal(10,3)"), ("span", "interval"), ("line_no", "integer")} <= types


@needs_live
def test_transactions_positions_and_times_of_the_recorded_stream() -> None:
    first = without_schema().plain[0]
    assert first.op_ts == "2026-11-20 09:14:49.353232"
    assert first.pos == '[null,"23173208"]'
    assert first.tokens == {
        "connector": "postgresql", "name": "srv", "db": "postgres", "sequence": '[null,"23173208"]', "txId": "815",
        "lsn": "23173208", "transaction.id": "815:23173208", "transaction.total_order": "1",
        "transaction.data_collection_order": "1",
    }  # fmt: skip


@needs_live
@pytest.mark.parametrize("name", ["without-schema", "with-schema"])
def test_changes_of_a_transaction_have_one_id(name: str) -> None:
    """`transaction.id` has the position of each change of PostgreSQL in it; `txId` is the same for all."""
    source = told(NAME, **WITHOUT)
    found = transactions_of(NAME, live(name), source)
    assert found == [item.tokens["txId"] for item in read(NAME, live(name), source).plain]
    own = [item.tokens["transaction.id"] for item in read(NAME, live(name), source).plain]
    assert len(set(found)) * 10 < len(set(own))


@needs_live
def test_before_images_of_the_default_identity_have_keys_alone() -> None:
    deletes = [item for item in of_table(without_schema(), "shop.orders") if item.op == "D"]
    assert {(item.before or {})["customer"] for item in deletes} == {""}  # what Debezium writes where nothing is known
    source = told(NAME, **{**WITHOUT, "beforeImage": "keys"})
    trusted = {table.full_name: table for table in (ORDERS, LINES)}
    for projection in (Projection(tokens=True), Projection(row_only=True)):
        found = read(NAME, live("without-schema"), source, trusted=trusted, projection=projection)
        deletes = [item for item in of_table(found, "shop.orders") if item.op == "D"]
        assert len(deletes) == 42
        assert {tuple(item.before or {}) for item in deletes} == {("id",)}


@needs_live
def test_what_options_and_definitions_do_not_tell_is_a_reject_that_names_them() -> None:
    trusted = {table.full_name: table for table in (ORDERS, LINES)}
    data = b"".join(line + b"\n" for line in live("without-schema").splitlines() if b'"table":"orders"' in line)
    first = data.splitlines()[0]

    def helps(**options: str) -> dict[str | None, str | None]:
        found = read(NAME, first, told(NAME, **options), trusted=trusted)
        return {reject.diagnostic.span.field: reject.diagnostic.help for reject in found.rejects}

    assert helps(timePrecision="adaptive") == {
        "big": "if the value is a decimal in Base64, set `decimalFormat=base64` with `--input-option`"
    }
    assert helps(decimalFormat="base64") == {
        "clock": "set the unit of the number: `timePrecision` with `--input-option`"
    }
    scaleless = {"shop.orders": TableDef("shop.orders", tuple(
        replace(c, type=SqlType(c.type.kind)) for c in ORDERS.columns
    ))}  # fmt: skip
    found = read(NAME, first, told(NAME, decimalFormat="base64", timePrecision="microseconds"), trusted=scaleless)
    assert [reject.diagnostic.help for reject in found.rejects] == [
        "define the scale of the column with `--definitions`: a decimal in Base64 does not contain it"
    ]
    untyped = read(NAME, data)
    assert untyped.reasons == []
    assert (untyped.plain[0].after or {})["price"] == "AIk="


@needs_live
@pytest.mark.parametrize("name", ["with-schema", "without-schema"])
def test_it_does_not_matter_where_a_recorded_stream_is_cut(name: str) -> None:
    source = told(NAME, primaryKeys=KEYS)
    whole = read(NAME, live(name), source)
    for size in (4096, 50_001):
        assert read(NAME, live(name), source, size=size) == whole
