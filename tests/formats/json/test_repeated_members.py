"""A member of a format that is in a record twice: both readers reject the record, and no other is harmed."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from contract import contract_of
from contract.cdl import GOOD
from dialects import Read, lines, read, told
from hypothesis import given
from hypothesis import strategies as st
from kafka_dumps import in_kcat, in_pair
from places import SHARED_DATA
from scanners import without_kernels
from strategies import examples

from ggfmt.formats.api.reading import Chunk, Layout
from ggfmt.formats.json.repeated import EVERY, Once, repeated_in_lines, repeated_member
from ggfmt.formats.records.framed_dumps import _unwrapped


def read_alike(name: str, data: bytes, **options: str) -> Read:
    found = read(name, data, told(name, **options))
    with without_kernels():
        assert read(name, data, told(name, **options)) == found
    return found


def reasons(found: Read) -> list[str]:
    return [f"{code} {text}" for code, text in ((r.diagnostic.code, r.diagnostic.message) for r in found.rejects)]


NAMES = st.sampled_from(["a", "b", "é", 'c"', "d\\", "t:", ""])
VALUES = st.recursive(
    st.one_of(st.none(), st.integers(), st.sampled_from(["", '"a":', "\\", "a\n", '{"a":1,"a":2}'])),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=6,
)
SPACES = st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " : ")])


@given(st.lists(st.tuples(NAMES, VALUES), max_size=5), SPACES, st.booleans())
@examples(300)
def test_a_member_twice_is_found_however_it_is_written(
    members: list[tuple[str, Any]], spaces: tuple[str, str], ascii_only: bool
) -> None:
    def text(value: Any) -> str:
        return json.dumps(value, separators=spaces, ensure_ascii=ascii_only)

    record = "{" + spaces[0].join(f"{text(name)}{spaces[1]}{text(value)}" for name, value in members) + "}"
    names = [name for name, _ in members]
    twice = {name for name in names if names.count(name) > 1}
    found = repeated_member(record.encode(), EVERY)
    assert (found in twice) if twice else found is None
    assert (repeated_member(record.encode(), Once({"a": None})) == "a") is ("a" in twice)


def test_records_of_lines_are_found_by_their_index() -> None:
    data = b'{"a":1,"b":{"c":1,"c":2}}\n\nnull\n{"a":1,\n "a":2}\n{"a":1,"b":[{"c":1},{"c":1,"c":1}]}\n{"x":1,"x":1}\n'
    assert [*repeated_in_lines(data, Once({"a": None, "b": Once({"c": None})}))] == [(0, "b.c"), (2, "a"), (3, "b.c")]


def test_a_deep_value_hides_no_member() -> None:
    assert repeated_member(b'{"a":1,"b":' + b"[" * 900 + b"]" * 900 + b',"a":2}', EVERY) == "a"


@pytest.mark.skipif(not SHARED_DATA.is_dir(), reason="the inputs are not there")
@pytest.mark.parametrize("name", ["json_row", "cdl_json"])
def test_inputs_that_were_read_into_another_table(name: str) -> None:
    file = {"json_row": "table-twice", "cdl_json": "object-token-cdl"}[name]
    found = read_alike(name, (SHARED_DATA / "cases" / "members" / f"{file}.json").read_bytes())
    expected = {
        "json_row": (["S.T"] * 3, ["GG329 the record has the member `table` twice"]),
        "cdl_json": (["public.t"] * 2, ["GG308 `lsn` is an object and not a string"]),
    }
    assert ([table.full_name for table, _ in found.operations], reasons(found)) == expected[name]


def test_a_repeated_table_binds_no_identity() -> None:
    """The first record of a file has the table of another one too, in all spellings; the ones after it keep theirs."""
    one = '{{"table":"S.T"{},"op_type":"I","pos":"1","after":{{"ID":1}}{}}}\n'
    good = one.format("", "").encode()
    for twice in (',"table":"S.U"', ',"\\u0074able":"S.U"', ', "table" : "S.U"', ',"table":"S.T"'):
        for record in (one.format(twice, ""), one.format("", twice)):
            found = read_alike("json", record.encode() + good * 3)
            assert [table.full_name for table, _ in found.operations] == ["S.T"] * 3
            assert reasons(found) == ["GG329 the record has the member `table` twice"]


ROWS = {
    "json_row": '{"table":"S.T","op_type":"I","op_ts":"t","pos":"1","ID":1,"N":2}',
    "kafkaconnect_json": '{"schema":null,"payload":{"table":"S.T","op_type":"I","ID":1,"N":2}}',
    "debezium_json": '{"ID":1,"N":2,"__op":"c","__table":"T","__schema":"S"}',
}


@pytest.mark.parametrize("name", ROWS)
def test_a_column_beside_the_metadata_is_a_member(name: str) -> None:
    good = ROWS[name]
    data = f"{good}\n" + good.replace('"N":2', '"N":2,"ID":3') + f"\n{good}\n"
    found = read_alike(name, data.encode())
    member = "payload.ID" if name == "kafkaconnect_json" else "ID"
    assert reasons(found) == [f"GG329 the record has the member `{member}` twice"]
    assert [item.after for item in found.plain] == [{"ID": "1", "N": "2"}] * 2


def enveloped(**others: Any) -> str:
    source = {"version": "2.5", "connector": "postgresql", "name": "n", "db": "d", "schema": "s", "table": "t"}
    return json.dumps(
        {"before": None, "after": {"id": 1}, "source": source, "op": "c", **others}, separators=(",", ":")
    )


DEBEZIUM = [
    ('"op":"c"', '"op":"c","op":"d"', "op"),
    ('"table":"t"', '"table":"t","table":"u"', "source.table"),
    ('"after":', '"after":{"id":2},"after":', "after"),
    ('"source":', '"source":{"table":"u"},"source":', "source"),
]


@pytest.mark.parametrize(("old", "new", "member"), DEBEZIUM)
@pytest.mark.parametrize("within", [False, True])
def test_members_of_an_envelope(old: str, new: str, member: str, within: bool) -> None:
    good = enveloped()
    if within:
        good = f'{{"schema":null,"payload":{good}}}'
    found = read_alike("debezium_json", f"{good.replace(old, new)}\n{good}\n{good}\n".encode())
    assert reasons(found) == [f"GG329 the record has the member `{'payload.' * within}{member}` twice"]
    assert [(table.full_name, item.op) for table, item in found.operations] == [("s.t", "I")] * 2


def test_members_of_an_event() -> None:
    event = (
        '{"id":"1","source":"/x","specversion":"1.0","type":"io.debezium.postgresql.datachangeevent","iodebeziumop":"c",'
        '"iodebeziumdb":"d","iodebeziumtable":"t","data":{"before":null,"after":{"id":1}}}'
    )
    good = event.encode() + b"\n"
    for member in ('"iodebeziumtable":"t"', '"iodebeziumop":"c"', '"after":{"id":1}', '"data":{"before":null}'):
        name = member.split('"')[1]
        bad = event.replace(f'"{name}":', f'{member.replace(":1", ":2")},"{name}":').encode() + b"\n"
        found = read_alike("debezium_json", bad + good)
        path = f"data.{name}" if name == "after" else name
        assert reasons(found) == [f"GG329 the record has the member `{path}` twice"]
        assert len(found.plain) == 1


def test_members_of_texts_lists_and_events_of_data_streams() -> None:
    arcion = json.loads(contract_of("arcion_json").records[0])
    arcion["cursor"] = '{"position":1,"position":2}'
    found = read_alike("arcion_json", lines(arcion, json.loads(contract_of("arcion_json").records[0])))
    assert reasons(found) == ["GG329 the record has the member `cursor.position` twice"]
    cdl = lines(GOOD[0]).decode()
    for bad in (
        cdl.replace('"value": 163955221008', '"value": 163955221008, "value": 3'),
        cdl.replace('{"name": "txId"', '{"name": "lsn", "value": 4}, {"name": "txId"'),
    ):
        found = read_alike("cdl_json", bad.encode() + lines(GOOD[0]))
        assert [reason.split()[0] for reason in reasons(found)] == ["GG329"]
        assert [item.pos for item in found.plain] == ["163955221008"]


OPERATION = '{"table":"S.T","op_type":"I","pos":"1","after":{"ID":1}}'


def test_messages_and_their_keys() -> None:
    change = enveloped()
    good = in_pair(1, '{"id":1}', change).decode()
    pairs = [
        (good.replace('"value"', '"value":null,"value"', 1), "the message has the member `value` twice"),
        (in_pair(1, '{"id":1,"id":2}', change).decode(), "the key of the message has the member `id` twice"),
        (in_pair(1, '{"schema":null,"payload":{"id":1,"id":2}}', change).decode(), "`payload.id` twice"),
        (
            in_pair(1, '{"id":1}', change.replace('"op":"c"', '"op":"c","op":"d"')).decode(),
            "the record has the member `op` twice",
        ),
    ]
    for bad, reason in pairs:
        found = read_alike("debezium_json", f"{good}\n{bad}\n{good}\n".encode())
        assert len(found.plain) == 2
        assert [text.endswith(reason) for text in reasons(found)] == [True]
    line = f'{{"id":1,"id":2}}\t{change}\n{{"id":1}}\t{change}\n'.encode()
    assert reasons(read_alike("debezium_json", line)) == ["GG329 the key of the message has the member `id` twice"]
    dump = in_kcat(1, '{"id":1}', change).decode()
    twice = dump.replace('"payload":', '"payload":null,"payload":', 1)
    assert reasons(read_alike("debezium_json", f"{dump}\n{twice}\n".encode())) == [
        "GG329 the message has the member `payload` twice"
    ]


def test_a_dump_of_avro_with_two_values() -> None:
    value = base64.b64encode(b"\0\0\0\0\1abc").decode()
    data = f'{{"value":"{value}"}}\n{{"value":"{value}","value":null}}\n'.encode()
    chunk = _unwrapped(Chunk("f", 0, data, Layout(True)))
    assert [chunk.data[start:end][:6] for start, end in chunk.spans or ()] == [b"\0\0\0\0\1a", b'{"valu']


def test_a_column_of_xml_with_two_images() -> None:
    contract = contract_of("xml")
    column = b"<col name='ID' index='0'>%b<after>1</after></col>"
    head = b"<operation table='GG.ORDERS' type='U' ts='t' current_ts='c' pos='7'>"
    images = (b"<before>1</before>", b"<before>1</before><after>2</after>", b"<before/><before>1</before>")
    good, *bad = (head + column % image + b"</operation>" for image in images)
    found = read_alike("xml", contract.file(good, *bad, good))
    assert reasons(found) == ["GG312 the column has two images of one kind"] * 2
    assert len(found.plain) == 2
