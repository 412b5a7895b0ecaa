"""Dialects whose declaration says what records mean: the roles of `record` make the operations of the exact reader.

The scanner makes operations from the same roles (`Dialect.times`, `Dialect.positions`, `roles.make_grammar`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, ClassVar

import msgspec
from msgspec import Raw

from ggfmt.formats.json.values import json_text, raw_text
from ggfmt.formats.records import roles
from ggfmt.formats.records.dialect import Change, Dialect, Meaning, RecordSchema, non_null, stamp_text
from ggfmt.formats.records.problems import NAME_TABLE, RecordError, decoded, missing_member_error, no_op
from ggfmt.model.table import name_of_fields

_NUMBER = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_NO_OP = "every change must have an operation type"
Images = tuple[Any, Any]


def member_of(record: Any, member: roles.Declared) -> Any:
    """Return the value of a member; None if it is absent or null."""
    for attribute in member.attributes:
        record = getattr(record, attribute)
        if record is None:
            return None
    return non_null(record) if isinstance(record, Raw) else record


def text_of(value: Any, name: str) -> str | None:
    """Return a value as a text; None for null. Raises: RecordError for an invalid JSON string."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Raw):
        return decoded(json_text, value, f"`{name}` is not a valid string")
    return str(value)


def missing(record: Any, member: roles.Declared, help: str | None = None, table: str | None = None) -> RecordError:
    """Return the error for a record without a member, or without an object around the member."""
    what = "the record"
    for attribute, name in zip(member.attributes, member.names, strict=True):
        record = getattr(record, attribute)
        if record is None or name == member.names[-1]:
            break
        what = f"`{name}`"
    return missing_member_error(name, help, table, what)


class _Members:
    """The members of records under some conditions, by their meaning."""

    def __init__(self, record: type[msgspec.Struct], conditions: frozenset[str]) -> None:
        members = roles.declared(record, conditions)
        self.by_action = {member.role.action: member for member in members if member.role is not None}
        self.op = self.by_action[roles.OP]
        assert self.op.role is not None
        self.ops = self.op.role.ops
        self.tokens = [
            (member.role.rank if member.token is None else member.token.rank, member)
            for member in members
            if member.role is not None and (member.token is not None or member.role.action == roles.LIST)
        ]
        self.tokens.sort(key=lambda pair: pair[0])
        parts = [(part, member) for member in members for part in member.parts]
        parts.sort(key=lambda pair: pair[0].rank)
        self._parts = parts

    def of(self, kind: str) -> list[tuple[roles.Part, roles.Declared]]:
        """List the members that are a kind of part, lower ranks first."""
        return [pair for pair in self._parts if pair[0].kind == kind]


@lru_cache(maxsize=256)
def _members(record: type[msgspec.Struct], conditions: frozenset[str]) -> _Members:
    return _Members(record, conditions)


class DeclaredDialect(Dialect):
    """A dialect of records with the operations that the roles of `record` declare.

    A subclass overrides what is odd.

    table_help  what to do about a record without a table
    more_ops    what else the operation type may be, for a list of legal values
    """

    scanned = True
    table_help: ClassVar[str] = NAME_TABLE
    more_ops: ClassVar[str] = ""

    def conditions(self, record: Any) -> tuple[str, ...]:
        """Return the conditions under which the roles of a record hold."""
        return ()

    def table(self, record: Any) -> str:
        """Return the full name of the table; empty if the record does not name it."""
        parts = [text_of(member_of(record, m), m.names[-1]) for _, m in self._declared(record).of(roles.NAME)]
        return name_of_fields(parts) if parts[-1] else ""

    def images(self, record: Any, op: str, table: str) -> Sequence[Images]:
        """Return the before and after images of each operation of a record."""
        own = self._declared(record).by_action
        if roles.ROW not in own:
            return ((member_of(record, own[roles.BEFORE]), member_of(record, own[roles.AFTER])),)
        row = member_of(record, own[roles.ROW])
        if row is None and op != "T":
            raise missing(record, own[roles.ROW], None, table)
        old = member_of(record, own[roles.OLD]) if op == "U" and roles.OLD in own else None
        return ((row, None) if op == "D" else (old, row),)

    def describe(self, record: Any, table: str) -> RecordSchema | None:
        """Return the definition of the table in a record, or None; store a key that stands alone with `add_key`."""
        return None

    def others(self, record: Any, word: str | None) -> Meaning:
        """Return the meaning of a record whose `word` is not an operation type; None: there is no word."""
        members = self._declared(record)
        table = self.table(record) or None
        if word is None:
            raise missing(record, members.op, _NO_OP, table)
        raise no_op(members.op.names[-1], word, members.ops, table, self.more_ops)

    def changes(self, record: Any) -> Meaning:
        members = self._declared(record)
        word = member_of(record, members.op)
        op = None if word is None else members.ops.get(word)
        return self.others(record, word) if op is None else self.operations(record, op)

    def operations(self, record: Any, op: str | roles.OpToken) -> list[Change]:
        """Return the operations of a record, whose type is known."""
        table = self.table(record)
        if not table:
            raise missing(record, self._declared(record).of(roles.NAME)[-1][1], self.table_help)
        images = self.images(record, roles.type_of(op), table)
        record_schema = self.describe(record, table)
        change = self.change(record, op, table)._replace(record_schema=record_schema)
        changes = [change._replace(before=before, after=after) for before, after in images]
        if len(changes) > 1 and self.with_tokens and self.row_token is not None:
            for row, one in enumerate(changes):
                changes[row] = one._replace(tokens={**one.tokens, self.row_token: str(row)})
        return changes

    def change(self, record: Any, op: str | roles.OpToken, table: str) -> Change:
        """Return an operation of a record without its images."""
        members = self._declared(record)
        times = (_time(part, member, record, table) for part, member in members.of(roles.TIME))
        positions = (_text(member, record) for _, member in members.of(roles.POSITION))
        ids = (_text(member, record) for _, member in members.of(roles.TRANSACTION))
        return Change(
            table,
            roles.type_of(op),
            next((time for time in times if time is not None), None),
            next(filter(None, positions), None),
            None,
            None,
            self.tokens(record, op) if self.with_tokens else {},
            transaction=next(filter(None, ids), None),
        )

    def tokens(self, record: Any, op: str | roles.OpToken) -> dict[str, str]:
        """Return the tokens of the operations of a record."""
        found = [
            (rank, name, text)
            for rank, member in self._declared(record).tokens
            for name, text in _tokens(member, member_of(record, member))
        ]
        if isinstance(op, roles.OpToken) and all(name != op.name for _, name, _ in found):
            found.append((op.rank, op.name, op.text))
            found.sort(key=lambda token: token[0])
        return {name: text for _, name, text in found}

    def grammar(self, record: Any) -> roles.Grammar | None:
        return self.declared_grammar(*self.conditions(record))

    def _declared(self, record: Any) -> _Members:
        conditions = self.conditions(record)
        return _members(self.record, frozenset((*conditions, *([roles.TRANSACTIONS] * self.with_transactions))))


def _text(member: roles.Declared, record: Any) -> str | None:
    """Return the text of a member that is a part of operations; of a list, that of the one that is no token."""
    value, name = member_of(record, member), member.names[-1]
    if member.role is not None and member.role.action == roles.LIST:
        name = member.role.argument
        value = next((non_null(one.value) for one in reversed(value or ()) if one.name == name), None)
    if isinstance(value, Raw):
        return decoded(partial(raw_text, name=name), value, f"`{name}` is not a valid string")
    return text_of(value, name)


def _tokens(member: roles.Declared, value: Any) -> list[tuple[str, str]]:
    """Return the names and texts of the tokens that a member is."""
    if member.token is None:  # a list of them
        assert member.role is not None
        listed = ((one.name, text_of(non_null(one.value), one.name)) for one in value or () if one.name is not None)
        return [(name, text) for name, text in listed if text is not None and name != member.role.argument]
    text = text_of(value, member.names[-1])
    return [] if text is None or text == member.token.unless else [(member.token.name or member.names[-1], text)]


def _time(part: roles.Part, member: roles.Declared, record: Any, table: str) -> str | int | None:
    """Return the time in a member: a text, or microseconds since 1970; None if it is absent or empty."""
    value = member_of(record, member)
    name = member.names[-1]
    if value is None or value == "":
        return None
    if part.micros:
        if isinstance(value, str) and not _NUMBER.fullmatch(value):
            raise RecordError("GG308", f"`{name}` is not a number", None, table or None)
        return int(value) * part.micros
    if part.unit == roles.TEXT:
        return str(value)
    stamp = stamp_text(value)
    if stamp is None:
        raise RecordError("GG308", f"`{name}` is not a time such as `2017-06-16T14:24:34`", None, table or None)
    return stamp
