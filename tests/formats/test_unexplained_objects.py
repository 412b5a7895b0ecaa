"""Objects as values of columns: refused by name where neither a schema nor a rule of the source explains them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from dialects import lines, read, told
from places import SHARED_DATA
from scanners import without_kernels

from ggfmt.formats import FORMATS
from ggfmt.formats.json.shapes import MIXED, NESTED, UNKNOWN, ColumnShape, merge_types
from ggfmt.model.table import Column, Kind, SqlType, TableDef

CASES = SHARED_DATA / "cases" / "records"
SOURCE = {"connector": "other", "db": "d", "schema": "s", "table": "t", "ts_ms": 1}


def debezium(row: Any) -> dict[str, Any]:
    return {"op": "c", "source": SOURCE, "before": None, "after": row, "ts_ms": 1}


def goldengate(row: Any) -> dict[str, Any]:
    return {"table": "s.t", "op_type": "I", "op_ts": "2024-01-01 00:00:00.000000", "pos": "1", "after": row}


def goldengate_row(row: Any) -> dict[str, Any]:
    return {"table": "s.t", "op_type": "I", "op_ts": "2024-01-01 00:00:00.000000", "pos": "1", **row}


def connect(row: Any) -> dict[str, Any]:
    return {"table": "s.t", "op_type": "I", "op_ts": "2024-01-01 00:00:00.000000", "pos": "1", **row}


def streams(row: Any) -> dict[str, Any]:
    return {"qual_table": "s.t", "op_type": "INSERT", "op_ts": "2024-01-01 00:00:00.000000", "pos": "1", "after": row}


def maxwell(row: Any) -> dict[str, Any]:
    return {"database": "s", "table": "t", "type": "insert", "ts": 1, "data": row}


def canal(row: Any) -> dict[str, Any]:
    return {"database": "s", "table": "t", "type": "INSERT", "es": 1000, "isDdl": False, "data": [row], "old": None}


def dms(row: Any) -> dict[str, Any]:
    place = {"schema-name": "s", "table-name": "t"}
    return {"data": row, "metadata": {"record-type": "data", "operation": "insert", **place}}


def shareplex(row: Any) -> dict[str, Any]:
    return {"meta": {"op": "ins", "table": "s.t"}, "data": row}


def arcion(row: Any) -> dict[str, Any]:
    return {"tableName": {"namespace": {"schema": "s"}, "name": "t"}, "opType": "I", "cursor": "{}", "after": row}


def wal2json(row: Any) -> dict[str, Any]:
    cells = [{"name": name, "value": value} for name, value in row.items()]
    return {"action": "I", "schema": "s", "table": "t", "columns": cells}


RECORDS = {
    "debezium_json": debezium, "json": goldengate, "json_row": goldengate_row, "kafkaconnect_json": connect,
    "goldengate_streams_json": streams, "maxwell_json": maxwell, "canal_json": canal, "dms_json": dms,
    "shareplex_json": shareplex, "arcion_json": arcion, "wal2json": wal2json,
}  # fmt: skip
DECLARED = {"s.t": TableDef("s.t", (Column("id", key=1), Column("v")))}


def reasons(name: str, data: bytes, trusted: Mapping[str, TableDef] = {}) -> list[tuple[str, str | None]]:
    """The code and column of each reject: the same with kernels and without, and however the data is cut."""
    found = read(name, data, trusted=trusted)
    assert read(name, data, trusted=trusted, size=300).reasons == found.reasons
    with without_kernels():
        assert read(name, data, trusted=trusted).reasons == found.reasons
    return [(reject.diagnostic.code, reject.diagnostic.span.field) for reject in found.rejects]


@pytest.mark.parametrize("order", ["wrapped first", "bare first", "wrapped last"])
@pytest.mark.parametrize("name", RECORDS)
def test_values_with_their_avro_type_are_refused_in_any_order(name: str, order: str) -> None:
    make = RECORDS[name]
    bare = [make({"id": number, "v": None}) for number in range(30)]
    wrapped = [make({"id": number, "v": {"string": f'a "{number}"'}}) for number in range(3)]
    records = {"wrapped first": wrapped + bare, "bare first": bare + wrapped, "wrapped last": bare * 3 + wrapped}[order]
    found = reasons(name, lines(*records))
    assert len(found) == 3
    assert {code for code, _ in found} == {"GG321"}


@pytest.mark.parametrize("name", sorted(RECORDS.keys() - {"debezium_json", "maxwell_json"}))
@pytest.mark.parametrize("value", [{"string": "x"}, {"int": 1}, {"double": 1.5}, {"array": [1]}, {"map": {"a": "}"}}])
def test_a_definition_as_text_does_not_let_them_in_where_no_column_has_objects(name: str, value: Any) -> None:
    record = RECORDS[name]({"id": "1", "v": value})
    good = RECORDS[name]({"id": "1", "v": "x"})
    assert [code for code, _ in reasons(name, lines(*[good] * 20, record, good), DECLARED)] == ["GG321"]
    number = {"s.t": TableDef("s.t", (Column("id", key=1), Column("v", SqlType(Kind.DECIMAL))))}
    assert [code for code, _ in reasons(name, lines(*[good] * 20, record, good), number)] == ["GG321"]


@pytest.mark.parametrize("name", ["debezium_json", "json", "json_row", "dms_json"])
def test_objects_with_the_same_members_are_refused_by_column(name: str) -> None:
    make = RECORDS[name]
    rows: list[Any] = [{"value": number, "set": True} for number in range(5)]
    records = [make({"id": number, "v": value}) for number, value in enumerate([None, *rows, None])]
    assert reasons(name, lines(*records)) == [("GG322", "v")] * 5
    (first, *_) = read(name, lines(*records)).rejects
    assert "`set`, `value`" in first.diagnostic.message


def test_objects_are_values_if_a_definition_declares_the_column() -> None:
    data = lines(debezium({"id": 1, "v": {"value": 1, "set": True}}))
    found = read("debezium_json", data, trusted=DECLARED)
    assert [item.after for item in found.plain] == [{"id": "1", "v": '{"value": 1, "set": true}'}]


@pytest.mark.parametrize(
    "values",
    [
        [{"a": 1}, {"b": 1}], [{"a": 1}, {}], [{"a": 1}, [1]], [{}, {}], [[{"a": 1}], [{"a": 2}]],
        [{"string": "x"}, {"a": 1}], [{"scale": 2, "value": "AdUG"}, {"scale": 1, "value": "AQ=="}],
        [{"x": 1.0, "y": 2.0, "wkb": "AQ==", "srid": None}] * 2, [{"wkb": "AQ==", "srid": 4326}] * 2,
    ],
)  # fmt: skip
def test_other_objects_of_debezium_stay_what_they_are(values: list[Any]) -> None:
    data = lines(*(debezium({"id": 1, "v": value}) for value in values))
    assert reasons("debezium_json", data) == []
    found = [json.loads((item.after or {})["v"] or "") for item in read("debezium_json", data).plain]
    assert found == values


def test_columns_of_json_are_legal_in_maxwell() -> None:
    same = [{"color": "red", "size": number} for number in range(3)]
    assert reasons("maxwell_json", lines(*(maxwell({"id": 1, "v": value}) for value in same))) == []
    one = [{"string": "x"}, {"a": 1}, {"string": "y"}]
    assert reasons("maxwell_json", lines(*(maxwell({"id": 1, "v": value}) for value in one))) == []


def test_a_schema_explains_objects() -> None:
    value = {"field": "v", "type": "struct", "optional": True, "fields": [{"field": "a", "type": "int32"}]}
    row = {"type": "struct", "optional": True, "field": "after", "fields": [value]}
    schema = {"type": "struct", "name": "s.t.Envelope", "fields": [row]}
    records = [{"schema": schema, "payload": debezium({"v": {"a": number}})} for number in range(3)]
    assert reasons("debezium_json", lines(*records)) == []


@pytest.mark.parametrize("order", [1, -1])
def test_declared_columns_of_flattened_rows_hold_no_values_with_their_avro_type(order: int) -> None:
    trusted = {"t": TableDef("t", (Column("id", key=1), Column("v")))}
    rows: list[dict[str, Any]] = [
        {"id": 1, "v": {"string": "x"}},
        {"id": {"long": 2}, "v": None},
        {"id": 3, "v": {"a": 1}},
        {"id": 4, "v": "x"},
    ]
    data = lines(*({**row, "__op": "c", "__table": "t"} for row in rows[::order] * 9))
    assert reasons("debezium_json", data, trusted) == [("GG321", "v"), ("GG321", "id")][::order] * 9
    assert reasons("debezium_json", lines(*(debezium(row) for row in rows)), DECLARED) == []


@pytest.mark.parametrize("name", ["json", "json_row", "kafkaconnect_json", "goldengate_streams_json"])
@pytest.mark.parametrize("record", ["T", "columns"])
@pytest.mark.parametrize("trusted", [None, ("ID", "N"), ("T",), ("columns",)])
def test_images_of_avro_op_are_refused_without_a_dot_in_their_name(
    name: str, record: str, trusted: tuple[str, ...] | None
) -> None:
    image = {"ID": {"long": 1}, "ID_isMissing": False, "N": None, "N_isMissing": False}
    table = {} if trusted is None else {"s.t": TableDef("s.t", tuple(map(Column, trusted)))}
    found = reasons(name, lines(*[RECORDS[name]({record: image})] * 3), table)
    named = record == "columns" and name in ("json", "goldengate_streams_json")  # as `avro_op` names its images
    code = "GG322" if trusted is None else "GG321" if record in trusted or named else "GG204"
    assert [reason for reason, _ in found] == [code] * 3


def in_pair(record: Any) -> Any:
    return {"key": {"id": 1}, "value": record, "topic": "t", "partition": 0, "offset": 1}


@pytest.mark.parametrize("name", ["debezium_json", "maxwell_json", "canal_json", "json"])
@pytest.mark.parametrize("wrap", ["alone", "in pairs", "after keys"])
def test_metadata_and_images_in_the_encoding_of_avro_are_refused(name: str, wrap: str) -> None:
    record = RECORDS[name]({"id": 1})
    member = next(member for member in ("op_type", "type", "ts_ms") if member in record)
    odd = [{**record, member: {"string": "I"}}]
    if name in ("debezium_json", "json"):
        odd = [{**record, "after": {"srv.s.t.Value": {"id": 1, "v": {"int": 2}}}}]
    if name == "debezium_json":
        odd.append({**odd[0], "source": {**SOURCE, "txId": {"long": 1}, "lsn": {"long": 1}}})
    data = lines(record, *odd)
    if wrap == "in pairs":
        data = lines(*map(in_pair, [record, *odd]))
    if wrap == "after keys":
        data = b"".join(b'{"id": 1}\t' + line + b"\n" for line in data.splitlines())
    for trusted in ({}, DECLARED):
        assert [code for code, _ in reasons(name, data, trusted)] == ["GG321"] * len(odd)


@pytest.mark.parametrize("case", ["avro-json-debezium", "avro-json-connect"])
def test_the_cases_are_recognized_by_no_format_and_refused_by_all(case: str) -> None:
    path = CASES / f"{case}.json"
    if not path.exists():
        pytest.skip("the folder of cases is absent")
    data = path.read_bytes()
    assert not [name for name in RECORDS if FORMATS[name].read_support.reader.sniff(data)]
    for name in RECORDS:
        found = read(name, data, told(name))
        assert not found.operations
        assert {reject.diagnostic.code for reject in found.rejects} == {"GG321"}


MEMBERS = [
    "file", "pos", "row", "commit_scn", "scn", "rs_id", "ssn", "commit_lsn", "change_lsn", "event_serial_no",
    "sequence", "lsn", "vgtid", "ts_hlc", "position_scn", "server_transaction_id", "mod_number", "commit_ts",
    "position",
]  # fmt: skip


@pytest.mark.parametrize("member", MEMBERS)
@pytest.mark.parametrize("value", [{"string": "x"}, [1], {}])
def test_a_position_that_is_no_scalar_is_refused_by_name(member: str, value: Any) -> None:
    record = {**debezium({"id": 1}), "source": {**SOURCE, member: value}}
    (found,) = read("debezium_json", lines(record)).reasons
    assert found.startswith(f"GG308 `source.{member}` is invalid")


def test_shapes_of_columns_do_not_depend_on_the_order_of_values() -> None:
    shapes: list[ColumnShape] = [UNKNOWN, "string", "number", "boolean", MIXED, NESTED, ("a",), ("a", "b")]
    for one in shapes:
        assert merge_types(None, one) == merge_types(one, one) == one
        for two in shapes:
            assert merge_types(one, two) == merge_types(two, one)
            for three in shapes:
                both = merge_types(one, two), merge_types(two, three)
                assert merge_types(both[0], three) == merge_types(one, both[1])
