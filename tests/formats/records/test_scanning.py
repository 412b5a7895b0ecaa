"""Records of dialects read with the native scanner and without it: whatever they are, the same comes out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from contract import Contract, contract_of, qlik
from contract import json as json_contract
from contract.arcion import CURSOR, GOOD
from contract.rules import known_tables, source_of_records
from dialects import EVERYTHING, Read, chunk_bytes, lines, read, told
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from ggfmt import kernels
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Projection, WriterSettings
from ggfmt.formats.records.reader import DialectReader
from ggfmt.formats.records.scanner import Scanner
from ggfmt.kernels import native

_JUNK = ["null", "0", "-1.5", "1e2", "-0", '""', '"x"', "true", "[]", "{}", '{"a":1}', "9" * 19]
_ESCAPES = ['"\\u0041"', '"\\ud800"', " -1 "]
_PROJECTIONS = (
    EVERYTHING,
    Projection(),
    Projection(row_only=True, key_updates=True),
    Projection(row_only=True, tokens=True, in_order=True),
)


def is_scanned(name: str) -> bool:
    format = FORMATS[name]
    if format.reads is None:
        return False
    reader = format.read_support.reader
    return issubclass(reader, DialectReader) and reader.dialect.scanned


# What kernels make JSON of: test_avro_kernel and test_csv_kernels have these.
MADE_JSON = ("arcion_csv", "debezium_avro", "kafkaconnect_avro", "qlik_avro")
SCANNED = [name for name in FORMATS if is_scanned(name) and name not in MADE_JSON]

pytestmark = pytest.mark.skipif(native is None, reason="there are no kernels to compare with")


@contextmanager
def without_kernels() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "native", None)
        yield


def alike(found: Read) -> dict[str, Any]:
    """All that was read, with tokens in their order."""
    tokens = [list(operation.tokens.items()) for operation in found.plain]
    counts = {name: {k: n for k, n in getattr(found, name).items() if n} for name in ("others", "members", "remarks")}
    return vars(found) | counts | {"tokens": tokens}


@st.composite
def hostile(draw: st.DrawFn, good: bytes) -> bytes:
    """A record with other values, without some members, with some twice, or written in another way."""
    try:
        record = json.loads(good)
    except ValueError:  # of a format that is not JSON
        place = draw(st.integers(0, len(good) - 1))
        return good[:place] + draw(st.binary(max_size=2)) + good[place + draw(st.integers(0, 2)) :]
    for _ in range(draw(st.integers(0, 2))):
        places = [(part, name) for part in _objects(record) for name in part]
        if places:
            part, name = draw(st.sampled_from(places))
            if draw(st.booleans()):
                del part[name]
            else:
                part[name] = json.loads(draw(st.sampled_from(_JUNK)))
    shape = draw(st.sampled_from(["plain", "compact", "escaped", "reversed", "twice", "junk", "broken"]))
    if shape == "reversed":
        record = _reversed(record)
    text = json.dumps(record, ensure_ascii=shape == "escaped", separators=(",", ":") if shape == "compact" else None)
    if shape == "twice" and len(text) > 2:
        text = f"{text[:-1]}, {text[1:-1]}{'}'}"
    if shape == "junk":
        colons = [place for place, character in enumerate(text) if character == ":"] or [0]
        place = draw(st.sampled_from(colons)) + 1
        text = text[:place] + draw(st.sampled_from(_JUNK + _ESCAPES)) + "," * draw(st.integers(0, 1)) + text[place:]
    if shape == "broken":
        place = draw(st.integers(0, len(text)))
        text = text[:place] + text[place + 1 :]
    return text.encode()


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(item)


def _reversed(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _reversed(item) for name, item in reversed(value.items())}
    return [_reversed(item) for item in value] if isinstance(value, list) else value


@st.composite
def files(draw: st.DrawFn, contract: Contract) -> bytes:
    """The contract's records, some of them damaged or many times."""
    records = list(contract.records[: contract.base])
    others = range(contract.base, len(contract.records))
    for place in draw(st.lists(st.sampled_from(others), min_size=1, max_size=12)):
        good = contract.records[place]
        damaged = draw(st.integers(0, 3)) == 0
        records += [draw(hostile(good))] if damaged else [good] * draw(st.integers(1, 3))
    return contract.file(*records)


# Besides the records of the contracts: those with other members for the same thing.
SHAPES = {name: (contract_of(name), told(name)) for name in SCANNED} | {
    f"{name} {shape}": (replace(contract_of(name), records=records, told_of_records=options), told(name, **options))
    for name, shapes in (("json", json_contract.SHAPES), ("qlik_json", qlik.SHAPES))
    for shape, (records, options) in shapes.items()
}


@pytest.mark.parametrize("shape", SHAPES)
def test_hostile_records_are_read_as_without_kernels(shape: str) -> None:
    contract, own = SHAPES[shape]
    name = shape.split()[0]
    trusted = known_tables(contract)

    @examples(20)
    @given(
        st.sampled_from([source_of_records(contract), own]),
        files(contract),
        st.integers(200, 9000),
        st.none() | st.integers(300, 9000),
        st.sampled_from(_PROJECTIONS),
        st.booleans(),
    )
    def same(source: WriterSettings, data: bytes, chunk: int, size: int | None, asked: Projection, known: bool) -> None:
        def found() -> Read:
            tables = trusted if known else {}
            with chunk_bytes(chunk):
                return read(name, data, source, size, tables, asked)

        scanned = found()
        with without_kernels():
            assert alike(found()) == alike(scanned)

    same()


@pytest.mark.parametrize("shape", SHAPES)
def test_regular_records_are_taken_by_the_scanner(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    contract, own = SHAPES[shape]
    name = shape.split()[0]
    trusted = known_tables(contract)
    taken: list[int] = []
    take = Scanner.take
    monkeypatch.setattr(Scanner, "take", lambda self, table: _counted(take(self, table), taken))
    most, least = 0, 20
    for place in range(contract.base, len(contract.records)):
        data = contract.file(*contract.records[: contract.base], *[contract.records[place]] * 20)
        counts = []
        for source in (own, source_of_records(contract)):
            taken.clear()
            scanned = read(name, data, source, trusted=trusted)
            counts.append(sum(taken))
            with without_kernels():
                assert alike(read(name, data, source, trusted=trusted)) == alike(scanned)
        most, least = max(most, *counts), min(least, max(counts))
    assert most >= 18  # all but what shows the grammar, and the table
    assert least >= 18 or name == shape


def _counted(scanned: Any, taken: list[int]) -> Any:
    taken.append(0 if scanned is None else len(scanned))
    return scanned


def test_images_after_a_batch_of_truncates_alone_are_read() -> None:
    source = '"source":{"db":"d","table":"t","ts_ms":1}'
    truncate = f'{{"before":null,"after":null,{source},"op":"t","ts_ms":1}}\n'
    insert = f'{{"before":null,"after":{{"id":1}},{source},"op":"c","ts_ms":1}}\n'
    data = (truncate * 3 + insert * 3).encode()
    asked = Projection(in_order=True)
    found = read("debezium_json", data, size=len(truncate), projection=asked)
    assert [operation.op for operation in found.plain] == ["T"] * 3 + ["I"] * 3
    with without_kernels():
        assert alike(read("debezium_json", data, size=len(truncate), projection=asked)) == alike(found)


_ARCION_CURSORS = [
    *({"position": 7}, {"timestamp": None, "log": None, "position": 'a"b\\é\n'}, {"timestamp": "5", "position": 1}, {}),
    *({"position": None, "log": "x"}, {"timestamp": 10**17, "position": 3}, {"timestamp": 1.5, "position": 2}),
    *({"log": {"a": [1, 2]}, "position": [1]}, {"time stamp": 3, "position": 2}, {"part Num": 3, "position": 2}),
    *({"insertCount": 9, "position": 1}, {"u": None, "w": True, "x": "\n\U0001f600", "position": 1}),
]
_ARCION_TEXTS = [
    *(None, "", " ", "null", "{", "[]", "7", " {} ", "{,}", '{"position":1} ', '{"position":1}x', '{"position":1,}'),
    *('{"position":1,"position":2}', '{"v":1,"v":2,"position":1}', '{"po\\u0073ition":1}', '{"position":01}'),
    *('{"position":"\\ud800"}', '{"a":"\\ud800","position":1}', '{"a":"\x01","position":1}'),
]
_ARCION_CHANGES: list[dict[str, Any]] = [
    {"after": {"id": "1"}},
    {"before": None},
    {"before": {}},
    {"after": {"id": "1", "n": None}},
    {"after": {"n": '"\\\n', "id": "null"}},
    {"after": {"id": 1, "n": {"a": [1]}}},
    {"after": {"id": "1", "n": "2", "z": "3"}},
    {"exists": {"id": "1", "n": "4"}},
    {"exists": {"id": "0", "n": "0"}},
    {"exists": {"id": "3", "n": "1"}, "opType": "I"},
    {"exists": {"id": "2", "n": "1"}, "opType": "D"},
    {"exists": {"n": "1", "id": 1}},
    {"exists": {"id": "1"}},
]


@pytest.mark.parametrize("projection", [EVERYTHING, Projection(row_only=True, key_updates=True)])
def test_cursors_and_states_of_arcion_are_read_as_without_kernels(projection: Projection) -> None:
    odd = [dict(GOOD[0], cursor=json.dumps(cursor)) for cursor in _ARCION_CURSORS]
    odd += [dict(GOOD[0], cursor=cursor, operationcount=cursor) for cursor in _ARCION_CURSORS]
    odd += [dict(GOOD[0], **{name: text}) for text in _ARCION_TEXTS for name in ("cursor", "operationcount")]
    odd += [dict(GOOD[0], **change) for change in _ARCION_CHANGES]
    for one in odd:
        data = lines(*GOOD * 2, one, one, one, *GOOD)
        found = read("arcion_json", data, projection=projection)
        with without_kernels():
            assert alike(read("arcion_json", data, projection=projection)) == alike(found), one


@pytest.mark.parametrize("change", [{}, {"exists": None, "before": None}, {"cursor": CURSOR, "operationcount": {}}])
def test_every_form_of_arcion_is_taken_by_the_scanner(change: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    take = Scanner.take
    monkeypatch.setattr(Scanner, "take", lambda self, table: _counted(take(self, table), taken))
    source, trusted = told("arcion_json"), known_tables(contract_of("arcion_json"))
    data = lines(*[dict(GOOD[0], **change)] * 20)
    assert len(read("arcion_json", data, source, trusted=trusted).plain) == 20
    assert sum(taken) >= 18


@pytest.mark.parametrize("order", ["in turns", "in a row"])
def test_masks_and_tokens_of_metadata_are_those_of_each_change(order: str) -> None:
    metadata = [
        qlik.metadata(schema_id="A"),
        qlik.metadata(schema_id="B", task="other"),
        qlik.metadata(schema_id="C", table="V", task="other", server=""),
    ]
    whole, nothing = qlik.ROW, dict.fromkeys(qlik.ROW)
    images = [("INSERT", None), ("UPDATE", whole), ("DELETE", None), ("DELETE", nothing), ("INSERT", whole)]
    changes = [
        qlik.change(op, whole, before, schema_id, columnMask=present, changeMask=changed)
        for schema_id in "ABC"
        for op, before in images
        for present, changed in ((None, None), ("07", "01"), ("01", "01"), ("0F", ""), ("07", "08"), ("xy", "07"))
    ]
    again = changes * 3 if order == "in turns" else [one for one in changes for _ in range(5)]
    data = lines(*metadata, *again)
    for asked in _PROJECTIONS:
        found = read("qlik_json", data, projection=asked)
        assert found.operations
        assert found.rejects
        with without_kernels():
            assert alike(read("qlik_json", data, projection=asked)) == alike(found)
