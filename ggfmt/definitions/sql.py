"""Table definitions from SQL: `CREATE TABLE` as Oracle, PostgreSQL, MySQL, SQL Server and Db2 write it.

Of a statement, the names, types, `NOT NULL` and the primary key count. The key may also come later, as pg_dump writes
it: `ALTER TABLE ... ADD PRIMARY KEY`. A statement that changes columns later is a problem, all else is ignored. The
dialect of a file is the one that a comment states (`-- ggfmt: dialect=oracle`), or one that the file shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import chain, zip_longest
from typing import NamedTuple

from ggfmt.definitions.source import DefinitionFile
from ggfmt.diagnostics.diagnostic import list_names
from ggfmt.lazy import lazy_regex
from ggfmt.model.table import Column, SqlType, TableDef, join_name, name_parts
from ggfmt.model.type_names import type_of

CREATE = lazy_regex(r"^\s*create\s[^;('\"]*?\btable\b", re.IGNORECASE | re.MULTILINE)

_TOKEN = lazy_regex(
    r"""--[^\n]*|/\*.*?\*/|\s+
    |(?im:^copy\s[^;]*\sfrom\s+stdin\b[^;]*;.*?^\\\.\s*$)
    |(?P<text>'(?:[^']|'')*'|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$)
    |(?P<quoted>"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\W\d][^\]]*\])
    |(?P<word>[\w$\#@]+)
    |(?P<mark>.)""",
    re.DOTALL | re.VERBOSE,
)
# Of MySQL, where a backslash hides a quote, and a comment can start with #
_MYSQL_TOKEN = lazy_regex(
    _TOKEN.pattern.replace("(?:[^']|'')*", r"(?:[^'\\]|''|\\.)*").replace("--", r"(?:--|\#)", 1), re.DOTALL | re.VERBOSE
)
_DIALECT = lazy_regex(r"^[ \t]*(?:--+|#|/\*+|rem) *ggfmt: *dialect *= *(\w+)", re.IGNORECASE | re.MULTILINE)
# What only one system writes: in comments of its tools, and in statements without comments and texts
_DUMPS = (
    ("mysql", r"^-- (?:MySQL|MariaDB) dump\b"),
    ("postgres", r"^-- PostgreSQL database dump\b"),
    ("sqlserver", r"^/\*+ Object: "),
    ("db2", r"\bdb2look\b"),
)
_SIGNS = (
    ("hive", r"\bstored\s+as\b|\btblproperties\b|\brow\s+format\b"),
    ("mysql", r"`|\bauto_increment\b"),
    ("db2", r"\b(?:decfloat|dbclob|vargraphic|for bit data|not logged|organize by|data capture|ccsid)\b|\bgraphic \("),
    (
        "oracle",
        r"\bn?varchar2\b|\bn?clob\b|\bbinary_(?:float|double)\b|"
        r"[\w\"] number (?:[(,)]|not\b|null\b|default\b|enable\b)",
    ),
    ("sqlserver", r"[(,.] \[[^\W\d]|\bidentity \( [0-9]|\bdbo \.|\b(?:datetime2|datetimeoffset|uniqueidentifier)\b"),
)
# Without a sign, the first dialect that knows all types
_GUESSES = ("postgres", "sqlserver", "mysql", "oracle", "db2")
_CONSTRAINTS = {"constraint", "primary", "unique", "foreign", "check", "like"}  # no system has columns of these names
_MYSQL_CONSTRAINTS = {"key", "index", "fulltext", "spatial"}
_OTHER_CONSTRAINTS = {("period", "for"), ("exclude", "using"), ("supplemental", "log")}
# What may follow in `ALTER TABLE` without a change of columns
_OTHER_PARTS = _CONSTRAINTS | _MYSQL_CONSTRAINTS | {"supplemental", "default", "partition", "exclude", "period"}
_AFTER_TYPE = {"not", "null", "default", "primary", "unique", "key", "comment", "auto_increment", "generated", "enable"}
_AFTER_TYPE |= {"references", "check", "collate", "constraint", "identity", "as", "on", "invisible", "visible"}
_AFTER_TYPE |= {"encode", "storage", "compression", "disable", "sparse", "rowguidcol", "virtual", "stored", "persisted"}
_AFTER_TYPE |= {"column_format", "srid", "masked", "encrypted", "encrypt", "hidden", "sort", "inline", "logged"}
_AFTER_TYPE |= {"compact", "filestream", "index", "options", "implicitly", "reservable", "persistent", "family"}
_AFTER_TYPE |= {"distkey", "sortkey", "autoincrement", "masking", "tag", "title", "format", "casespecific", "compress"}
_CREATE_WORDS = ("create", "or", "replace", "editionable", "noneditionable")
_MAX_WORDS = 12  # before the name of a table


class _Token(NamedTuple):
    kind: str  # text, quoted, word or mark
    text: str
    start: int
    word: str = ""  # in lower case; empty for all else


def parse_sql(source: DefinitionFile) -> list[TableDef]:
    """Return the tables of a file of statements. Problems are GG202."""
    tokens = _tokens(source.text, _TOKEN)
    shown = " ".join(token.text for token in tokens if token.kind != "text")
    stated = _DIALECT.search(source.text)
    dumps = (name for name, sign in _DUMPS if re.search(sign, source.text, re.IGNORECASE | re.MULTILINE))
    signs = (name for name, sign in _SIGNS if re.search(sign, shown, re.IGNORECASE))
    dialect = stated[1].lower() if stated else next(chain(dumps, signs), "")
    if dialect == "hive":
        help = "give the definitions of the source: its SQL, or the files from which the table of Hive was made"
        source.problem("the file defines tables of Hive, whose names differ from the names in the source", help)
        return []
    if stated and dialect not in _GUESSES:
        place = source.place(stated.start(1))
        help = f"write one of {list_names(_GUESSES)}"
        source.problem(f"the dialect `{stated[1]}` is not known", help, line=place[0], column=place[1])
        return []
    # Db2 has CLOB too.
    candidates = _GUESSES if not dialect else ("oracle", "db2") if dialect == "oracle" and not stated else (dialect,)
    parsed = []
    for candidate in candidates:
        trial = copy(source)
        trial.problems = []
        parsed.append((_tables(trial, tokens, candidate), trial.problems))
        if not any(column.type.unknown for table in parsed[-1][0] for column in table.columns):
            break
    else:
        del parsed[1:]
    tables, problems = parsed[-1]
    source.problems += problems
    return tables


def _tables(source: DefinitionFile, tokens: Sequence[_Token], dialect: str) -> list[TableDef]:
    if dialect == "mysql":
        tokens = _tokens(source.text, _MYSQL_TOKEN)
    own_types: dict[str, SqlType] = {}  # that the file creates, by the last part of the name
    tables: dict[str, TableDef] = {}
    database = ""  # of MySQL, where dumps name it by `USE`
    for statement in _statements(tokens):
        if dialect == "mysql" and statement[0].word == "use":
            database, _ = _name(statement, 1, dialect)
        place = _after_type_word(statement)
        if place:
            own, place = _name(statement, place, dialect)
            place += statement[place : place + 1] != [] and statement[place].word in ("as", "from")
            own_types[name_parts(own)[-1].lower()] = replace(_type(statement[place:], dialect, own_types), unknown="")
        place = _after_table(statement)
        name, place = _name(statement, place, dialect) if place else ("", 0)
        if not name:
            continue
        if database and len(name_parts(name)) == 1:
            name = f"{database}.{name}"
        if statement[0].word == "alter":
            if name not in tables:
                continue
            if (change := _change(statement[place:], tables[name], dialect, own_types)) is not None:
                message = f"`ALTER TABLE` changes the columns of the table later (`{change}`)"
                help = "define the table as it is now by one `CREATE TABLE`, as a dump of the database has it"
                source.problem(message, help, line=source.place(statement[0].start)[0], column=1, table=name)
            if key := _key(statement, dialect):
                tables[name] = tables[name].with_keys(key)
        elif statement[place : place + 1] and statement[place].text == "(":
            line = source.place(statement[0].start)[0]
            entries = _entries(statement[place:])
            if entries is None:
                source.problem("no parenthesis ends the list of columns", line=line, column=1, table=name)
                continue
            columns = [_column(entry, dialect, own_types) for entry in entries if not _is_constraint(entry, dialect)]
            for parent in _parents(entries, statement, dialect):
                known = tables[parent].columns if parent in tables else ()
                if not known:
                    message = f"it has the columns of `{parent}`, which the file does not define before it"
                    source.problem(message, line=line, column=1, table=name)
                inherited = {column.name for column in known}
                columns = [*known, *(column for column in columns if column.name not in inherited)]
            key = [name for entry in entries for name in _key(entry, dialect)]
            table = source.table(name, columns, line)
            if table is not None:
                tables[table.full_name] = table.with_keys(key or None)
    return list(tables.values())


def _tokens(text: str, pattern: re.Pattern[str]) -> list[_Token]:
    tokens = []
    for found in pattern.finditer(text):
        if kind := found.lastgroup:
            shown = found[0]
            tokens.append(_Token(kind, shown, found.start(), shown.lower() if kind == "word" else ""))
    return tokens


def _statements(tokens: Sequence[_Token]) -> Iterator[list[_Token]]:
    statement: list[_Token] = []
    depth = 0
    for token, following in zip_longest(tokens, tokens[1:]):
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        # Not each tool ends its statements by a semicolon.
        ends = token.text == ";" or (token.text == "/" and depth == 0)
        starts = token.word == "create" or (token.word == "alter" and following and following.word == "table")
        if statement and (ends or (depth == 0 and starts)):
            yield statement
            statement, depth = [], 0
        if not ends:
            statement.append(token)
    if statement:
        yield statement


def _after_table(statement: Sequence[_Token]) -> int:
    """Return the place of the name of a table that a statement creates or alters; 0 for other statements."""
    words = [token.word for token in statement[:_MAX_WORDS]]
    if words[0] not in ("create", "alter") or "table" not in words:
        return 0
    place = words.index("table") + 1
    while words[place : place + 1] and words[place] in ("if", "not", "exists", "only"):
        place += 1
    return place


def _after_type_word(statement: Sequence[_Token]) -> int:
    """Return the place of the name of a type or a domain that a statement creates; 0 for other statements."""
    words = [token.word for token in statement[:_MAX_WORDS]]
    place = next((at for at, word in enumerate(words) if word not in _CREATE_WORDS), 0)
    return place + 1 if words[0] == "create" and words[place] in ("type", "domain") else 0


def _name(tokens: Sequence[_Token], place: int, dialect: str) -> tuple[str, int]:
    """Return the name of a table that starts at a place, and the place after it."""
    parts = []
    for token, mark in zip_longest(tokens[place::2], tokens[place + 1 :: 2]):
        if token.kind not in ("word", "quoted"):
            break
        parts.append(_identifier(token, dialect))
        if mark is None or mark.text != ".":
            break
    return join_name(*parts), place + max(2 * len(parts) - 1, 0)


def _entries(tokens: Sequence[_Token]) -> list[list[_Token]] | None:
    """Return what is between the commas of a list, whose parenthesis is the first token; None if it has no end."""
    entries: list[list[_Token]] = [[]]
    depth = 0
    for token in tokens:
        depth -= token.text == ")"
        if depth == 0 and token.text == ")":
            return [entry for entry in entries if entry]
        if depth == 1 and token.text == ",":
            entries.append([])
        elif depth:
            entries[-1].append(token)
        depth += token.text == "("
    return None


def _change(tokens: Sequence[_Token], table: TableDef, dialect: str, own: Mapping[str, SqlType]) -> str | None:
    """Return the words in the rest of an `ALTER TABLE` that change columns; None for keys, defaults and the like."""
    opening, closing = (_Token("mark", mark, 0) for mark in "()")
    for part in _entries([opening, *tokens, closing]) or ():
        first, *rest = (token for token in part if token.text != "(")
        names_column = bool(rest) and rest[0].word == "column"
        rest = rest[names_column:]
        if len(rest) < 2 - (first.word == "drop") or (not names_column and rest[0].word in _OTHER_PARTS):
            continue
        second, third = (*(token.word for token in rest[1:3]), "", "")[:2]
        changed = first.word in ("add", "drop", "rename", "change")
        if first.word == "alter":
            changed = second not in ("set", "drop", "add", "reset", "restart") or third == "data"
        elif first.word == "modify" and second not in _AFTER_TYPE:
            column = _column(rest, dialect, own)
            changed = all((column.name, column.type) != (known.name, known.type) for known in table.columns)
        if changed:
            return " ".join(token.text for token in part[:4])
    return None


def _parents(entries: Sequence[Sequence[_Token]], statement: Sequence[_Token], dialect: str) -> list[str]:
    """Return the tables whose columns a table of PostgreSQL has besides its own: `LIKE` and `INHERITS`."""
    words = [token.word for token in statement]
    start = words.index("inherits") if "inherits" in words else len(words)
    named = [*(entry[1:] for entry in entries if entry[0].word == "like"), *(_entries(statement[start + 1 :]) or ())]
    return [_name(tokens, 0, dialect)[0] for tokens in reversed(named)]


def _is_constraint(entry: Sequence[_Token], dialect: str) -> bool:
    first, second = (*(token.word for token in entry[:2]), "")[:2]
    of_mysql = dialect == "mysql" and first in _MYSQL_CONSTRAINTS
    return first in _CONSTRAINTS or of_mysql or (first, second) in _OTHER_CONSTRAINTS


def _key(tokens: Sequence[_Token], dialect: str) -> list[str]:
    """Return the columns of the primary key that a column, a constraint or a statement defines."""
    words = [token.word for token in tokens]
    place = next((at for at in range(len(words)) if words[at : at + 2] == ["primary", "key"]), None)
    if place is None:
        return []
    if words[0] != "alter" and not _is_constraint(tokens, dialect):
        return [_identifier(tokens[0], dialect)]
    start = next((at for at in range(place, len(tokens)) if tokens[at].text == "("), len(tokens))
    return [_identifier(column[0], dialect) for column in _entries(tokens[start:]) or ()]


def _identifier(token: _Token, dialect: str) -> str:
    """Return a name as its database has it: PostgreSQL, Oracle and Db2 fold names without quotes."""
    if token.kind == "quoted":
        end = token.text[-1]
        return token.text[1:-1].replace(2 * end, end)
    fold = {"oracle": str.upper, "db2": str.upper, "postgres": str.lower}.get(dialect, str)
    return fold(token.text)


def _column(entry: Sequence[_Token], dialect: str, own: Mapping[str, SqlType]) -> Column:
    words = [token.word for token in entry]
    required = any(words[at : at + 2] == ["not", "null"] for at in range(len(words))) or bool(_key(entry, dialect))
    return Column(_identifier(entry[0], dialect), _type(entry[1:], dialect, own), not required)


def _type(tokens: Sequence[_Token], dialect: str, own: Mapping[str, SqlType]) -> SqlType:
    """Return the type that tokens begin with. `own`: types that the file creates."""
    words = [*(token.word for token in tokens), ""]
    ends = (
        words[at] in _AFTER_TYPE or (words[at] in ("with", "without") and words[at + 1] not in ("time", "local"))
        for at in range(len(tokens))
    )
    end = next((at for at, is_end in enumerate(ends) if is_end), len(tokens))
    # SQL Server writes types in brackets.
    texts = [token.text[1:-1] if token.text[0] == "[" != token.text else token.text for token in tokens[:end]]
    type = type_of(" ".join(texts), dialect)
    last = re.sub(r"[\"`\[\]]", "", "".join(texts)).rpartition(".")[2].lower()
    return own.get(last, type) if type.unknown else type
