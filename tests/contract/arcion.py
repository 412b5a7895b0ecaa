"""The contracts of `arcion_json` and `arcion_csv`."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from dialects import lines
from hypothesis import strategies as st
from oracle import PlainOperation
from strategies import changes, texts

from contract import Case, Contract, Recorded, column_names
from contract.shown import TIMES, each, filled, in_millis
from ggfmt.formats.arcion.cursor import COUNTS, RESERVED

CURSOR = {"extractorId": 0, "timestamp": 1657516903000, "log": "log-bin.000010", "position": 7461, "v": 2}
COUNTED = {"insertCount": 30, "updateCount": 1}


def name(table: str = "nation", schema: Any = "tpch", catalog: Any = None) -> dict[str, Any]:
    return {"namespace": {"catalog": catalog, "schema": schema, "hash": -27122659}, "name": table, "hash": -1893420405}


def message(op: str, old: Any, new: Any, exists: Any, **others: Any) -> dict[str, Any]:
    return {
        "tableName": name(), "opType": op, "cursor": json.dumps(CURSOR), "before": old, "after": new,
        "exists": exists, "operationcount": json.dumps(COUNTED), **others,
    }  # fmt: skip


NONE = {"id": "null", "n": "null"}
GOOD = [
    message("I", NONE, {"id": "1", "n": "a"}, {"id": "1", "n": "1"}),
    message("U", {"id": "1", "n": "null"}, {"id": "null", "n": "b"}, {"id": "2", "n": "1"}),
    message("D", {"id": "1", "n": "null"}, NONE, {"id": "2", "n": "0"}),
]

_PLACES = st.one_of(
    st.none(), st.sampled_from(["log-bin.000010:7461", "0000012", "12", "a:b:007", ":1", '{"x":1}', ""]), texts
)
_TOKENS = st.dictionaries(st.one_of(st.sampled_from([*COUNTS, *RESERVED, "v", "part Num"]), texts), texts, max_size=3)
_NUMBERS = st.sampled_from(["7", "-0", "007", "1.50", "null", "9" * 19])


@st.composite
def _changes(draw: st.DrawFn) -> Any:
    made = draw(changes())
    columns = tuple(replace(column, kind="string") for column in made.table.columns)
    operations = [
        replace(
            item,
            op_ts=draw(TIMES),
            pos=draw(_PLACES),
            tokens={name: draw(_NUMBERS) if name == "v" else text for name, text in draw(_TOKENS).items()},
        )
        for item in made.operations
        if item.op != "T"
    ]
    return replace(made, table=replace(made.table, columns=columns), operations=operations)


@st.composite
def json_cases(draw: st.DrawFn) -> Case:
    null = draw(st.sampled_from(["null", "", "\\N"]))
    filler = draw(st.sampled_from(["", "default_schema"]))
    return Case(draw(_changes()), {"nullLiteral": f"CDATA[{null}]", "schemaFiller": filler})


@st.composite
def csv_cases(draw: st.DrawFn) -> Case:
    made = draw(_changes())
    options = {
        "delimiter": draw(st.sampled_from([",", ";", "CDATA[\t]", "CDATA[\x01]", "|"])),
        "quote": draw(st.sampled_from(['"', "'"])),
        "escape": draw(st.sampled_from(["doubled", "backslash"])),
        "nullLiteral": draw(st.sampled_from(["NULL", "\\N", "CDATA[]", "<null>"])),
        "includeHeader": "true",
        "mode": draw(st.sampled_from(["realtime", "realtime", "snapshot"])),
    }
    if options["mode"] == "snapshot":
        made = replace(made, operations=[item for item in made.operations if item.op == "I"])
    return Case(made, options, {"tableName": f"CDATA[{made.table.name}]"})


def shown(case: Case) -> list[PlainOperation]:
    if case.options.get("mode") == "snapshot":
        return [
            PlainOperation("I", None, None, None, filled(item.after, case.columns), {"snapshot": "true"})
            for item in case.operations
        ]
    json_null = case.options["nullLiteral"][len("CDATA[") : -1] if "schemaFiller" in case.options else None
    back = []
    for item in case.operations:
        before, after = (
            each(image, lambda _, text: None if text == json_null else text) for image in (item.before, item.after)
        )
        if item.op == "U" and not before:
            before = None
        tokens = {name: text for name, text in item.tokens.items() if name not in RESERVED}
        if "part Num" in tokens:
            tokens["partNum"] = tokens.pop("part Num")
        back.append(replace(item, op_ts=in_millis(item.op_ts), before=before, after=after, tokens=tokens))
    return back


_CURSOR = '"{""timestamp"":1620787852116,""position"":7}"'

CONTRACTS = {
    "arcion_json": Contract(
        json_cases(),
        shown,
        told=column_names,
        truncates=False,
        records=lines(*GOOD).splitlines(),
        recorded=(
            Recorded("arcion/huynguy-db_arcion-docs__arcion-internal-cdc-format.jsonl", "IUDIUD"),
            # Arcion's Debezium-like form, which is refused with the way to read it.
            Recorded(
                "arcion/huynguy-db_arcion-docs__json-cdc-format.jsonl",
                "",
                {"tombstone": 1},
                ["GG305 the record has no `tableName`"] * 8,
            ),
        ),
    ),
    "arcion_csv": Contract(
        csv_cases(),
        shown,
        told=column_names,
        truncates=False,
        head=b"id_NEW_VAL,id_OLD_VAL,id_EXISTS_VAL,n_NEW_VAL,n_OLD_VAL,n_EXISTS_VAL,opType,cursor,operationcount\n",
        records=[
            f'1,NULL,1,"a""\n,b",NULL,1,I,{_CURSOR},"{{""insertCount"":6}}"'.encode(),
            f"NULL,1,2,b,NULL,1,U,{_CURSOR},".encode(),
            b'NULL,1,2,NULL,"NULL",2,D,,',
        ],
        told_of_records={"tableName": "S.T", "includeHeader": "true"},
        isolated=False,  # a quote takes in the lines that follow
        texts=False,
    ),
}
