"""The contract of `json`, GoldenGate's."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import strategies as st
from oracle import PlainOperation
from strategies import changes, json_numbers

from contract import Case, Contract, Recorded
from contract.shown import flag


@st.composite
def cases(draw: st.DrawFn) -> Case:
    options = {
        "jsonDelimiter": draw(st.sampled_from(["CDATA[\\n]", "CDATA[\\n]", "", "#EOR#", "CDATA[;\\r\\n]"])),
        "prettyPrint": flag(draw(st.booleans())),
        "includePrimaryKeys": flag(draw(st.booleans())),
        "treatAllColumnsAsStrings": flag(draw(st.booleans())),
    }
    return Case(draw(changes(number=json_numbers)), options)


def as_written(operation: PlainOperation, tokens: bool = True) -> PlainOperation:
    """The operation as it comes back: an absent time stamp or position is an empty text there, and an update shows an
    empty before image where it has none."""
    before = {} if operation.op == "U" and operation.before is None else operation.before
    return replace(
        operation,
        op_ts=operation.op_ts or "",
        pos=operation.pos or "",
        before=before,
        tokens=operation.tokens if tokens else {},
    )


def line(table: str = "S.T", op: str = "I", image: str = "after", more: str = "", **columns: object) -> bytes:
    body = json.dumps(columns)
    return f'{{"table":"{table}","op_type":"{op}","op_ts":"t","pos":"7","{image}":{body}{more}}}'.encode()


CONTRACTS = {
    "json": Contract(
        cases(),
        lambda case: [as_written(item) for item in case.operations],
        records=[
            line(ID=1, NAME="a", FLAG=True),
            line(op="U", ID=2, NAME=None, more=',"before":{"ID":1},"primary_keys":["ID"],"tokens":{"R":"A"}'),
            line(op="D", image="before", ID=2),
            line("S.U", A="x"),
            b'{"table":"S.T","op_type":"T"}',
            b'{"op_type":"DDL","ddl":"drop table"}',
        ],
        recorded=(Recorded("ogg/apache_flink__ogg-data.txt", "IIIIIIIIIUUIIUUD"),),
    )
}
