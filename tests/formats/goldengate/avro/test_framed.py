"""Messages of the Avro formatters in Confluent's wire format, as Kafka's serializer with a registry sends them."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from dialects import ALL_SHOWN, read, read_anywhere, told, written
from oracle import PlainColumn, PlainOperation, PlainTable
from strategies import Changes, table_def

from ggfmt.formats import FORMATS
from ggfmt.formats.avro import containers

ORDERS = PlainTable("S.ORDERS", (PlainColumn("ID", "string", 1), PlainColumn("N", "string")))
WIDER = replace(ORDERS, columns=(*ORDERS.columns, PlainColumn("D", "double")))
LINES = PlainTable("S.LINES", (PlainColumn("A", "string"),))
STORY: list[tuple[int, PlainTable, PlainOperation]] = [
    (1, ORDERS, PlainOperation("I", "2013-06-02 22:14:36.000000", "1", None, {"ID": "1", "N": "ä"}, {"t": "x"})),
    (2, LINES, PlainOperation("I", "2013-06-02 22:14:36.000000", "2", None, {"A": None}, {})),
    (1, ORDERS, PlainOperation("D", "2013-06-02 22:14:36.000000", "3", {"ID": "1", "N": None}, None, {})),
    (3, WIDER, PlainOperation("I", "2013-06-02 22:14:36.000000", "4", None, {"ID": "2", "N": "", "D": "0.5"}, {})),
    (1, ORDERS, PlainOperation("I", "2013-06-02 22:14:36.000000", "5", None, {"ID": "3", "N": "z"}, {})),
]


def sent(name: str, story: list[tuple[int, PlainTable, PlainOperation]], folder: Path) -> bytes:
    """The messages of a story, one after the other, with the schemas in a folder."""
    format = FORMATS[name]
    assert format.write_support.schema is not None
    data = b""
    for number, table, item in story:
        (file,) = format.write_support.schema(table_def(table), format.options.parse({}), ALL_SHOWN)
        (folder / f"{number}.avsc").write_bytes(file.content)
        data += b"\0" + number.to_bytes(4, "big") + written(name, Changes(table, [item], False), None, ALL_SHOWN)
    return data


@pytest.mark.parametrize("name", ["avro_row", "avro_op"])
def test_schemas_are_those_of_the_registry(name: str, tmp_path: Path) -> None:
    data = sent(name, STORY, tmp_path)
    found = read(name, data, told(name, schemaRegistry=str(tmp_path)))
    assert found.reasons == []
    shown: dict[Any, list[PlainOperation]] = {}
    for table, item in found.operations:
        shown.setdefault((table.full_name, table.column_names), []).append(item)
    expected: dict[Any, list[PlainOperation]] = {}
    for _, plain, item in STORY:
        expected.setdefault((plain.name, tuple(column.name for column in plain.columns)), []).append(item)
    assert shown == expected
    assert {table.primary_keys for table, _ in found.operations if table.full_name == "S.ORDERS"} == {("ID",)}


@pytest.mark.parametrize("name", ["avro_row", "avro_op", "kafkaconnect_avro", "debezium_avro"])
def test_values_of_dumps_are_messages_of_their_own(name: str, tmp_path: Path) -> None:
    """A dump has a message per line, with its value in Base64; a broken one is one reject."""
    messages = [sent(name, [item], tmp_path) for item in STORY]
    if name in ("kafkaconnect_avro", "debezium_avro"):
        messages = [message[:5] + record_of(message[5:]) for message in messages]
    values = [*messages[:2], b"", messages[2] + b"\0", messages[3][:-1], b"\0\0\0\0\7", b"\0\0", *messages[3:]]
    lines = [json.dumps({"key": "k", "value": b64encode(value).decode() if value else None}) for value in values]
    lines.insert(3, json.dumps({"value": "no Base64"}))
    data = "\n".join(lines).encode() + b"\n\n"
    options = {"messageFormatting": "op"} if name == "kafkaconnect_avro" else {}
    found = read_anywhere(name, data, told(name, schemaRegistry=str(tmp_path), **options))
    shown = [item.pos for _, item in found[0]]
    assert sorted(shown) == ["1", "2", "4", "5"]
    assert [found.code for found in found[1]] == ["GG319", "GG319", "GG319", "GG318", "GG302"]
    starts = [sum(len(line) + 1 for line in lines[:place]) for place in range(len(lines))]
    assert [found.span.offset for found in found[1]] == [starts[place] for place in (3, 4, 5, 6, 7)]
    assert found[2] == {"tombstone": 1}


def record_of(container: bytes) -> bytes:
    """The only datum in a container file."""
    header = containers.read_header(container)
    ((_, _, _, block),) = containers.split_blocks(container, header, 1 << 20)
    assert isinstance(block, bytes)
    return block


@pytest.mark.parametrize("name", ["avro_row", "avro_op"])
def test_what_is_unknown_or_broken_is_one_reject(name: str, tmp_path: Path) -> None:
    good = sent(name, STORY[:2], tmp_path)
    (tmp_path / "8.avsc").write_text(json.dumps("string"), "utf-8")
    other = "avro_op" if name == "avro_row" else "avro_row"
    (tmp_path / "others").mkdir()
    sent(other, [(9, LINES, STORY[1][2])], tmp_path)
    source = told(name, schemaRegistry=str(tmp_path))
    for rest, code in (
        (b"\0\0\0\0\7abc", "GG318"),
        (b"\1", "GG319"),
        (b"\0\0", "GG302"),
        (b"\0\0\0\0\1\xff\xff", "GG319"),
        (b"\0\0\0\0\x08\2a", "GG313"),
        (b"\0\0\0\0\x09\2a", "GG313"),
    ):
        found = read(name, good + rest, source)
        (reject,) = found.rejects
        assert (reject.diagnostic.code, reject.record, reject.diagnostic.span.offset) == (code, rest, len(good))
        assert len(found.operations) == 2
