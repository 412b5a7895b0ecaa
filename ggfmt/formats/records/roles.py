"""The declaration of a record: what each member is to the exact reader and to the native scanner.

A dialect declares its record once, as a `msgspec.Struct`. The type of a field is what the exact reader decodes the
member into. A role in the annotation says what the member means, and a token that it is a token too:

    class Row(msgspec.Struct):
        table: Annotated[str | None, roles.name()] = None
        type: Annotated[str | None, roles.op({"insert": "I", "delete": "D"})] = None
        ts: Annotated[int | None, roles.time("ms")] = None
        xid: Annotated[int | None, roles.transaction(), roles.Token(0)] = None
        data: Annotated[Raw, roles.row()] = ABSENT

`make_grammar` makes the scanner's grammar of it, and `records.declared` the operations of the exact reader. A member
without a role is odd: the scanner leaves each record with this member to the exact reader, as it does with everything
else that is not regular (see `kernels/json_scan.c`).

If one class serves records of several kinds, a role holds `when` a condition is given. The first role of a field that
holds counts for the scanner, and the first token.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field as dataclass_field
from enum import Enum
from functools import lru_cache
from itertools import groupby
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

import msgspec

from ggfmt.dataclasses import dataclass
from ggfmt.formats.json.repeated import Once

# Kinds of JSON values. A STAMP is a string with a time of UTC or without a zone; it becomes a time stamp as messages
# have it.
STRING, NULL, INTEGER, NUMBER, BOOLEAN, NESTED, STAMP = 1, 2, 4, 8, 16, 32, 64
ANY = STRING | NULL | INTEGER | NUMBER | BOOLEAN | NESTED
_KINDS = {str: STRING, int: INTEGER, float: INTEGER | NUMBER, bool: BOOLEAN, NoneType: NULL}

SKIP, ENTER, IDENTITY, SLOT, NOTE, OP, TOKENS, BEFORE, AFTER, SAME, ROW, OLD, NAMES, LIST = range(14)
BEFORE_CELLS, AFTER_CELLS = 14, 15

MAX_NOTES = 12  # for which the scanner has room

TRANSACTIONS = "transactions"  # the condition that the caller requested ids of transactions and origins of positions

# What a member is to the operations of its record, besides an image, the type or a token: a part of the name of the
# table or the source, the time, the position and its origin, the id of the transaction.
NAME, SOURCE, TIME, POSITION, ORIGIN, TRANSACTION = "name", "source", "time", "position", "origin", "transaction"

# Units of time: microseconds in one of a number. A STAMP_TEXT is an ISO 8601 timestamp, in UTC or without a zone; a
# TEXT is as messages have it.
STAMP_TEXT, TEXT = "stamp", "text"
_UNITS = {"s": 1_000_000, "ms": 1000, "us": 1, STAMP_TEXT: 0, TEXT: 0}
_TIMES = {STAMP_TEXT: STAMP | NULL, TEXT: STRING | NULL}

Place = tuple[str, ...]  # the names of the members that lead to an object


class Member(NamedTuple):
    """A member in the form that the kernel takes; `token` has the name, the rank and the text that is not a token."""

    name: bytes
    action: int
    required: bool
    argument: Any
    token: tuple[bytes | None, int, bytes | None] | None


Notes = Sequence[tuple[Place, tuple[Member, ...]]]  # undeclared members, by the object that contains them


class Token(NamedTuple):
    """A member that is a token, unless it is null or has the text `unless`.

    rank  tokens of a lower rank come first; tokens of the same rank have the order of the record
    name  the name of the token; default: the name of the member
    """

    rank: int = 0
    name: str | None = None
    unless: str | None = None
    when: str | None = None


class Columns(Enum):
    """Undeclared members of an object that are columns, as `Grammar.columns` says.

    Declared members must come before them, and in the order of the declaration.
    """

    COLUMNS = 2


COLUMNS = Columns.COLUMNS


class OpToken(NamedTuple):
    """An operation type that adds a token with a text, unless the operation has a token of this name.

    If the type is empty, records are no operations, have no images, and are counted under the name.
    """

    op: str
    name: str
    text: str
    rank: int = 0


def counted(word: str) -> OpToken:
    return OpToken("", word, "")


Ops = Mapping[str, str | OpToken]  # operation types by the texts that messages have for them


def type_of(op: str | OpToken) -> str:
    return op.op if isinstance(op, OpToken) else op


class Part(NamedTuple):
    """What a member is to the operations of its record.

    kind     `NAME`, `SOURCE`, `TIME`, `POSITION`, `ORIGIN` or `TRANSACTION`
    rank     of several times, positions or ids, the first one that is not empty counts, lower ranks first
    unit     of a time
    zero     whether 0 is a time
    follows  the part of a position comes after the others of its rank, and is none without one of them
    """

    kind: str
    rank: int = 0
    unit: str = TEXT
    zero: bool = True
    follows: bool = False

    @property
    def micros(self) -> int:
        """The microseconds in one of the numbers that are times; 0 for times that are texts."""
        return _UNITS[self.unit]


@dataclass(frozen=True)
class Role:
    """What the scanner does with a member; the functions below make roles.

    takes     kinds of JSON values; None: the kinds of the field's type
    required  the record is odd if it lacks the member
    within    for an object: the class that declares its members
    others    how to treat undeclared members of an object: odd (False), skip (True), take as tokens, or as columns
    in_text   the condition under which a string contains the object
    part      what the member is to the operations of its record
    ops       for the operation type: the types by the texts for them
    """

    action: int
    when: str | None = None
    required: bool = False
    takes: int | None = None
    argument: Any = None
    rank: int = 0
    within: type[msgspec.Struct] | None = None
    others: Token | Columns | bool = False
    in_text: str | None = None
    part: Part | None = None
    ops: Ops = dataclass_field(default_factory=dict, hash=False)

    def holds(self, conditions: Collection[str]) -> bool:
        return self.when is None or self.when in conditions

    def named(self, name: str, takes: int = ANY, token: Token | None = None) -> Member:
        """Return a member with this role, and perhaps a token, that no class declares."""
        member = _member(name, self, None, takes, frozenset(), ())
        return member if token is None else member._replace(token=_token(name, token))

    def around(self, name: str, members: Sequence[Member]) -> Member:
        """Return an object with this role, that of `enter`, and its members, which no class declares."""
        member = self.named(name)
        return member._replace(argument=(tuple(members), *member.argument[1:]))


def skip(takes: int | None = None, when: str | None = None) -> Role:
    """Pass over the member if its value is of a kind."""
    return Role(SKIP, when, takes=takes)


def identity(required: bool = False, when: str | None = None) -> Role:
    """Make the value, of any kind, a part of the record's identity: it decides on the table and its encoding."""
    return Role(IDENTITY, when, required)


def name(required: bool = False, when: str | None = None) -> Role:
    """Make the value a part of the name of the table, and so of the record's identity."""
    return Role(IDENTITY, when, required, part=Part(NAME))


def source() -> Role:
    """Make the value the name of the source, which no failover changes, and a part of the record's identity."""
    return Role(IDENTITY, part=Part(SOURCE))


def slot(takes: int | None = None, required: bool = False, when: str | None = None) -> Role:
    """Make a column of the values."""
    return Role(SLOT, when, required, takes)


def time(
    unit: str,
    takes: int | None = None,
    required: bool = False,
    when: str | None = None,
    rank: int = 0,
    zero: bool = True,
) -> Role:
    """Make a column of the values, which are times: numbers of `s`, `ms` or `us` since 1970, `STAMP_TEXT` or `TEXT`."""
    part = Part(TIME, rank, unit, zero)
    return Role(SLOT, when, required, _TIMES.get(unit, INTEGER | NULL) if takes is None else takes, part=part)


def position(rank: int = 0, takes: int | None = None, when: str | None = None, follows: bool = False) -> Role:
    """Make a column of the values, which are positions, or parts of one with colons between them if they have the same
    rank. A part that `follows` is no position alone; the last parts may be empty.
    """
    return Role(SLOT, when, takes=takes, part=Part(POSITION, rank, follows=follows))


def origin(takes: int | None = None) -> Role:
    """Make a column of the values, which name the logs that positions are of, if the caller requested them; 0 is none.

    The value changes where another log starts, as in a failover. Put this role before a role that makes no column.
    """
    return Role(SLOT, TRANSACTIONS, takes=takes, part=Part(ORIGIN))


def transaction(takes: int | None = None, rank: int = 0) -> Role:
    """Make a column of the values, which are ids of transactions, if the caller requested such ids.

    Put this role before a role that makes no column.
    """
    return Role(SLOT, TRANSACTIONS, takes=takes, part=Part(TRANSACTION, rank))


def op(ops: Ops | None = None, when: str | None = None) -> Role:
    """Take the operation type from this string, by the texts for types."""
    return Role(OP, when, required=True, ops=ops or {})


def before(when: str | None = None) -> Role:
    return Role(BEFORE, when)


def after(when: str | None = None) -> Role:
    return Role(AFTER, when)


def cells(action: int) -> Role:
    """Take an image, by `BEFORE_CELLS` or `AFTER_CELLS`, as a list of objects with a `name`, a `value` and a `type`.

    The names and types are a part of the record's identity.
    """
    return Role(action)


def row(listed: bool = False, when: str | None = None) -> Role:
    """Take the before image of a delete and the after image of any other operation.

    If `listed`, all images are lists of rows, and a record may have several operations.
    """
    return Role(ROW, when, argument=listed)


def old(listed: bool = False, when: str | None = None) -> Role:
    """Take the before image of an update; skip the member of other operations."""
    return Role(OLD, when, argument=listed)


def names(when: str | None = None) -> Role:
    """Make the names of the object's members, not their values, a part of the record's identity."""
    return Role(NAMES, when)


def tokens(takes: int = ANY & ~NULL, rank: int = 0, when: str | None = None) -> Role:
    """Take all members of the object as tokens; the object may be null."""
    return Role(TOKENS, when, takes=takes, rank=rank)


def token_list(position: str, rank: int = 0, when: str | None = None) -> Role:
    """Take tokens from a list of objects with a `name` and a `value`; the one named `position` is that instead."""
    return Role(LIST, when, argument=position, rank=rank, part=Part(POSITION))


def same(value: bytes, required: bool = False, when: str | None = None) -> Role:
    """Skip the member if its value has exactly these characters."""
    return Role(SAME, when, required, argument=value)


def enter(
    within: type[msgspec.Struct] | None = None,
    required: bool = True,
    others: Token | Columns | bool = False,
    in_text: str | None = None,
    when: str | None = None,
) -> Role:
    """Look at the members of an object; if it is not required, it may be null or absent.

    The class `within` declares the members; default: the struct class in the field's type, or no members. The names of
    `others` that are tokens start with the token's name.
    """
    return Role(ENTER, when, required, within=within, others=others, in_text=in_text)


def note(name: str, full_name: str | None = None) -> Member:
    """Return an undeclared member; a column records which operations have it."""
    return Member(name.encode(), NOTE, False, full_name or name, None)


class Grammar(NamedTuple):
    """The records of a dialect as the scanner takes them.

    row_token  the token with the number of an operation in its record, if the record has several; after all others
    shows_rows  an update is odd if only its before image has a column, and rows are read
    columns    which undeclared members are columns: how their names start, and BEFORE, AFTER or ROW for their image.
               They are members of the object whose role has the `others` COLUMNS, or, without one, of the record.
               None: no undeclared member is a column, and declared members have any order.
    """

    members: tuple[Member, ...]
    ops: Ops
    row_token: str | None = None
    columns: tuple[tuple[bytes, int], ...] | None = None
    shows_rows: bool = False


NO_RECORDS = Grammar((), {})  # every record is odd, until the first operation determines a grammar


def make_grammar(
    record: type[msgspec.Struct], conditions: Collection[str] = (), notes: Notes = (), inherited: bool = True
) -> Grammar:
    """Return the grammar of records that a class declares; if not `inherited`, use only the class's own fields."""
    held = frozenset(conditions)
    found = (member.role for member in declared(record, held, inherited))
    ops = next((role.ops for role in found if role is not None and role.action == OP), {})
    return Grammar(tuple(_members(record, held, notes, (), inherited)), ops)


class Declared(NamedTuple):
    """A member that a class declares, or a class within it.

    attributes  the attributes that lead to the value
    names       the names of the members that lead to the value
    role        the first role that holds; None for a member without a role
    parts       what the member is to operations, by all roles that hold
    """

    attributes: tuple[str, ...]
    names: Place
    role: Role | None
    parts: tuple[Part, ...]
    token: Token | None


@lru_cache(maxsize=256)
def declared(
    record: type[msgspec.Struct], conditions: frozenset[str] = frozenset(), inherited: bool = True
) -> tuple[Declared, ...]:
    """List all members of records under some conditions, with those of the objects that the scanner enters."""
    return tuple(_declared(record, conditions, inherited))


def _declared(record: type[msgspec.Struct], conditions: frozenset[str], inherited: bool = True) -> Iterator[Declared]:
    for field in _fields(record, inherited):
        role = field.role(conditions)
        within = field.within(role)
        parts = tuple(one.part for one in field.roles if one.part is not None and one.holds(conditions))
        yield Declared((field.attribute,), (field.name,), role, parts, field.token(conditions))
        for member in () if within is None else _declared(within, conditions):
            attributes, names = (field.attribute, *member.attributes), (field.name, *member.names)
            yield member._replace(attributes=attributes, names=names)


@lru_cache(maxsize=256)
def columns_of(record: type[msgspec.Struct], kind: str) -> tuple[tuple[str, Part], ...]:
    """List the slots of a kind of part under any conditions, with lower ranks first."""
    found = _columns_of(record, kind)
    return tuple(sorted(dict(found).items(), key=lambda pair: pair[1].rank))


def names_of(record: Any, kind: str) -> tuple[str, ...]:
    """List the names of these slots; none if the record is no struct."""
    return tuple(name for name, _ in columns_of(record, kind)) if is_struct(record) else ()


def is_struct(record: Any) -> bool:
    return isinstance(record, type) and issubclass(record, msgspec.Struct)


@lru_cache(maxsize=256)
def positions_of(record: type[msgspec.Struct]) -> tuple[tuple[tuple[str, Part], ...], ...]:
    """List the slots of each position that records may have, with lower ranks first."""
    ranks = groupby(columns_of(record, POSITION), key=lambda column: column[1].rank)
    return tuple(tuple(parts) for _, parts in ranks)


def _columns_of(record: type[msgspec.Struct], kind: str) -> Iterator[tuple[str, Part]]:
    for field in fields_of(record):
        for role in field.roles:
            if role.part is not None and role.part.kind == kind:
                yield role.argument if role.action == LIST else field.name, role.part
            within = field.within(role)
            if within is not None:
                yield from _columns_of(within, kind)


def places(record: type[msgspec.Struct], conditions: Collection[str] = (), inherited: bool = True) -> list[Place]:
    """List the objects of a record in which an undeclared member makes the record odd."""
    return list(_places(record, frozenset(conditions), (), inherited))


def _places(
    record: type[msgspec.Struct], conditions: frozenset[str], place: Place, inherited: bool = True
) -> Iterator[Place]:
    yield place
    for field in _fields(record, inherited):
        role = field.role(conditions)
        within = field.within(role)
        if role is not None and within is not None and role.others is False:
            yield from _places(within, conditions, (*place, field.name))


def _members(
    record: type[msgspec.Struct] | None, conditions: frozenset[str], notes: Notes, place: Place, inherited: bool = True
) -> Iterator[Member]:
    for field in () if record is None else _fields(record, inherited):
        role = field.role(conditions)
        if role is not None:
            yield _member(field.name, role, field, field.takes, conditions, notes, place)
    for where, unknown in notes:
        if where == place:
            yield from unknown


def _member(
    name: str, role: Role, field: _Field | None, takes: int, conditions: frozenset[str], notes: Notes, place: Place = ()
) -> Member:
    argument = role.argument
    token = None if field is None else field.token(conditions)
    own: tuple[bytes | None, int, bytes | None] | None = None
    if token is not None:
        own = _token(name, token)
    if role.action == ENTER:
        within = role.within if field is None else field.within(role)
        members = tuple(_members(within, conditions, notes, (*place, name)))
        others = role.others.value if isinstance(role.others, Columns) else int(role.others is not False)
        argument = members, others, role.in_text in conditions
        if isinstance(role.others, Token):
            own = (role.others.name or "").encode(), role.others.rank, None
    elif role.action in (SKIP, SLOT, TOKENS):
        argument = takes if role.takes is None else role.takes
        own = (None, role.rank, None) if role.action == TOKENS else own
    elif role.action == LIST:
        argument, own = argument.encode(), (b"", role.rank, None)
    return Member(name.encode(), role.action, role.required, argument, own)


def _token(name: str, token: Token) -> tuple[bytes, int, bytes | None]:
    text = name if token.name is None else token.name
    return text.encode(), token.rank, None if token.unless is None else token.unless.encode()


@dataclass(frozen=True)
class _Field:
    """A field of a declaration. `struct`: the class of its object; `items`: that of the objects in its list."""

    attribute: str
    name: str
    takes: int
    struct: type[msgspec.Struct] | None
    items: type[msgspec.Struct] | None
    roles: tuple[Role, ...]
    tokens: tuple[Token, ...]

    def token(self, conditions: Collection[str]) -> Token | None:
        return next((token for token in self.tokens if token.when is None or token.when in conditions), None)

    def role(self, conditions: Collection[str]) -> Role | None:
        """Return the role under these conditions, or None. A token without a role has the role `skip`."""
        held = (role for role in self.roles if role.holds(conditions))
        return next(held, None if self.token(conditions) is None else _SKIPPED)

    def within(self, role: Role | None) -> type[msgspec.Struct] | None:
        """Return the class that declares the members of the object; None if the role does not enter an object."""
        return None if role is None or role.action != ENTER else role.within or self.struct


_SKIPPED = skip()


@lru_cache(maxsize=256)
def fields_of(record: type[msgspec.Struct]) -> tuple[_Field, ...]:
    return tuple(_field(field.name, field.encode_name, field.type) for field in msgspec.structs.fields(record))


@lru_cache(maxsize=256)
def once_of(record: type[msgspec.Struct]) -> Once:
    """Return the members that records may have only once: those that a class declares under any condition, besides
    times and ids of transactions."""
    fields = [f for f in fields_of(record) if not f.roles or any(map(_needs_one, f.roles))]
    within = (next((role.within for role in f.roles if role.within), f.struct or f.items) for f in fields)
    return Once({f.name: None if own is None else once_of(own) for f, own in zip(fields, within, strict=True)})


def _needs_one(role: Role) -> bool:
    return role.when != TRANSACTIONS and (role.part is None or role.part.kind not in (TIME, TRANSACTION))


def _fields(record: type[msgspec.Struct], inherited: bool = True) -> tuple[_Field, ...]:
    fields = fields_of(record)
    return fields if inherited else tuple(field for field in fields if field.attribute in record.__annotations__)


def _field(attribute: str, name: str, kind: Any) -> _Field:
    meanings: tuple[Any, ...] = ()
    if get_origin(kind) is Annotated:
        kind, *found = get_args(kind)
        meanings = tuple(found)
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    takes = 0
    for one in kinds:
        takes |= _KINDS.get(one, ANY)
    in_lists = [item for one in kinds if get_origin(one) is list for item in get_args(one)]
    struct, items = (
        next((one for one in some if isinstance(one, type) and issubclass(one, msgspec.Struct)), None)
        for some in (kinds, in_lists)
    )
    own_roles = tuple(meaning for meaning in meanings if isinstance(meaning, Role))
    own_tokens = tuple(meaning for meaning in meanings if isinstance(meaning, Token))
    return _Field(attribute, name, takes, struct, items, own_roles, own_tokens)


def token_names(record: type[msgspec.Struct], *conditions: str) -> tuple[str, ...]:
    members = declared(record, frozenset(conditions))
    return tuple(m.token.name or m.names[-1] for m in members if m.token is not None)
