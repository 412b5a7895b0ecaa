"""What a single record of a GoldenGate JSON stream is: an operation, a metadata record, or a mistake.

This is the slow and exact look at one record, taken where the fast path of the reader does not fit, and by discovery.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api.reading import UnknownTable
from ggfmt.formats.goldengate.records import DDL, OBJECT_METADATA, OP_WORDS, STREAM_METADATA, origin, table_def
from ggfmt.formats.json.unread import JSON_ROW, is_json_row
from ggfmt.formats.json.values import json_name, parse, plain_name
from ggfmt.formats.records.problems import name_problem, unknown_column
from ggfmt.formats.records.refused import legal_values
from ggfmt.model.change import OP_TYPES
from ggfmt.model.table import Catalog, TableDef

OP_NAMES = (*OP_TYPES, *OP_WORDS)
MEMBERS = frozenset(
    {"table", "qual_table", "op_type", "op_ts", "pos", "current_ts", "primary_keys", "tokens", "before", "after"}
)

_raw_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


@dataclass(frozen=True)
class JsonOperation:
    """An operation that is well formed: `tag` is the member that names the table; `not_text` names columns with values
    that are no JSON strings; `typed_tokens` tells that a token's value is none either."""

    table: str
    tag: str
    members: tuple[str, ...]
    not_text: frozenset[str]
    typed_tokens: bool


# A Diagnostic for a mistake, a TableDef for a metadata record, a word for any other record that is to be counted.
Verdict = JsonOperation | Diagnostic | TableDef | str


def sniff(head: bytes) -> str | None:
    """The first operation decides; what looks like Data Streams is left to its own format."""
    writer = origin(head)
    return None if writer is None or writer[0] else writer[1]


def with_plain_names(record: bytes) -> bytes:
    """The record with `plain_name`s for its members and columns; ValueError if it is no operation."""
    members = {plain_name(name): value for name, value in _raw_members(record).items()}
    for image in ("before", "after"):
        if members.get(image, b"null") != b"null":
            columns = {plain_name(name): value for name, value in _raw_members(members[image]).items()}
            members[image] = msgspec.Raw(msgspec.json.encode(columns))
    return msgspec.json.encode(members)


def examine(record: bytes, last: bool, catalog: Catalog) -> Verdict:
    """What `record` is, given the definitions that hold at its place."""
    members = parse(record, last)
    if members is None:
        return "tombstone"
    if isinstance(members, Diagnostic):
        return members
    kind = members.get("op_type")
    if "op_type" not in members and "$schema" in members:
        return "json schema"
    if kind == STREAM_METADATA:
        return "stream metadata"
    if kind == DDL:
        return "ddl"
    tag = "table" if "table" in members else "qual_table"
    name = members.get(tag)
    if name is None:
        return Diagnostic("GG305", "the record has no `table`", help="every operation must name its table")
    if not isinstance(name, str):
        return Diagnostic("GG308", f"`{tag}` is {json_name(name)} and not a string")
    problem = name_problem(name)
    if problem is not None:
        return problem
    here = Span(table=name, position=_position(members))
    if kind == OBJECT_METADATA:
        return table_def(name, members.get("columns"), here)
    return _operation(members, name, tag, catalog, here)


def _operation(members: dict[str, Any], name: str, tag: str, catalog: Catalog, here: Span) -> Verdict:
    problem = _check_members(members, here)
    if problem is not None:
        return problem
    definition = catalog.get(name)
    if definition is None:
        return UnknownTable.named(name, here)
    not_text = set()
    names = frozenset(definition.column_names)
    for image in ("before", "after"):
        for column, value in (members.get(image) or {}).items():
            if column not in names:
                return unknown_column(f"the {image} image", name, column, here.position)
            if value is not None and not isinstance(value, str):
                not_text.add(column)
    typed_tokens = any(not isinstance(value, str) for value in (members.get("tokens") or {}).values())
    return JsonOperation(name, tag, tuple(members), frozenset(not_text), typed_tokens)


def _check_members(members: dict[str, Any], here: Span) -> Diagnostic | None:
    if "op_type" not in members:
        return Diagnostic("GG305", "the record has no `op_type`", here, legal_values(OP_NAMES))
    kind = members["op_type"]
    if not isinstance(kind, str) or kind not in OP_NAMES:
        word = kind if isinstance(kind, str) and len(kind) <= 40 else json_name(kind)
        return Diagnostic("GG304", f"`op_type` cannot be `{word}`", here, legal_values(OP_NAMES))
    if is_json_row(members):
        return Diagnostic("GG305", f"the record is {JSON_ROW.what}", here, JSON_ROW.help)
    for member in ("op_ts", "pos"):
        value = members.get(member)
        integral = member == "pos" and isinstance(value, int) and not isinstance(value, bool)
        if not (value is None or isinstance(value, str) or integral):
            return Diagnostic("GG308", f"`{member}` is {json_name(value)} and not a string", here)
    for member in ("tokens", "before", "after"):
        value = members.get(member)
        if value is not None and not isinstance(value, dict):
            return Diagnostic("GG308", f"`{member}` is {json_name(value)} and not an object", here)
    return None


def _position(members: dict[str, Any]) -> str | None:
    position = members.get("pos")
    return None if position is None or isinstance(position, (dict, list)) else str(position)
