"""The contract of `dms_json`, which is read only: `made` writes records as DMS does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dialects import lines
from hypothesis import strategies as st
from oracle import PlainOperation
from strategies import changes, texts

from contract import Case, Contract
from contract.shown import TIMES, without_catalog

TABLE_DEF: dict[str, Any] = {
    "columns": {
        "id": {"type": "INT32", "nullable": False}, "name": {"type": "WSTRING", "length": 255, "nullable": True},
        "price": {"type": "NUMERIC", "precision": 10, "scale": 2, "nullable": True},
        "at": {"type": "DATETIME", "scale": 6, "nullable": True},
    },
    "primary-key": ["id"],
}  # fmt: skip
ROW = {"id": 42, "name": "John", "price": 1.50, "at": "2020-01-09T04:13:38Z"}
_RESERVED = frozenset(
    {"timestamp", "commit-timestamp", "record-type", "operation", "schema-name", "table-name", "stream-position"}
)
_NAMES = {"I": "insert", "U": "update", "D": "delete"}


def metadata(operation: str, kind: str = "data", **others: Any) -> dict[str, Any]:
    return {
        "timestamp": "2024-07-29T00:58:17.983670Z", "record-type": kind, "operation": operation,
        "partition-key-type": "schema-table", "schema-name": "public", "table-name": "foo",
        **{name.replace("_", "-"): value for name, value in others.items()},
    }  # fmt: skip


def row(operation: str, data: Any, before: Any = None, **others: Any) -> dict[str, Any]:
    """A record, with the details of its transaction as `IncludeTransactionDetails` adds them."""
    told = {
        "transaction_id": 1139, "transaction_record_id": 1, "commit_timestamp": "2024-07-29T00:58:17.974340Z",
        "stream_position": "00000002/7C007178.3.00000002/7C007178",
    }  # fmt: skip
    image = {} if before is None else {"before-image": before}
    return {**image, "data": data, "metadata": metadata(operation, **{**told, **others})}


def control(operation: str, definition: Any = None) -> dict[str, Any]:
    detail = {} if definition is None else {"table-def": definition}
    return {"control": detail, "metadata": metadata(operation, "control", partition_key_type="task-id")}


@st.composite
def cases(draw: st.DrawFn) -> Case:
    made = draw(changes())
    columns = tuple(replace(column, kind="string") for column in made.table.columns)
    tokens = st.dictionaries(texts.filter(lambda name: name not in _RESERVED), texts, max_size=3)
    operations = [
        replace(item, op_ts=draw(TIMES), pos=draw(st.one_of(st.none(), texts)), tokens=draw(tokens))
        for item in made.operations
    ]
    table = replace(made.table, name=without_catalog(made.table.name), columns=columns)
    return Case(replace(made, table=table, operations=operations), {"beforeImage": "old", "beforePrefix": ""})


def made(case: Case) -> bytes:
    *schema, table = case.changes.table.name.split(".")
    records = []
    for item in case.operations:
        names = {"schema-name": "".join(schema), "table-name": table, "stream-position": item.pos, **item.tokens}
        time = None if item.op_ts is None else item.op_ts.replace(" ", "T") + "Z"
        told: dict[str, Any] = {"record-type": "data", "operation": _NAMES.get(item.op), "timestamp": time, **names}
        record: dict[str, Any] = {"data": item.before if item.op == "D" else item.after, "metadata": told}
        if item.op == "T":
            record = {"metadata": {**told, "record-type": "control", "operation": "truncate-table"}}
        if item.op == "U" and item.before is not None:
            record["old"] = item.before
        records.append(record)
    return lines(*records)


def shown(case: Case) -> list[PlainOperation]:
    return case.operations


CONTRACTS = {
    "dms_json": Contract(
        cases(),
        shown,
        transactions=("transaction-id",),
        made=made,
        records=lines(
            control("create-table", TABLE_DEF),
            row("load", ROW, commit_timestamp=None, stream_position=None),
            row("insert", ROW),
            row("update", ROW, {"id": 41}),
            row("update", {**ROW, "BI_id": 41}),
            row("delete", {"id": 42, "name": None}),
            control("truncate-table"),
            control("drop-table"),
        ).splitlines(),
        base=1,
    )
}
