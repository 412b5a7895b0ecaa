"""Templates for the names of files and directories: `${fullyQualifiedTableName}_${currentTimestamp}.json`.

The keywords are those of the File Writer and HDFS handlers of GoldenGate for Big Data, in any case; all else is text,
and nothing escapes a `${`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from ggfmt.diagnostics.diagnostic import suggestion
from ggfmt.java.date_format import parse_date_format
from ggfmt.java.text import InvalidValueError, trim, visible
from ggfmt.options.template_pieces import (
    TABLE_NAMES,
    UNKNOWN_VALUES,
    Case,
    ColumnValue,
    GroupName,
    Literal,
    NameContext,
    Number,
    Piece,
    Regex,
    StaticMap,
    Substring,
    TableName,
    Timestamp,
    UnknownValue,
    shown,
)
from ggfmt.options.value_types import ValueType, unwrap_cdata

_DEFAULT_MASK = "yyyy-MM-dd_HH-mm-ss.SSS"
_ENDING = re.compile(r"\.(?=[0-9]*[A-Za-z])[A-Za-z0-9]{1,20}$")
_ROOTED = re.compile(r"[/\\]|[A-Za-z]:|[A-Za-z][A-Za-z0-9+.-]*://")

# What a file that holds many operations has no value for.
_OF_AN_OPERATION = ("primaryKeys", "position", "opType", "opTimestamp", "xid", "csn", "token", "null")


@dataclass(frozen=True)
class NameTemplate:
    """A template as it was given, and the pieces of it."""

    source: str
    pieces: tuple[Piece, ...] = field(compare=False, repr=False)

    def all(self) -> Iterator[Piece]:
        for piece in self.pieces:
            yield from piece.all()

    def show(self, facts: NameContext) -> str:
        """IllegalValue if the facts lack something that it asks for."""
        return shown(self.pieces, facts)

    def show_numbered(self, facts: NameContext) -> str:
        """The same with `NUMBER` before the last suffix, of those that the template itself has, or at the end."""
        return shown(_numbered(self.pieces), facts)

    @property
    def names_table(self) -> bool:
        return any(isinstance(piece, TableName | StaticMap) for piece in self.all())

    @property
    def names_group(self) -> bool:
        return any(isinstance(piece, GroupName) for piece in self.all())

    @property
    def column_values(self) -> tuple[ColumnValue, ...]:
        return tuple(piece for piece in self.all() if isinstance(piece, ColumnValue))

    @property
    def unknown_values(self) -> tuple[UnknownValue, ...]:
        return tuple(piece for piece in self.all() if isinstance(piece, UnknownValue))

    @property
    def is_absolute(self) -> bool:
        """Whether it says where a path starts: at the root, at a drive, or at a store."""
        return _ROOTED.match(self.source) is not None


def _numbered(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    last = pieces[-1] if pieces else None
    if isinstance(last, Case):
        return (*pieces[:-1], replace(last, inner=_numbered(last.inner)))
    if isinstance(last, Literal) and (ending := _ENDING.search(last.text)):
        return (*pieces[:-1], Literal(last.text[: ending.start()]), Number(), Literal(ending[0]))
    return (*pieces, Number())


def parse_template(text: str) -> NameTemplate:
    """The template; InvalidValueError that says what is wrong with it."""
    return NameTemplate(text, _pieces(text))


def _pieces(text: str) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    at = 0
    while (start := text.find("${", at)) >= 0:
        if start > at:
            pieces.append(Literal(text[at:start]))
        piece, at = _keyword(text, start)
        pieces.append(piece)
    return (*pieces, Literal(text[at:])) if at < len(text) else tuple(pieces)


def _keyword(text: str, start: int) -> tuple[Piece, int]:
    """The keyword that starts with the `${` at `start`, and where it ends."""
    match = re.compile(r"[^\[\]{}$]*").match(text, start + 2)
    assert match is not None
    at, arguments = match.end(), []
    while text[at : at + 1] == "[":
        end = _closing(text, at)
        arguments.append(text[at + 1 : end])
        at = end + 1
    if text[at : at + 1] != "}":
        shown = visible(text[start : start + 40])
        raise InvalidValueError(
            f"has a `${{` that is not closed: `{shown}`", "close it with `}`, and each `[` with `]`"
        )
    return _piece(trim(match[0]), arguments), at + 1


def _closing(text: str, start: int) -> int:
    """Where the bracket at `start` is closed; one behind a backslash does not count."""
    depth, at = 0, start
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] in "[]":
            depth += 1 if text[at] == "[" else -1
            if not depth:
                return at
        at += 1
    shown = visible(text[start : start + 40])
    raise InvalidValueError(f"has a `[` that is not closed: `{shown}`", "close it with `]`")


def _piece(name: str, arguments: list[str]) -> Piece:
    folded = name.lower()
    for known in _OF_AN_OPERATION:
        if known.lower() == folded:
            message = f"names `${{{known}}}`, which is of one operation: a file holds many"
            raise InvalidValueError(
                message, "name files by the table, by the time, or by what `partitioner` divides them"
            )
    for known in UNKNOWN_VALUES:
        if known.lower() == folded:
            return UnknownValue(known)
    found = next((known for known in _KEYWORDS if known.lower() == folded), None)
    if found is None:
        near = suggestion(name, [*_KEYWORDS, *UNKNOWN_VALUES])
        help = f"keywords are {', '.join(f'`{known}`' for known in _KEYWORDS)}"
        raise InvalidValueError(f"has no keyword `${{{visible(name)}}}`", f"{help}; {near}" if near else help)
    least, most, make = _KEYWORDS[found]
    if not least <= len(arguments) <= most:
        wanted = str(least) if least == most else f"{least} to {most}"
        message = f"gives `${{{found}}}` {len(arguments)} texts in brackets: it takes {wanted}"
        raise InvalidValueError(message, _EXAMPLES.get(found))
    return make(found, arguments)


def _timestamp(_: str, arguments: list[str]) -> Piece:
    return Timestamp(parse_date_format(arguments[0] if arguments and arguments[0] else _DEFAULT_MASK))


def _static_map(_: str, arguments: list[str]) -> Piece:
    return StaticMap(_by_table("staticMap", arguments[0]), arguments[1] if len(arguments) > 1 else None)


def _column_value(_: str, arguments: list[str]) -> Piece:
    column = trim(arguments[0])
    columns = _by_table("columnValue", column) if "=" in column else ()
    if not column or not all(name for _, name in columns):
        raise InvalidValueError("has a `${columnValue[]}` without a column", _EXAMPLES["columnValue"])
    null, missing = (*arguments[1:], None, None)[:2]
    return ColumnValue("" if columns else column, columns, null, missing)


def _by_table(keyword: str, text: str) -> tuple[tuple[str, str], ...]:
    """`SCHEMA.T1=a,SCHEMA.T2=b`."""
    pairs = []
    for part in text.split(","):
        table, equals, value = map(trim, part.partition("="))
        if not table or not equals:
            message = f"has `{visible(trim(part))}` in a `${{{keyword}[]}}`, which is no table with a value"
            raise InvalidValueError(message, _EXAMPLES[keyword])
        pairs.append((table, value))
    twice = next((table for table, _ in pairs if [other for other, _ in pairs].count(table) > 1), None)
    if twice is not None:
        raise InvalidValueError(f"has `{visible(twice)}` twice in a `${{{keyword}[]}}`", "remove one of them")
    return tuple(pairs)


def _case(keyword: str, arguments: list[str]) -> Piece:
    return Case(_pieces(arguments[0]), keyword == "toUpperCase")


def _substring(_: str, arguments: list[str]) -> Piece:
    bounds = [trim(bound) for bound in arguments[1:] if trim(bound)]
    if not bounds or not all(re.fullmatch("[0-9]{1,9}", bound) for bound in bounds):
        raise InvalidValueError("has a `${substring[]}` without whole numbers", _EXAMPLES["substring"])
    start, end = (*map(int, bounds), None)[:2]
    assert start is not None
    return Substring(_pieces(arguments[0]), start, end)


def _regex(_: str, arguments: list[str]) -> Piece:
    # Most templates have none, and it takes a while to load.
    from ggfmt.java.regex import translate
    from ggfmt.java.replacement import Replacement

    try:
        return Regex(_pieces(arguments[0]), Replacement(translate(arguments[1]), arguments[2]))
    except InvalidValueError as error:
        raise InvalidValueError(f"has a `${{regex[]}}` that {error}", error.help) from None


# By keyword: how few and how many texts stand in brackets behind it, and what makes a piece of them.
_KEYWORDS: dict[str, tuple[int, int, Callable[[str, list[str]], Piece]]] = {
    **{name: (0, 0, lambda keyword, _: TableName(keyword)) for name in TABLE_NAMES},
    "groupName": (0, 0, lambda *_: GroupName()),
    "emptyString": (0, 0, lambda *_: Literal("")),
    "currentTimestamp": (0, 1, _timestamp),
    "staticMap": (1, 2, _static_map),
    "columnValue": (1, 3, _column_value),
    "toLowerCase": (1, 1, _case),
    "toUpperCase": (1, 1, _case),
    "substring": (2, 3, _substring),
    "regex": (3, 3, _regex),
}
_EXAMPLES = {
    "staticMap": "write `${staticMap[S.T1=one,S.T2=two][others]}`",
    "columnValue": "write `${columnValue[COUNTRY]}`, or `${columnValue[S.T1=COUNTRY,S.T2=CODE][no value][no column]}`",
    "toLowerCase": "write `${toLowerCase[${tableName}]}`",
    "toUpperCase": "write `${toUpperCase[${tableName}]}`",
    "substring": "write `${substring[${tableName}][0][8]}`",
    "regex": "write `${regex[${tableName}][_OLD][]}`",
    "currentTimestamp": "write `${currentTimestamp[yyyy-MM-dd]}`",
}


class PathTemplate(ValueType[NameTemplate]):
    """A template for directories, which `/` divides."""

    @property
    def legal(self) -> str:
        return "a template for a path"

    def parse(self, text: str) -> NameTemplate:
        template = parse_template(unwrap_cdata(text))
        for own in (own for piece in template.all() for own in piece.texts):
            if not own.isprintable():
                raise InvalidValueError("has a character that does not print", "remove it")
            self._check(own)
        return template

    def render(self, value: NameTemplate) -> str:
        return value.source

    def _check(self, text: str) -> None:
        check_inside(text)


class FileNameTemplate(PathTemplate):
    """A template for the name of a file."""

    @property
    def legal(self) -> str:
        return "a template for the name of a file, without `/`"

    def _check(self, text: str) -> None:
        if "/" in text:
            raise InvalidValueError(
                "has a `/`, which the name of a file cannot have", "put it into `pathMappingTemplate`"
            )


def check_inside(path: str) -> None:
    """IllegalValue for a path that goes up."""
    if ".." in re.split(r"[/\\]", path):
        raise InvalidValueError("has `..`, which would leave the output directory", "remove it")


@dataclass(frozen=True)
class HexBytes(ValueType[str]):
    @property
    def legal(self) -> str:
        return "bytes as hexadecimal digits, two for each, such as `efbbbf`"

    def parse(self, text: str) -> str:
        if not re.fullmatch("(?:[0-9A-Fa-f]{2})+", text):
            raise InvalidValueError("is not an even number of hexadecimal digits", f"give {self.legal}")
        return text.lower()
