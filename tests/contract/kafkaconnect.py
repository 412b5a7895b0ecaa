"""The contracts of `kafkaconnect_json` and `kafkaconnect_avro`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dialects import lines, written
from hypothesis import strategies as st
from oracle import PlainColumn, PlainImage, PlainOperation, PlainTable, row_image, split_key_updates
from strategies import Changes, changes

from contract import Case, Contract
from contract.shown import TIMES, each, filled, flag
from ggfmt.formats.api.format import Context
from ggfmt.model.table import TableDef

TEXT = {"type": "string", "optional": False}


def field(name: str, type: str, **others: Any) -> dict[str, Any]:
    return {"type": type, "optional": True, **others, "field": name}


METADATA = [
    *(field(name, "string") for name in ("table", "op_type", "op_ts", "current_ts", "pos")),
    field("primary_keys", "array", items=TEXT),
    field("tokens", "map", keys=TEXT, values=TEXT),
]
COLUMNS = [field("ID", "int64"), field("NAME", "string")]
STRUCT = {"type": "struct", "fields": COLUMNS, "optional": True, "name": "row"}
OP_SCHEMA = {
    "type": "struct",
    "fields": [*METADATA, *({**STRUCT, "field": image} for image in ("before", "after"))],
    "optional": False,
    "name": "S.T",
}
ROW_SCHEMA = {"type": "struct", "fields": [*METADATA[:5], *COLUMNS], "optional": False, "name": "S.T"}
HEAD = {"table": "S.T", "op_ts": "2021-06-17 17:31:31.689976", "current_ts": "2021-06-17 17:31:37.786000", "pos": "7"}


def operation(op: str, before: Any, after: Any, **others: Any) -> dict[str, Any]:
    """As Connect writes it, with fields in the order of the handler."""
    members = {**HEAD, "op_type": op, "primary_keys": ["ID"], "tokens": {"txid": "0.6.23.552"}, **others}
    head = {item["field"]: members[item["field"]] for item in METADATA}
    return {**head, "before": before, "after": after}


def row(op: str, **columns: Any) -> dict[str, Any]:
    head = {item["field"]: {**HEAD, "op_type": op}[item["field"]] for item in METADATA[:5]}
    return {**head, **columns}


def wrapped(payload: Any) -> dict[str, Any]:
    return {"schema": OP_SCHEMA if "after" in payload else ROW_SCHEMA, "payload": payload}


A = {"ID": 1, "NAME": "a"}
GOOD: list[Any] = [
    wrapped(operation("I", None, A)),
    wrapped(operation("U", A, {"ID": 1, "NAME": None})),
    wrapped(operation("D", A, None)),
    wrapped(row("I", ID=2, NAME="b")),
    wrapped(operation("T", None, None)),
]

_WHOLE = st.integers(-(1 << 63), (1 << 63) - 1).map(str)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Whole numbers are of 64 bits; other numbers are texts, or doubles as Java prints them."""
    made = draw(changes(number=_WHOLE))
    by_row = draw(st.booleans())
    numbers = draw(st.sampled_from(["doubles", "texts"]))
    options = {
        "messageFormatting": "row" if by_row else "op",
        "includeIsMissingFields": flag(draw(st.booleans())),
        "includePrimaryKeys": flag(draw(st.booleans())),
        "treatAllColumnsAsStrings": flag(numbers == "texts"),
        "pkUpdateHandling": draw(st.sampled_from(["update", "delete-insert"])),
    }
    double = st.integers(-(10**8), 10**8).map(lambda number: repr(number / 64))
    floating = {c.name for c in made.table.columns if c.kind in ("number", "decimal", "float", "double")}

    def image(row: PlainImage | None) -> PlainImage | None:
        return each(row, lambda name, text: draw(double) if name in floating and numbers == "doubles" else text)

    operations = [
        replace(item, op_ts=draw(TIMES), before=image(item.before), after=image(item.after)) for item in made.operations
    ]
    columns = tuple(replace(c, kind="double") if c.name in floating else c for c in made.table.columns)
    return Case(replace(made, table=replace(made.table, columns=columns), operations=operations), options)


def shown(case: Case) -> list[PlainOperation]:
    operations = case.operations
    if case.options["messageFormatting"] == "row":
        if case.options["pkUpdateHandling"] == "delete-insert":
            operations = split_key_updates(case.changes.table, operations)
        rows = [(item, None if item.op == "T" else row_image(item)) for item in operations]
        operations = [
            replace(item, before=image if item.op == "D" else None, after=image if item.op in "IU" else None)
            for item, image in rows
        ]
    if case.options["includeIsMissingFields"] == "true":
        return operations
    return [
        replace(item, before=filled(item.before, case.columns), after=filled(item.after, case.columns))
        for item in operations
    ]


def told(case: Case, table: TableDef) -> Any:
    return table.primary_keys if case.options["includePrimaryKeys"] == "true" else ()


CONTRACTS = {
    "kafkaconnect_json": Contract(
        cases(),
        shown,
        transactions=("xid", "6"),
        told=told,
        records=lines(*GOOD).splitlines(),
        base=2,
    )
}


# In Avro


def in_avro(case: Case) -> Case:
    """The same operations with names that Avro takes."""
    table = case.changes.table
    names = {column.name: f"C{place}_" for place, column in enumerate(table.columns)}

    def image(row: PlainImage | None) -> PlainImage | None:
        return None if row is None else {names[name]: value for name, value in row.items()}

    operations = [replace(item, before=image(item.before), after=image(item.after)) for item in case.operations]
    columns = tuple(replace(column, name=names[column.name]) for column in table.columns)
    table = replace(table, name="S.T", columns=columns)
    return replace(case, changes=replace(case.changes, table=table, operations=operations))


_TABLE = PlainTable("S.T", (PlainColumn("A", "string"), PlainColumn("B", "double")))
_STORY = [PlainOperation("I", None, "p", None, {"A": "x" * n, "B": "1.5"}, {}) for n in range(5)]


def _file(operations: list[PlainOperation]) -> bytes:
    return written("kafkaconnect_avro", Changes(_TABLE, operations, False), None, Context(True))


CONTRACTS["kafkaconnect_avro"] = Contract(
    cases().map(in_avro),
    shown,
    transactions=("xid", "6"),
    told=told,
    records=[_file([item]).removeprefix(_file([])) for item in _STORY],
    head=_file([]),
    frame=bytes,
    isolated=False,
    texts=False,
)
