"""What GoldenGate's readers share: metadata of messages, by the roles of their metadata columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
import pyarrow as pa
from msgspec import Raw

from ggfmt.arrow import compute as pc
from ggfmt.columnar.timestamps import times_of_micros
from ggfmt.diagnostics.diagnostic import Diagnostic, Span, UsageError, list_names
from ggfmt.formats.goldengate.metacolumns import TRANSACTION_TOKENS, MetaColumn, Roles
from ggfmt.formats.goldengate.schemas import JSON_TYPES
from ggfmt.formats.json.files import head_objects, unread_record
from ggfmt.formats.json.values import json_name, scalar_or_none
from ggfmt.formats.records import roles
from ggfmt.formats.records.dialect import ABSENT, Change, Dialect, Statement, none_if_null
from ggfmt.formats.records.problems import RecordError, decoded
from ggfmt.formats.records.scanner import SourceBatch, is_plain
from ggfmt.java.text import visible
from ggfmt.model.change import Image, ImageColumn, OpType
from ggfmt.model.table import Catalog, Column, SqlType, TableDef, join_name

_names = msgspec.json.Decoder(tuple[str, ...]).decode
_TEXT = roles.STRING | roles.NULL
_SCALAR = roles.ANY & ~roles.NESTED
_TOKENS_RANK = 1000  # tokens of a map come after single ones
_WITH_AFTER = pa.array([OpType.INSERT.value, OpType.UPDATE.value], pa.string())


def check_operation_type(columns: Sequence[MetaColumn], messages: str, how: str = "write them with") -> None:
    """Raises: UsageError with GG103 if messages have no operation type, which `how` they would have."""
    if Roles.of(columns).op is None:
        help = f"{how} `${{optype}}` in `metaColumnsTemplate`, and pass the same settings with `--input-config`"
        raise UsageError("GG103", f"{messages} without operation types cannot be read", help=help)


def only_table(tables: Sequence[TableDef], messages: str, definition: str) -> TableDef | Diagnostic:
    if len(tables) == 1:
        return tables[0]
    help = f"pass only the {definition} of their table to `--definitions`"
    return Diagnostic("GG205", f"{messages} do not name their table, and {len(tables)} tables are defined", help=help)


def defined_table(
    catalog: Catalog, name: str | None, messages: str, definition: str, what_lacks: str
) -> TableDef | Diagnostic:
    """Return the table of a message by the name in it, None if it has none."""
    if name is None:
        return only_table(catalog.tables(), messages, definition)
    table = catalog.get(name)
    if table is not None:
        return table
    is_shown = len(name) <= 80 and name.isprintable()
    word, place = (name, Span(table=name)) if is_shown else ("...", None)
    help = f"add its {definition} to `--definitions`; {what_lacks} not contain it"
    if (near := catalog.near(name)) is not None:
        help = f"if this is the table `{visible(near)}` of `--definitions`, write its whole name there"
        help += ", in quotes if only the case differs"
    return Diagnostic("GG205", f"the table `{word}` has no definition", place, help)


# Columns


def times(places: Roles, texts: Callable[[int | None], pa.StringArray]) -> pa.StringArray:
    """Return the times of operations from the texts of metadata columns, by their places."""
    if places.op_ts is None and places.micros is not None:
        return times_of_micros(texts(places.micros))
    return texts(places.op_ts)


def with_after(op: pa.StringArray) -> pa.BooleanArray:
    """Return which operations have an after image."""
    return pc.is_in(op, _WITH_AFTER)


def row_images(columns: tuple[ImageColumn, ...], op: pa.StringArray) -> tuple[Image, Image, pa.BooleanArray]:
    """Return both images of row messages, which share their columns, and which operations are key updates: none."""
    before = Image(columns, pc.equal(op, OpType.DELETE.value))
    return before, Image(columns, with_after(op)), pa.repeat(pa.scalar(False), len(op))


# Records


class MetadataMembers:
    """The metadata members of records that have some metadata columns; a record is the members of an object."""

    def __init__(self, columns: Sequence[MetaColumn]) -> None:
        self.names = [column.name for column in columns]
        self.roles = Roles.of(columns)

    def raw(self, record: Mapping[str, Raw], place: int | None) -> Raw | None:
        """Return a member; None if it is absent or null."""
        return None if place is None else none_if_null(record.get(self.names[place], ABSENT))

    def text(self, record: Mapping[str, Raw], place: int | None) -> str | None:
        value = self.raw(record, place)
        if value is None or place is None:
            return None
        name = self.names[place]
        return decoded(partial(scalar_or_none, name=name), value, f"`{name}` is not a valid string")

    def time(self, record: Mapping[str, Raw], table: str) -> str | int | None:
        if self.roles.op_ts is not None:
            return self.text(record, self.roles.op_ts)
        micros = self.text(record, self.roles.micros)
        if micros and not re.fullmatch("-?[0-9]{1,18}", micros):
            raise RecordError("GG308", "the time of the operation is not a number of microseconds", None, table)
        return int(micros) if micros else None

    def keys(self, record: Mapping[str, Raw], table: str) -> tuple[str, ...]:
        listed = self.raw(record, self.roles.key_columns)
        return () if listed is None else decoded(_names, listed, "the key is not a list of names", table)

    def single_tokens(self, record: Mapping[str, Raw]) -> dict[str, str]:
        """Return the tokens that have a member of their own."""
        texts = ((name, self.text(record, place)) for place, name in self.roles.single)
        return {name: text for name, text in texts if text}

    def members(self, with_key: bool, both_tokens: bool = False) -> list[roles.Member] | None:
        """Return what the members are to the native scanner; None if it cannot take such messages.

        with_key     whether messages have the list of key columns, if it is a member
        both_tokens  whether single tokens count beside a map of tokens
        """
        names, places = self.names, self.roles
        if len(set(names)) < len(names) or not all(map(is_plain, names)) or places.op is None:
            return None
        if places.micros is not None and places.op_ts is None:
            return None
        single = dict(places.single) if both_tokens or places.tokens is None else {}
        return [_member(place, name, places, with_key, single.get(place)) for place, name in enumerate(names)]

    def column(self, scanned: SourceBatch, place: int | None) -> pa.StringArray:
        """Return the texts of a member of scanned operations; null if messages do not have it."""
        return pa.nulls(len(scanned), pa.string()) if place is None else scanned.values(self.names[place])


def _member(place: int, name: str, places: Roles, with_key: bool, token: str | None) -> roles.Member:
    if place in places.name:
        return roles.identity(required=place == places.name[-1]).named(name)
    if place == places.op:
        return roles.op().named(name)
    if place == places.op_ts:
        return roles.slot(_TEXT).named(name)
    if place == places.position:
        return roles.slot(_TEXT | roles.INTEGER).named(name)
    if place == places.key_columns:  # without keys, a message that has them is odd
        return (roles.identity(required=True) if with_key else roles.skip(0)).named(name)
    if place == places.tokens:
        return roles.tokens(rank=_TOKENS_RANK).named(name)
    if token is not None:
        return roles.skip(_SCALAR).named(name, token=roles.Token(place, token, unless=""))
    return roles.skip(roles.ANY).named(name)


class MetadataDialect(Dialect):
    """Base of dialects whose metadata depend on options. `scanned_metadata`: those in the latest grammar."""

    record = dict[str, Raw]
    scalars_only = True
    transaction_tokens = TRANSACTION_TOKENS
    scanned = True
    scanned_metadata: MetadataMembers

    def times(self, scanned: SourceBatch) -> pa.StringArray:
        return self.scanned_metadata.column(scanned, self.scanned_metadata.roles.op_ts)

    def positions(self, scanned: SourceBatch) -> pa.StringArray:
        return self.scanned_metadata.column(scanned, self.scanned_metadata.roles.position)


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
    from ggfmt.formats.records.statements import Effect, Name, effects_of, statement, unquoted

    def resolve(effect: Effect, name: Name) -> str | None:
        return join_name(*map(unquoted, name)) if len(name) > 1 else None

    effects = effects_of(text) if isinstance(text, str) else []
    return statement("ddl", effects, resolve, Change("", "T", op_ts, position, None, None, {}))


def _type_of(about: Any) -> SqlType | None:
    word = about.get("type", "string") if isinstance(about, dict) else None
    return JSON_TYPES.get(word) if isinstance(word, str) else None
