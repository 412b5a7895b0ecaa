"""Readers of GoldenGate JSON whose layout depends on options: the row model, and the operation model with a metadata
template, renamed images, or flattened images.

The options of the handler that wrote the messages define which members are metadata. Messages without a table name
belong to the one table that the user defined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pyarrow as pa
from msgspec import Raw

from ggfmt.diagnostics.diagnostic import Diagnostic, UsageError
from ggfmt.formats.api.format import WriterSettings
from ggfmt.formats.api.reading import Layout, ReadSupport
from ggfmt.formats.goldengate.json import JsonOptions, JsonRecordOptions
from ggfmt.formats.goldengate.metacolumns import TRANSACTION_TOKENS, MetaColumn, Roles
from ggfmt.formats.goldengate.options import op_keys
from ggfmt.formats.goldengate.records import OP_WORDS
from ggfmt.formats.goldengate.scanned_metadata import metadata_column, metadata_members
from ggfmt.formats.json.files import is_json_row
from ggfmt.formats.json.values import json_text, raw_members
from ggfmt.formats.records import roles
from ggfmt.formats.records.dialect import Change, Dialect, Meaning, non_null, without_empty_images
from ggfmt.formats.records.problems import NAME_TABLE, RecordError, decoded, missing_member_error, no_op
from ggfmt.formats.records.reader import dialect_input
from ggfmt.formats.records.roles import Grammar
from ggfmt.formats.records.scanner import ScannedBatch, is_plain
from ggfmt.model.change import OP_TYPES
from ggfmt.model.table import name_of_fields

_names = msgspec.json.Decoder(tuple[str, ...]).decode
_encode = msgspec.json.encode
_NULL = Raw(b"null")
_Members = dict[str, Raw]
_Images = tuple[Any, Any]
_WORDS = {name: name for name in OP_TYPES} | OP_WORDS


def metadata_of(source: WriterSettings) -> tuple[MetaColumn, ...]:
    """Return the metadata members that messages may have, by the options of their writer."""
    options: JsonRecordOptions = source.options
    every = options if options.meta_columns_template is not None else replace(options, include_primary_keys=True)
    return every.metadata(replace(source.context, include_tokens=True))


class OptionDialect(Dialect):
    """Base of dialects that depend on options; a subclass defines the place of the images."""

    record = _Members
    scalars_only = True
    transaction_tokens = TRANSACTION_TOKENS
    empty_old_is_none = True
    scanned = True

    def __init__(self, source: WriterSettings, with_tokens: bool = True) -> None:
        super().__init__(source, with_tokens)
        columns = metadata_of(source)
        self.names = [column.name for column in columns]
        self._metadata = frozenset(self.names)
        self._roles = Roles.of(columns)
        keys = dict(zip(op_keys(self.options), OP_TYPES, strict=True))
        self._ops = _WORDS | keys

    @staticmethod
    def layout(head: bytes, whole: bool, source: WriterSettings) -> Layout:
        if source.options is not None and Roles.of(metadata_of(source)).op is None:
            message = "messages without operation types cannot be read"
            help = (
                "write them with `${optype}` in `metaColumnsTemplate`, and pass the same settings with `--input-config`"
            )
            raise UsageError(Diagnostic("GG103", message, help=help))
        return Dialect.layout(head, whole, source)

    def images(self, op: str, members: _Members, table: str) -> _Images:
        """Return the before and after images of a record, each as the bytes of a JSON object, or None."""
        raise NotImplementedError

    def changes(self, record: _Members) -> Meaning:
        roles = self._roles
        assert roles.op is not None  # by the layout
        name = self._table(record)
        word = self._text(record, roles.op)
        if word is None:
            raise missing_member_error(self.names[roles.op], "every operation must have an operation type", name)
        op = self._ops.get(word)
        if op is None:
            raise no_op(self.names[roles.op], word, self._ops, name)
        if roles.key_columns is not None:
            listed = non_null(record.get(self.names[roles.key_columns], _NULL))
            keys = () if listed is None else decoded(_names, listed, "the key is not a list of names", name)
            if keys:
                self.keys[name] = keys
        before, after = self.images(op, record, name)
        position = None if roles.position is None else self._text(record, roles.position)
        tokens = self._tokens(record, name) if self.with_tokens else {}
        return (Change(name, op, self._time(record, name), position, before, after, tokens),)

    # The scanner

    def first_grammar(self) -> Grammar | None:
        return self.grammar({})

    def grammar(self, record: _Members) -> Grammar | None:
        key = self._roles.key_columns
        return self._make_grammar(key is not None and self.names[key] in record)

    def _make_grammar(self, with_key: bool) -> Grammar | None:
        """Return the grammar of records with or without a key; None if the scanner cannot take them."""
        images = self.image_members() if self._roles.name else None
        if with_key not in self._grammars and images is not None:
            names = [*self.names, *(member.name.decode() for member in images.members)]
            metadata = metadata_members(self.names, self._roles, with_key)
            if metadata is not None and len(set(names)) == len(names):
                self._grammars[with_key] = images._replace(members=(*metadata, *images.members), ops=self._ops)
        return self._grammars.get(with_key)

    def image_members(self) -> Grammar | None:
        """Return a grammar with the images alone; None if the scanner cannot take them."""
        raise NotImplementedError

    def times(self, scanned: ScannedBatch) -> pa.StringArray:
        return metadata_column(scanned, self.names, self._roles.op_ts)

    def positions(self, scanned: ScannedBatch) -> pa.StringArray:
        return metadata_column(scanned, self.names, self._roles.position)

    def of_images(self, members: _Members) -> _Members:
        """Return the members that are not metadata."""
        return {name: value for name, value in members.items() if name not in self._metadata}

    def _table(self, record: _Members) -> str:
        places = self._roles.name
        if not places:
            if len(self.trusted) == 1:
                return next(iter(self.trusted))
            help = "pass only the definition of their table to `--definitions`"
            raise RecordError(
                "GG205", f"messages do not name their table, and {len(self.trusted)} tables are defined", help
            )
        parts = [self._text(record, place) for place in places]
        if not parts[-1]:
            raise missing_member_error(self.names[places[-1]], NAME_TABLE)
        return name_of_fields(parts)

    def _time(self, record: _Members, table: str) -> str | int | None:
        if self._roles.op_ts is not None:
            return self._text(record, self._roles.op_ts)
        micros = None if self._roles.micros is None else self._text(record, self._roles.micros)
        try:
            return int(micros) if micros else None
        except ValueError:
            raise RecordError(
                "GG308", "the time of the operation is not a number of microseconds", None, table
            ) from None

    def _tokens(self, record: _Members, table: str) -> dict[str, str]:
        if self._roles.tokens is not None:
            tokens = non_null(record.get(self.names[self._roles.tokens], _NULL))
            if tokens is None:
                return {}
            members = decoded(raw_members, tokens, "the tokens are not an object", table)
            return {name: json_text(value) for name, value in members.items()}
        single = ((name, self._text(record, place)) for place, name in self._roles.single)
        return {name: text for name, text in single if text}

    def _text(self, record: _Members, place: int) -> str | None:
        """Return the text of a metadata member; None if it is absent or null."""
        value = non_null(record.get(self.names[place], _NULL))
        if value is None:
            return None
        if bytes(value)[:1] in (b"{", b"["):
            raise RecordError("GG308", f"`{self.names[place]}` is an object or array, not a string")
        return json_text(value)


class JsonRow(OptionDialect):
    """Dialect of the row model, with columns beside the metadata."""

    @staticmethod
    def sniff(members: dict[str, Any]) -> str | None:
        return "`table` and `op_type` next to its columns" if is_json_row(members) else None

    def images(self, op: str, members: _Members, table: str) -> _Images:
        columns = self.of_images(members)
        image = _encode(columns)
        if op == "D":
            return image, None
        return None, None if op == "T" and not columns else image

    def image_members(self) -> Grammar:
        return Grammar((), {}, columns=((b"", roles.ROW),))


class JsonByOptions(OptionDialect):
    """Dialect of the operation model, with metadata or images that depend on options."""

    @staticmethod
    def sniff(members: dict[str, Any]) -> str | None:
        return None  # the user has to give the writer's options

    def images(self, op: str, members: _Members, table: str) -> _Images:
        options: JsonOptions = self.options
        names = (options.before_object_name, options.after_object_name)
        if options.flatten:
            prefixes = [name + options.flatten_delimiter for name in names]
            images = [self._with_prefix(members, prefix) for prefix in prefixes]
        else:
            images = [non_null(members.get(name, _NULL)) for name in names]
        return without_empty_images(op, *images)

    def image_members(self) -> Grammar | None:
        options: JsonOptions = self.options
        names = (options.before_object_name, options.after_object_name)
        if not all(map(is_plain, names)):
            return None
        if not options.flatten:
            return Grammar((roles.before().named(names[0]), roles.after().named(names[1])), {})
        old, new = (name + options.flatten_delimiter for name in names)
        if old.startswith(new) or new.startswith(old) or any(name.startswith((old, new)) for name in self.names):
            return None  # a member may be a column of both images, or metadata too
        return Grammar((), {}, columns=((old.encode(), roles.BEFORE), (new.encode(), roles.AFTER)))

    def _with_prefix(self, members: _Members, prefix: str) -> Raw | None:
        columns = {name[len(prefix) :]: value for name, value in members.items() if name.startswith(prefix)}
        return Raw(_encode(columns))

    def passed_over(self, record: Any) -> Sequence[str]:
        options: JsonOptions = self.options
        names = (options.before_object_name, options.after_object_name)
        others = self.of_images(record)
        if options.flatten:
            prefixes = tuple(name + options.flatten_delimiter for name in names)
            return [name for name in others if not name.startswith(prefixes)]
        return [name for name in others if name not in names]


_BY_OPTIONS = dialect_input(JsonByOptions)


def by_options(source: WriterSettings) -> ReadSupport | None:
    """Return the reader of the operation model if the options change its default layout; else None."""
    options = source.options
    if not isinstance(options, JsonOptions):
        return None
    names = (options.before_object_name, options.after_object_name)
    plain = options.meta_columns_template is None and not options.flatten and names == ("before", "after")
    plain &= [_WORDS.get(key) for key in op_keys(options)] == list(OP_TYPES)
    return None if plain and metadata_of(source) else _BY_OPTIONS


READ_SIDE = dialect_input(JsonRow)
