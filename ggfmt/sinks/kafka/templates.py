"""The topic, the key and the headers of each message, by the templates of a handler."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime, timedelta
from operator import itemgetter

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings, non_null_values
from ggfmt.columnar.metadata import Clock
from ggfmt.columnar.pieces import join, join_binary
from ggfmt.columnar.strings import rows_where
from ggfmt.config.handler_options import HandlerConfig, RunOptions
from ggfmt.config.property_table import KAFKA_TYPES
from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.diagnostic import ConfigurationError, Diagnostic, Span, listing
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context
from ggfmt.formats.api.writing import RowErrors
from ggfmt.formats.goldengate import metacolumns
from ggfmt.formats.goldengate.metacolumns import MetaColumn
from ggfmt.formats.goldengate.options import op_keys
from ggfmt.formats.goldengate.writing import MetaValues
from ggfmt.java.text import InvalidValueError, TimeLimitError, time_limit, visible
from ggfmt.lazy import lazy_regex
from ggfmt.model.change import OP_TYPES, ChangeBatch, OpType
from ggfmt.model.table import TableDef
from ggfmt.options.templates import (
    ColumnValue,
    GroupName,
    NameContext,
    NamePiece,
    NameTemplate,
    OfOperation,
    Piece,
    Wrapper,
    of_one_operation,
    parse_message_template,
)

MAX_SECONDS = 10  # of processor time, for the templates of a batch
_EPOCH = datetime(1970, 1, 1)
_TOPIC = lazy_regex(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,249}")

TOPIC, KEY, HEADERS = "topicMappingTemplate", "keyMappingTemplate", "metaHeadersTemplate"
_OLD = ("topicName", "topicPartitioning")

# Metadata columns whose bytes in a header are not known, and those that all operations of a transaction share.
_NO_HEADERS = (metacolumns.ALL_TOKENS, metacolumns.KEY_COLUMNS)
_OF_ALL = ("static", "groupname", *metacolumns.VARIABLES)

# The metadata columns with the values of keywords, where their names differ.
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

    @classmethod
    def of(cls, config: HandlerConfig, run_options: RunOptions, context: Context) -> AddressSettings:
        """Return the settings of a handler. Raises: ConfigurationError GG577 if what it asks for has no known
        meaning."""

        def refused(property: str, message: str, help: str | None) -> ConfigurationError:
            place = config.place(property if property in config.entries else "type")
            key = f"gg.handler.{config.name}.{property}"
            return ConfigurationError("GG577", f"`{key}` {message}", place, help)

        given, group = config.kafka, run_options.group_name
        if given is None:
            message = f"must be one of {listing(KAFKA_TYPES)}: other handlers have no topics of Kafka"
            raise refused("type", message, f"set it, and {listing((TOPIC, KEY))}")
        old = next((property for property in _OLD if property in config.entries), None)
        if old is not None:
            message = "is of GoldenGate 12.2: which topics and partitions it chose is not known"
            raise refused(old, message, f"remove it, and set {listing((TOPIC, KEY))}")
        by_transaction = not FORMATS[config.format].handler_type and config.handler.mode == "tx"
        pieces = []
        for property, text in ((TOPIC, given.topic_mapping_template), (KEY, given.key_mapping_template)):
            if not text:
                raise refused(property, "is missing", "set it, as GoldenGate requires")
            try:
                parsed = parse_message_template(text)
            except InvalidValueError as error:
                raise refused(property, str(error), error.help) from None
            template = NameTemplate(text, parsed)
            within = list(template.all())
            of_one = (piece.keyword for piece in within if isinstance(piece, OfOperation) and property == TOPIC)
            keyword = (of_one_operation(template) or next(of_one, None)) if by_transaction else None
            if keyword is not None:
                message = f"has `${{{keyword}}}`, which has no known value for the message of a transaction"
                raise refused(property, message, f"set `gg.handler.{config.name}.mode=op`")
            if not group and any(isinstance(piece, GroupName) for piece in within):
                raise refused(property, "has `${groupName}`, which has no value", "set `ggfmt.groupName`")
            pieces.append(parsed)
        topic, key = pieces
        template_of_headers = given.meta_headers_template
        headers = metacolumns.Template().parse(template_of_headers) if template_of_headers else ()
        for column in headers:
            if column.keyword in _NO_HEADERS or (by_transaction and column.keyword not in _OF_ALL):
                why = "for the message of a transaction" if by_transaction else "in a header"
                raise refused(HEADERS, f"has `{column}`, which has no known value {why}", "remove it")
        found, lacking = metacolumns.variables_of(headers, dict(run_options.variables), group, os.environ)
        if lacking:
            raise refused(HEADERS, f"has `{lacking[0]}`, which has no value", "set `ggfmt.variables=NAME=VALUE,...`")
        words = op_keys(config.options) if hasattr(config.options, "insert_op_key") else OP_TYPES
        context = replace(context, variables={**context.variables, **found})
        return cls(topic, () if by_transaction else key, headers, group or "", words, context, by_transaction)

    @property
    def needs_tokens(self) -> bool:
        pieces = NameTemplate("", (*self.topic, *self.key)).all()
        columns = (_meta_column(piece) for piece in pieces if isinstance(piece, OfOperation))
        return metacolumns.needs_tokens([*self.headers, *columns])


@dataclass(frozen=True)
class Addressed:
    """The topic of n messages, or of each; n keys without nulls, or None: all are null; a name and n values each."""

    topic: str | pa.StringArray
    keys: pa.StringArray | None
    headers: tuple[tuple[str, pa.BinaryArray], ...]


class Addressing:
    """The addresses of the operations of one table definition.

    A delete has the values of its before image, any other operation those of the after image. Absent metadata is an
    empty text, and so is NULL in `${primaryKeys}`.
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
        if not isinstance(piece, NamePiece | OfOperation):
            return piece.show(facts)
        if piece.keyword == "primaryKeys" and not self._table.primary_keys:
            message = "`${primaryKeys}` has no value, because the table has no primary key"
            raise InvalidValueError(message, "define one with `--definitions`, or write another key, such as `${null}`")
        if piece.keyword == "primaryKeys":
            self._check_keys(batch)
        values = self._values.of(_meta_column(piece), batch)
        return values if isinstance(values, str) else join([values])

    def _check_keys(self, batch: ChangeBatch) -> None:
        """Raise RowErrors for operations that show no value of a key column: their order could not be kept."""
        for name in self._table.primary_keys:
            present = batch.row_column(self._table.column_names.index(name)).present
            lacking = None if present is None else pc.and_not(pc.not_equal(batch.op, OpType.TRUNCATE.value), present)
            if lacking is not None and lacking.true_count:
                message = (
                    f"`${{primaryKeys}}` has no value, because the operation does not show the key column `{name}`"
                )
                raise _errors(batch, message, "write another key, such as `${null}`", rows_where(lacking))

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


def _meta_column(piece: NamePiece | OfOperation) -> MetaColumn:
    """Return the metadata column that has the value of a keyword."""
    keyword = _META_COLUMNS.get(piece.keyword, piece.keyword.lower())
    return MetaColumn(keyword, keyword, piece.argument if isinstance(piece, OfOperation) else None)


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
