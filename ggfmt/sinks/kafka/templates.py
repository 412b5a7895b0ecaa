"""The topic, the key and the headers of each message, by the templates of a handler."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from operator import itemgetter

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings, non_null_values
from ggfmt.columnar.metadata import Clock
from ggfmt.columnar.pieces import join, join_binary
from ggfmt.columnar.strings import rows_where
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.api.format import Context
from ggfmt.formats.api.writing import RowErrors
from ggfmt.formats.goldengate import metacolumns
from ggfmt.formats.goldengate.metacolumns import MetaColumn
from ggfmt.formats.goldengate.writing import MetaValues
from ggfmt.java.text import InvalidValueError, TimeLimitError, time_limit, visible
from ggfmt.model.change import OP_TYPES, ChangeBatch
from ggfmt.model.table import TableDef
from ggfmt.options.templates import ColumnValue, GroupName, NameContext, OfOperation, Piece, TableName, Wrapper

MAX_SECONDS = 10  # of processor time, for the templates of a batch
_EPOCH = datetime(1970, 1, 1)
_TOPIC = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,249}")

# The metadata columns with the values of keywords.
_META_COLUMNS = {
    "fullyQualifiedTableName": metacolumns.OBJECT_NAME,
    "catalogName": "catalog",
    "schemaName": "schema",
    "tableName": "table",
    "opTimestamp": metacolumns.TIMESTAMP,
}


@dataclass(frozen=True)
class AddressSettings:
    """What the messages of a handler are addressed by.

    topic, key  pieces of the templates; `key` is empty if all keys are null
    headers     metadata columns; `group`: `ggfmt.groupName`; `op_keys`: the words for operation types
    by_transaction  a message has the operations of a transaction: the topic is the same for all
    """

    topic: tuple[Piece, ...]
    key: tuple[Piece, ...] = ()
    headers: tuple[MetaColumn, ...] = ()
    group: str = ""
    op_keys: tuple[str, ...] = OP_TYPES
    context: Context = field(default_factory=Context)
    by_transaction: bool = False


@dataclass(frozen=True)
class Addressed:
    """The topic of n messages, or of each; n keys without nulls, or None: all are null; a name and n values each."""

    topic: str | pa.StringArray
    keys: pa.StringArray | None
    headers: tuple[tuple[str, pa.BinaryArray], ...]


class Addressing:
    """The addresses of the operations of one table definition.

    A delete has the values of its before image, any other operation those of the after image. Absent metadata is an
    empty text, and so is a NULL or missing value in `${primaryKeys}`.
    """

    def __init__(self, table: TableDef, settings: AddressSettings, clock: Clock) -> None:
        self._table = table
        self._settings = settings
        self._clock = clock
        self._values = MetaValues(table, settings.op_keys, settings.context, clock)

    def of(self, batch: ChangeBatch) -> Addressed:
        """Return the addresses of operations that are a message each. Raises: RowErrors with GG577."""
        settings, rows = self._settings, len(batch)
        moment = _EPOCH + timedelta(milliseconds=self._clock.millis())
        facts = NameContext(moment, self._table.full_name)
        try:
            with time_limit(MAX_SECONDS):
                topic = self._joined(settings.topic, batch, facts)
                keys = self._joined(settings.key, batch, facts) if settings.key else None
        except TimeLimitError:
            message = f"a regular expression of a template takes more than {MAX_SECONDS} seconds"
            raise _errors(batch, message, "rewrite it so that a text can match in one way only") from None
        except InvalidValueError as error:
            raise _errors(batch, str(error), error.help) from None
        headers = ((column.name, join_binary([self._values.of(column, batch)], rows)) for column in settings.headers)
        return Addressed(_checked(batch, topic), join([keys], rows) if isinstance(keys, str) else keys, tuple(headers))

    def _joined(self, pieces: Sequence[Piece], batch: ChangeBatch, facts: NameContext) -> str | pa.StringArray:
        texts = [self._text(piece, batch, facts) for piece in pieces]
        constants = [text for text in texts if isinstance(text, str)]
        return "".join(constants) if len(constants) == len(texts) else join(texts, len(batch))

    def _text(self, piece: Piece, batch: ChangeBatch, facts: NameContext) -> str | pa.StringArray:
        """Return the text of a piece for all operations, or that of each, never null."""
        if isinstance(piece, Wrapper):
            inner = self._joined(piece.inner, batch, facts)
            if isinstance(inner, str):
                return piece.change(inner)
            encoded = inner.dictionary_encode()
            changed = map(piece.change, non_null_values(as_strings(encoded.dictionary)))
            return as_strings(pa.array(changed, pa.string()).take(encoded.indices))
        if isinstance(piece, ColumnValue):
            return self._column(piece, batch)
        if isinstance(piece, GroupName):
            return self._settings.group
        if not isinstance(piece, TableName | OfOperation):
            return piece.show(facts)
        if piece.keyword == "primaryKeys" and not self._table.primary_keys:
            message = "`${primaryKeys}` has no value, because the table has no primary key"
            raise InvalidValueError(message, "define one with `--definitions`, or write another key, such as `${null}`")
        keyword = _META_COLUMNS.get(piece.keyword, piece.keyword.lower())
        values = self._values.of(MetaColumn(keyword, keyword, getattr(piece, "argument", None)), batch)
        return values if isinstance(values, str) else join([values])

    def _column(self, piece: ColumnValue, batch: ChangeBatch) -> pa.StringArray:
        name = piece.column_of(self._table.full_name)
        own = None if name is None else self._table.column_of(name)
        if own is None:
            message = f"the table has no column `{name}`" if name else "`${columnValue[]}` has no column for the table"
            raise InvalidValueError(message, "name a column of each table: `${columnValue[S.T1=COUNTRY,S.T2=CODE]}`")
        column = batch.row_column(self._table.column_names.index(own))
        values = column.values
        missing = None if column.present is None else pc.invert(column.present)
        null = values.is_null() if missing is None else pc.and_not(values.is_null(), missing)
        for where, text, reason in ((null, piece.null, "is NULL"), (missing, piece.missing, "is missing")):
            if where is None or not where.true_count:
                continue
            if text is None:
                bracket = "second" if where is null else "third"
                help = f"give a text for that in a {bracket} bracket of `${{columnValue[]}}`"
                raise _errors(batch, f"column `{name}`, which a template names, {reason}", help, rows_where(where))
            values = pc.if_else(where, text, values)
        return as_strings(values)


def _checked(batch: ChangeBatch, topic: str | pa.StringArray) -> str | pa.StringArray:
    """Return the topic, as one text where all operations share it. Raises: RowErrors if Kafka has no such topic."""
    encoded = (pa.array([topic]) if isinstance(topic, str) else topic).dictionary_encode()
    names = non_null_values(as_strings(encoded.dictionary))
    help = "change `topicMappingTemplate`: a topic has 1 to 249 of the characters `A-Z a-z 0-9 . _ -`"
    wrong: list[tuple[int, Diagnostic]] = []
    for place, name in enumerate(names):
        if not _TOPIC.fullmatch(name):
            rows = None if isinstance(topic, str) else rows_where(pc.equal(encoded.indices, place))
            wrong += _errors(batch, f"`{visible(name)}` cannot be the name of a topic", help, rows).rows
    if wrong:
        raise RowErrors(sorted(wrong, key=itemgetter(0)))
    return names[0] if len(names) == 1 else topic


def _errors(batch: ChangeBatch, message: str, help: str | None, rows: Sequence[int] | None = None) -> RowErrors:
    """Return errors of some rows, of all without `rows`."""
    positions = batch.position.to_pylist()
    found = Diagnostic("GG577", message, Span(table=batch.table.full_name), help)
    chosen = range(len(batch)) if rows is None else rows
    return RowErrors([(row, found.at(position=positions[row])) for row in chosen])
