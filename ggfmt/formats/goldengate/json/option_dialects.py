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
from msgspec import Raw

from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.formats.api.format import WriterSettings
from ggfmt.formats.api.reading import Layout, ReadSupport
from ggfmt.formats.goldengate.json import JsonOptions, JsonRecordOptions
from ggfmt.formats.goldengate.metacolumns import MetaColumn
from ggfmt.formats.goldengate.options import op_keys
from ggfmt.formats.goldengate.reading import Metadata, MetadataDialect, check_operation_type, only_table
from ggfmt.formats.goldengate.records import OP_WORDS
from ggfmt.formats.json.files import is_json_row
from ggfmt.formats.json.values import raw_members, token_text
from ggfmt.formats.records import roles
from ggfmt.formats.records.dialect import ABSENT, Change, Dialect, Meaning, none_if_null, without_empty_images
from ggfmt.formats.records.images import Images
from ggfmt.formats.records.problems import NAME_TABLE, RecordError, decoded, missing_member_error, no_op
from ggfmt.formats.records.reader import dialect_input
from ggfmt.formats.records.roles import Grammar
from ggfmt.formats.records.scanner import is_plain
from ggfmt.model.change import OP_TYPES
from ggfmt.model.table import name_of_fields

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
        self.scanned_metadata = self.metadata = Metadata(metadata_of(source))
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
