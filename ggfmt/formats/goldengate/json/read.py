"""Reader of GoldenGate JSON: the operation model of the JSON formatter, and in-stream metadata records.

* Members may have any order. `before` and `after` may be absent, null or an object. In an update, an empty `before`
  means no before image, because GoldenGate writes a missing before image so.
* Numbers keep their characters. A column that is text by its definition may contain numbers, and vice versa.
* The reader accepts records of GoldenGate Data Streams between operations: `OBJECT_METADATA` is a schema change, and it
  counts the others. In these records the member of the table is `qual_table`, and operation types are words.
* The reader skips and counts unknown members.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api.format import WriterSettings
from ggfmt.formats.api.reading import Chunk, Layout, ReadSupport, UnknownTable
from ggfmt.formats.goldengate import reading
from ggfmt.formats.goldengate.json import JsonOptions, JsonRecordOptions
from ggfmt.formats.goldengate.metacolumns import TRANSACTION_TOKENS, MetaColumn
from ggfmt.formats.goldengate.options import op_keys
from ggfmt.formats.goldengate.reading import (
    OP_WORDS,
    MetadataDialect,
    MetadataMembers,
    check_operation_type,
    only_table,
)
from ggfmt.formats.json.files import JSON_ROW, is_json_row
from ggfmt.formats.json.shapes import JSON_TYPES, SQL_TYPES, UNKNOWN
from ggfmt.formats.json.values import decode, json_kind, json_name, raw_members, token_text
from ggfmt.formats.records import roles
from ggfmt.formats.records.dialect import (
    ABSENT,
    Change,
    Dialect,
    Meaning,
    RecordSchema,
    Statement,
    none_if_null,
    without_empty_images,
)
from ggfmt.formats.records.images import Images
from ggfmt.formats.records.members import MemberDecoder
from ggfmt.formats.records.problems import (
    NAME_TABLE,
    RecordError,
    decoded,
    legal_values,
    missing_member_error,
    name_problem,
    no_op,
)
from ggfmt.formats.records.reader import DialectReader, dialect_input
from ggfmt.formats.records.roles import Grammar
from ggfmt.formats.records.scanner import is_plain
from ggfmt.model.change import OP_TYPES
from ggfmt.model.table import STRING, Catalog, SqlType, TableDef, name_of_fields

# Readers of GoldenGate JSON whose layout depends on options: the row model, and the operation model with a metadata
# template, renamed images, or flattened images.
#
# The options of the handler that wrote the messages define which members are metadata. Messages without a table name
# belong to the one table that the user defined.

_encode = msgspec.json.encode
_Members = dict[str, Raw]
_WORDS = {name: name for name in OP_TYPES} | OP_WORDS


def metadata_of(source: WriterSettings) -> tuple[MetaColumn, ...]:
    """Return the metadata members that messages may have, by the options of their writer."""
    options: JsonRecordOptions = source.options
    every = options if options.meta_columns_template is not None else replace(options, include_primary_keys=True)
    return every.metadata(replace(source.context, include_tokens=True))


class OptionDialect(MetadataDialect):
    """Base of dialects that depend on options; a subclass defines the place of the images."""

    empty_old_is_none = True

    def __init__(self, source: WriterSettings, with_tokens: bool = True) -> None:
        super().__init__(source, with_tokens)
        self.scanned_metadata = self.metadata = MetadataMembers(metadata_of(source))
        self._own = frozenset(self.metadata.names)
        self._ops = _WORDS | dict(zip(op_keys(self.options), OP_TYPES, strict=True))

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings) -> Layout:
        if source.options is not None:
            check_operation_type(metadata_of(source), "messages")
        return Dialect.layout(head, whole, source)

    def images(self, op: str, members: _Members) -> Images:
        """Return the before and after images of a record, each as the bytes of a JSON object, or None."""
        raise NotImplementedError

    def changes(self, record: _Members) -> Meaning:
        metadata, places = self.metadata, self.metadata.roles
        assert places.op is not None  # by the layout
        name = self._table(record)
        word = metadata.text(record, places.op)
        if word is None:
            raise missing_member_error(metadata.names[places.op], "every operation must have an operation type", name)
        op = self._ops.get(word)
        if op is None:
            raise no_op(metadata.names[places.op], word, self._ops, name)
        keys = metadata.keys(record, name)
        if keys:
            self.keys.setdefault(name, keys)  # the scanner leaves the first one of each key to this reader
        before, after = self.images(op, record)
        position = metadata.text(record, places.position)
        tokens = self._tokens(record, name) if self.with_tokens else {}
        return (Change(name, op, metadata.time(record, name), position, before, after, tokens),)

    # The scanner

    def first_grammar(self) -> Grammar | None:
        return self.grammar({})

    def grammar(self, record: _Members) -> Grammar | None:
        """Return the grammar of records with or without a key; None if the scanner cannot take them."""
        names, places = self.metadata.names, self.metadata.roles
        with_key = places.key_columns is not None and names[places.key_columns] in record
        images = self.image_members() if places.name else None
        if with_key not in self._grammars and images is not None:
            every = [*names, *(member.name.decode() for member in images.members)]
            members = self.metadata.members(with_key)
            if members is not None and len(set(every)) == len(every):
                self._grammars[with_key] = images._replace(members=(*members, *images.members), ops=self._ops)
        return self._grammars.get(with_key)

    def image_members(self) -> Grammar | None:
        """Return a grammar with the images alone; None if the scanner cannot take them."""
        raise NotImplementedError

    def of_images(self, members: _Members) -> _Members:
        """Return the members that are not metadata."""
        return {name: value for name, value in members.items() if name not in self._own}

    def _table(self, record: _Members) -> str:
        places = self.metadata.roles.name
        if not places:
            table = only_table([*self.trusted.values()], "messages", "definition")
            if isinstance(table, Diagnostic):
                raise RecordError(table.code, table.message, table.help)
            return table.full_name
        parts = [self.metadata.text(record, place) for place in places]
        if not parts[-1]:
            raise missing_member_error(self.metadata.names[places[-1]], NAME_TABLE)
        return name_of_fields(parts)

    def _tokens(self, record: _Members, table: str) -> dict[str, str]:
        if self.metadata.roles.tokens is None:
            return self.metadata.single_tokens(record)
        tokens = self.metadata.raw(record, self.metadata.roles.tokens)
        members = {} if tokens is None else decoded(raw_members, tokens, "the tokens are not an object", table)
        return {name: token_text(value) for name, value in members.items()}


class JsonRow(OptionDialect):
    """Dialect of the row model, with columns beside the metadata."""

    @staticmethod
    def sniff(members: dict[str, Any]) -> str | None:
        return "`table` and `op_type` next to its columns" if is_json_row(members) else None

    def images(self, op: str, members: _Members) -> Images:
        columns = self.of_images(members)
        image = _encode(columns)
        if op == "D":
            return image, None
        return None, None if op == "T" and not columns else image

    def image_members(self) -> Grammar:
        return Grammar((), {}, columns=((b"", roles.ROW),))


class JsonByOptions(OptionDialect):
    """Dialect of the operation model, with metadata or images that depend on options, which the user has to give."""

    def images(self, op: str, members: _Members) -> Images:
        options: JsonOptions = self.options
        if options.flatten:
            before, after = (_with_prefix(members, prefix) for prefix in options.image_names)
            return without_empty_images(op, before, after)
        old, new = options.image_names
        return without_empty_images(op, none_if_null(members.get(old, ABSENT)), none_if_null(members.get(new, ABSENT)))

    def image_members(self) -> Grammar | None:
        options: JsonOptions = self.options
        old, new = options.image_names
        if not is_plain(old) or not is_plain(new):
            return None
        if not options.flatten:
            return Grammar((roles.before().named(old), roles.after().named(new)), {})
        if (
            old.startswith(new)
            or new.startswith(old)
            or any(name.startswith((old, new)) for name in self.metadata.names)
        ):
            return None  # a member may be a column of both images, or metadata too
        return Grammar((), {}, columns=((old.encode(), roles.BEFORE), (new.encode(), roles.AFTER)))

    def passed_over(self, record: Any) -> Sequence[str]:
        options: JsonOptions = self.options
        images, others = options.image_names, self.of_images(record)
        if options.flatten:
            return [name for name in others if not name.startswith(images)]
        return [name for name in others if name not in images]


def _with_prefix(members: _Members, prefix: str) -> Raw:
    columns = {name[len(prefix) :]: value for name, value in members.items() if name.startswith(prefix)}
    return Raw(_encode(columns))


_BY_OPTIONS = dialect_input(JsonByOptions)


def by_options(source: WriterSettings) -> ReadSupport | None:
    """Return the reader of the operation model if the options change its default layout; else None."""
    options = source.options
    if not isinstance(options, JsonOptions):
        return None
    plain = options.meta_columns_template is None and not options.flatten
    plain &= options.image_names == ("before", "after")
    plain &= [_WORDS.get(key) for key in op_keys(options)] == list(OP_TYPES)
    return None if plain and metadata_of(source) else _BY_OPTIONS


READ_SIDE = dialect_input(JsonRow)


OP_NAMES = (*OP_TYPES, *reading.OP_WORDS)
_NULL = Raw(b"null")  # the default of members: the identity of this object distinguishes an absent member from null
_NO_COLUMN: tuple[int, frozenset[type]] = (-1, frozenset())
# Conditions: the member with the name of the table, and that a key which no record had before is news.
_TABLE, _QUAL_TABLE, _KEYS_COUNT = "table", "qual_table", "keys count"
_MAX_NOTES = 24  # maximum number of unknown members with a place in the scanner

_decode_name = msgspec.json.Decoder(str).decode
_decode_tokens = msgspec.json.Decoder(dict[str, str] | None).decode


class OperationRecord(msgspec.Struct, gc=False):
    """The members of an operation. A record that this class does not accept is another record, or an error.
    `qual_table` may have any type, because it is ignored beside `table`."""

    op_type: Annotated[
        Literal["I", "U", "D", "T", "INSERT", "UPDATE", "DELETE", "TRUNCATE"],
        roles.op({name: name[0] for name in OP_NAMES}),
    ]
    table: Annotated[str | UnsetType, roles.identity(required=True, when=_TABLE)] = UNSET
    qual_table: Annotated[Any, roles.identity(required=True, when=_QUAL_TABLE)] = UNSET
    op_ts: Annotated[str | None, roles.time(roles.TEXT)] = None
    pos: Annotated[str | int | None, roles.position()] = None
    current_ts: Annotated[Raw, roles.skip()] = _NULL
    primary_keys: Annotated[Raw, roles.identity(when=_KEYS_COUNT), roles.skip()] = _NULL
    tokens: Annotated[Raw, roles.tokens()] = _NULL
    before: Annotated[Raw, roles.before()] = _NULL
    after: Annotated[Raw, roles.after()] = _NULL


@dataclass(frozen=True)
class OtherRecord:
    """An object that is not an `OperationRecord`: its decoded members, and its bytes."""

    members: dict[str, Any]
    data: bytes


class OperationDecoder(MemberDecoder):
    """Decoder of operations; other objects become `OtherRecord`."""

    def decode(self, data: Any) -> Any:
        try:
            return super().decode(data)
        except msgspec.ValidationError:
            members = decode(data)
            if isinstance(members, dict):
                return OtherRecord(members, bytes(data))
            raise


class OperationJson(Dialect):
    """Dialect of operations in the default layout of the JSON formatter."""

    record = OperationRecord
    scalars_only = True
    empty_old_is_none = True
    keeps_nested = False
    scanned = True
    transaction_tokens = TRANSACTION_TOKENS

    def __init__(self, source: WriterSettings, with_tokens: bool = True) -> None:
        super().__init__(source, with_tokens)
        self._checks: dict[str, tuple[TableDef, dict[str, tuple[int, frozenset[type]]]]] = {}
        self._named_twice = False

    @classmethod
    def sniff_file(cls, head: bytes) -> str | None:
        writer = reading.origin(head)
        return None if writer is None or writer[0] else writer[1]

    @cached_property
    def decoder(self) -> OperationDecoder:
        return OperationDecoder(OperationRecord)

    @classmethod
    def follow(cls, table: TableDef, previous: TableDef | None) -> TableDef:
        return table  # which has no key if it names none

    @classmethod
    def has_message_keys(cls, chunk: Chunk) -> bool:
        return False  # records name the keys of their tables

    # One record

    def changes(self, record: OperationRecord | OtherRecord) -> Meaning:
        if isinstance(record, OtherRecord):
            return self._other_meaning(record.members, record.data)
        name = record.qual_table if record.table is UNSET else record.table
        if not isinstance(name, str):
            members = {"op_type": record.op_type, "qual_table": None if name is UNSET else name}
            return self._other_meaning(members, b"{}")
        position = None if record.pos is None else str(record.pos)
        if self.catalog is None:
            keys = () if record.primary_keys is _NULL or name in self.keys else named_keys(record.primary_keys)
            if keys:
                self.keys[name] = keys
            before, after = none_if_null(record.before), none_if_null(record.after)
            return (Change(name, record.op_type[0], record.op_ts, position, before, after, {}),)
        if self.catalog.provisional and self._contradicts(name, record, self.catalog):
            return UnknownTable.named(name)
        return self._change(name, record, position, self.catalog)

    def _change(self, name: str, record: OperationRecord, position: str | None, catalog: Catalog) -> Meaning:
        definition = catalog.get(name)
        problem = name_problem(name) if definition is None else None
        if problem is not None:
            return problem
        here = Span(table=name, position=position)
        if self._is_json_row(record):
            return Diagnostic("GG305", f"the record is {JSON_ROW.what}", here, JSON_ROW.help)
        for member in ("tokens", "before", "after") if self.with_tokens else ("before", "after"):
            kind = json_kind(bytes(getattr(record, member)))
            if kind not in ("an object", "null"):
                return Diagnostic("GG308", f"`{member}` is {kind} and not an object", here)
        if definition is None:
            return UnknownTable.named(name, here)
        op = record.op_type[0]
        before, after = without_empty_images(op, none_if_null(record.before), none_if_null(record.after))
        tokens = self._tokens(record) if self.with_tokens else {}
        return (Change(name, op, record.op_ts, position, before, after, tokens),)

    def _other_meaning(self, members: dict[str, Any], data: bytes) -> Meaning:
        """Return the meaning of a record that is not an `OperationRecord`."""
        kind = members.get("op_type")
        if "op_type" not in members and "$schema" in members:
            return "json schema"
        if kind == reading.STREAM_METADATA:
            return "stream metadata"
        if kind == reading.DDL:
            op_ts, position = (
                text if isinstance(text := members.get(name), str) else None for name in ("op_ts", "pos")
            )
            return [reading.ddl_statement(members.get("ddl"), op_ts, position)]
        if kind == reading.OBJECT_METADATA and self.catalog is not None and self.catalog.provisional:
            return UnknownTable.named("?", Span())  # of no table: none is left out
        tag = "table" if "table" in members else "qual_table"
        name = members.get(tag)
        if name is None:
            return Diagnostic("GG305", "the record has no `table`", help="every operation must name its table")
        if not isinstance(name, str):
            return Diagnostic("GG308", f"`{tag}` is {json_name(name)} and not a string")
        problem = name_problem(name)
        if problem is not None:
            return problem
        position = members.get("pos")
        here = Span(table=name, position=None if isinstance(position, (dict, list, type(None))) else str(position))
        if kind == reading.OBJECT_METADATA:
            table = reading.table_def(name, members.get("columns"), here)
            if not isinstance(table, TableDef):
                return table
            return RecordSchema(table, (None,) * len(table.columns)), Statement("object metadata")
        if kind in OP_NAMES and (self.catalog is None or self.catalog.provisional):
            # A rejected record also contributes the key of its table.
            raw = raw_members(data)
            keys, before, after = (raw.get(member, _NULL) for member in ("primary_keys", "before", "after"))
            operation = OperationRecord(kind, table=name, primary_keys=keys, before=before, after=after)
            if self.catalog is None:
                return self.changes(operation)
            if self._contradicts(name, operation, self.catalog):
                return UnknownTable.named(name)
        return _mistake(members, here)

    def _is_json_row(self, record: OperationRecord) -> bool:
        """Return whether a record is an operation in `json_row`, as the function `is_json_row`."""
        if record.before is not _NULL or record.after is not _NULL or record.table is UNSET:
            return False
        return record.op_type in ("I", "U", "D") and bool(self.passed_over(record))

    def passed_over(self, record: Any) -> Sequence[str]:
        if isinstance(record, OtherRecord):
            return ()
        names = self.decoder.passed_over(record)
        if record.table is not UNSET and record.qual_table is not UNSET:
            self._named_twice = True
            names = [*names, "qual_table"]
        return names

    def _contradicts(self, name: str, record: OperationRecord, catalog: Catalog) -> bool:
        """Return whether discovery may find something in a record that the known definitions lack. The record must also
        have the columns in the same order. Then the result does not depend on which records discovery inspects."""
        definition = catalog.get(name)
        if definition is None:
            return name_problem(name) is None
        if record.primary_keys is not _NULL:
            keys = named_keys(record.primary_keys)
            if keys and keys != definition.key_names:
                return True
        columns = self._checks_of(definition)
        for data in (record.before, record.after):
            image = None if data is _NULL else decode(data)
            if isinstance(image, dict):
                last = -1
                for column, value in image.items():
                    place, classes = columns.get(column, _NO_COLUMN)
                    if place < last or value.__class__ not in classes:
                        return True
                    last = place
        return False

    def _checks_of(self, definition: TableDef) -> dict[str, tuple[int, frozenset[type]]]:
        """Return by column of a definition its place, and the classes of decoded values that its type may come from."""
        known, columns = self._checks.get(definition.full_name, (None, {}))
        if known is not definition:
            every = enumerate(definition.columns)
            columns = {column.name: (place, _classes(column.type)) for place, column in every}
            self._checks[definition.full_name] = definition, columns
        return columns

    def _tokens(self, record: OperationRecord) -> dict[str, str]:
        if record.tokens is _NULL:
            return {}
        try:
            return _decode_tokens(record.tokens) or {}
        except msgspec.ValidationError:
            return {name: token_text(value) for name, value in raw_members(record.tokens).items()}

    # The scanner

    def first_grammar(self) -> Grammar:
        return self._make_grammar(_TABLE, [])

    def grammar(self, record: OperationRecord | OtherRecord) -> Grammar | None:
        if isinstance(record, OtherRecord):
            return None
        unknown = self.decoder.learned()
        if unknown is None or len(unknown) > _MAX_NOTES:
            return None
        tag = _QUAL_TABLE if record.table is UNSET else _TABLE
        return self._make_grammar(tag, [*unknown, *[_QUAL_TABLE] * (self._named_twice and tag == _TABLE)])

    def _make_grammar(self, tag: str, unknown: Sequence[str]) -> Grammar:
        """Return the grammar of records whose table is in the member `tag`, with some unknown members."""
        keys_count = self.catalog is None or self.catalog.provisional
        conditions = (tag, _KEYS_COUNT) if keys_count else (tag,)
        return self.make_grammar(OperationRecord, conditions, (((), tuple(map(roles.note, unknown))),))

    def identified(self, identity: bytes) -> TableDef | None:
        named, keys, *_ = (*identity.split(b"\0"), b"")
        try:
            definition = None if self.catalog is None else self.catalog.get(_decode_name(named))
            listed = msgspec.json.decode(keys or b"null", type=tuple[str, ...] | None)
        except ValueError:
            return None
        return None if definition is None or (listed and listed != definition.key_names) else definition


def named_keys(data: Raw) -> tuple[str, ...]:
    """Return the names in a member `primary_keys`; none if it is not a list of strings."""
    names = decode(data)
    return tuple(names) if isinstance(names, list) and all(isinstance(name, str) for name in names) else ()


def _mistake(members: dict[str, Any], here: Span) -> Diagnostic:
    """Return the error in the members of a record that contains a table name."""
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
    return Diagnostic("GG301", "the record cannot be decoded", Span(table=here.table))


def _classes(kind: SqlType) -> frozenset[type]:
    """Return the classes of decoded JSON values from which discovery may have inferred a type."""
    return frozenset(
        each for each, shown in JSON_TYPES.items() if shown == UNKNOWN or SQL_TYPES.get(shown, STRING) == kind
    )


class OperationReader(DialectReader):
    checks_definitions = True


READ_SIDES = {"json": dialect_input(OperationJson, OperationReader, other=by_options), "json_row": READ_SIDE}
