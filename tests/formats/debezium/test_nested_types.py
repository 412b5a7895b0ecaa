"""Values in structs, maps and arrays with a schema of Connect are read as columns of this schema, in any format."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import fastavro
import pytest
from contract.cdl import message
from dialects import Read, lines, read
from places import SHARED_DATA
from runs import JSON_LINES, content, run_ggfmt
from scanners import without_kernels

import ggfmt
from ggfmt.formats.connect.avro import avro_schema

TIME, CONNECT = "io.debezium.time.", "org.apache.kafka.connect.data."


def field(type: str, name: str | None = None, **others: Any) -> dict[str, Any]:
    return {"type": type, "optional": True, **({"name": name} if name else {}), **others}


def struct(name: str, **fields: dict[str, Any]) -> dict[str, Any]:
    return field("struct", name, fields=[{**own, "field": member} for member, own in fields.items()])


def array(items: dict[str, Any]) -> dict[str, Any]:
    return field("array", items=items)


def mapped(values: dict[str, Any], keys: str = "string") -> dict[str, Any]:
    return field("map", keys={"type": keys, "optional": False}, values=values)


DATE, DECIMAL = field("int32", CONNECT + "Date"), field("bytes", CONNECT + "Decimal", parameters={"scale": "2"})
STAMP = field("int64", CONNECT + "Timestamp")
INNER = struct("Inner", d=DATE, n=DECIMAL, i=field("int64"), b=field("bytes"), s=field("string"))
VALUE = {"d": 19357, "n": "BOI=", "i": 7, "b": "AQ==", "s": "x"}
SHOWN = {"d": "2022-12-31", "n": "12.50", "i": 7, "b": "AQ==", "s": "x"}
NOTHING = dict.fromkeys(VALUE)

# By column: its schema, a value, and what it is.
COLUMNS: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "struct": (INNER, VALUE, SHOWN),
    "nulls": (INNER, NOTHING, NOTHING),
    "map": (mapped(DATE), {"a": 0, "b": None, "": -1}, {"a": "1970-01-01", "b": None, "": "1969-12-31"}),
    "array": (array(DECIMAL), ["BOI=", None], ["12.50", None]),
    "structs": (array(INNER), [VALUE, NOTHING, None], [SHOWN, NOTHING, None]),
    "maps": (struct("Outer", m=mapped(INNER), t=STAMP), {"m": {"k": VALUE}, "t": 0}, {"m": {"k": SHOWN}, "t": "ZERO"}),
    "arrays": (array(array(DATE)), [[0], [], None], [["1970-01-01"], [], None]),
    "empty": (mapped(DATE), {}, {}),
    "plain": (struct("Plain", a=field("string"), c=field("double")), {"a": "x", "c": 0.5}, {"a": "x", "c": 0.5}),
}
ZERO = {"kafkaconnect_json": "1970-01-01 00:00:00.000000", "cdl_json": "1970-01-01 00:00:00.000000"}


def rows(number: int = 3) -> list[dict[str, Any]]:
    return [{"id": row, **{name: value for name, (_, value, _) in COLUMNS.items()}} for row in range(number)]


def schema_of(*images: str) -> dict[str, Any]:
    columns = {"id": {**field("int64"), "optional": False}, **{name: own for name, (own, _, _) in COLUMNS.items()}}
    source = struct("Source", connector=field("string"), db=field("string"), table=field("string"))
    inside = {name: {**struct("Row", **columns)} for name in images}
    return {**struct("Envelope", **inside, source={**source, "optional": False}, op=field("string")), "optional": False}


def debezium(**others: Any) -> list[dict[str, Any]]:
    source = {"connector": "x", "db": "d", "table": "t"}
    return [{"before": None, "after": row, "source": source, "op": "c", **others} for row in rows()]


def debezium_json() -> bytes:
    return lines(*({"schema": schema_of("before", "after"), "payload": payload} for payload in debezium()))


def debezium_avro() -> bytes:
    """The same in Avro, whose bytes are bytes, of which ggfmt makes JSON again."""

    def with_bytes(value: Any, schema: dict[str, Any]) -> Any:
        if value is None:
            return None
        if schema["type"] == "bytes":
            return base64.b64decode(value)
        if schema["type"] == "struct":
            return {own["field"]: with_bytes(value[own["field"]], own) for own in schema["fields"]}
        if schema["type"] == "array":
            return [with_bytes(item, schema["items"]) for item in value]
        if schema["type"] == "map":
            return {key: with_bytes(item, schema["values"]) for key, item in value.items()}
        return value

    def plain(schema: Any) -> Any:
        if isinstance(schema, dict):
            return {name: plain(own) for name, own in schema.items() if name != "logicalType"}
        return [plain(own) for own in schema] if isinstance(schema, list) else schema

    schema, stream = schema_of("before", "after"), io.BytesIO()
    data = [with_bytes(payload, schema) for payload in debezium()]
    fastavro.writer(stream, fastavro.parse_schema(plain(avro_schema(schema))), data)
    return stream.getvalue()


def kafkaconnect_json() -> bytes:
    fields = {"table": field("string"), "op_type": field("string"), "id": field("int64")}
    schema = struct("S.T", **fields, **{name: own for name, (own, _, _) in COLUMNS.items()})
    return lines(*({"schema": schema, "payload": {"table": "S.T", "op_type": "I", **row}} for row in rows()))


def cdl_json() -> bytes:
    columns = [{**own, "field": name} for name, (own, _, _) in COLUMNS.items()]
    columns.insert(0, {**field("int64"), "field": "id"})
    return lines(*(message("INSERT", row, None, columns=columns) for row in rows()))


MAKERS = {made.__name__: made for made in (debezium_json, debezium_avro, kafkaconnect_json, cdl_json)}


def found(name: str, data: bytes) -> Read:
    with_kernels = read(name, data)
    with without_kernels():
        assert read(name, data) == with_kernels
    return with_kernels


@pytest.mark.parametrize("name", MAKERS)
def test_values_inside_are_read_as_columns_are(name: str) -> None:
    result = found(name, MAKERS[name]())
    assert result.reasons == []
    assert len(result.plain) == 3
    zero = ZERO.get(name, "1970-01-01 00:00:00.000")
    for item in result.plain:
        assert item.after is not None
        shown = {column: json.loads(item.after[column] or "null") for column in COLUMNS}
        assert shown == json.loads(json.dumps({c: own[2] for c, own in COLUMNS.items()}).replace('"ZERO"', f'"{zero}"'))


def test_values_that_are_not_of_their_schema_are_rejected() -> None:
    wrong: list[tuple[str, Any]] = [
        ("struct", {**VALUE, "d": "soon"}),
        ("structs", [{**VALUE, "n": "?"}]),
        ("map", {"a": {}}),
        ("map", "x"),
        ("arrays", [["x"]]),
    ]
    good = debezium()
    for column, value in wrong:
        bad = {**good[1], "after": {**good[1]["after"], column: value}}
        data = lines(*({"schema": schema_of("before", "after"), "payload": own} for own in (good[0], bad, good[2])))
        result = found("debezium_json", data)
        assert [reason.split()[0] for reason in result.reasons] == ["GG314"]
        assert [item.after["id"] for item in result.plain if item.after] == ["0", "2"]


def test_maps_with_other_keys_than_texts_stay_as_they_are() -> None:
    schema = {**schema_of("after"), "fields": [{**struct("Row", m=mapped(DATE, "int32")), "field": "after"}]}
    payload = {"after": {"m": [[1, 0]]}, "source": {"connector": "x", "table": "t"}, "op": "c"}
    result = found("debezium_json", lines({"schema": schema, "payload": payload}))
    assert [item.after for item in result.plain] == [{"m": "[[1, 0]]"}]


@pytest.mark.skipif(not SHARED_DATA.is_dir(), reason="the input is not there")
def test_messages_show_what_rows_show(tmp_path: Path) -> None:
    path = SHARED_DATA / "cases" / "types" / "dates-in-structs.json"
    run_ggfmt([path], tmp_path / "out", *JSON_LINES, input_format="debezium_json")
    (record,) = map(json.loads, content(tmp_path / "out", "j").splitlines())
    ggfmt.consolidate(path, tmp_path / "rows", to="json", master="none")
    (file,) = (tmp_path / "rows").rglob("part-*.json")
    row = json.loads(file.read_bytes())
    assert json.loads(row["st"]) == {"d": "2022-12-31", "n": "12.50"}
    assert json.loads(row["m"]) == {"a": "2022-12-31"}
    assert {name: record["after"][name] for name in ("st", "m")} == {name: row[name] for name in ("st", "m")}
