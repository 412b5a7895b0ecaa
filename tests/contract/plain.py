"""The contracts of `csv` and `jsonl`, which are read only: `made` writes rows as other programs do."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from oracle import PlainOperation
from strategies import changes

from contract import Case, Contract
from contract.shown import TIMES, filled

OPTIONS = {"opColumn": "\x7fop", "opTsColumn": "\x7fts", "positionColumn": "\x7fpos"}
_SHAPE = {"delimiter": ",", "quote": '"', "header": "true", "nullLiteral": "CDATA[]"}
_WORDS = {"I": ["I", "insert", "Create"], "U": ["U", "UPDATE"], "D": ["d", "Delete"], "T": ["truncate"]}


@st.composite
def cases(draw: st.DrawFn, fills: bool) -> Case:
    made = draw(changes())
    columns = tuple(replace(column, kind="string") for column in made.table.columns)
    operations = [
        replace(
            item,
            op_ts=draw(TIMES),
            pos=draw(st.one_of(st.none(), st.sampled_from(["7", "00012", "a,b", '"']))),
            before=item.before if item.op == "D" else None,
            tokens={},
        )
        for item in made.operations
    ]
    table = replace(made.table, columns=columns)
    if fills:
        names = [column.name for column in columns]
        operations = [
            replace(item, before=filled(item.before, names), after=filled(item.after, names)) for item in operations
        ]
    told = {**OPTIONS, **(_SHAPE if fills else {}), "tableName": f"CDATA[{table.name}]"}
    return Case(replace(made, table=table, operations=operations), {}, told)


def shown(case: Case) -> list[PlainOperation]:
    return case.operations


def _word(item: PlainOperation, number: int) -> str:
    words = _WORDS[item.op]
    return words[number % len(words)]


def csv_field(value: str | None) -> str:
    if value is None:
        return ""
    doubled = value.replace('"', '""')
    return f'"{doubled}"' if not value or set(value) & set('",\r\n\ufeff') else value


def made_csv(case: Case) -> bytes:
    columns = case.columns
    rows: list[list[Any]] = [[*OPTIONS.values(), *columns]]
    for number, item in enumerate(case.operations):
        image = item.before if item.op == "D" else item.after
        rows.append([_word(item, number), item.op_ts, item.pos, *((image or {}).get(name) for name in columns)])
    return "".join(",".join(map(csv_field, row)) + "\n" for row in rows).encode("utf-8", "surrogatepass")


def made_json(case: Case) -> bytes:
    rows = []
    for number, item in enumerate(case.operations):
        image = item.before if item.op == "D" else item.after
        special = zip(OPTIONS.values(), (_word(item, number), item.op_ts, item.pos), strict=True)
        rows.append({**dict(special), **(image or {})})
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


_TOLD = {"opColumn": "op", "opTsColumn": "ts", "tableName": "S.T"}

CONTRACTS = {
    "csv": Contract(
        cases(fills=True),
        shown,
        made=made_csv,
        head=b"op,ts,id,name\n",
        records=[
            b'I,2026-01-01 00:00:00Z,1,"a""\n,b"',
            b"update,2026-01-01T00:00:00.5+01:00,1,\xc3\xa9",
            b'D,,1,""',
        ],
        told_of_records=_TOLD,
        isolated=False,  # a quote takes in the lines that follow
        texts=False,
    ),
    "jsonl": Contract(
        cases(fills=False),
        shown,
        made=made_json,
        records=[
            b'{"op":"I","ts":"2026-01-01T00:00:00Z","id":1,"name":"a"}',
            b'{"op":"update","ts":null,"id":1,"name":null}',
            b'{"op":"D","id":1}',
        ],
        told_of_records=_TOLD,
    ),
}
