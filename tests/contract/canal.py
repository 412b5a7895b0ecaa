"""The contract of `canal_json`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dialects import lines
from hypothesis import strategies as st
from oracle import PlainOperation
from strategies import changes

from contract import Case, Contract, Recorded, names_and_keys
from contract.shown import TIMES, in_millis, overlaid, without_catalog

TYPES = {"id": "bigint(20)", "name": "varchar(50)", "price": "decimal(10,2)"}
ROW = {"id": "1", "name": "a", "price": "10.50"}


def message(kind: str, data: Any = None, old: Any = None, **others: Any) -> dict[str, Any]:
    return {
        "data": data, "database": "shop", "es": 1600161894000, "id": 58, "isDdl": False, "mysqlType": TYPES,
        "old": old, "pkNames": ["id"], "sql": "", "sqlType": {"id": -5}, "table": "t", "ts": 1, "type": kind, **others,
    }  # fmt: skip


_TEXT_KINDS = {"integer", "decimal", "double", "float", "string", "date", "time", "timestamp"}


@st.composite
def cases(draw: st.DrawFn) -> Case:
    made = draw(changes())
    columns = tuple(c if c.kind in _TEXT_KINDS else replace(c, kind="string") for c in made.table.columns)
    operations = [
        replace(
            item,
            op_ts=draw(TIMES),
            pos=draw(st.one_of(st.none(), st.sampled_from(["7", "0000012"]))),
            tokens=draw(st.sampled_from([{}, {"id": "7"}, {"id": "8", "gtid": "a:1", "other": "x"}])),
        )
        for item in made.operations
    ]
    table = replace(made.table, name=without_catalog(made.table.name), columns=columns)
    return Case(
        replace(made, table=table, operations=operations), {"deleteRows": draw(st.sampled_from(["data", "old"]))}
    )


def shown(case: Case) -> list[PlainOperation]:
    """The position of a message is its gtid or its id."""
    back = []
    for item in case.operations:
        identity = item.tokens.get("id")
        gtid = item.tokens.get("gtid") or (item.pos if item.pos != identity else None)
        tokens = ({"id": identity} if identity else {}) | ({"gtid": gtid} if gtid else {})
        pos = gtid or identity
        back.append(replace(item, op_ts=in_millis(item.op_ts), pos=pos, before=overlaid(item), tokens=tokens))
    return back


CONTRACTS = {
    "canal_json": Contract(
        cases(),
        shown,
        transactions=("gtid", "commitTs"),
        told=names_and_keys,
        records=lines(
            message("INSERT", [ROW]),
            message("UPDATE", [ROW, ROW], [{"name": None}, {}]),
            message("DELETE", [ROW]),
            message("ALTER", isDdl=True, sql="alter table t add x int"),
        ).splitlines(),
        recorded=(
            Recorded("canal/apache_flink-connector-kafka__canal-data.txt", "IIIIIIIIIUUIIUUDUUDD", {"ddl create": 1}),
            Recorded("canal/apache_paimon__table_alltype_canal-data.txt", "II"),
            Recorded("canal/alibaba_dts_doc__canal.jsonl", "DD", {"ddl": 1}, options={"deleteRows": "old"}),
        ),
    )
}
