"""The contract of `sqlserver_cdc`, which is read only: `made` writes rows of a change table as JSON lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dialects import lines
from hypothesis import strategies as st
from oracle import PlainOperation
from strategies import changes

from contract import Case, Contract
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.writing import RowErrors

LSN = "0x0000002A000001F00003"


def row(operation: int, image: Mapping[str, Any], mask: str | None = "0x01", **others: Any) -> dict[str, Any]:
    own = {"start_lsn": LSN, "end_lsn": None, "seqval": LSN, "operation": operation, "update_mask": mask, **others}
    return {**{f"__${name}": value for name, value in own.items()}, **image, "__$command_id": 1}


@st.composite
def cases(draw: st.DrawFn) -> Case:
    made = draw(changes())
    names = [column.name for column in made.table.columns if not column.name.startswith("__$")]
    columns = tuple(replace(column, kind="string") for column in made.table.columns if column.name in names)
    operations = []
    for number, item in enumerate(item for item in made.operations if item.op != "T"):
        before, after = (
            None if image is None else {name: image.get(name) for name in names} for image in (item.before, item.after)
        )
        before = after if item.op == "U" and before is None else before  # which shows that the key did not change
        lsn = f"{number:020X}"
        item = replace(item, op_ts=None, pos=f"{lsn[:8]}:{lsn[8:16]}:{lsn[16:]}::1", tokens={"__$start_lsn": lsn})
        operations.append(replace(item, before=before, after=after))
    table = replace(made.table, columns=columns)
    return Case(replace(made, table=table, operations=operations), told={"table": table.name})


def made(case: Case) -> bytes:
    rows = []
    for number, item in enumerate(case.operations):
        if item.op == "T":
            raise RowErrors([(number, Diagnostic("GG408", "SQL Server has no truncates of such tables"))])
        mask = hex((1 << len(case.columns)) - 1)[2:] if case.columns else "00"
        own = {"mask": f"0x{mask.zfill(len(mask) + len(mask) % 2)}", "start_lsn": f"0x{item.tokens['__$start_lsn']}"}
        for number, image in ((3, item.before), (4, item.after)):
            if image is not None:
                rows.append(row({"I": 2, "D": 1}.get(item.op, number), image, **own))
    return lines(*rows)


def shown(case: Case) -> list[PlainOperation]:
    """NULL of an old row is missing."""
    return [
        replace(item, before=None if item.before is None else {n: v for n, v in item.before.items() if v is not None})
        for item in case.operations
    ]


CONTRACTS = {
    "sqlserver_cdc": Contract(
        cases(),
        shown,
        transactions=("__$start_lsn",),
        truncates=False,
        made=made,
        records=lines(
            row(2, {"ID": 1, "V": "a", "N": 1.5}), row(1, {"ID": 1, "V": "a", "N": 1.5}),
            row(2, {"ID": 1, "V": None, "N": 2}), row(4, {"ID": 2, "V": "a", "N": 1}),
        ).splitlines(),
        base=1,
        told_of_records={"table": "dbo.T"},
        isolated=True,
        texts=False,
    )
}  # fmt: skip
