"""Metadata columns of messages: those of `metaColumnsTemplate`, or the fixed ones of earlier releases.

A template is a comma-separated list of items `${keyword[field].argument}`. Without a field, the column has the keyword
in lower case as its name. Case does not matter in keywords. Only some keywords have an argument.

The sources are Oracle's manuals of 19.1 and 21.1 and public handler files. `assumed` marks what no source shows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.diagnostic import list_names, suggestion
from ggfmt.formats.api.format import TEMPLATE, Context, Name
from ggfmt.java.text import InvalidValueError, UnsupportedValueError, trim
from ggfmt.lazy import lazy_regex
from ggfmt.options.releases import RELEASES, Metadata
from ggfmt.options.spec import option
from ggfmt.options.templates import OF_METADATA, find_other_marks, meant_keyword
from ggfmt.options.value_types import ValueType

ALL_TOKENS, KEY_COLUMNS = "alltokens", "primarykeycolumns"  # a map and a list of texts; all others are texts
OP_TYPE, OBJECT_NAME, POSITION, TIMESTAMP = "optype", "objectname", "position", "timestamp"
NOW, NOW_ISO8601 = "currenttimestamp", "currenttimestampiso8601"
VARIABLES = ("env", "sys", "javaprop")


@dataclass(frozen=True)
class Keyword:
    """A keyword of templates.

    title    content of the column, in two or three words
    doc      value of the column
    argument meaning of the argument; empty if there is none
    tokens   names of tokens; the first one that an operation has is the value
    assumed  no public file or message shows it
    refused  why ggfmt does not write it
    """

    name: str
    title: str
    doc: str
    argument: str = ""
    tokens: tuple[str, ...] = ()
    assumed: bool = False
    refused: str = ""


_KEYWORDS = (
    Keyword(
        ALL_TOKENS,
        "Tokens",
        "all tokens of the operation, whether or not the handler has `includeTokens`; with "
        "`gg.includeggtokens`, also the tokens of GoldenGate itself",
    ),
    Keyword("token", "Token", "one token, empty if the token is missing", "the name of the token", assumed=True),
    Keyword(
        "env", "Variable", "a variable of GoldenGate, from `ggfmt.variables`", "the name of the variable", assumed=True
    ),
    Keyword(
        "sys",
        "System variable",
        "a variable of the operating system, from `ggfmt.variables`, else of the machine that starts the run",
        "the name of the variable",
        assumed=True,
    ),
    Keyword(
        "javaprop",
        "Java property",
        "a property of the JVM, from `ggfmt.variables`",
        "the name of the property",
        assumed=True,
    ),
    Keyword(OP_TYPE, "Operation type", "the operation type, as `insertOpKey` and the other operation keys set it"),
    Keyword(POSITION, "Position", "the position in the trail"),
    Keyword("seqno", "Trail number", "the first ten digits of the position, as a number", assumed=True),
    Keyword("rba", "Trail offset", "the rest of the position, as a number", assumed=True),
    Keyword(TIMESTAMP, "Operation timestamp", "the operation time stamp"),
    Keyword("timestampmicro", "Operation timestamp", "the operation time in microseconds since 1970", assumed=True),
    Keyword(NOW, "Current timestamp", "the current time stamp with a blank between date and time"),
    Keyword(NOW_ISO8601, "Current timestamp", "the current time stamp with a `T`", assumed=True),
    Keyword("currenttimestampmicro", "Current timestamp", "the current time in microseconds since 1970", assumed=True),
    Keyword("catalog", "Catalog", "the first part of a three-part table name, else empty", assumed=True),
    Keyword("schema", "Schema", "the part of the table's name before the last"),
    Keyword("table", "Table", "the last part of the table's name"),
    Keyword(OBJECT_NAME, "Table name", "the full name of the table"),
    Keyword(
        "csn",
        "Commit sequence number",
        "the commit sequence number",
        tokens=("csn", "L", "LOGCSN", "commit_scn", "scn", "commit_lsn", "lsn", "commitTs"),
    ),
    Keyword(
        "xid",
        "Transaction",
        "the transaction",
        tokens=("xid", "6", "TRANID", "transaction.id", "transactionId", "txId", "trans", "gtid"),
    ),
    Keyword(
        "opseqno",
        "Number in the transaction",
        "the number of the operation in its transaction",
        tokens=("opseqno", "op_seqno", "transaction.total_order", "xoffset", "transactionEventCounter"),
    ),
    Keyword(
        "txind",
        "Place in the transaction",
        "the place of the operation in its transaction: `B`, `M`, `E` or `W`",
        tokens=("txind", "trans_ind"),
    ),
    Keyword(KEY_COLUMNS, "Key columns", "the names of the primary key's columns"),
    Keyword("primarykeys", "Key values", "the values of the primary key's columns, separated by `_`"),
    Keyword("static", "Text", "the argument itself", "the text", assumed=True),
    Keyword("groupname", "Replicat group", "the name of the Replicat group, from `ggfmt.groupName`", assumed=True),
    Keyword(
        "metadatachanged",
        "Metadata changed",
        "whether the table's metadata has changed",
        assumed=True,
        refused="the value that GoldenGate writes is unknown",
    ),
)
KEYWORDS = {keyword.name: keyword for keyword in _KEYWORDS}

# The tokens of GoldenGate with the id of the transaction. A metadata column `${xid}` is read as the token `xid`, and
# GoldenGate names its token TRANID `6`.
TRANSACTION_TOKENS = ("xid", "6")

# Keywords whose values come from tokens, which the reader must decode.
_OF_TOKENS = frozenset({ALL_TOKENS, "token", *(keyword.name for keyword in _KEYWORDS if keyword.tokens)})

_ITEM = lazy_regex(r"\$\{\s*(\w+)\s*(?:\[([^\]]*)\])?\s*(?:\.(.*))?\}", re.DOTALL)
_FORM = "write items `${keyword[field]}`, separated by commas"


@dataclass(frozen=True)
class MetaColumn:
    """A metadata column: its keyword, the name of its field, and the argument if the keyword has one."""

    keyword: str
    name: str
    argument: str | None = None

    @property
    def title(self) -> str:
        title = KEYWORDS[self.keyword].title
        return title if self.argument is None else f"{title} {self.argument}"

    def __str__(self) -> str:
        field = "" if self.name == self.keyword else f"[{self.name}]"
        return f"${{{self.keyword}{field}{'' if self.argument is None else f'.{self.argument}'}}}"


@dataclass(frozen=True)
class Template(ValueType[tuple[MetaColumn, ...]]):
    legal = "items `${keyword[field]}`, separated by commas"

    def parse(self, text: str) -> tuple[MetaColumn, ...]:
        items = re.split(r",(?![^{]*\})", text)  # not at commas within braces
        columns = tuple(_column(trim(item)) for item in items)
        names = [column.name for column in columns]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            item = str(columns[len(names) - 1 - names[::-1].index(twice)])
            help = "give each field a different name: `${keyword[name]}`"
            raise InvalidValueError(f"has the field `{twice}` twice", help, item)
        return columns

    def render(self, value: tuple[MetaColumn, ...]) -> str:
        return ",".join(map(str, value))


def _column(item: str) -> MetaColumn:
    parts = _ITEM.fullmatch(item)
    if parts is None:
        raise InvalidValueError(f"cannot have the item `{item[:60]}`", *_correction(item))
    word, name, argument = parts.groups()
    keyword = KEYWORDS.get(word.lower())
    if keyword is None:
        meant = meant_keyword(word, KEYWORDS, _meanings())
        help = f"write `${{{meant}}}`" if meant else suggestion(word.lower(), KEYWORDS)
        fixed = FIXED_NAMES.get(word.lower())
        if fixed is not None:
            other = meant_keyword(word, KEYWORDS, {}) or fixed
            help = f"write {' or '.join(f'`${{{one}[{word}]}}`' for one in dict.fromkeys((fixed, other)))}"
        help = help or f"keywords are {list_names(KEYWORDS)}"
        raise InvalidValueError(f"has the unknown keyword `{word}`", help, item)
    if keyword.refused:
        message = f"has the keyword `{word}`, which ggfmt does not write: {keyword.refused}"
        raise UnsupportedValueError(message, "leave it out", item)
    if keyword.argument and not argument:
        help = f"write `${{{keyword.name}[field].ARGUMENT}}`"
        raise InvalidValueError(f"has `{item}` without {keyword.argument}", help, item)
    if argument is not None and not keyword.argument:
        message = f"has `{item}`, and `{keyword.name}` has no argument"
        raise InvalidValueError(message, f"write `${{{keyword.name}}}`", item)
    if name is not None and not trim(name):
        help = "leave out the brackets, or give the field a name"
        raise InvalidValueError(f"has `{item}` with an empty name", help, item)
    return MetaColumn(keyword.name, keyword.name if name is None else trim(name), argument)


def _correction(item: str) -> tuple[str, str, str | None]:
    """Return the help for an item of another form, the item, and what is certainly meant."""
    bare = item.strip("\"'")
    if bare != item:
        return "remove the quotes", item, bare
    for found, meant, is_certain in find_other_marks(item, KEYWORDS, _meanings()):
        return (
            f"write `${{{meant}}}`",
            item,
            f"${{{meant}}}" if is_certain and found[0] == item and meant in item.lower() else None,
        )
    named = meant_keyword(item, KEYWORDS, _meanings())
    return f"write `${{{named}}}`" if named else _FORM, item, None


def _meanings() -> dict[str, str]:
    """Return the keywords here by their names in templates for names, and by the fixed fields of earlier releases."""
    fixed = {name.replace("_", ""): keyword for name, keyword in FIXED_NAMES.items()}
    return {**{there.lower(): here for here, there in OF_METADATA.items()}, **fixed}


def template_option() -> tuple[MetaColumn, ...] | None:
    return option(
        Template(),
        None,
        "The metadata fields of messages in order: a list of `${keyword[field]}`. Default: the fields of the release.",
        since="12.3.2",
        example="${objectname[table]},${optype[op_type]},${position[pos]}",
    )


def columns_of(options: Any, context: Context, *fixed: str) -> tuple[MetaColumn, ...]:
    """Return the metadata columns of messages: those of the template, else the `fixed` ones if the release has them."""
    template: tuple[MetaColumn, ...] | None = options.meta_columns_template
    if template is not None:
        return template
    has_none = RELEASES[context.release].metadata is Metadata.TEMPLATE
    return () if has_none else fixed_columns(options.iso8601_format, *fixed)


def metadata_names(options: Any, context: Context) -> list[Name]:
    set_by = "" if options.meta_columns_template is None else TEMPLATE
    return [Name(column.name, "a metadata field", set_by) for column in options.metadata(context)]


def needs_tokens(columns: Sequence[MetaColumn] | None) -> bool:
    return any(column.keyword in _OF_TOKENS for column in columns or ())


# Names and keywords of the metadata fields in releases with fixed metadata. JSON and Avro always have the first five.
FIXED_NAMES = {
    "table": OBJECT_NAME,
    "op_type": OP_TYPE,
    "op_ts": TIMESTAMP,
    "current_ts": NOW,
    "pos": POSITION,
    "primary_keys": KEY_COLUMNS,
    "tokens": ALL_TOKENS,
}
ALWAYS_FIXED = tuple(FIXED_NAMES)[:5]


# The options that choose the fixed metadata fields, for formats that have them.
_CHOSEN_BY = {
    "table": "include_table_name",
    "op_type": "include_op_type",
    "op_ts": "include_op_timestamp",
    "current_ts": "include_current_timestamp",
    "pos": "include_position",
    "primary_keys": "include_primary_keys",
}


def chosen_columns(options: Any, context: Context, *names: str) -> tuple[MetaColumn, ...]:
    """Return the metadata columns as `columns_of`, with the fixed ones that options choose, and perhaps tokens."""
    chosen = [name for name in names if getattr(options, _CHOSEN_BY[name])]
    return columns_of(options, context, *chosen, *["tokens"] * context.include_tokens)


def fixed_columns(iso8601: bool, *names: str) -> tuple[MetaColumn, ...]:
    keywords = FIXED_NAMES | {"current_ts": NOW_ISO8601 if iso8601 else NOW}
    return tuple(MetaColumn(keywords[name], name) for name in names)


def variables_of(
    columns: Sequence[MetaColumn], given: Mapping[str, str], group: str | None, system: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Return the values of the variables in a template by item, and the items without a value; `group`: of Replicat."""
    found: dict[str, str] = {}
    lacking = []
    for column in columns:
        if column.keyword == "groupname":
            value = group
        elif column.keyword in VARIABLES:
            name = column.argument or ""
            value = given.get(name, system.get(name) if column.keyword == "sys" else None)
        else:
            continue
        if value is None:
            lacking.append(str(column))
        else:
            found[str(column)] = value
    return found, lacking


_NAME_PARTS = ("catalog", "schema", "table")


@dataclass(frozen=True)
class Roles:
    """The places of the metadata columns that a reader uses, counted from 0; None for an absent column.

    name     places of the parts of the table name, in order; empty: messages do not name their table
    micros   place of the operation time stamp in microseconds, if it is not there as text
    single   places of columns that contain a single token, with the name of the token
    """

    op: int | None
    name: tuple[int, ...]
    op_ts: int | None
    micros: int | None
    position: int | None
    key_columns: int | None
    tokens: int | None
    single: tuple[tuple[int, str], ...]

    @classmethod
    def of(cls, columns: Sequence[MetaColumn]) -> Roles:
        places = {column.keyword: place for place, column in reversed(list(enumerate(columns)))}
        if OBJECT_NAME in places:
            name: tuple[int, ...] = (places[OBJECT_NAME],)
        elif "table" in places:
            name = tuple(places[part] for part in _NAME_PARTS if part in places)
        else:
            name = ()
        single = (
            (place, column.argument if column.keyword == "token" else column.keyword)
            for place, column in enumerate(columns)
            if column.keyword == "token" or KEYWORDS[column.keyword].tokens
        )
        return cls(
            places.get(OP_TYPE),
            name,
            places.get(TIMESTAMP),
            places.get("timestampmicro"),
            places.get(POSITION),
            places.get(KEY_COLUMNS),
            places.get(ALL_TOKENS),
            tuple((place, token) for place, token in single if token),
        )
