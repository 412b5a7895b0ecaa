"""Messages of Kafka in files: any JSON format is read from what tools wrote that dump topics.

The shape of `kcat -J` lines is that of `json.c` in edenhill/kcat (157f9ddb): `topic`, `partition`, `offset`, `tstype`,
`ts`, `broker`, `headers`, `key`, `payload` in this order, null for none, `payload_error` where Avro could not be read.
"""

from __future__ import annotations

import gzip
import json
import random
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from contract import contract_of
from dialects import chunk_bytes, lines, read
from kafka_dumps import IN_JSON, TOPIC, WRAPS, Wrap, in_kcat, in_line, in_long_line, in_pair, kcat, wrapped
from runs import JSON_LINES, content, run_ggfmt

from ggfmt.diagnostics.diagnostic import GgfmtError
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import DEFAULT_SETTINGS, Projection
from ggfmt.formats.json.dumps import is_key
from ggfmt.reading.listing import list_inputs
from ggfmt.reading.recognition import detect_format


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("name", IN_JSON)
def test_every_json_format_is_read_from_messages_as_from_a_file(name: str, wrap: Wrap) -> None:
    records = contract_of(name).records
    assert len(records) > 2
    data = wrapped(wrap, records)
    asked = Projection(tokens=False)
    with chunk_bytes(1000):
        plain, within = (read(name, b"\n".join(records) + b"\n", projection=asked), read(name, data, projection=asked))
    assert [table for table, _ in within.operations] == [table for table, _ in plain.operations]
    no_position = {operation.pos is None for operation in plain.plain}
    for here, there in zip(within.plain, plain.plain, strict=True):
        assert replace(here, pos=there.pos) == there
        assert here.pos == there.pos or there.pos is None
    assert within.others == plain.others
    assert within.reasons == plain.reasons == []
    assert no_position
    if wrap in (in_kcat, in_long_line):  # records over borders
        assert read(name, data, size=len(data) // 5, projection=asked) == within


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize(
    "name", [name for name in IN_JSON if name != "json_row"]
)  # whose truncates are those of `json`
def test_the_format_within_is_found(name: str, wrap: Wrap, tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    path.write_bytes(wrapped(wrap, contract_of(name).records, '{"id":1}'))
    found, reason = detect_format(list_inputs([str(path)]))
    assert found == name
    assert "messages" in reason


def source(**others: Any) -> dict[str, Any]:
    return {"version": "1.9", "connector": "x", "name": "n", "db": "d", "schema": "s", "table": "t", **others}


def change(op: str, before: Any = None, after: Any = None, **others: Any) -> str:
    return json.dumps({"before": before, "after": after, "op": op, "source": source(**others)})


FIELDS = [{"field": "id", "type": "int64"}, {"field": "name", "type": "string", "optional": True}]
SCHEMA = {
    "type": "struct",
    "fields": [{"type": "struct", "fields": FIELDS, "optional": True, "field": f} for f in ("before", "after")],
}
KEYS = [
    '{"id":1}',
    '{"schema":{"type":"struct","fields":[{"type":"int64","field":"id"}],"name":"n.s.t.Key"},"payload":{"id":1}}',
]


@pytest.mark.parametrize("described", [False, True])
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("wrap", WRAPS)
def test_the_key_of_messages_is_the_primary_key(wrap: Wrap, key: str, described: bool) -> None:
    row = {"name": "a", "id": 1}
    value = change("c", after=row)
    if described:
        value = json.dumps({"schema": SCHEMA, "payload": json.loads(value)})
    data = wrap(0, None, value) + b"\n" + wrap(1, key, value) + b"\n" + wrap(2, key, None) + b"\n"
    for size in (None, 300):
        found = read("debezium_json", data, size=size)
        assert {table.primary_keys for table, _ in found.operations} == {("id",)}
        assert len(found.operations) == 2
        assert found.others == {"tombstone": 1}


def test_a_key_is_that_of_a_definition_in_another_split() -> None:
    statement = {"type": "table-create", "database": "d", "table": "t", "ts": 1, "def": {"columns": [
        {"name": "a", "type": "int"}, {"name": "b", "type": "int"}]}}  # fmt: skip
    row = {"type": "insert", "database": "d", "table": "t", "ts": 1, "data": {"a": 1, "b": 2}}
    key = '{"database":"d","table":"t","pk.b":2}'
    data = in_kcat(0, None, json.dumps(statement)) + b"\n" + in_kcat(1, key, json.dumps(row)) + b"\n"
    for size in (None, len(data) // 2):
        assert read("maxwell_json", data, size=size).operations[0][0].primary_keys == ("b",)


def test_the_option_goes_before_the_key_of_messages() -> None:
    settings = replace(DEFAULT_SETTINGS, options=FORMATS["debezium_json"].options.parse({"primaryKeys": "t=name"}))
    data = wrapped(in_kcat, [change("c", after={"id": 1, "name": "a"}).encode()], '{"id":1}')
    assert read("debezium_json", data, settings).operations[0][0].primary_keys == ("name",)


def test_keys_of_maxwell_name_columns_with_pk() -> None:
    message = {"database": "d", "table": "t", "type": "insert", "ts": 1, "data": {"a": 1, "b": 2, "c": 3}}
    key = '{"database":"d","table":"t","pk.b":2,"pk.a":1}'
    data = wrapped(in_kcat, [json.dumps(message).encode()], key)
    assert read("maxwell_json", data).operations[0][0].primary_keys == ("b", "a")


@pytest.mark.parametrize("key", ["7", '"a text"', "a text", "[1]", '{"schema":null,"payload":7}', "{damaged"])
def test_a_key_without_names_tells_none(key: str) -> None:
    data = wrapped(in_kcat, [change("c", after={"id": 1}).encode()], key)
    assert read("debezium_json", data).operations[0][0].primary_keys == ()


def test_a_binary_key_does_no_harm() -> None:
    kcat_line = in_kcat(0, "KEY", change("c", after={"id": 1})).replace(b'"KEY"', b'"\\u0000\\u0000\xff\xfe"')
    line = b"\0\xff\xfe\t" + change("c", after={"id": 1}).encode()
    for record in (kcat_line, line):
        (operation,) = read("debezium_json", record + b"\n").plain
        assert operation.after == {"id": "1"}


def test_places_of_messages_are_tokens_and_positions_of_operations_that_have_none() -> None:
    data = wrapped(in_kcat, [change("c", after={"id": 1}).encode(), change("c", after={"id": 2}, lsn=77).encode()])
    first, second = read("debezium_json", data).plain
    assert (first.pos, second.pos) == (f"{TOPIC}:3:0", "77")
    places = {"topic": TOPIC, "partition": "3"}
    assert first.tokens.items() >= {**places, "offset": "0"}.items()
    assert second.tokens.items() >= {**places, "offset": "1"}.items()
    data = wrapped(in_long_line, [change("c", after={"id": 1}).encode()])
    assert read("debezium_json", data).plain[0].pos == "3:0"
    data = wrapped(in_pair, [change("c", after={"id": 1}).encode()])
    assert read("debezium_json", data).plain[0].pos is None


def test_a_token_of_the_record_stays_what_it_is() -> None:
    record = {"table": "S.T", "op_type": "I", "pos": "1", "tokens": {"offset": "own"}, "after": {"ID": 1}}
    (operation,) = read("json", wrapped(in_kcat, [json.dumps(record).encode()])).plain
    assert operation.tokens == {"topic": TOPIC, "partition": "3", "offset": "own"}


GOOD = in_kcat(0, None, change("c", after={"id": 1}))
BAD = [
    (lines({"schema": {}, "payload": None}).strip(), "GG320", "missing required field `topic`"),
    (change("c", after={"id": 1}).encode(), "GG320", "is not a Kafka message"),
    (b'{"topic":"t","partition":0,"offs', "GG301", "not JSON"),
    (in_kcat(1, None, '{"op":'), "GG301", "not JSON"),
    (in_kcat(1, None, change("c", after={"id": 1}) * 2), "GG301", "not JSON"),
    (in_kcat(1, None, "\0\0\0\0\1binary"), "GG321", "binary"),
    (GOOD.replace(b'"id', b'"\xff'), "GG321", "not UTF-8"),
    (GOOD.replace(b'"payload":"', b'"payload":"\\ud800'), "GG301", "surrogate"),
    (json.dumps(kcat(1, None, None, payload_error="Invalid CRC")).encode(), "GG321", "payload_error"),
    (
        json.dumps(kcat(1, None, None, payload={"op": "c"}, value_schema_id=1)).encode(),
        "GG321",
        "converted it from Avro",
    ),
    (b"null", "GG320", "is not a Kafka message"),
]


@pytest.mark.parametrize(("record", "code", "reason"), BAD, ids=range(len(BAD)))
@pytest.mark.parametrize("name", ["debezium_json", "json"])
def test_what_is_no_message_is_a_reject_with_its_own_place(name: str, record: bytes, code: str, reason: str) -> None:
    good = GOOD
    if name == "json":
        good = in_kcat(0, None, '{"table":"T","op_type":"I","after":{"id":"1"}}')
        record = record.replace(b'\\"op\\"', b'\\"op_type\\"')
    data = b"\n".join([good, record, good]) + b"\n"
    found = read(name, data)
    (reject,) = found.rejects
    assert len(found.operations) == 2
    assert found.others == {}
    assert reject.diagnostic.code == code
    assert reason in reject.diagnostic.message
    assert reject.record == record
    assert reject.diagnostic.span.offset == len(good) + 1
    again = read(name, data, size=150)
    assert (again.plain, again.reasons) == (found.plain, found.reasons)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"no message", "GG320"),
        (b"key\t", "GG301"),
        (b"key\t{", "GG301"),
        (b"k\t\xff", "GG303"),
        (b"a\tb\t{}", "GG301"),
    ],
)
def test_lines_that_are_no_messages(line: bytes, code: str) -> None:
    good = in_line(0, '{"id":1}', change("c", after={"id": 1}))
    found = read("debezium_json", b"\n".join([good, line, b"", good]))
    (reject,) = found.rejects
    assert (reject.diagnostic.code, reject.record) == (code, line)
    assert len(found.operations) == 2


def _flat(record: bytes) -> bytes:
    """A record on one line, without a TAB."""
    return json.dumps(json.loads(record)).encode()


@pytest.mark.parametrize("name", IN_JSON)
def test_no_record_of_any_format_is_a_key(name: str) -> None:
    records = [_flat(record) for record in contract_of(name).records]
    one, two = records[0], records[-1]
    assert [record for record in records if is_key(record)] == []
    several = [
        one + b" " + two,
        one + two,
        b"[" + one + b"]",
        b"x " + one,
        one + b" x",
        json.dumps(one.decode()).encode(),
    ]
    assert [text for text in several if is_key(text)] == []


TEXT_KEYS = [
    "null", "", "1", "-1.5e3", '"a"', "GG.TCUSTMER", "1_WILL", "Struct{id=1,name={}}", "{", "{{x}}", "{not json}", "a{",
    '{"id":1}', '{"id":{"scale":0,"value":"AQ=="}}', '{"data":{"scale":0,"value":"AQ=="}}', '["db","t",[{"id":1}]]',
    '{"database":"db","table":"t","pk.id":1}', '{"op":1}', '{"before":1,"after":2}', '{"type":"x","id":"5"}',
    '{"op_type":"U","id":1}', '{"payload":"text","id":1}', *KEYS, "\u0000\u00ff", 'x {"id":1} y',
]  # fmt: skip


@pytest.mark.parametrize("key", TEXT_KEYS)
def test_what_consumers_print_as_keys_are_keys(key: str) -> None:
    data = wrapped(in_line, [change("c", after={"id": 1}).encode()] * 2, key)
    assert is_key(key.encode())
    found = read("debezium_json", data)
    assert (len(found.operations), found.reasons) == (2, [])


@pytest.mark.parametrize("name", IN_JSON)
def test_records_before_a_tab_do_not_vanish_as_a_key(name: str) -> None:
    records = [_flat(record) for record in contract_of(name).records]
    first, last = records[0], records[-1]
    whole = read(name, b"\n".join([first, last, last]) + b"\n")
    for line in (first + b" " + last + b"\t" + last, first + b"\t" + last + b"\t" + last):
        found = read(name, line + b"\n")
        assert (found.plain, found.others, found.rejects) == (whole.plain, whole.others, whole.rejects)
    message = b'{"id":1}\t' + first
    count = len(read(name, message + b"\n" + message + b"\n").operations)
    for line in (first + b" " + last + b"\t" + last, last + b"\t" + last):
        found = read(name, b"\n".join([message, line, message]) + b"\n")
        (reject,) = found.rejects
        assert (reject.diagnostic.code, reject.record) == ("GG320", line)
        assert len(found.operations) == count


def test_a_hostile_key_takes_no_long_time() -> None:
    for key in (b'{"a":' * 100_000, b'{"a":[' * 100_000, b'{"a":[1,' * 100_000, b'{"' * 500_000, b"{" * 1_000_000):
        start = time.perf_counter()
        is_key(key)
        assert time.perf_counter() - start < 5


def test_the_record_that_is_set_aside_is_the_message(tmp_path: Path) -> None:
    bad = in_kcat(1, None, change("x"))
    path = tmp_path / "dump.jsonl"
    path.write_bytes(b"\n".join([GOOD, bad, GOOD]))
    run_ggfmt([path], tmp_path / "out", *JSON_LINES, quarantine=True)
    rejects = [file for file in (tmp_path / "out").rglob("*") if "reject" in str(file) and file.is_file()]
    assert any(bad in file.read_bytes() for file in rejects)
    assert content(tmp_path / "out", "j").count(b"\n") == 2


def test_a_pretty_printed_message_and_one_within_an_array() -> None:
    value = json.dumps(json.loads(change("c", after={"id": 1})), indent=2)
    data = wrapped(in_kcat, [value.encode()] * 3)
    assert len(read("debezium_json", data).operations) == 3
    array = json.dumps([{"key": {"id": 1}, "value": json.loads(value)}] * 3, indent=1).encode()
    assert len(read("debezium_json", array).operations) == 3


def test_a_long_first_message_is_one_of_kcat_by_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "dump.jsonl"
    path.write_bytes(in_kcat(0, None, change("c", after={"id": 1, "text": "x" * 700_000})) + b"\n" + GOOD)
    run_ggfmt([path], tmp_path / "out", *JSON_LINES)
    assert content(tmp_path / "out", "j").count(b"\n") == 2


@pytest.mark.parametrize("wrap", [in_kcat, in_line])
def test_no_damage_loses_a_message(wrap: Wrap) -> None:
    chance = random.Random(7)
    records = [change("c", after={"id": number}).encode() for number in range(12)]
    whole = wrapped(wrap, records, '{"id":1}')
    first = whole.index(b"\n") + 1
    for _ in range(8):
        data = bytearray(whole)
        for _ in range(4):
            place = chance.randrange(first, len(data))
            if data[place] != 0x0A:
                data[place] = chance.choice(b'{}[]",:\\\t\r\0\xff1n')
        found = read("debezium_json", bytes(data), projection=Projection())
        assert len(found.operations) + len(found.rejects) + sum(found.others.values()) == len(records)
        again = read("debezium_json", bytes(data), size=700, projection=Projection())
        assert (again.plain, again.rejects) == (found.plain, found.rejects)


def test_files_of_messages_and_of_records_are_read_together(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    record = change("c", after={"id": 1}).encode()
    files = {
        "a.jsonl": record + b"\n",
        "b.jsonl": wrapped(in_kcat, [record]),
        "c.jsonl": b"\xef\xbb\xbf" + wrapped(in_line, [record]).replace(b"\n", b"\r\n"),
        "d.jsonl.gz": gzip.compress(wrapped(in_long_line, [record])),
        "e.json": json.dumps([json.loads(in_pair(0, None, record.decode()))]).encode(),
    }
    for name, data in files.items():
        (tmp_path / "in" / name).write_bytes(data)
    run_ggfmt([tmp_path / "in"], tmp_path / "out", *JSON_LINES, "gg.handler.j.includeTokens=true")
    made = [json.loads(line) for line in content(tmp_path / "out", "j").splitlines()]
    assert [message["pos"] for message in made] == ["", f"{TOPIC}:3:0", "", "3:0", ""]
    assert [message["tokens"].get("offset") for message in made] == [None, "0", None, "0", None]
    assert [message["after"] for message in made] == [{"id": 1}] * 5


@pytest.mark.parametrize("wrap", [in_kcat, in_pair, in_line])
def test_a_message_that_is_too_long_is_passed_over(wrap: Wrap, tmp_path: Path) -> None:
    records = [change("c", after={"id": number}).encode() for number in range(5)]
    records[2] = change("c", after={"id": "x" * 3000}).encode()
    path = tmp_path / "dump.jsonl"
    path.write_bytes(wrapped(wrap, records, '{"id":1}'))
    run_ggfmt([path], tmp_path / "out", *JSON_LINES, quarantine=True, max_record=1000)
    assert content(tmp_path / "out", "j").count(b"\n") == 4
    rejects = b"".join(file.read_bytes() for file in (tmp_path / "out").rglob("*reject*") if file.is_file())
    assert b"GG316" in rejects


@pytest.mark.parametrize("value", ["", " ", "null"])
def test_a_message_without_a_value_is_a_tombstone(value: str) -> None:
    good = change("c", after={"id": 1})
    for wrap in (in_kcat, in_pair):
        data = wrap(0, '{"id":1}', good) + b"\n" + wrap(1, '{"id":1}', value) + b"\n"
        assert read("debezium_json", data).others == {"tombstone": 1}


def sink(folder: Path, keys: bytes, name: str = "t+0+0000000000.keys.json") -> Path:
    """Files as Kafka Connect's S3 sink writes them with `store.kafka.keys=true`."""
    folder.mkdir()
    values = [change("c", after={"name": "a", "id": number}).encode() for number in range(3)]
    (folder / "t+0+0000000000.json").write_bytes(b"\n".join(values) + b"\n")
    pack = gzip.compress if name.endswith(".gz") else bytes
    (folder / name).write_bytes(pack(keys))
    if name.endswith(".gz"):
        (folder / "t+0+0000000000.json").rename(folder / "t+0+0000000000.json.gz")
        (folder / "t+0+0000000000.json.gz").write_bytes(gzip.compress(b"\n".join(values)))
    return folder


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        (b'{"id":0}\n{"id":1}\n{"id":2}\n', ["id"]),
        (lines(*[json.loads(KEYS[1])] * 3), ["id"]),
        (b'"a"\n"b"\n"c"\n', []),
        (b"0\n1\n2\n", []),
        (b'{"id":0}\n{"name":1}\n', []),
        (b'{"id":0}\n{"i', ["id"]),
    ],
)
def test_keys_of_the_s3_sink_go_with_their_values(keys: bytes, names: list[str], tmp_path: Path) -> None:
    settings = (*JSON_LINES, "gg.handler.j.format.includePrimaryKeys=true")
    result = run_ggfmt([sink(tmp_path / "in", keys)], tmp_path / "out", *settings)
    messages = [json.loads(line) for line in content(tmp_path / "out", "j").splitlines()]
    assert [message["primary_keys"] for message in messages] == [names] * 3
    assert result.totals.input_files == 1


def test_packed_keys_of_the_s3_sink(tmp_path: Path) -> None:
    folder = sink(tmp_path / "in", b'{"id":0}\n', "t+0+0000000000.keys.json.gz")
    (file,) = list_inputs([str(folder)])
    assert file.keys == ("id",)
    assert file.shown.endswith("000.json.gz")


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        (change("c", after={"id": 9}).encode(), "t+0+0000000000.keys.json"),
        (b'{"table":"T","op_type":"T"}\n', "t+0+0000000000.keys.json"),
        (b'{"id":1,"__op":"c","__table":"t"}\n', "t+0+0000000000.keys.json"),
        (b"", "t+0+0000000000.keys.json"),
        (b'{"id":1}\n', "t+0+0000000001.keys.json"),
        (b'{"id":1}\n', "orders.keys.json"),
    ],
)
def test_other_files_that_are_called_so_are_inputs(keys: bytes, name: str, tmp_path: Path) -> None:
    files = list_inputs([str(sink(tmp_path / "in", keys, name))])
    assert [file.keys for file in files] == [(), ()]


NO_MESSAGES = [
    lines({"key": "a", "value": "b", "__op": "c", "__table": "t"}),
    lines({"key": 1, "value": 2}),
    lines({"schema": None, "payload": {"op": "c", "after": {"offset": 1}, "source": source()}}),
    b'{"table":"T","op_type":"T"}\t{"table":"T","op_type":"T"}\n',
    b'{"table":"T","op_type":"I","after":{"A":"a\\t"}}\t{"table":"T","op_type":"I","after":{"A":"b"}}\n',
]


@pytest.mark.parametrize("data", NO_MESSAGES)
def test_other_files_are_what_they_were(data: bytes) -> None:
    layout = FORMATS["debezium_json"].read_support.reader.layout(data, True, DEFAULT_SETTINGS)
    assert layout.envelope is None


@pytest.mark.parametrize("value", ["I|GG.T|2013-06-02 22:14:36.000000|", "\0\0\0\0\1binary", "{}", "<operation/>"])
def test_messages_of_another_format_than_json_are_named(value: str, tmp_path: Path) -> None:
    path = tmp_path / "dump.jsonl"
    path.write_bytes(in_kcat(0, None, value) + b"\n")
    with pytest.raises(
        GgfmtError, match="is one of messages as `kcat -J` writes them, and its content fits no JSON format"
    ):
        run_ggfmt([path], tmp_path / "out", *JSON_LINES)
