"""The contracts of `qlik_json` and `qlik_avro`."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from dialects import lines
from hypothesis import strategies as st
from oracle import PlainImage, PlainOperation, json_number
from strategies import changes

from contract import Case, Contract, Recorded, names_and_keys, qlik_avro
from contract.qlik_avro import ID, column
from contract.shown import TIMES, each, in_millis, without_catalog

COLUMNS = {"NAME": column(2), "ID": column(1, "INT4", 1), "PRICE": column(3, "NUMERIC", precision=10, scale=2)}
ROW = {"ID": 1, "NAME": "a", "PRICE": "10.50"}


def metadata(columns: Any = COLUMNS, schema_id: str | None = ID, **others: Any) -> dict[str, Any]:
    lineage = {"server": "srv", "task": "job", "schema": "S", "table": "T", "tableVersion": 1, "timestamp": "x"}
    lineage = {**lineage, **others}
    message = {"schemaId": schema_id, "lineage": lineage, "tableStructure": {"tableColumns": columns}, "dataSchema": ""}
    return {
        "magic": "atMSG", "type": "MD", "headers": None, "messageSchemaId": schema_id, "messageSchema": None,
        "message": message,
    }  # fmt: skip


def change(operation: str, data: Any, before: Any = None, schema_id: str | None = ID, **headers: Any) -> dict[str, Any]:
    own = {
        "operation": operation, "changeSequence": "201", "timestamp": "2023-03-21T21:34:19.511", "streamPosition": "p1",
        "transactionId": "tx", "changeMask": None, "columnMask": None, "transactionEventCounter": 4,
        "transactionLastEvent": True, **headers,
    }  # fmt: skip
    return {
        "magic": "atMSG", "type": "DT", "headers": None, "messageSchemaId": schema_id, "messageSchema": None,
        "message": {"data": data, "beforeData": before, "headers": own},
    }  # fmt: skip


_TOKENS: list[dict[str, str]] = [
    {},
    {"snapshot": "true", "transactionId": "x"},
    {"changeSequence": "2", "transactionEventCounter": "12", "transactionLastEvent": "false", "externalSchemaId": "y"},
]
_NUMBERS = {"integer", "float", "double"}  # which are numbers in messages
_IN_AVRO = ["0", "7", "-120", "17520.00", "3E2", "9007199254740993"]
_ORDER = "avroMaskByteOrder"


@st.composite
def json_cases(draw: st.DrawFn, /, **others: Any) -> Case:
    made = draw(changes(**others))
    columns = tuple(replace(c, kind="string") if c.kind == "binary" else c for c in made.table.columns)
    kinds = {c.name: c.kind for c in columns}

    def image(values: PlainImage | None) -> PlainImage | None:
        return each(values, lambda name, text: text.replace("T", " ") if kinds[name] == "timestamp" else text)

    operations = [
        replace(
            item,
            op_ts=draw(TIMES),
            pos=draw(st.sampled_from([None, "7", "0000012"])),
            before=image(item.before),
            after=image(item.after),
            tokens={**draw(st.sampled_from(_TOKENS)), "other": "z"},
        )
        for item in made.operations
        if item.op != "T"
    ]
    table = replace(made.table, name=without_catalog(made.table.name), columns=columns)
    return Case(replace(made, table=table, operations=operations))


@st.composite
def avro_cases(draw: st.DrawFn) -> Case:
    """Columns have names that Avro has, and numbers are those of its types."""
    case = draw(json_cases(number=st.sampled_from(_IN_AVRO)))
    made = case.changes
    names = {c.name: f"C{place}" for place, c in enumerate(made.table.columns)}
    floats = {c.name for c in made.table.columns if c.kind == "float"}

    def image(values: PlainImage | None) -> PlainImage | None:
        fitting = each(values, lambda name, text: "0.5" if name in floats and len(text) > 10 else text)
        return fitting and {names[name]: value for name, value in fitting.items()}

    columns = tuple(replace(c, name=names[c.name]) for c in made.table.columns)
    operations = [replace(item, before=image(item.before), after=image(item.after)) for item in made.operations]
    made = replace(made, table=replace(made.table, columns=columns), operations=operations)
    return Case(made, {_ORDER: draw(st.sampled_from(["big-endian", "little-endian"]))})


def _in_avro(text: str, kind: str) -> str:
    if kind == "integer":
        return str(int(Decimal(text)))
    return f"{float(text):.9g}" if kind == "float" else repr(float(text))


def shown(case: Case) -> list[PlainOperation]:
    kinds = {column.name: column.kind for column in case.changes.table.columns}

    def number(name: str, text: str) -> str:
        if kinds[name] not in _NUMBERS:
            return text
        return _in_avro(text, kinds[name]) if _ORDER in case.options else json_number(text)

    back = []
    for item in case.operations:
        before = item.before
        if item.op == "U" and before is not None:
            assert item.after is not None
            lost = {name for name, value in before.items() if value is None and name not in item.after}
            shown = {name: value for name, value in before.items() if name not in lost}
            before = {**dict.fromkeys(item.after), **shown}
        tokens = {name: text for name, text in item.tokens.items() if name != "other"}
        if item.op != "I":
            tokens.pop("snapshot", None)
        before, after = each(before, number), each(item.after, number)
        back.append(replace(item, op_ts=in_millis(item.op_ts), before=before, after=after, tokens=tokens))
    return back


def _bare(record: dict[str, Any]) -> dict[str, Any]:
    """A change without its envelope."""
    return {"messageSchemaId": ID, **record["message"]}


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    """A change whose headers are members of the message."""
    message = dict(record["message"])
    headers = message.pop("headers")
    return {**record, "message": {**message, **{f"headers_{name}": value for name, value in headers.items()}}}


_CHANGES = (
    change("INSERT", ROW, columnMask="07", changeMask="07", externalSchemaId=""),
    change("refresh", ROW, streamPosition="", changeSequence=12),
    change("UPDATE", ROW, {**ROW, "PRICE": None}, columnMask="0007", changeMask="04", externalSchemaId="é"),
    change("DELETE", ROW, changeMask="01", transactionLastEvent=None, transactionEventCounter="", transactionId=""),
)
# Records that mean the same, and options they are read with; all of them are regular.
SHAPES: dict[str, tuple[list[bytes], dict[str, str]]] = {
    "in envelopes": (lines(metadata(), *_CHANGES).splitlines(), {"position": "changeSequence"}),
    "without envelopes": (lines(metadata(), *map(_bare, _CHANGES)).splitlines(), {}),
    "flat": (lines(metadata(), *map(_flat, _CHANGES)).splitlines(), {"position": "changeSequence"}),
    "flat without envelopes": (lines(metadata(), *(_bare(_flat(one)) for one in _CHANGES)).splitlines(), {}),
}

CONTRACTS = {
    "qlik_json": Contract(
        json_cases(),
        shown,
        transactions=("transactionId",),
        told=names_and_keys,
        truncates=False,
        records=lines(
            metadata(),
            change("INSERT", ROW, columnMask="07"),
            change("UPDATE", ROW, ROW, columnMask="05"),
            change("DELETE", ROW),
        ).splitlines(),
        base=1,
        recorded=(
            Recorded("qlik/jcustenborder_attunity-json-converter__Metadata.json", ""),
            Recorded(
                "qlik/public_samples__masks.jsonl",
                "UU",
                reasons=["GG305 `columnMask` leaves out columns, and no metadata message has their ordinals"],
                options={"tableName": "S.T"},
            ),
        ),
    ),
    "qlik_avro": Contract(
        avro_cases(),
        shown,
        transactions=("transactionId",),
        told=names_and_keys,
        truncates=False,
        records=[
            qlik_avro.metadata(),
            qlik_avro.change("INSERT", ROW, columnMask=b"\x05"),
            qlik_avro.change("UPDATE", ROW, ROW),
            qlik_avro.change("DELETE", ROW),
        ],
        base=1,
        frame=bytes,
        isolated=False,  # a length that is damaged may reach into the messages that follow
        texts=False,
    ),
}
