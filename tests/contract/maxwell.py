"""The contract of `maxwell_json`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dialects import lines
from hypothesis import strategies as st
from oracle import PlainImage, PlainOperation
from strategies import changes, json_numbers

from contract import Case, Contract, Recorded
from contract.shown import TIMES, filled, flag, in_seconds, without_catalog

ROW = {"id": 1, "name": "a", "price": 10.50}


def message(kind: str, data: Any, **others: Any) -> dict[str, Any]:
    return {"database": "shop", "table": "t", "type": kind, "ts": 1477053217, "data": data, **others}


def statement(kind: Any = "table-alter", **others: Any) -> dict[str, Any]:
    definition = {
        "database": "shop", "charset": "utf8mb4", "table": "t", "primary-key": ["id"],
        "columns": [
            {"type": "bigint", "name": "id", "signed": False}, {"type": "varchar", "name": "name", "charset": "latin1"},
            {"type": "decimal", "name": "price"}, {"type": "timestamp", "name": "at", "column-length": 6},
            {"type": "bit", "name": "flags"}, {"type": "varchar", "name": "raw", "charset": "binary"},
            {"type": "set", "name": "some", "enum-values": ["a", "b"]},
        ],
    }  # fmt: skip
    return {
        "type": kind, "database": "shop", "table": "t", "def": definition, "ts": 1477053126000, "sql": "...", **others,
    }  # fmt: skip


_TOKENS: list[dict[str, str]] = [
    {},
    {"xid": "7", "xoffset": "0"},
    {"xid": "18446744073709551615"[:19], "commit": "true"},
    {"gtid": "a:1", "server_id": "1", "thread_id": "2", "schema_id": "3", "push_ts": "4", "query": 'a "b"\n'},
]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    made = draw(changes(number=json_numbers))
    columns = tuple(replace(c, kind="string") if c.kind == "number" else c for c in made.table.columns)
    operations = [
        replace(
            item,
            op_ts=draw(TIMES),
            pos=draw(st.sampled_from([None, "m.000006:800911", "a:1"])),
            tokens=draw(st.sampled_from(_TOKENS))
            | (draw(st.sampled_from([{}, {"snapshot": "true"}])) if item.op == "I" else {}),
        )
        for item in made.operations
        if item.op != "T"
    ]
    table = replace(made.table, name=without_catalog(made.table.name), columns=columns)
    options = {
        "outputNulls": flag(draw(st.booleans())),
        "absentMeans": draw(st.sampled_from(["missing", "null"])),
        "outputPrimaryKeys": "true",
    }
    return Case(replace(made, table=table, operations=operations), options)


def shown(case: Case) -> list[PlainOperation]:
    def row(image: PlainImage | None) -> dict[str, str | None]:
        nulls = case.options["outputNulls"] == "true"
        return {name: value for name, value in (image or {}).items() if nulls or value is not None}

    rows = [(row(item.before if item.op == "D" else item.after), _old(item)) for item in case.operations]
    told = {name for images in rows for image in images for name in image}
    columns = [name for name in case.columns if name in told or case.defined]
    back = []
    for item, (image, old) in zip(case.operations, rows, strict=True):
        nulls = dict.fromkeys((name for name in old if name not in image), None)  # the record itself shows them
        data = filled(image, columns) if case.options["absentMeans"] == "null" else {**image, **nulls}
        before = data if item.op == "D" else {**(data or {}), **old} if old else None
        pos = item.pos or item.tokens.get("gtid")
        after = None if item.op == "D" else data
        back.append(replace(item, op_ts=in_seconds(item.op_ts), pos=pos, before=before, after=after))
    return back


def _old(item: PlainOperation) -> dict[str, str | None]:
    """What an update changed, as it was."""
    if item.op != "U":
        return {}
    after = item.after or {}
    return {n: v for n, v in (item.before or {}).items() if n not in after or after[n] != v}


CONTRACTS = {
    "maxwell_json": Contract(
        cases(),
        shown,
        transactions=("xid",),
        truncates=False,
        records=lines(
            statement(),
            message("insert", ROW, xid=1, xoffset=0),
            message("update", ROW, old={"name": None}, commit=True),
            message("delete", ROW, primary_key_columns=["id"]),
            message("bootstrap-insert", ROW),
            statement("table-drop", **{"def": None}),
        ).splitlines(),
        base=1,
        recorded=(Recorded("maxwell/apache_flink-connector-kafka__maxwell-data.txt", "IIIIIIIIIUUIIUUDUUDD"),),
    )
}
