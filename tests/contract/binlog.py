"""The contract of `mysql_binlog`, which is read only: `made` writes logs as MySQL 8 does.

A record is an event with rows, or a truncate; a frame has the transaction around it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import binlog_encoder as binlogs
from hypothesis import strategies as st
from oracle import PlainImage, PlainOperation
from strategies import changes

from contract import Case, Contract
from ggfmt.model.table import Column, Kind, SqlType, TableDef

_TEXT = SqlType(Kind.STRING, length=63)  # VARCHAR(63) in utf8mb4 has up to 252 bytes


@st.composite
def cases(draw: st.DrawFn) -> Case:
    made = draw(changes())
    columns = made.table.columns or ()
    columns = tuple(replace(column, kind="string") for column in columns)
    if not columns:
        return draw(cases())
    names = [column.name for column in columns]
    keys = [column.name for column in columns if column.key]

    def image(values: PlainImage | None, whole: bool) -> PlainImage:
        """No event has an image without columns."""
        found = dict(values or {})
        for name in names if whole or not found else keys:
            found.setdefault(name, None)
        return {name: found[name] for name in names if name in found}

    operations = []
    for item in made.operations:
        before = None if item.op in "IT" else image(item.before, False)
        after = None if item.op in "DT" else image(item.after, item.op == "I")
        if item.op == "U":
            assert before is not None
            after = {name: {**before, **(after or {})}[name] for name in names if name in {**before, **(after or {})}}
        seconds = draw(st.integers(0, 2**32 - 1))
        stamp = datetime(1970, 1, 1) + timedelta(seconds=seconds)
        number = draw(st.sampled_from([None, 1, 2**63 - 2]))
        tokens = {"server_id": str(draw(st.sampled_from([1, 2**32 - 1])))}
        if number is not None:
            tokens = {"gtid": f"{binlogs.SERVER}:{number}", **tokens}
        operations.append(
            replace(
                item, op_ts=f"{stamp:%Y-%m-%d %H:%M:%S}.000000", pos=None, tokens=tokens, before=before, after=after
            )
        )
    parts = made.table.name.split(".")
    table = replace(made.table, name=".".join((parts[-2] if len(parts) > 1 else "d", parts[-1])), columns=columns)
    return Case(replace(made, table=table, operations=operations))


def defined(case: Case) -> TableDef:
    columns = tuple(Column(column.name, _TEXT) for column in case.changes.table.columns)
    keys = sorted((column for column in case.changes.table.columns if column.key), key=lambda column: column.key)
    return TableDef(case.changes.table.name, columns).with_keys([column.name for column in keys])


def _values(image: Mapping[str, str | None], names: Sequence[str]) -> binlogs.Image:
    return {names.index(name): None if value is None else binlogs.inserted(value) for name, value in image.items()}


def log(case: Case) -> tuple[bytes, list[int]]:
    """The log of a case, and the offset of the event of each operation."""
    data, places = binlogs.head(), []
    database, table = case.changes.table.name.split(".")
    names = list(case.columns)
    keys = sorted((column for column in case.changes.table.columns if column.key), key=lambda column: column.key)
    more = binlogs.metadata(names, [names.index(column.name) for column in keys], charsets=[45] * len(names))
    for item in case.operations:
        seconds = int((datetime.fromisoformat(item.op_ts or "1970-01-01") - datetime(1970, 1, 1)).total_seconds())
        gtid = item.tokens.get("gtid")
        if gtid is not None:
            data += binlogs.gtid(int(gtid.rpartition(":")[2]))
        server = int(item.tokens.get("server_id", "1"))
        if item.op == "T":
            places.append(len(data))
            quoted = ".".join(f"`{name.replace('`', '``')}`" for name in (database, table))
            data += binlogs.query(f"TRUNCATE TABLE {quoted}", database, time=seconds, server=server)
            continue
        data += binlogs.query("BEGIN")
        data += binlogs.table_map(database, table, [binlogs.varchar(252)] * len(names), more)
        places.append(len(data))
        images = [_values(each, names) for each in (item.before, item.after) if each is not None]
        data += binlogs.rows(item.op, len(names), images, time=seconds, server=server) + binlogs.xid()
    return data, places


def shown(case: Case) -> list[PlainOperation]:
    found, transaction = [], ""
    data, places = log(case)
    for item, place in zip(case.operations, places, strict=True):
        tokens = dict(item.tokens)
        tokens.setdefault("server_id", "1")
        if "gtid" not in tokens:
            start = place if item.op == "T" else data.rindex(binlogs.query("BEGIN"), 0, place)
            transaction = f"f:{start}"
            tokens["transaction"] = transaction
        found.append(replace(item, pos=f"f:{place}", tokens=tokens))
    return found


_TYPES = [(3, b""), binlogs.varchar(), (246, b"\x0a\2")]
_MAP = binlogs.table_map(
    "shop", "t", _TYPES, binlogs.metadata(["id", "v", "n"], [0], unsigned=[False, False], charsets=[45])
)
_FIRST: binlogs.Image = {0: b"\1\0\0\0", 1: binlogs.inserted("a"), 2: b"\x80\0\0\x01\x32"}
_SECOND: binlogs.Image = {0: b"\2\0\0\0", 1: None, 2: b"\x7f\xff\xff\xfe\xcd"}


def frame(record: bytes) -> bytes:
    return binlogs.gtid(7) + binlogs.query("BEGIN") + _MAP + record + binlogs.xid()


CONTRACTS = {
    "mysql_binlog": Contract(
        cases(),
        shown,
        table=defined,
        told=lambda case, table: (table.columns, table.key_names),
        transactions=("gtid", "transaction"),
        made=lambda case: log(case)[0],
        head=binlogs.head(),
        frame=frame,
        records=[
            binlogs.rows("I", 3, [_FIRST, _SECOND], time=1),
            binlogs.rows("U", 3, [_FIRST, {0: b"\3\0\0\0", 1: binlogs.inserted("b"), 2: None}], time=2**32 - 1),
            binlogs.rows("U", 3, [{0: b"\3\0\0\0"}, {1: binlogs.inserted("é😀")}], is_v2=False),
            binlogs.rows("D", 3, [_SECOND]),
            binlogs.query("truncate t", "shop"),
        ],
        isolated=False,
        texts=False,
    )
}
