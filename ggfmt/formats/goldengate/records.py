"""GoldenGate's JSON records, as far as the JSON formatter and Data Streams have them in common.

Data Streams (26ai) spells out operation types, calls the table `qual_table`, and sends records that describe the
stream: `STREAM_METADATA`, and `OBJECT_METADATA` with the columns of a table, each with its JSON `type`, `null` and
`key`.
"""

from __future__ import annotations

from typing import Any

from ggfmt.diagnostics.diagnostic import Diagnostic, Span, list_names
from ggfmt.formats.goldengate.schemas import JSON_TYPES
from ggfmt.formats.json.files import head_objects, unread_record
from ggfmt.formats.json.values import json_name
from ggfmt.formats.records.dialect import Change, Statement
from ggfmt.formats.records.statements import Effect, Name, effects_of, statement, unquoted
from ggfmt.model.change import OpType
from ggfmt.model.table import Column, SqlType, TableDef, join_name

OP_WORDS = {op.name: op.value for op in OpType}
STREAM_METADATA, OBJECT_METADATA, DDL, UPSERT = "STREAM_METADATA", "OBJECT_METADATA", "DDL", "UPSERT"


def origin(head: bytes) -> tuple[bool, str] | None:
    """Return whether a file that starts with `head` is from Data Streams, and the evidence; None if it is not
    GoldenGate JSON. The first operation with columns decides. If there is none, a truncate or a record that describes
    the stream does."""
    described: tuple[bool, str] | None = None
    for record in head_objects(head):
        if "specversion" in record and isinstance(record.get("data"), dict):
            record = record["data"]
        kind = record.get("op_type")
        if not isinstance(kind, str):
            continue
        if kind in (STREAM_METADATA, OBJECT_METADATA, DDL):
            described = described or (True, f"a record has the `op_type` `{kind}`")
        elif "qual_table" in record:
            return True, "a record has `qual_table` and `op_type`"
        elif "table" in record:
            if unread_record(record) is not None:
                return described if described and described[0] else None
            if kind in OP_WORDS or kind == UPSERT:
                return True, f"a record has the `op_type` `{kind}`"
            written = False, "a record has `table` and `op_type`"
            if kind != OpType.TRUNCATE.value:
                return written
            described = described or written
    return described


def table_def(name: str, columns: object, here: Span) -> TableDef | Diagnostic:
    """Return the definition in an OBJECT_METADATA record, from its decoded `columns`."""
    if not isinstance(columns, dict):
        return Diagnostic("GG308", f"`columns` is {json_name(columns)} and not an object", here)
    definitions: list[Column] = []
    keys = 0
    for column, about in columns.items():
        kind = _type_of(about)
        if kind is None:
            known = list_names(JSON_TYPES)
            place = Span(table=name, field=column, position=here.position)
            return Diagnostic(
                "GG308", "the metadata of a column has no known `type`", place, f"known types are {known}"
            )
        keys += bool(about.get("key"))
        definitions.append(Column(column, kind, bool(about.get("null", True)), keys if about.get("key") else 0))
    return TableDef(name, tuple(definitions))


def ddl_statement(text: object, op_ts: str | None, position: str | None) -> Statement:
    """Return the statement of a DDL record. Its text may name tables without their schema."""

    def resolve(effect: Effect, name: Name) -> str | None:
        return join_name(*map(unquoted, name)) if len(name) > 1 else None

    effects = effects_of(text) if isinstance(text, str) else []
    return statement("ddl", effects, resolve, Change("", "T", op_ts, position, None, None, {}))


def _type_of(about: Any) -> SqlType | None:
    word = about.get("type", "string") if isinstance(about, dict) else None
    return JSON_TYPES.get(word) if isinstance(word, str) else None
