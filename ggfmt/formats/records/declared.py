"""Dialects whose declaration says what records mean: the roles of `record` make the operations of the exact reader.

The scanner makes operations from the same roles (`Dialect.times`, `Dialect.positions`, `roles.make_grammar`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import groupby
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

import msgspec
from msgspec import UNSET, Raw

from ggfmt.formats.json.repeated import repeated_error
from ggfmt.formats.json.values import scalar_or_none, text_or_none
from ggfmt.formats.records import roles
from ggfmt.formats.records.dialect import ABSENT, Change, Dialect, Meaning, RecordSchema, none_if_null, stamp_text
from ggfmt.formats.records.images import Images
from ggfmt.formats.records.problems import NAME_TABLE, RecordError, decoded, missing_member_error, no_op
from ggfmt.formats.records.scanned import NO_ORIGINS
from ggfmt.lazy import lazy_regex
from ggfmt.model.table import name_of_fields

_NUMBER = lazy_regex(r"-?[0-9]{1,18}", re.ASCII)
_NO_OP = "every change must have an operation type"


def member_text_or_none(value: Any, name: str) -> str | None:
    """Return a value as a text; None for null. Raises: RecordError for an invalid JSON string."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Raw):
        return decoded(text_or_none, value, f"`{name}` is not a valid string")
    if isinstance(value, int):
        return str(value)
    raise RecordError("GG308", f"`{name}` is not a string, a whole number, a boolean or null")


def missing(record: Any, member: roles.Declared, help: str | None = None, table: str | None = None) -> RecordError:
    """Return the error for a record without a member, or without an object around the member."""
    what = "the record"
    for attribute, name in zip(member.attributes, member.names, strict=True):
        record = getattr(record, attribute)
        if record is None or name == member.names[-1]:
            break
        what = f"`{name}`"
    return missing_member_error(name, help, table, what)


class _Member(NamedTuple):
    """A member of records: a function that returns its value, None if it is absent or null; its name; what it is."""

    get: Callable[[Any], Any]
    name: str
    role: roles.Role | None
    declared: roles.Declared

    @classmethod
    def of(cls, member: roles.Declared) -> _Member:
        get = attrgetter(".".join(member.attributes))

        def value(record: Any) -> Any:
            try:
                found = get(record)
            except AttributeError:  # an object around the member is null
                return None
            if found.__class__ is Raw:
                return none_if_null(found)
            return None if found is UNSET else found

        return cls(value, member.names[-1], member.role, member)

    def text(self, record: Any) -> str | None:
        """Return the text of a member that is a part of operations; of a list, that of the item that is no token."""
        value, name = self.get(record), self.name
        if self.role is not None and self.role.action == roles.LIST:
            name = self.role.argument
            values = [one.value for one in value or () if one.name == name]
            if len(values) > 1:
                problem = repeated_error(f"{self.name}.{name}")
                raise RecordError(problem.code, problem.message, problem.help)
            value = none_if_null(values[0]) if values else None
        if isinstance(value, Raw):
            return decoded(partial(scalar_or_none, name=name), value, f"`{name}` is not a valid string")
        return member_text_or_none(value, name)


class Members:
    """The members of records under some conditions, by their meaning; those of a lower rank come first."""

    def __init__(
        self, record: type[msgspec.Struct], conditions: frozenset[str] = frozenset(), inherited: bool = True
    ) -> None:
        declared = [_Member.of(member) for member in roles.declared(record, conditions, inherited)]
        self.by_action: dict[int, Any] = {member.role.action: member for member in declared if member.role is not None}
        self.ops: roles.Ops = self.by_action[roles.OP].role.ops if roles.OP in self.by_action else {}
        self.parts: dict[str, list[tuple[roles.Part, _Member]]] = {
            kind: sorted(
                ((part, member) for member in declared for part in member.declared.parts if part.kind == kind),
                key=lambda pair: pair[0].rank,
            )
            for kind in (roles.NAME, roles.SOURCE, roles.TIME, roles.POSITION, roles.ORIGIN, roles.TRANSACTION)
        }
        ranks = groupby(self.parts[roles.POSITION], key=lambda pair: pair[0].rank)
        self._positions = [list(pairs) for _, pairs in ranks]
        self.tokens = sorted(
            (
                (member.role.rank if token is None else token.rank, member, token)
                for member in declared
                if member.role is not None
                and ((token := member.declared.token) is not None or member.role.action == roles.LIST)
            ),
            key=lambda token: token[0],
        )
        every = [".".join(member.declared.attributes) for _, member, _ in self.tokens]
        self._token_values = attrgetter(*every) if len(every) > 1 else None

    def time(self, record: Any, table: str) -> str | int | None:
        """Return the time of the operations of a record: a text, or microseconds since 1970."""
        times = (_time(part, member, record, table) for part, member in self.parts[roles.TIME])
        return next((time for time in times if time is not None), None)

    def position(self, record: Any) -> str | None:
        for parts in self._positions:
            texts = [member.text(record) or "" for _, member in parts]
            if any(text and not part.follows for text, (part, _) in zip(texts, parts, strict=True)):
                return texts[0] if len(texts) == 1 else ":".join(texts).rstrip(":")
        return None

    def origin(self, record: Any) -> str | None:
        texts = (member.text(record) for _, member in self.parts[roles.ORIGIN])
        return next((text for text in texts if text not in NO_ORIGINS), None)

    def transaction(self, record: Any) -> str | None:
        return next(filter(None, (member.text(record) for _, member in self.parts[roles.TRANSACTION])), None)

    def token_values(self, record: Any) -> Sequence[Any]:
        """Return the values of all members that are tokens, as they are in the record."""
        if self._token_values is not None:
            try:
                values: Sequence[Any] = self._token_values(record)
                return values
            except AttributeError:  # an object around a member is null
                pass
        return [member.get(record) for _, member, _ in self.tokens]


@lru_cache(maxsize=256)
def members_of(
    record: type[msgspec.Struct], conditions: tuple[str, ...], transactions: bool, inherited: bool = True
) -> Members:
    """Return the members of records from a cache; `transactions`: the caller requested the ids of transactions."""
    return Members(record, frozenset((*conditions, roles.TRANSACTIONS) if transactions else conditions), inherited)


class DeclaredDialect(Dialect):
    """A dialect of records with the operations that the roles of `record` declare.

    A subclass overrides what is odd.

    table_help  what to do about a record without a table
    more_ops    what else the operation type may be, for a list of legal values
    """

    scanned = True
    table_help: ClassVar[str] = NAME_TABLE
    more_ops: ClassVar[str] = ""
    _record: Any = None  # the latest one, and its members
    _members: Members

    def conditions(self, record: Any) -> tuple[str, ...]:
        """Return the conditions under which the roles of a record hold."""
        return ()

    def table(self, record: Any) -> str:
        """Return the full name of the table; empty if the record does not name it."""
        parts = [member.text(record) for _, member in self._declared(record).parts[roles.NAME]]
        return name_of_fields(parts) if parts[-1] else ""

    def named_table(self, record: Any) -> str:
        """Return the full name of the table. Raises: RecordError if the record does not name it."""
        table = self.table(record)
        if not table:
            raise missing(record, self._declared(record).parts[roles.NAME][-1][1].declared, self.table_help)
        return table

    def images(self, record: Any, op: str, table: str) -> Sequence[Images]:
        """Return the before and after images of each operation of a record."""
        own = self._declared(record).by_action
        if roles.ROW not in own:
            return ((own[roles.BEFORE].get(record), own[roles.AFTER].get(record)),)
        row = own[roles.ROW].get(record)
        if row is None and op != "T":
            raise missing(record, own[roles.ROW].declared, None, table)
        if op == "D":
            return ((row, None),)
        return ((own[roles.OLD].get(record) if op == "U" and roles.OLD in own else None, row),)

    def describe(self, record: Any, table: str) -> RecordSchema | None:
        """Return the definition of the table in a record, or None; store a key without definition with `add_key`."""
        return None

    def others(self, record: Any, word: str | None) -> Meaning:
        """Return the meaning of a record whose `word` is not an operation type; None: there is no word."""
        members = self._declared(record)
        table = self.table(record) or None
        if word is None:
            raise missing(record, members.by_action[roles.OP].declared, _NO_OP, table)
        raise no_op(members.by_action[roles.OP].name, word, members.ops, table, self.more_ops)

    def changes(self, record: Any) -> Meaning:
        members = self._declared(record)
        word = members.by_action[roles.OP].get(record)
        op = None if word is None else members.ops.get(word)
        if isinstance(op, roles.OpToken) and not op.op:
            return op.name
        return self.others(record, word) if op is None else self.operations(record, op)

    def operations(self, record: Any, op: str | roles.OpToken) -> list[Change]:
        table = self.named_table(record)
        images = self.images(record, roles.type_of(op), table)
        record_schema = self.describe(record, table)
        change = self.change(record, op, table, images[0], record_schema)
        return [change, *(change._replace(before=old, after=new) for old, new in images[1:])]

    def change(
        self,
        record: Any,
        op: str | roles.OpToken,
        table: str,
        images: Images = (None, None),
        record_schema: RecordSchema | None = None,
    ) -> Change:
        members = self._declared(record)
        op_ts, position = members.time(record, table), members.position(record)
        tokens = self.tokens(record, op) if self.with_tokens else {}
        transaction = members.transaction(record)
        origin = members.origin(record) if self.with_transactions else None
        for _, member in members.parts[roles.SOURCE] if self.with_transactions else ():
            if name := member.text(record):
                self.sources.setdefault(table, {})[name] = ".".join(member.declared.names)
        return Change(table, roles.type_of(op), op_ts, position, *images, tokens, record_schema, transaction, origin)

    def tokens(self, record: Any, op: str | roles.OpToken) -> dict[str, str]:
        members = self._declared(record)
        found = []
        for (rank, member, token), value in zip(members.tokens, members.token_values(record), strict=True):
            if value is None or value is ABSENT:
                continue
            if token is None:
                found += [(rank, name, text) for name, text in _listed(member, value)]
                continue
            text = value if value.__class__ is str else member_text_or_none(value, member.name)
            if text is not None and text != token.unless:
                found.append((rank, token.name or member.name, text))
        if isinstance(op, roles.OpToken) and all(name != op.name for _, name, _ in found):
            found.append((op.rank, op.name, op.text))
            found.sort(key=lambda token: token[0])
        return {name: text for _, name, text in found}

    def grammar(self, record: Any) -> roles.Grammar | None:
        return self.declared_grammar(*self.conditions(record))

    def declared_members(self, record: Any) -> Members:
        """Return the members of records like this one, with which the exact reader reads it."""
        return members_of(self.record, self.conditions(record), self.with_transactions)

    def _declared(self, record: Any) -> Members:
        if record is not self._record:
            self._record, self._members = record, self.declared_members(record)
        return self._members


def _listed(member: _Member, items: Sequence[Any]) -> list[tuple[str, str]]:
    """Return the names and texts of the items of a list that are tokens."""
    assert member.role is not None
    texts = ((one.name, member_text_or_none(one.value, one.name)) for one in items if one.name is not None)
    return [(name, text) for name, text in texts if text is not None and name != member.role.argument]


def _time(part: roles.Part, member: _Member, record: Any, table: str) -> str | int | None:
    """Return the time in a member: a text, or microseconds since 1970; None if it is absent or empty."""
    value, name = member.get(record), member.name
    if value is None or value == "":
        return None
    if part.micros:
        if isinstance(value, str) and not _NUMBER.fullmatch(value):
            raise RecordError("GG308", f"`{name}` is not a number", None, table or None)
        micros = int(value) * part.micros
        return micros if micros or part.zero else None
    if part.unit == roles.TEXT:
        return member_text_or_none(value, name)
    stamp = stamp_text(value)
    if stamp is None:
        raise RecordError("GG308", f"`{name}` is not a time such as `2017-06-16T14:24:34`", None, table or None)
    return stamp
