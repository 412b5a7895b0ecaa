"""Statements of SQL that decide which rows a table has: truncates, drops, creations and renames of tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from itertools import pairwise, takewhile
from typing import NamedTuple

from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.records.dialect import Change, Statement
from ggfmt.lazy import lazy_regex
from ggfmt.model.table import join_name

# MySQL executes what a comment with `!` contains, so such a comment hides nothing.
_TOKEN = lazy_regex(
    r"(?:\s+|/\*(?!M?!).*?\*/|/\*M?!\d*|\*/|--[^\n]*|\#[^\n]*)"
    r"|(?P<name>`(?:``|[^`])+`|\"(?:\"\"|[^\"])+\"|\[[^\]]+\]|[\w$@][\w$#@]*)"
    r"|(?P<mark>'(?:''|\\.|[^'\\])*'|.)",
    re.DOTALL,
)
_KINDS_OF_TABLE = {"COLUMN", "EXTERNAL", "FOREIGN", "TRANSIENT", "UNLOGGED"}
_WITH_TABLES = {"OWNED", "TABLESPACE", "USER"}
_OF_PART = {"DETACH", "DISCARD", "DROP", "EXCHANGE", "TRUNCATE"}
_PARTS = {"PARTITION", "PARTITIONS", "SUBPARTITION", "SUBPARTITIONS", "TABLESPACE"}
_NOT_TABLES = {"COLUMN", "CONSTRAINT", "INDEX", "KEY", "PARTITION", "ROLE", "SUBPARTITION", "TRIGGER", "USER"}
_WITH_BODY = {"EVENT", "FUNCTION", "PACKAGE", "PROCEDURE", "TRIGGER", "TYPE"}

Name = tuple[str, ...]  # the parts of a name as the statement has them, with quotes
EVERY = "*"  # the last part of a name that stands for all tables


class What(Enum):
    TRUNCATE = "truncates"
    DROP = "drops"
    DROP_DATABASE = "drops the database"
    DROP_SCHEMA = "drops the schema"
    CREATE = "creates"
    RENAME = "renames"
    UNCLEAR = "may remove rows"


class Effect(NamedTuple):
    """The effect of a statement on tables.

    The names of databases and schemas that are dropped end in `EVERY`. A rename has old and new names in turns. A
    truncate has no names if they are not understood.
    """

    what: What
    names: tuple[Name, ...] = ()


def effects_of(sql: str) -> list[Effect]:
    """Return what some statements do to tables; UNCLEAR for a way to remove rows that ggfmt does not understand."""
    found = []
    for words in _statements(sql):
        has_body = words.next in ("ALTER", "CREATE") and not _WITH_BODY.isdisjoint(takewhile("(".__ne__, words.rest))
        effect = _effect(words)
        if has_body:  # which contains the statements that follow
            break
        if effect is not None:
            found.append(effect)
    return found


def unquoted(part: str) -> str:
    if part[0] not in '`"[':
        return part
    return part[1:-1].replace(part[0] * 2, part[0])


# Returns the full name of a table in a statement; None if the statement does not determine it.
Resolve = Callable[[Effect, Name], str | None]


def statement(word: str | None, effects: Iterable[Effect], resolve: Resolve, head: Change) -> Statement:
    """Return the statement with some effects.

    head  a truncate of the table of the record, with the time, the position and the transaction of the statement
    """
    emptied: list[Change] = []
    warnings: list[Diagnostic] = []
    for effect in effects:
        names = [resolve(effect, name) for name in effect.names]
        if effect.what is What.UNCLEAR or not names or None in names:
            warnings.append(unclear(head.table))
        elif effect.what is What.RENAME:
            warnings += (renamed(str(old), f"`{new}`") for old, new in zip(names[::2], names[1::2], strict=True))
        else:
            emptied += (head._replace(table=name) for name in names if name is not None)
    return Statement(word, tuple(emptied), tuple(warnings))


def in_database(database: str | None) -> Resolve:
    """Return how names are resolved that have at most a database before the table."""

    def resolve(effect: Effect, name: Name) -> str:
        *before, table = map(unquoted, name)
        return join_name(before[-1] if before else database, table)

    return resolve


def renamed(old: str, new: str) -> Diagnostic:
    help = f"rows before the statement stay in `{old}`; move them if that is wrong"
    return Diagnostic("GG327", f"the source renames `{old}` to {new}", Span(table=old), help)


def unclear(table: str | None) -> Diagnostic:
    help = "compare the rows with the source, for example with `ggfmt compare`"
    return Diagnostic(
        "GG328", "a statement may remove rows, and ggfmt does not understand it", Span(table=table or None), help
    )


class _Words:
    """The tokens of a statement. Names keep their quotes, so that they are no words."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._upper = [token.upper() for token in tokens]
        self._place = 0

    @property
    def rest(self) -> list[str]:
        return self._upper[self._place :]

    @property
    def next(self) -> str:
        return self.after(0)

    def after(self, count: int) -> str:
        place = self._place + count
        return self._upper[place] if place < len(self._upper) else ""

    def skip(self) -> None:
        self._place += 1

    def take(self, *words: str) -> bool:
        there = tuple(map(self.after, range(len(words)))) == words
        self._place += len(words) if there else 0
        return there

    def take_any(self, *words: str) -> bool:
        return any(self.take(word) for word in words)

    def name(self) -> Name | None:
        parts = []
        while self.next[:1].isalnum() or (self.next != "[" and self.next[:1] in {*'`"[_$@'}):
            parts.append(self._tokens[self._place])
            self.skip()
            if not self.take("."):
                return tuple(parts)
        return None

    def names(self) -> tuple[Name, ...]:
        """Pass over names with commas between them and return them; empty if one of them is no name."""
        found = []
        while True:
            self.take("ONLY")
            name = self.name()
            if name is None:
                return ()
            found.append(name)
            self.take(EVERY)
            if not self.take(","):
                return tuple(found)


def _statements(sql: str) -> Iterator[_Words]:
    tokens: list[str] = []
    for match in _TOKEN.finditer(sql):
        token = match["name"] or match["mark"]
        if token == ";":
            yield _Words(tokens)
            tokens = []
        elif token:
            tokens.append(token)
    if tokens:
        yield _Words(tokens)


def _effect(words: _Words) -> Effect | None:
    if words.take("TRUNCATE"):
        if words.next == "CLUSTER":
            return None
        words.take("TABLE")
        return Effect(What.TRUNCATE, words.names())
    if words.take("DROP"):
        return _drop(words)
    if words.take("CREATE"):
        return _create(words)
    if words.take("RENAME"):
        return None if not words.take_any("TABLE", "TABLES") and words.next in _NOT_TABLES else _rename(words)
    if words.take("ALTER"):
        return _alter(words)
    rest = words.rest
    hidden = any(pair in (("DROP", "TABLE"), ("TRUNCATE", "TABLE")) for pair in pairwise(rest))
    return Effect(What.UNCLEAR) if hidden or "SP_RENAME" in rest else None


def _drop(words: _Words) -> Effect | None:
    words.take("FOREIGN")
    what = What.DROP
    if words.take("DATABASE"):
        what = What.DROP_DATABASE
    elif words.take("SCHEMA"):
        what = What.DROP_SCHEMA
    elif not words.take_any("TABLE", "TABLES"):
        return Effect(What.UNCLEAR) if words.next in _WITH_TABLES else None
    words.take("IF", "EXISTS")
    names = words.names()
    if not names or not all(token[0].isalnum() for token in words.rest):
        return Effect(What.UNCLEAR)
    return Effect(what, names if what is What.DROP else tuple((*name, EVERY) for name in names))


def _create(words: _Words) -> Effect | None:
    words.take("OR", "REPLACE")
    words.take_any(*_KINDS_OF_TABLE)
    if not words.take("TABLE") or words.take("IF", "NOT", "EXISTS"):  # or it is a temporary one
        return None
    name = words.name()
    return Effect(What.UNCLEAR) if name is None else Effect(What.CREATE, (name,))


def _rename(words: _Words) -> Effect:
    names = []
    while True:
        words.take("IF", "EXISTS")
        old = words.name()
        while words.next not in ("TO", ",", ""):  # how long to wait for locks
            words.skip()
        new = words.name() if words.take("TO") else None
        if old is None or new is None:
            return Effect(What.UNCLEAR)
        names += [old, new]
        if not words.take(","):
            return Effect(What.RENAME, tuple(names))


def _alter(words: _Words) -> Effect | None:
    words.take_any("ONLINE", "OFFLINE")
    words.take("IGNORE")
    words.take("FOREIGN")
    if not words.take("TABLE"):
        of_tables = words.next in ("DATABASE", "SCHEMA")
        return Effect(What.UNCLEAR) if of_tables and "RENAME" in words.rest else None
    words.take("IF", "EXISTS")
    words.take("ONLY")
    old = words.name()
    if old is None:
        return Effect(What.UNCLEAR)
    while words.next:
        if words.take("RENAME"):
            to = words.take_any("TO", "AS", "=")
            if not to and words.next in _NOT_TABLES:
                continue
            new = words.name()
            if to or words.next != "TO":  # otherwise it is the name of a column
                return Effect(What.UNCLEAR) if new is None else Effect(What.RENAME, (old, new))
        elif words.take("SET", "SCHEMA"):
            new = words.name()
            return Effect(What.UNCLEAR) if new is None else Effect(What.RENAME, (old, (*new, old[-1])))
        elif words.next == "SWITCH" or (words.next in _OF_PART and words.after(1) in _PARTS):
            return Effect(What.UNCLEAR)
        else:
            words.skip()
    return None
