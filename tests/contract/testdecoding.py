"""The contract of `test_decoding`, which is read only: `made` writes texts as the plugin does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from oracle import PlainOperation
from strategies import changes

from contract import Case, Contract
from contract.shown import without_catalog

_LSNS = st.tuples(st.integers(0, 0xFFFFFFFF), st.integers(0, 0xFFFFFFFF)).map(lambda pair: f"{pair[0]:X}/{pair[1]:X}")
_OPS = {"I": "INSERT", "U": "UPDATE", "D": "DELETE"}


def quoted(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


def cells(image: Mapping[str, Any]) -> str:
    """The columns of an image, all of them texts; `...` is not shown, as it is stored out of line."""
    values = {name: "null" if v is None else "'{}'".format(v.replace("'", "''")) for name, v in image.items()}
    return "".join(f" {quoted(name)}[text]:{value}" for name, value in values.items())


def change(table: str, op: str, after: Any = None, before: Any = None) -> str:
    *schema, name = table.split(".")
    head = f"table {'.'.join(map(quoted, (*schema, name)))}: "
    if op == "T":
        return f"{head}TRUNCATE: (no-flags)"
    if op == "D":
        return f"{head}DELETE:{cells(before)}"
    old = "" if before is None else f" old-key:{cells(before)} new-tuple:"
    return f"{head}{_OPS[op]}:{old}{cells(after)}"


@st.composite
def cases(draw: st.DrawFn) -> Case:
    made = draw(changes())
    columns = tuple(replace(column, kind="string") for column in made.table.columns)
    names = [column.name for column in columns]
    identity = draw(st.sets(st.sampled_from(names), min_size=1)) if names else set()
    identity |= {column.name for column in columns if column.key}
    has_key = any(column.key for column in columns)  # otherwise no update shows that old rows are keys
    framed = draw(st.booleans())
    operations = []
    for item in made.operations:
        pos, xid = (draw(_LSNS), {"xid": str(draw(st.integers(1, 0xFFFFFFFF)))}) if framed else (None, {})
        shows = item.before is not None or (item.op == "U" and not has_key)
        old = item.before or {}
        before = {name: old.get(name) or "" for name in names if name in identity} if shows and names else None
        op = "T" if item.op == "D" and before is None else item.op
        operations.append(replace(item, op=op, op_ts=None, pos=pos, tokens=xid, before=before))
    name = without_catalog(made.table.name)
    table = replace(made.table, name=name if "." in name else f"s.{name}", columns=columns)
    return Case(replace(made, table=table, operations=operations))


def made(case: Case) -> bytes:
    rows = [(item, change(case.changes.table.name, item.op, item.after, item.before)) for item in case.operations]
    if rows and rows[0][0].pos is not None:  # a truncate that a rule adds has no position
        rows = [(item, '"{}"'.format(text.replace('"', '""'))) for item, text in rows]
        return "".join(f"{item.pos or '0/0'},{item.tokens.get('xid', '')},{text}\n" for item, text in rows).encode()
    return "".join(f"{text}\n" for _, text in rows).encode()


def shown(case: Case) -> list[PlainOperation]:
    """An update shows a column that only the old row has: it did not change."""
    return [
        item if item.op != "U" or item.before is None else replace(item, after={**item.before, **(item.after or {})})
        for item in case.operations
    ]


RECORDS = (
    "table public.t: INSERT: id[integer]:1 v[text]:'it''s' n[numeric]:1.50 b[bytea]:'\\x00ff' f[boolean]:true",
    "table public.t: UPDATE: id[integer]:1 v[text]:unchanged-toast-datum n[numeric]:NaN b[bytea]:null f[boolean]:false",
    "table public.t: UPDATE: old-key: id[integer]:1 new-tuple: id[integer]:2 v[text]:'line 1\nCOMMIT 1' n[numeric]:null"
    " b[bytea]:'\\x' f[boolean]:null",
    "table public.t: DELETE: id[integer]:2",
    "message: transactional: 1 prefix: app, sz: 3 content:a\nb",
    "table public.t: TRUNCATE: restart_seqs cascade",
    "COMMIT 732 (at 2026-11-28 14:48:29.313369+00)",
)
CONTRACTS = {
    "test_decoding": Contract(
        cases(),
        shown,
        transactions=("xid",),
        made=made,
        records=[text.encode() for text in RECORDS],
        base=1,
        texts=False,
    )
}
