"""The contract of `goldengate_streams_json`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dialects import lines
from hypothesis import strategies as st
from oracle import PlainImage, PlainOperation
from runs import metadata
from strategies import changes, json_numbers

from contract import Case, Contract, whole
from contract.shown import filled, flag
from ggfmt.model.table import Column, Kind, SqlType, TableDef

ROW = {"ID": 1, "NAME": "a", "NOTE": None}
TYPES = {"ID": "number", "NAME": "string", "NOTE": "string"}
AT = "2026-06-02 22:14:36.000000"


def message(kind: str | None, **others: Any) -> dict[str, Any]:
    return {"qual_table": "S.T", "op_type": kind, "op_ts": AT, "pos": "7", **others}


@st.composite
def cases(draw: st.DrawFn) -> Case:
    made = draw(changes(number=json_numbers))
    columns = tuple(replace(c, kind="string") if c.kind == "number" else c for c in made.table.columns)
    before, after = draw(st.sampled_from([("before", "after"), ("vorher é", "$a")]))
    options = {
        "treatAllColumnsAsStrings": flag(draw(st.booleans())),
        "beforeImageName": before,
        "afterImageName": after,
        "omitNullColumnValues": flag(draw(st.booleans())),
        "absentMeans": draw(st.sampled_from(["missing", "missing", "null"])),
    }
    return Case(replace(made, table=replace(made.table, columns=columns)), options)


def shown(case: Case) -> list[PlainOperation]:
    def image(values: PlainImage | None) -> PlainImage | None:
        if case.options["absentMeans"] == "null":
            return filled(values, case.columns)
        if values is None or case.options["omitNullColumnValues"] == "false":
            return values
        return {name: value for name, value in values.items() if value is not None}

    return [replace(item, before=image(item.before), after=image(item.after)) for item in case.operations]


_KINDS = {
    **dict.fromkeys((Kind.INTEGER, Kind.FLOAT, Kind.DOUBLE, Kind.DECIMAL), Kind.DECIMAL),
    Kind.BOOLEAN: Kind.BOOLEAN,
}


def read_as(case: Case) -> TableDef:
    """Types are number, boolean or string, and the columns of a key are in the order of the table."""
    strings = case.options["treatAllColumnsAsStrings"] == "true"
    keys = {c.name: place for place, c in enumerate((c for c in case.definition.columns if c.key), 1)}
    return TableDef(
        case.definition.full_name,
        tuple(
            Column(
                c.name,
                SqlType(Kind.STRING if strings else _KINDS.get(c.type.kind, Kind.STRING)),
                key=keys.get(c.name, 0),
            )
            for c in case.definition.columns
        ),
    )


CONTRACTS = {
    "goldengate_streams_json": Contract(
        cases(),
        shown,
        transactions=("xid",),
        told=whole,
        table=read_as,
        records=lines(
            metadata("S.T", **TYPES),
            message("INSERT", after=ROW, xid=1, tokens={"A": "x"}, primary_keys=["ID"]),
            message("UPDATE", before=ROW, after=ROW),
            {"specversion": "1.0", "data": message("DELETE", before=ROW)},
            message("DDL", ddl="alter ..."),
        ).splitlines(),
        base=1,
    )
}
