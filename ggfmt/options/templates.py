"""Templates for names of files and directories: `${fullyQualifiedTableName}_${currentTimestamp}.json`.

The keywords are those of the File Writer and HDFS handlers of GoldenGate for Big Data; case does not matter. Everything
else is text, and there is no escape for `${`. Text that comes from data never creates a directory: a `/` in it becomes
`DATA_SLASH`, which no template can contain.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.diagnostic import did_you_mean, list_names, suggestion
from ggfmt.java.text import InvalidValueError, UnsupportedValueError, trim, visible
from ggfmt.lazy import lazy_regex
from ggfmt.options.value_types import Text, ValueType, unwrap_cdata

if TYPE_CHECKING:
    from ggfmt.java.date_format import DateFormat
    from ggfmt.java.replacement import Replacement

DATA_SLASH = "\0"
NUMBER = "\x01"  # placeholder for the number of a file

TABLE_NAMES = ("fullyQualifiedTableName", "catalogName", "schemaName", "tableName")

# Keywords of GoldenGate for which ggfmt has no value.
UNKNOWN_VALUES = {
    "custom": "calls a Java class, which ggfmt cannot run",
    "env": "is a variable of the machine that GoldenGate runs on",
    "javaProp": "is a property of the Java process of GoldenGate",
    "static": "is not known well enough to ggfmt",
    "concat": "is not known well enough to ggfmt",
    "uuid": "is another one each time, so that a run could not be repeated",
}

# Counts of the operations in a file, by the operation type; empty for all.
COUNTS = {"operationCount": "", "insertCount": "I", "updateCount": "U", "deleteCount": "D", "truncateCount": "T"}


@dataclass(frozen=True)
class TemplateValue:
    """The value of a column, if it is `present`; `text` is None for NULL."""

    present: bool
    text: str | None = None


@dataclass(frozen=True)
class NameContext:
    """The input of names.

    moment  time in UTC
    table   full name of a table and its `parts`; empty for a file of all tables
    values  the columns that divide files, by name in capitals
    counts  operations in the file by type; empty for a file that is not full yet
    """

    moment: datetime
    table: str = ""
    parts: tuple[str, ...] = ()
    group: str = ""
    values: Mapping[str, TemplateValue] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)


class MissingValueError(InvalidValueError):
    """An operation has a value for which the template defines no name."""


class Piece(ABC):
    """A piece of a template: a keyword or text, the pieces within it, and its literal texts.

    `keyword`: that of a value; empty for text, and for what changes the text of other pieces.
    """

    keyword: str = ""

    @property
    def within(self) -> tuple[Piece, ...]:
        return ()

    @abstractmethod
    def show(self, context: NameContext) -> str:
        """Return the text of the piece. Raises: InvalidValueError if it has none in this context."""

    @property
    def texts(self) -> tuple[str, ...]:
        return ()

    def all(self) -> Iterator[Piece]:
        yield self
        for piece in self.within:
            yield from piece.all()


@dataclass(frozen=True)
class Literal(Piece):
    text: str

    def show(self, context: NameContext) -> str:
        return self.text

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.text,)


@dataclass(frozen=True)
class NamePiece(Piece):
    keyword: str

    def show(self, context: NameContext) -> str:
        if self.keyword == "fullyQualifiedTableName":
            return escape_data(context.table)
        place = TABLE_NAMES.index(self.keyword) - len(TABLE_NAMES)
        return escape_data(context.parts[place]) if len(context.parts) >= -place else ""


@dataclass(frozen=True)
class GroupName(Piece):
    keyword = "groupName"

    def show(self, context: NameContext) -> str:
        return escape_data(context.group)


@dataclass(frozen=True)
class Timestamp(Piece):
    keyword = "currentTimestamp"
    mask: DateFormat

    def show(self, context: NameContext) -> str:
        return self.mask.show(context.moment)

    @property
    def texts(self) -> tuple[str, ...]:
        return self.mask.texts


@dataclass(frozen=True)
class Count(Piece):
    """A count of operations; 0 where a file gets its first name, as in GoldenGate."""

    keyword: str

    def show(self, context: NameContext) -> str:
        kind = COUNTS[self.keyword]
        return str(context.counts.get(kind, 0) if kind else sum(context.counts.values()))


@dataclass(frozen=True)
class StaticMap(Piece):
    """A text for each table, by full name; `default`: for all other tables."""

    keyword = "staticMap"
    names: tuple[tuple[str, str], ...]
    default: str | None

    def show(self, context: NameContext) -> str:
        text = dict(self.names).get(context.table, self.default)
        if text is None:
            raise InvalidValueError(
                "`${staticMap[]}` has no text for the table", "add the table, or a text for all others"
            )
        return text

    @property
    def texts(self) -> tuple[str, ...]:
        return (*(text for _, text in self.names), self.default or "")


@dataclass(frozen=True)
class ColumnValue(Piece):
    """The value of a column, for all tables or by table; `null` and `missing`: the texts for those, if given."""

    keyword = "columnValue"
    column: str
    columns: tuple[tuple[str, str], ...]
    null: str | None
    missing: str | None

    def column_of(self, table: str) -> str | None:
        return dict(self.columns).get(table) if self.columns else self.column

    def show(self, context: NameContext) -> str:
        column = self.column_of(context.table)
        value = None if column is None else context.values.get(column.upper())
        if value is None:
            message = "`${columnValue[]}` names no column that `partitioner` has for the table"
            raise InvalidValueError(message, "files have the value of a column only where each value has its own")
        if value.text is not None:
            return escape_data(value.text)
        text = self.null if value.present else self.missing
        if text is None:
            where, bracket = ("is NULL", "second") if value.present else ("is missing", "third")
            message = f"column `{column}`, which names its file, {where}"
            raise MissingValueError(message, f"give a text for that in a {bracket} bracket of `${{columnValue[]}}`")
        return text

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.null or "", self.missing or "")


@dataclass(frozen=True)
class UnknownValue(Piece):
    keyword: str

    @property
    def reason(self) -> str:
        return UNKNOWN_VALUES[self.keyword]

    def show(self, context: NameContext) -> str:
        raise InvalidValueError(f"`${{{self.keyword}}}` {self.reason}")


@dataclass(frozen=True)
class OfOperation(Piece):
    """A keyword of a single operation, with its argument."""

    keyword: str
    argument: str | None = None

    def show(self, context: NameContext) -> str:
        raise AssertionError("names of files have no keyword of one operation")


@dataclass(frozen=True)
class Wrapper(Piece):
    inner: tuple[Piece, ...]

    @property
    def within(self) -> tuple[Piece, ...]:
        return self.inner

    @abstractmethod
    def change(self, text: str) -> str: ...

    def show(self, context: NameContext) -> str:
        return self.change(render_pieces(self.inner, context))


@dataclass(frozen=True)
class Case(Wrapper):
    upper: bool

    def change(self, text: str) -> str:
        return text.upper() if self.upper else text.lower()


@dataclass(frozen=True)
class Substring(Wrapper):
    """The characters from `start`, counted from 0, up to `end`. GoldenGate leaves a shorter text as it is."""

    start: int
    end: int | None

    def change(self, text: str) -> str:
        end = len(text) if self.end is None else self.end
        return text[self.start : end] if self.start <= end <= len(text) else text


@dataclass(frozen=True)
class Regex(Wrapper):
    replacement: Replacement

    def change(self, text: str) -> str:
        return self.replacement.apply(text)

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.replacement.text,)


class NumberPiece(Piece):
    def show(self, context: NameContext) -> str:
        return NUMBER


def render_pieces(pieces: Sequence[Piece], context: NameContext) -> str:
    return "".join(piece.show(context) for piece in pieces)


def escape_data(text: str) -> str:
    """Return a text from data without characters that divide names; a single dot would be a directory."""
    if text == ".":
        return "%2E"
    return text.replace(DATA_SLASH, "%00").replace(NUMBER, "%01").replace("/", DATA_SLASH)


_DEFAULT_MASK = "yyyy-MM-dd_HH-mm-ss.SSS"
_ENDING = lazy_regex(r"\.(?=[0-9]*[A-Za-z])[A-Za-z0-9]{1,20}$")
_ROOTED = lazy_regex(r"[/\\]|[A-Za-z]:|[A-Za-z][A-Za-z0-9+.-]*://")

# Keywords of a single operation, in templates for messages; a file contains many operations.
OF_AN_OPERATION = ("primaryKeys", "position", "opType", "opTimestamp", "xid", "csn", "token", "null")


@dataclass(frozen=True)
class NameTemplate:
    source: str
    pieces: tuple[Piece, ...] = field(compare=False, repr=False)

    def all(self) -> Iterator[Piece]:
        for piece in self.pieces:
            yield from piece.all()

    def show(self, context: NameContext) -> str:
        """Return the name. Raises: InvalidValueError if the context lacks a value."""
        return render_pieces(self.pieces, context)

    def show_numbered(self, context: NameContext) -> str:
        """Return the name with `NUMBER` before the last suffix of the template itself, or at the end."""
        return render_pieces(_numbered(self.pieces), context)

    @property
    def names_table(self) -> bool:
        return any(isinstance(piece, NamePiece | StaticMap) for piece in self.all())

    @property
    def column_values(self) -> tuple[ColumnValue, ...]:
        return tuple(piece for piece in self.all() if isinstance(piece, ColumnValue))

    @property
    def counts(self) -> bool:
        return any(isinstance(piece, Count) for piece in self.all())

    @property
    def is_absolute(self) -> bool:
        return _ROOTED.match(self.source) is not None


def _numbered(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    last = pieces[-1] if pieces else None
    if isinstance(last, Case):
        return (*pieces[:-1], replace(last, inner=_numbered(last.inner)))
    if isinstance(last, Literal) and (ending := _ENDING.search(last.text)):
        return (*pieces[:-1], Literal(last.text[: ending.start()]), NumberPiece(), Literal(ending[0]))
    return (*pieces, NumberPiece())


def parse_template(text: str) -> NameTemplate:
    """Parse a template for names of files. Raises: InvalidValueError says what is wrong."""
    template = NameTemplate(text, parse_pieces(text))
    for piece in template.all():
        if isinstance(piece, OfOperation):
            message = f"names `${{{piece.keyword}}}`, which is of one operation: a file holds many"
            help = "name files by the table, by the time, or by what `partitioner` divides them"
            raise InvalidValueError(message, help, place_of(text, piece))
    return template


def place_of(text: str, piece: Piece) -> str | None:
    """Return the text of a piece with a keyword, as a template has it."""
    place = re.search(rf"\$\{{\s*{piece.keyword}[^}}]*}}?", text, re.IGNORECASE)
    return place and place[0]


def parse_pieces(text: str) -> tuple[Piece, ...]:
    """Parse a template of any kind. Raises: InvalidValueError says what is wrong."""
    pieces: list[Piece] = []
    at = 0
    while (start := text.find("${", at)) >= 0:
        if start > at:
            pieces.append(Literal(text[at:start]))
        piece, at = _keyword(text, start)
        pieces.append(piece)
    return (*pieces, Literal(text[at:])) if at < len(text) else tuple(pieces)


def _keyword(text: str, start: int) -> tuple[Piece, int]:
    """Return the keyword that starts with the `${` at `start`, and the place after it."""
    match = lazy_regex(r"[^\[\]{}$]*").match(text, start + 2)
    assert match is not None
    at, arguments = match.end(), []
    while text[at : at + 1] == "[":
        end = _closing(text, at)
        arguments.append(text[at + 1 : end])
        at = end + 1
    if text[at : at + 1] != "}":
        shown = visible(text[start : start + 40])
        message = f"has a `${{` that is not closed: `{shown}`"
        raise InvalidValueError(message, "close it with `}`, and each `[` with `]`", text[start:])
    try:
        return _piece(trim(match[0]), arguments), at + 1
    except InvalidValueError as error:
        error.part = error.part or text[start : at + 1]
        raise


def _closing(text: str, start: int) -> int:
    """Return the place of the bracket that closes the one at `start`. A bracket after a backslash does not count."""
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
    raise InvalidValueError(f"has a `[` that is not closed: `{shown}`", "close it with `]`", text[start:])


def _piece(name: str, arguments: list[str]) -> Piece:
    folded = name.lower()
    found = next((known for known in (*UNKNOWN_VALUES, *_KEYWORDS) if known.lower() == folded), None)
    if found in UNKNOWN_VALUES:
        return UnknownValue(found)
    if found is None:
        meant = meant_keyword(name, KEYWORDS, OF_METADATA)
        right = meant and f"${{{meant}{''.join(f'[{argument}]' for argument in arguments)}}}"
        near = f"write `{visible(right)}`" if right else suggestion(name, KEYWORDS)
        help = (
            near or f"keywords are {list_names(name for name in KEYWORDS if name not in (*OF_AN_OPERATION, *COUNTS))}"
        )
        raise InvalidValueError(f"has no keyword `${{{visible(name)}}}`", help, None, right)
    minimum, maximum, make = _KEYWORDS[found]
    if not minimum <= len(arguments) <= maximum:
        expected = str(minimum) if minimum == maximum else f"{minimum} to {maximum}"
        message = f"gives `${{{found}}}` {len(arguments)} texts in brackets: it takes {expected}"
        raise InvalidValueError(message, _EXAMPLES.get(found))
    return make(found, arguments)


def meant_keyword(word: str, keywords: Collection[str], others: Mapping[str, str]) -> str | None:
    """Return the keyword that a word certainly means: in another spelling, or one of `others` in templates for more."""
    plain = re.sub("[_-]", "", word).lower()
    return next((name for name in keywords if name.lower() == plain), None) or others.get(plain)


# Keywords without their `${` and `}`, as in shells and other templates.
_OTHER_MARKS = lazy_regex(
    r"\$(?:\(\s*([\w-]+)\s*[)\[]|\[\s*([\w-]+)\s*\]|([A-Za-z]\w*))|(?<!\$)[%#@]?\{\s*([\w-]+)\s*[}\[]"
    r"|<\s*([\w-]+)\s*>|%([A-Za-z]\w*)%"
)


def find_other_marks(
    text: str, keywords: Collection[str], others: Mapping[str, str]
) -> Iterator[tuple[re.Match[str], str, bool]]:
    """Yield each keyword in other marks than `${}`, with them; the one that is meant; and whether that is certain."""
    for match in _OTHER_MARKS.finditer(text):
        word = next(filter(None, match.groups()))
        meant = meant_keyword(word, keywords, others)
        is_certain = meant is not None and "[" not in (match[0][-1], text[match.end() : match.end() + 1])
        if meant is None:
            meant = did_you_mean(word, keywords, 0.8)
        if meant is not None:
            yield match, meant, is_certain


def _column_value(_: str, arguments: list[str]) -> Piece:
    column = trim(arguments[0])
    columns = _by_table("columnValue", column) if "=" in column else ()
    if not column or not all(name for _, name in columns):
        raise InvalidValueError("has a `${columnValue[]}` without a column", _EXAMPLES["columnValue"])
    null, missing = (*arguments[1:], None, None)[:2]
    return ColumnValue("" if columns else column, columns, null, missing)


def _by_table(keyword: str, text: str) -> tuple[tuple[str, str], ...]:
    """Parse `SCHEMA.T1=a,SCHEMA.T2=b`."""
    pairs = []
    for part in text.split(","):
        table, equals, value = map(trim, part.partition("="))
        if not table or not equals:
            message = f"has `{visible(trim(part))}` in `${{{keyword}[]}}`, not `TABLE=VALUE`"
            raise InvalidValueError(message, _EXAMPLES[keyword])
        pairs.append((table, value))
    twice = next((table for table, _ in pairs if [other for other, _ in pairs].count(table) > 1), None)
    if twice is not None:
        raise InvalidValueError(f"has `{visible(twice)}` twice in a `${{{keyword}[]}}`", "remove one of them")
    return tuple(pairs)


def _primary_keys(keyword: str, arguments: list[str]) -> Piece:
    if arguments:  # the text between the values, in later releases
        raise UnsupportedValueError(f"has `${{{keyword}[]}}` with a text, which ggfmt does not apply", "leave it out")
    return OfOperation(keyword)


def _substring(_: str, arguments: list[str]) -> Piece:
    bounds = [trim(bound) for bound in arguments[1:] if trim(bound)]
    if not bounds or not all(re.fullmatch("[0-9]{1,9}", bound) for bound in bounds):
        raise InvalidValueError("has a `${substring[]}` without whole numbers", _EXAMPLES["substring"])
    start, end = (*map(int, bounds), None)[:2]
    assert start is not None
    return Substring(parse_pieces(arguments[0]), start, end)


def _regex(_: str, arguments: list[str]) -> Piece:
    # Few templates have one, and loading it is slow.
    from ggfmt.java.regex import translate
    from ggfmt.java.replacement import Replacement

    try:
        return Regex(parse_pieces(arguments[0]), Replacement(translate(arguments[1]), arguments[2]))
    except InvalidValueError as error:
        raise type(error)(f"has a `${{regex[]}}` that {error}", error.help) from None


def _timestamp(mask: str) -> Timestamp:
    from ggfmt.java.date_format import parse_date_format

    return Timestamp(parse_date_format(mask))


# By keyword: minimum and maximum number of arguments in brackets, and the function that makes the piece.
_KEYWORDS: dict[str, tuple[int, int, Callable[[str, list[str]], Piece]]] = {
    **{name: (0, 0, lambda keyword, _: NamePiece(keyword)) for name in TABLE_NAMES},
    "groupName": (0, 0, lambda *_: GroupName()),
    "emptyString": (0, 0, lambda *_: Literal("")),
    **{name: (0, 0, lambda keyword, _: Count(keyword)) for name in COUNTS},
    "currentTimestamp": (0, 1, lambda _, given: _timestamp("".join(given) or _DEFAULT_MASK)),
    "staticMap": (1, 2, lambda name, given: StaticMap(_by_table(name, given[0]), given[1] if given[1:] else None)),
    "columnValue": (1, 3, _column_value),
    "toLowerCase": (1, 1, lambda _, given: Case(parse_pieces(given[0]), upper=False)),
    "toUpperCase": (1, 1, lambda _, given: Case(parse_pieces(given[0]), upper=True)),
    "substring": (2, 3, _substring),
    "regex": (3, 3, _regex),
    **{name: (0, 0, lambda keyword, _: OfOperation(keyword)) for name in OF_AN_OPERATION},
    "primaryKeys": (0, 1, _primary_keys),
    "token": (1, 1, lambda keyword, given: OfOperation(keyword, trim(given[0]))),
}
KEYWORDS = (*_KEYWORDS, *UNKNOWN_VALUES)
_IN_FILE = "in the file; 0 in `fileNameMappingTemplate`, because the file is empty when it gets its name"
_OF_MESSAGES = "in templates of messages alone"
MEANINGS = {
    "fullyQualifiedTableName": "the full name of the table, with dots",
    "catalogName": "the first part of a table's name of three parts, else empty",
    "schemaName": "the part of the table's name before the last",
    "tableName": "the last part of the table's name",
    "groupName": "the name of the Replicat group, from `ggfmt.groupName`",
    "emptyString": "no text",
    "operationCount": f"the number of operations {_IN_FILE}",
    **{f"{kind}Count": f"the number of {kind}s {_IN_FILE}" for kind in ("insert", "update", "delete", "truncate")},
    "currentTimestamp": f"the current time, as `{_DEFAULT_MASK}` or by a date mask of Java in brackets",
    "staticMap": "a text for each table, and one for all others in a second bracket",
    "columnValue": "the value of a column; texts for NULL and for missing values in further brackets",
    "toLowerCase": "the template in brackets, in small letters",
    "toUpperCase": "the template in brackets, in capitals",
    "substring": "a part of the template in brackets: the first character, counted from 0, and the one after the last",
    "regex": "the template in brackets, with the matches of a Java regular expression replaced",
    "primaryKeys": f"the values of the primary key, joined by `_`; {_OF_MESSAGES}",
    "position": f"the position in the trail, 20 digits; {_OF_MESSAGES}",
    "opType": f"the type of the operation; {_OF_MESSAGES}",
    "opTimestamp": f"the operation time stamp; {_OF_MESSAGES}",
    "xid": f"the transaction; {_OF_MESSAGES}",
    "csn": f"the commit sequence number; {_OF_MESSAGES}",
    "token": f"the token named in brackets; {_OF_MESSAGES}",
    "null": f"no key or topic at all, which is not an empty text; {_OF_MESSAGES}",
    **UNKNOWN_VALUES,
}

# Keywords of `metaColumnsTemplate` that have other names here.
OF_METADATA = {
    "objectname": "fullyQualifiedTableName",
    "catalog": "catalogName",
    "schema": "schemaName",
    "table": "tableName",
    "timestamp": "opTimestamp",
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
    legal = "a template for a path"

    def parse(self, text: str) -> NameTemplate:
        template = parse_template(unwrap_cdata(text))
        for own in (own for piece in template.all() for own in piece.texts):
            if not own.isprintable():
                raise UnsupportedValueError("has a character that does not print", "remove it")
            self._check(own)
        return template

    def render(self, value: NameTemplate) -> str:
        return value.source

    def _check(self, text: str) -> None:
        check_inside(text)


class FileNameTemplate(PathTemplate):
    legal = "a template for the name of a file, without `/`"

    def _check(self, text: str) -> None:
        if "/" in text:
            raise InvalidValueError(
                "has a `/`, which the name of a file cannot have", "put it into `pathMappingTemplate`"
            )


def check_inside(path: str) -> None:
    """Refuse a path that contains `..`."""
    if ".." in re.split(r"[/\\]", path):
        raise UnsupportedValueError("has `..`, which would leave the output directory", "remove it")


@dataclass(frozen=True)
class HexBytes(ValueType[str]):
    legal = "bytes as hexadecimal digits, two for each, such as `efbbbf`"

    def parse(self, text: str) -> str:
        if not re.fullmatch("(?:[0-9A-Fa-f]{2})+", text):
            raise InvalidValueError("is not an even number of hexadecimal digits", f"give {self.legal}")
        return text.lower()


# Templates for topics, keys, streams and the like: those of Kafka have values, ggfmt checks the keywords of others.
#
# Keywords are compared without regard to case (GoldenGate for Big Data 12.3.2.1, 10.3.5, and later releases).

# Those that have a value in messages of a transaction as a whole; any other keyword then ends GoldenGate's run.
OF_TRANSACTIONS = ("position", "opTimestamp", "emptyString", "groupName", "currentTimestamp", "null")

# Keywords that have no value, or that GoldenGate's manuals do not describe well enough.
_UNKNOWN_VALUES = UNKNOWN_VALUES | {"opType": "may be a letter or a word: what GoldenGate writes is not known"}
_NULL = OfOperation("null")


class MessageTemplate(ValueType[str]):
    """A template for the topic or the key of a message."""

    legal = "a template"

    def parse(self, text: str) -> str:
        read_message_template(text)
        return unwrap_cdata(text)


def read_message_template(text: str) -> NameTemplate:
    """Parse the trimmed value of a template for messages, also with keywords for which ggfmt has no value."""
    text = unwrap_cdata(text)
    template = NameTemplate(text, parse_pieces(text))
    for piece in template.all():
        if isinstance(piece, Count):
            message = f"has `${{{piece.keyword}}}`, which counts the operations of a file: messages are in none"
            raise InvalidValueError(message, "use another keyword", place_of(text, piece))
    return template


def of_one_operation(template: NameTemplate) -> str | None:
    """Return the first keyword that has no value for a transaction as a whole."""
    return next((piece.keyword for piece in template.all() if piece.keyword not in ("", *OF_TRANSACTIONS)), None)


def parse_message_template(text: str) -> tuple[Piece, ...]:
    """Parse the template of topics or keys for messages of one operation each; empty for `${null}` alone.

    Raises: InvalidValueError also for a keyword without a value, and for `${null}` beside something else.
    """
    if not Text().parse(text):
        raise InvalidValueError("is empty", "write `${emptyString}` for an empty text, or `${null}` for no key")
    template = read_message_template(text)
    for piece in template.all():
        reason = _UNKNOWN_VALUES.get(piece.keyword)
        if reason is not None:
            message = f"has `${{{piece.keyword}}}`, which {reason}"
            raise InvalidValueError(message, "use another keyword, or a text of your own", place_of(text, piece))
    nulls = [piece for piece in template.all() if piece == _NULL]
    if nulls and template.pieces != (_NULL,):
        raise InvalidValueError("has `${null}` beside something else", "write `${emptyString}` for no text")
    return () if nulls else template.pieces
