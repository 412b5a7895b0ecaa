"""The contract of `shareplex_json`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dialects import lines
from hypothesis import strategies as st
from oracle import PlainOperation
from strategies import changes

from contract import Case, Contract, Recorded
from contract.shown import TIMES, flag, in_seconds, without_catalog

ROW = {"ID": "1", "NAME": "a", "NOTE": None}


def message(op: str | None, data: Any, key: Any = None, **meta: Any) -> dict[str, Any]:
    told = {"time": "2017-06-16T14:24:34", "op": op, "table": "S.T", **meta}
    return {"meta": told, "data": data} | ({} if key is None else {"key": key})


_TOKENS = [
    {},
    {"userid": "84", "seq": "1", "size": "2", "idx": "1/2", "trans": "7.0.4"},
    {"userid": "x", "seq": "01", "rowid": 'A"\n', "posttime": "2017-06-16T14:33:52", "size": ""},
]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    made = draw(changes())
    operations = [
        replace(
            item,
            op_ts=draw(TIMES),
            pos=draw(st.sampled_from([None, "", "14589063118712"])),
            tokens=draw(st.sampled_from(_TOKENS)),
        )
        for item in made.operations
    ]
    options = {
        "updateData": draw(st.sampled_from(["changed", "all"])),
        "completeAfter": flag(draw(st.booleans())),
        "opNames": draw(st.sampled_from(["short", "long"])),
        "utcSuffix": flag(draw(st.booleans())),
    }
    table = replace(made.table, name=without_catalog(made.table.name))
    return Case(replace(made, table=table, operations=operations), options)


def shown(case: Case) -> list[PlainOperation]:
    back = []
    for item in case.operations:
        after = item.after
        if item.op == "U" and item.before is not None and after is not None:
            if case.options["updateData"] == "changed":
                after = {n: v for n, v in after.items() if n not in item.before or item.before[n] != v}
            if case.options["completeAfter"] == "true":
                after = {**item.before, **after}
        back.append(replace(item, op_ts=in_seconds(item.op_ts), after=after))
    return back


CONTRACTS = {
    "shareplex_json": Contract(
        cases(),
        shown,
        transactions=("trans",),
        records=lines(
            message("ins", ROW, scn="1"),
            message("upd", {"NAME": "b"}, ROW),
            message("del", ROW, userid=1),
            message("DROP COLUMN", None),
        ).splitlines(),
        told_of_records={"completeAfter": "true"},
        recorded=(
            Recorded(
                "shareplex/alibaba_dts_doc__shareplex.jsonl",
                "IU",
                reasons=["GG305 `meta` has no `table`"],
            ),
            Recorded("shareplex/alibaba_dts_doc__shareplex.jsonl", "IUD", options={"tableName": "CL_BIZ1.MIO_LOG"}),
        ),
    )
}
