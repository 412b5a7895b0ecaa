"""The contracts of `json` and `json_row`, GoldenGate's."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import assume
from hypothesis import strategies as st
from oracle import PlainOperation, row_image, split_key_updates
from strategies import changes, json_numbers

from contract import Case, Contract, Recorded
from contract.shown import flag, templates
from ggfmt.formats.api.format import Context

# What members of metadata are called by default, or by the templates that are drawn.
METADATA = {"table", "op_type", "op_ts", "current_ts", "pos", "primary_keys", "tokens"}
METADATA |= {"objectname", "optype", "c", "s", "t", "now", "site", "csn", "primarykeys", "m"}


@st.composite
def cases(draw: st.DrawFn, by_row: bool) -> Case:
    made = draw(changes(number=json_numbers))
    context = Context(include_tokens=True)
    options = {
        "jsonDelimiter": draw(st.sampled_from(["CDATA[\\n]", "CDATA[\\n]", "", "#EOR#", "CDATA[;\\r\\n]"])),
        "prettyPrint": flag(draw(st.booleans())),
        "includePrimaryKeys": flag(draw(st.booleans())),
        "treatAllColumnsAsStrings": flag(draw(st.booleans())),
    }
    if draw(st.booleans()):
        options["metaColumnsTemplate"] = draw(templates(tokens=True))
        if all(column.kind != "number" for column in made.table.columns):  # which any text fits in 12.2 alone
            context = replace(context, release=draw(st.sampled_from(["12.2", "19.1", "21", "26"])))
    if by_row:
        assume(METADATA.isdisjoint(column.name for column in made.table.columns))
        options["pkUpdateHandling"] = draw(st.sampled_from(["update", "delete-insert"]))
    elif draw(st.booleans()):
        options["beforeObjectName"] = draw(st.sampled_from(["before", "old", 'b"']))
        options["flatten"] = flag(draw(st.booleans()))
        options["flattenDelimiter"] = draw(st.sampled_from([".", "_", "::"]))
    return Case(made, options, context=context)


def rows(case: Case) -> list[PlainOperation]:
    """One image, and a change of the key as the option has it."""
    operations = case.operations
    if case.options["pkUpdateHandling"] == "delete-insert":
        operations = split_key_updates(case.changes.table, operations)
    shown = []
    for item in map(as_written, operations):
        image = row_image(item)
        before, after = (image if item.op == "D" else None), (image if item.op in "IU" else None)
        shown.append(replace(item, before=before, after=after))
    return shown


def as_written(operation: PlainOperation, tokens: bool = True) -> PlainOperation:
    """The operation as it comes back: a before image of an update without columns is none."""
    before = (operation.before or None) if operation.op == "U" else operation.before
    return replace(
        operation,
        op_ts=operation.op_ts or None,
        pos=operation.pos or None,
        before=before,
        tokens=operation.tokens if tokens else {},
    )


def line(table: str = "S.T", op: str = "I", image: str = "after", more: str = "", **columns: object) -> bytes:
    body = json.dumps(columns)
    return f'{{"table":"{table}","op_type":"{op}","op_ts":"t","pos":"7","{image}":{body}{more}}}'.encode()


def row(table: str = "S.T", op: str = "I", more: str = "", **columns: object) -> bytes:
    body = json.dumps(columns)[1:-1]
    return f'{{"table":"{table}","op_type":"{op}","op_ts":"t","pos":"7"{more},{body}}}'.encode()


def flat(text: bytes, delimiter: str = ".") -> bytes:
    """A record with the columns of its images as members of its own, at the end."""
    record = json.loads(text)
    images = {name: record.pop(name) for name in ("before", "after") if name in record}
    columns = {f"{name}{delimiter}{column}": value for name in images for column, value in images[name].items()}
    return json.dumps(record | columns).encode()


def renamed(text: bytes, **names: str) -> bytes:
    return json.dumps({names.get(name, name): value for name, value in json.loads(text).items()}).encode()


def as_by_default(case: Case) -> bool:
    return not {"metaColumnsTemplate", "beforeObjectName"} & set(case.options)


def rows_by_default(case: Case) -> bool:
    """Whether each message has a column, without which it fits `json` as well."""
    return as_by_default(case) and all(map(row_image, case.operations))


CONTRACTS = {
    "json": Contract(
        cases(by_row=False),
        lambda case: [as_written(item) for item in case.operations],
        transactions=("xid", "6"),
        records=[
            line(ID=1, NAME="a", FLAG=True),
            line(op="U", ID=2, NAME=None, more=',"before":{"ID":1},"primary_keys":["ID"],"tokens":{"R":"A"}'),
            line(op="D", image="before", ID=2),
            line("S.U", A="x"),
            b'{"table":"S.T","op_type":"T"}',
            b'{"op_type":"DDL","ddl":"drop table"}',
        ],
        alone=as_by_default,
        recorded=(Recorded("ogg/apache_flink__ogg-data.txt", "IIIIIIIIIUUIIUUD"),),
    ),
    "json_row": Contract(
        cases(by_row=True),
        rows,
        transactions=("xid", "6"),
        records=[
            row(ID=1, NAME="a", FLAG=True),
            row(op="U", more=',"primary_keys":["ID"],"tokens":{"R":"A"}', ID=2, NAME=None),
            row(op="D", ID=2),
            row("S.U", A="x"),
        ],
        alone=rows_by_default,
    ),
}

# Other records, by the options that they were written with
_RECORDS = CONTRACTS["json"].records[:5]  # without a type that is not an operation
_TEMPLATE = (
    "${objectname[table]},${optype[op_type]},${timestamp[op_ts]},${position[pos]},${token[r].R},${alltokens[tokens]}"
)
SHAPES: dict[str, tuple[list[bytes], dict[str, str]]] = {
    "flattened": ([flat(record) for record in _RECORDS], {"flatten": "true"}),
    "flattened with _": ([flat(record, "_") for record in _RECORDS], {"flatten": "true", "flattenDelimiter": "_"}),
    "with other images": (
        [renamed(record, before="old", after="new") for record in _RECORDS],
        {"beforeObjectName": "old", "afterObjectName": "new"},
    ),
    "by a template": (
        [_RECORDS[0][:-1] + b',"r":"B"}', line(op="D", image="before", more=',"tokens":{"R":"A"}', ID=2)],
        {"metaColumnsTemplate": _TEMPLATE},
    ),
}
