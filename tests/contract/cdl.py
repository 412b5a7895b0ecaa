"""The contract of `cdl_json`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dialects import lines
from hypothesis import strategies as st
from oracle import PlainOperation
from strategies import changes, texts

from contract import Case, Contract, Recorded, names_kinds_and_keys
from contract.shown import TIMES, filled, in_millis, without_catalog
from ggfmt.model.table import Kind, SqlType, TableDef


def field(name: str, type: str, logical: str | None = None, **others: Any) -> dict[str, Any]:
    return {"type": type, "optional": True, **({"name": logical} if logical else {}), **others, "field": name}


def struct(name: str, *fields: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields), "optional": True, "name": name, "field": name}


def schema(*columns: Any, keys: tuple[str, ...] = ("id",), images: tuple[str, str] = ("data", "before")) -> Any:
    unique = struct("unique", *(field(key, "int32") for key in keys))
    return {"type": "struct", "fields": [unique, *(struct(name, *columns) for name in images)]}


COLUMNS = (field("id", "int32"), field("n", "string"))
PAYLOAD = {
    "DATA_STORE": "POSTGRESQL", "SEG_OWNER": "public", "TABLE_NAME": "t", "TIMESTAMP": 1707047996013,
    "OPERATION": "INSERT", "LOB_COLUMNS": None,
    "transaction": {"properties": [{"name": "lsn", "value": 163955221008}, {"name": "txId", "value": 57}]},
    "unique": {"id": 1}, "data": {"id": 1, "n": "a"}, "before": None, "message_version": "1.0", "message_type": "0",
    "HEARTBEAT_IDENTIFIER": "279f",
}  # fmt: skip


def message(operation: str, data: Any, before: Any, columns: Any = COLUMNS, **others: Any) -> dict[str, Any]:
    payload = {**PAYLOAD, "OPERATION": operation, "data": data, "before": before, **others}
    return {"schema": schema(*columns), "payload": payload}


GOOD = [
    message("INSERT", {"id": 1, "n": "a"}, None),
    message("UPDATE", {"id": 1, "n": None}, {"id": 1, "n": "a"}),
    message("DELETE", None, {"id": 1, "n": None}),
]

_SHOWN_TOKENS = ("LOB_COLUMNS", "HEARTBEAT_IDENTIFIER", "DATA_STORE")
_TOKENS = st.dictionaries(
    st.one_of(st.sampled_from([*_SHOWN_TOKENS, "txId", "lsn"]), texts),
    st.one_of(st.sampled_from(["7", "-3", "-0", "007", ""]), texts),
    max_size=3,
)
_READ_AS = {Kind.DATE: Kind.STRING, Kind.TIME: Kind.STRING, Kind.INTERVAL: Kind.STRING, Kind.NUMBER: Kind.DECIMAL}


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Values that JSON writes as they are; time stamps are texts of any kind."""
    made = draw(changes(number=st.sampled_from(["0", "-17", "999999999999999999", "7"])))
    operations = [
        replace(
            item,
            op_ts=draw(TIMES),
            pos=draw(st.one_of(st.none(), st.sampled_from(["0", "1444", "00012", "a:b"]), texts)),
            tokens=draw(_TOKENS),
        )
        for item in made.operations
        if item.op != "T"
    ]
    return Case(replace(made, operations=operations), {"timestamps": "text"})


def _is_whole(text: str) -> bool:
    return text.isascii() and text.removeprefix("-").isdigit() and str(int(text)) == text and len(text) <= 18


def shown(case: Case) -> list[PlainOperation]:
    back = []
    for item in case.operations:
        tokens = {
            name: text
            for name, text in item.tokens.items()
            if name in _SHOWN_TOKENS or (name != "lsn" and _is_whole(text))
        }
        if not tokens.get("DATA_STORE"):
            tokens.pop("DATA_STORE", None)
        pos = item.pos
        if pos is not None:
            pos = str(int(pos)) if pos.isascii() and pos.isdigit() and len(pos.lstrip("0")) <= 18 else None
        before, after = (filled(image, case.columns) for image in (item.before, item.after))
        back.append(PlainOperation(item.op, in_millis(item.op_ts), pos, before, after, tokens))
    return back


def read_as(case: Case) -> TableDef:
    columns = (replace(c, type=SqlType(_READ_AS.get(c.type.kind, c.type.kind))) for c in case.definition.columns)
    return TableDef(without_catalog(case.definition.full_name), tuple(columns))


CONTRACTS = {
    "cdl_json": Contract(
        cases(),
        shown,
        transactions=("txId",),
        told=names_kinds_and_keys,
        table=read_as,
        truncates=False,
        records=lines(*GOOD, message("INSERT", None, None, OPERATION=None, message_type="7")).splitlines(),
        recorded=[Recorded(f"cdl/huawei_mrs_doc__cdl_v{version}.json", "I") for version in ("1.0", "2.0")],
    )
}
