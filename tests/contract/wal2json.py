"""The contract of `wal2json`, which is read only: `made` writes records as format 2 has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dialects import lines
from hypothesis import strategies as st
from oracle import PlainOperation
from strategies import changes

from contract import Case, Contract
from contract.shown import TIMES, without_catalog

COLUMNS = {"id": "integer", "v": "text", "n": "numeric(10,2)", "b": "bytea", "at": "timestamp with time zone"}


def cells(image: Mapping[str, Any], types: Mapping[str, str] = COLUMNS) -> list[dict[str, Any]]:
    return [{"name": name, "type": types[name], "value": value} for name, value in image.items()]


def change(action: str, after: Any = None, before: Any = None, **others: Any) -> dict[str, Any]:
    """A record of format 2."""
    images = {"columns": after, "identity": before}
    return {
        "action": action, "xid": 732, "timestamp": "2026-11-28 20:16:22.24+05:30", "lsn": "0/19A1938",
        "schema": "public", "table": "t",
        **{name: cells(image) for name, image in images.items() if image is not None},
        "pk": [{"name": "id", "type": "integer"}], **others,
    }  # fmt: skip


def transaction(*listed: dict[str, Any], **others: Any) -> dict[str, Any]:
    """A record of format 1."""
    return {"xid": 733, "nextlsn": "0/19A1A00", "timestamp": "2026-11-28 14:46:22+00", "change": [*listed], **others}


def listed(kind: str, after: Any = None, old: Any = None, **others: Any) -> dict[str, Any]:
    """A change of format 1."""
    made: dict[str, Any] = {"kind": kind, "schema": "public", "table": "t"}
    if after is not None:
        made["columnnames"], made["columnvalues"] = list(after), list(after.values())
        made["columntypes"] = [COLUMNS[name] for name in after]
    if old is not None:
        keys = {"keynames": list(old), "keytypes": [COLUMNS[name] for name in old], "keyvalues": list(old.values())}
        made["oldkeys"] = keys
    return {**made, **others}


ROW = {"id": 1, "v": "a", "n": 1.5, "b": "00ff", "at": "2024-02-29 23:59:59.999999+05:30"}
_LSNS = st.tuples(st.integers(0, 0xFFFFFFFF), st.integers(0, 0xFFFFFFFF)).map(lambda pair: f"{pair[0]:X}/{pair[1]:X}")


@st.composite
def cases(draw: st.DrawFn) -> Case:
    made = draw(changes())
    columns = tuple(replace(column, kind="string") for column in made.table.columns)
    names = [column.name for column in columns]
    operations = [
        replace(item, op_ts=draw(TIMES), pos=draw(st.one_of(st.none(), _LSNS)), tokens=draw(st.sampled_from(_TOKENS)))
        for item in made.operations
    ]
    # The columns of the replica identity, which has those of the key.
    identity = set(draw(st.sets(st.sampled_from(names))) or names[:1]) if names else set()
    identity |= {column.name for column in columns if column.key}
    operations = [
        item if item.before is None else replace(item, before={n: item.before.get(n) for n in names if n in identity})
        for item in operations
    ]
    table = replace(made.table, name=without_catalog(made.table.name), columns=columns)
    return Case(replace(made, table=table, operations=operations))


_TOKENS: list[dict[str, str]] = [{}, {"xid": "7"}, {"xid": "4294967295", "origin": "3"}]


def made(case: Case) -> bytes:
    *schema, table = case.changes.table.name.split(".")
    types = dict.fromkeys(case.columns, "text")
    records = []
    for item in case.operations:
        record: dict[str, Any] = {"action": item.op}
        if "xid" in item.tokens:
            record["xid"] = int(item.tokens["xid"])
        if item.op_ts is not None:
            record["timestamp"] = f"{item.op_ts}+00"
        if "origin" in item.tokens:
            record["origin"] = int(item.tokens["origin"])
        if item.pos is not None:
            record["lsn"] = item.pos
        if schema:
            record["schema"] = schema[0]
        record["table"] = table
        images = {"columns": item.after, "identity": item.before}
        record |= {name: cells(image, types) for name, image in images.items() if image is not None}
        records.append(record)
    return lines(*records)


def shown(case: Case) -> list[PlainOperation]:
    """An update shows a column that only the identity has: it did not change."""
    return [
        item if item.op != "U" or item.before is None else replace(item, after={**item.before, **(item.after or {})})
        for item in case.operations
    ]


_MESSAGE = {"action": "M", "xid": None, "timestamp": None, "transactional": False, "prefix": "app", "content": "x"}
CONTRACTS = {
    "wal2json": Contract(
        cases(),
        shown,
        transactions=("xid",),
        made=made,
        records=lines(
            change("I", ROW),
            {"action": "B", "xid": 732},
            change("U", {**ROW, "v": "b"}, {"id": 1}),
            change("U", {"id": 2, "n": 2.25}, {"id": 1, "v": "b"}),
            change("D", None, {"id": 2}),
            {"action": "C", "xid": 732, "lsn": "0/19A1938", "nextlsn": "0/19A1A00"},
            _MESSAGE,
            change("T"),
            transaction(
                listed("insert", ROW, pk={"pknames": ["id"], "pktypes": ["integer"]}),
                listed("update", {**ROW, "id": 2}, {"id": 1}),
                listed("delete", None, {"id": 2, "v": "a"}),
            ),
            transaction(),
        ).splitlines(),
        base=1,
    )
}
