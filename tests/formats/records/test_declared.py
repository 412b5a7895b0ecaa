"""The operations that a declaration makes: the same from the scanner and from the exact reader."""

from __future__ import annotations

import io
import json
from contextlib import nullcontext
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw
from scanners import operations_taken, without_kernels
from strategies import examples

from ggfmt.formats.api.format import DEFAULT_SETTINGS, Projection
from ggfmt.formats.api.reading import Reject
from ggfmt.formats.records import roles
from ggfmt.formats.records.declared import DeclaredDialect
from ggfmt.formats.records.dialect import ABSENT
from ggfmt.formats.records.reader import dialect_input
from ggfmt.kernels import native
from ggfmt.model.change import ChangeBatch
from ggfmt.model.table import Catalog, Column, TableDef

OPS = {"ins": "I", "upd": "U", "del": "D", "trunc": "T", "copy": roles.OpToken("I", "copied", "yes", rank=2)}
TABLE = TableDef("S.T", (Column("ID"),))


class Property(msgspec.Struct, gc=False):
    name: str | None = None
    value: Raw = ABSENT


class Origin(msgspec.Struct, gc=False):
    micros: Annotated[int | None, roles.time("us", rank=1)] = None
    gtid: Annotated[str | None, roles.position(), roles.transaction(rank=1), roles.Token(1)] = None
    file: Annotated[str | None, roles.position(2)] = None
    place: Annotated[int | str | None, roles.position(2, follows=True)] = None
    seconds: Annotated[int | str | None, roles.time("s", rank=2, zero=False)] = None
    properties: Annotated[list[Property] | None, roles.token_list("lsn", 3)] = None


class Row(msgspec.Struct, gc=False):
    op: Annotated[str | None, roles.op(OPS)] = None
    schema: Annotated[str | None, roles.name()] = None
    table: Annotated[str | None, roles.name()] = None
    xid: Annotated[int | None, roles.transaction(), roles.Token(4, "id")] = None
    millis: Annotated[int | str | None, roles.time("ms")] = None
    seq: Annotated[int | str | None, roles.position(1)] = None
    first: Annotated[bool | None, roles.Token(0, unless="false")] = None
    origin: Annotated[Origin | None, roles.enter(required=False)] = None
    row: Annotated[Raw, roles.row()] = ABSENT
    old: Annotated[Raw, roles.old()] = ABSENT


class Rows(DeclaredDialect):
    record = Row

    def is_partial(self, op: str) -> bool:
        return op == "U"

    @staticmethod
    def sniff(members: dict[str, Any]) -> str | None:
        return None


SUPPORT = dialect_input(Rows)


def read(*records: dict[str, Any]) -> tuple[list[Any], list[str]]:
    """Type, time, position, id of the transaction, tokens and whether there are images of all operations; rejects."""
    data = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    layout = SUPPORT.reader.layout(data, True, DEFAULT_SETTINGS)
    reader = SUPPORT.reader(Catalog({"S.T": TABLE}), Projection(tokens=True, transactions=True), DEFAULT_SETTINGS)
    events: list[Any] = []
    for chunk in SUPPORT.reader.chunks(io.BytesIO(data), "f", 0, None, layout):
        events += reader.read(chunk)
    events += reader.flush()
    found, rejects = [], []
    for event in events:
        if isinstance(event, Reject):
            rejects.append(f"{event.diagnostic.code} {event.diagnostic.message}")
        elif isinstance(event, ChangeBatch):
            columns: list[Any] = [event.op, event.op_ts, event.position, event.transaction, event.tokens, event.ordinal]
            values = zip(*[[None] * len(event) if column is None else column.to_pylist() for column in columns])  # noqa: B905
            found += [(ordinal, *rest) for *rest, ordinal in values]
    return sorted(found, key=lambda row: int(row[0])), sorted(rejects)


def record(op: str = "ins", **members: Any) -> dict[str, Any]:
    return {"op": op, "schema": "S", "table": "T", "row": {"ID": "1"}} | members


def both(*records: dict[str, Any]) -> tuple[list[Any], list[str]]:
    """What is read of records after one that shows the scanner their table, and the same without kernels."""
    scanned = read(record(), *records)
    with nullcontext() if native is None else without_kernels():
        assert read(record(), *records) == scanned
    return scanned[0][1:], scanned[1]


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({"millis": 1}, ("I", "1970-01-01 00:00:00.001000", None, None, [])),
        ({"millis": 1, "origin": {"micros": 7}}, ("I", "1970-01-01 00:00:00.001000", None, None, [])),
        ({"millis": None, "origin": {"micros": 7}}, ("I", "1970-01-01 00:00:00.000007", None, None, [])),
        ({"millis": "", "origin": {"micros": 7}}, ("I", "1970-01-01 00:00:00.000007", None, None, [])),
        ({"seq": 5, "origin": {"gtid": "g"}}, ("I", None, "g", "g", [("gtid", "g")])),
        ({"seq": 5, "origin": {"gtid": ""}}, ("I", None, "5", None, [("gtid", "")])),
        ({"seq": "", "origin": {"gtid": ""}}, ("I", None, None, None, [("gtid", "")])),
        ({"origin": {"file": "f", "place": 5}}, ("I", None, "f:5", None, [])),
        ({"origin": {"file": "f", "place": ""}}, ("I", None, "f", None, [])),
        ({"origin": {"file": "", "place": 5}}, ("I", None, None, None, [])),
        ({"seq": 5, "origin": {"file": "f"}}, ("I", None, "5", None, [])),
        ({"origin": {"seconds": 7}}, ("I", "1970-01-01 00:00:07.000000", None, None, [])),
        ({"origin": {"seconds": 0}}, ("I", None, None, None, [])),
        ({"xid": 9, "origin": {"gtid": "g"}}, ("I", None, "g", "9", [("gtid", "g"), ("id", "9")])),
        ({"first": False}, ("I", None, None, None, [])),
        (
            {"op": "copy", "xid": 9, "first": True, "origin": {"gtid": "g"}},
            ("I", None, "g", "9", [("first", "true"), ("gtid", "g"), ("copied", "yes"), ("id", "9")]),
        ),
        (
            {"origin": {"properties": [{"name": "a", "value": "b"}, {"name": "copied", "value": 1}]}, "op": "copy"},
            ("I", None, None, None, [("a", "b"), ("copied", "1")]),
        ),
    ],
)
def test_the_first_of_several_members_that_is_not_empty_counts(members: dict[str, Any], told: tuple[Any, ...]) -> None:
    found, rejects = both(record(**members), record(**members))
    assert (found, rejects) == ([(1, *told), (2, *told)], [])


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (record(op="merge"), "GG304 `op` cannot be `merge`"),
        (record(table=None), "GG305 the record has no `table`"),
        (record(row=None), "GG305 the record has no `row`"),
        (record(millis="soon"), "GG308 `millis` is not a number"),
        ({"schema": "S", "table": "T"}, "GG305 the record has no `op`"),
    ],
)
def test_what_lacks_a_part_of_an_operation_is_a_reject(wrong: dict[str, Any], reason: str) -> None:
    found, rejects = both(wrong, record(op="del"))
    assert [row[1] for row in found] == ["D"]
    assert rejects == [reason]


@st.composite
def rows(draw: st.DrawFn) -> dict[str, Any]:
    """A record with any of its members, most of them regular."""
    texts = st.sampled_from([None, "", "a", "7"])
    numbers = st.sampled_from([None, 0, 7, -1])
    properties = st.lists(st.fixed_dictionaries({"name": st.sampled_from(["a", "b"]), "value": texts}), max_size=2)
    places = {"file": texts, "place": texts | numbers}
    origin = st.fixed_dictionaries(
        {}, optional={"micros": numbers, "seconds": numbers, "gtid": texts, "properties": properties, **places}
    )
    optional = {
        "xid": numbers, "millis": numbers, "seq": texts | numbers, "first": st.booleans(), "origin": origin,
        "old": st.just({"ID": "2"}),
    }  # fmt: skip
    return record(draw(st.sampled_from([*OPS, "merge"])), **draw(st.fixed_dictionaries({}, optional=optional)))


@given(st.lists(rows(), max_size=6))
@examples(100)
def test_any_records_mean_the_same_to_the_scanner_and_to_the_exact_reader(records: list[dict[str, Any]]) -> None:
    both(*records)


@pytest.mark.skipif(native is None, reason="there are no kernels")
def test_the_scanner_takes_records_with_all_members() -> None:
    whole = record(xid=1, millis=2, seq=3, first=True, origin={"micros": 1, "gtid": "g"})
    with operations_taken() as taken:
        read(*[whole] * 5)
    assert taken.operations == 3  # after one that shows the grammar, and one that shows the table
