"""Conversion of arguments: of the Python functions, and of the command line, which passes its own on to them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from os import PathLike
from typing import TYPE_CHECKING, Literal, get_args, get_origin

from ggfmt.commands.declaration import KeyedRowArguments, RowArguments, parameters
from ggfmt.diagnostics.diagnostic import (
    ConfigurationError,
    Diagnostic,
    UsageError,
    list_names,
    suggestion,
)
from ggfmt.lazy import lazy_regex
from ggfmt.options.spec import PropertyValue, argument_error, property_text

if TYPE_CHECKING:
    from ggfmt.config.handlers import Configuration
    from ggfmt.config.properties import ParsedProperties
    from ggfmt.formats.api.format import WriterSettings
    from ggfmt.model.selection import Mask, TableMaps, TableSelection
    from ggfmt.model.table import TableDef
    from ggfmt.options.value_types import Keys
    from ggfmt.reading.standard_input import TopicSettings
    from ggfmt.sinks.process import ReplicatProcess

Path = str | PathLike[str]
Paths = Path | Sequence[Path] | None
Properties = Mapping[str, PropertyValue] | Sequence[str] | None


MASK_KEY = "GGFMT_MASK_KEY"
MIN_KEY_BYTES = 16


def ignore_warnings(_: Sequence[Diagnostic]) -> None:
    """Drop warnings, for callers that want none."""


def texts(paths: Paths) -> list[str]:
    if paths is None:
        return []
    if isinstance(paths, (str, PathLike)):
        return [os.fspath(paths)]
    return [os.fspath(path) for path in paths]


def text(path: Path | None) -> str | None:
    return None if path is None else os.fspath(path)


def words(names: str | Iterable[str] | None) -> list[str]:
    return [] if names is None else [names] if isinstance(names, str) else list(names)


def keys(given: str | Sequence[str] | Mapping[str, Sequence[str]] | None, what: str = "`--key`") -> Keys:
    """Return key columns by table: from a text as the command takes it, for every table, or by table."""
    from ggfmt.java.text import InvalidValueError
    from ggfmt.options.value_types import EVERY_TABLE, parse_keys

    if given is None:
        return ()
    if isinstance(given, Mapping):
        return tuple((table, tuple(words(columns))) for table, columns in given.items())
    if not isinstance(given, str):
        return ((EVERY_TABLE, tuple(given)),)
    try:
        return parse_keys(given)
    except InvalidValueError as error:
        raise argument_error(f"{what} {error}", error.help) from None


def selection(
    tables: str | Iterable[str] | None,
    exclude: str | Iterable[str] | None,
    columns: str | Mapping[str, Sequence[str]] | None = None,
    masks: Mapping[str, str] | str | Sequence[str] | None = None,
    key_file: Path | None = None,
    maps: TableMaps | None = None,
) -> TableSelection:
    """Return the tables and columns to read. Raises: UsageError GG565 for an illegal text, GG593 for hashes without a
    key."""
    from ggfmt.model.selection import TableSelection

    listed = tuple((table, tuple(map(_unquoted, names))) for table, names in keys(columns, "`--columns`"))
    if any(table == "*" for table, _ in listed):
        raise argument_error("`--columns` needs a table", "for example `S.ORDERS=ID,PLACED`")
    pairs = [f"{name}={mask}" for name, mask in masks.items()] if isinstance(masks, Mapping) else words(masks)
    found = tuple(map(_mask, pairs))
    key = _mask_key(key_file) if any(mask.how == "hash" for mask in found) else b""
    return TableSelection(tuple(words(tables)), tuple(words(exclude)), listed, found, key, maps)


_PART = r'(?:"(?:[^"]|"")+"|[^".=][^.=]*)'
_MASK = lazy_regex(rf"((?:{_PART}\.)+)({_PART})=(null|hash|fixed)(?::(.*))?", re.DOTALL)


def _mask(given: str) -> Mask:
    from ggfmt.model.selection import Mask
    from ggfmt.model.table import join_name

    found = _MASK.fullmatch(given.strip())
    if found is None or (found[3] == "fixed") != (found[4] is not None):
        message = f"`--mask` needs TABLE.COLUMN=null, hash or fixed:TEXT, not `{given}`"
        raise argument_error(message, 'for example `S.ORDERS.EMAIL=hash`; a name with a dot is in quotes: `S."A.B".C`')
    table = join_name(*map(_unquoted, re.findall(_PART, found[1])))
    return Mask(table, _unquoted(found[2]), found[3], found[4] or "")  # type: ignore[arg-type]


def _unquoted(name: str) -> str:
    quoted = len(name) > 2 and name[0] == name[-1] == '"'
    return name[1:-1].replace('""', '"') if quoted else name


def _mask_key(file: Path | None) -> bytes:
    try:
        key = os.environ.get(MASK_KEY, "").encode("utf-8", "surrogateescape")
        if file is not None:
            with open(file, "rb") as stream:
                key = stream.read().rstrip(b"\r\n")
    except OSError as error:
        raise UsageError("GG593", f"the key of `--mask-key` cannot be read: {error.strerror}") from None
    if len(key) < MIN_KEY_BYTES:
        help = f"put a random text into a file for `--mask-key`, or into the variable `{MASK_KEY}`"
        raise UsageError("GG593", f"the mask `hash` needs a key of {MIN_KEY_BYTES} bytes or more", help=help)
    return key


def topics(properties: Path | None, staging: Path | None = None) -> TopicSettings:
    from ggfmt.reading.standard_input import TopicSettings

    return TopicSettings(text(properties), text(staging))


def lines(properties: Properties) -> list[str]:
    """Return properties as lines of a properties file; only those of a mapping are escaped."""
    if properties is None:
        return []
    if not isinstance(properties, Mapping):
        return words(properties)
    from ggfmt.config.properties import line_of

    return [line_of(key, property_text(key, value)) for key, value in properties.items()]


def pairs(properties: Properties, what: str, example: str = "`spark.driver.memory=2g`") -> tuple[tuple[str, str], ...]:
    """Return properties without escapes, such as those of Spark, from a mapping or texts like `KEY=VALUE`."""
    if isinstance(properties, Mapping):
        return tuple((key, property_text(key, value)) for key, value in properties.items())
    split = []
    for text in words(properties):
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise argument_error(f"{what} needs KEY=VALUE, not `{text}`", f"for example {example}")
        split.append((key, value))
    return tuple(split)


def parse_timestamp(given: datetime | str | None) -> datetime | None:
    try:
        found = datetime.fromisoformat(given) if isinstance(given, str) else given
    except ValueError:
        raise argument_error(
            f"the current timestamp `{given}` is not a time", "give it as `2015-09-18T13:39:35.447000`"
        ) from None
    return None if found is None else found.replace(tzinfo=None)


def size(given: int | str | None, what: str) -> int | None:
    from ggfmt.java.text import InvalidValueError
    from ggfmt.options.value_types import Size

    if given is None:
        return None
    try:
        return Size().parse(str(given))
    except InvalidValueError as error:
        raise argument_error(f"{what} {error}", error.help) from None


def configuration(
    config: Paths,
    settings: Properties,
    handlers: str | Sequence[str] | None,
    to: str | None,
    stream: bool = False,
    group: str | None = None,
) -> Configuration:
    """Read handlers, or make one of the format `to`; a `stream` has the messages of all tables in order. `group`: the
    name of the Replicat group, unless a file has one."""
    from ggfmt.config.handlers import read_configuration

    files, given = texts(config), lines(settings)
    if to is None and not files and not given:
        help = "give a handler file with `-c`, or a format, such as `--to json`"
        raise ConfigurationError("GG105", "no handler or format is given", help=help)
    made = _chosen_format(to, files, stream)
    if group is not None:
        from ggfmt.config.properties import CHOSEN, ParsedProperties, entries_from_settings, line_of

        of_group = entries_from_settings([line_of("ggfmt.groupName", group)], CHOSEN).entries
        made = ParsedProperties((*of_group, *(() if made is None else made.entries)), ())
    return read_configuration(files, given, words(handlers), made)


def _chosen_format(to: str | None, config: Sequence[str], stream: bool) -> ParsedProperties | None:
    if to is None:
        return None
    if config:
        message = f"the format `{to}` and the handler file `{config[0]}` both define handlers: give only one of them"
        raise argument_error(message, "set the format in the handler file, or leave out the handler file")
    from ggfmt.config.handler_file import CONVERTED, converted_lines, handler_lines
    from ggfmt.config.properties import CHOSEN, entries_from_settings
    from ggfmt.formats import FORMATS

    if to in CONVERTED:
        return entries_from_settings(converted_lines(to), CHOSEN)
    format = FORMATS.get(to)
    if format is None or format.writes is None:
        written = [*(name for name, format in FORMATS.items() if format.writes is not None), *CONVERTED]
        help = "; ".join(filter(None, (f"formats are {list_names(written)}", suggestion(to, written))))
        raise UsageError("GG106", f"`{to}` is not a format that ggfmt writes", help=help)
    made = handler_lines(format, *(("partitionByTable=false",) if stream and not format.by_table else ()))
    return entries_from_settings(made, CHOSEN)


def input_settings(
    input_format: str,
    config: Path | None,
    options: Properties,
    schema_registry: Path | None = None,
    rows: RowArguments | None = None,
) -> tuple[str, WriterSettings]:
    """Return the format of the input, and how it was written. Raises: UsageError GG565 for two formats."""
    from ggfmt.config.handlers import read_configuration
    from ggfmt.config.properties import entries_from_settings
    from ggfmt.formats import FORMATS
    from ggfmt.formats.api.format import DEFAULT_SETTINGS
    from ggfmt.options.value_types import EVERY_TABLE
    from ggfmt.reading.recognition import SCHEMA_REGISTRY, source_of_handler

    source = DEFAULT_SETTINGS
    if config is not None:
        written, source = source_of_handler(read_configuration([os.fspath(config)]))
        input_format = written if input_format == "auto" else input_format
        if input_format in FORMATS and type(source.options) is not FORMATS[input_format].options:
            message = f"`--input-format` is `{input_format}`, and the handler of `--input-config` writes `{written}`"
            raise argument_error(message, "leave out one of them, or give the handler file that wrote the input")
    given = entries_from_settings(lines(options))
    if given.diagnostics:
        raise argument_error("an input option is not NAME=VALUE", "for example `fieldDelimiter=|`")
    texts = {entry.key: entry.value for entry in given.entries}
    if schema_registry is not None:
        texts[SCHEMA_REGISTRY] = os.fspath(schema_registry)
    if rows is not None:
        input_format = _row_format(input_format, rows)
        columns = {"opColumn": rows.op_column, "opTsColumn": rows.op_ts_column}
        texts |= {name: f"CDATA[{column}]" for name, column in columns.items() if column}
        if isinstance(rows, KeyedRowArguments) and rows.key:
            texts["primaryKeys"] = rows.key if "=" in rows.key else f"{EVERY_TABLE}={rows.key}"
    return input_format, replace(source, given=texts)


def _row_format(input_format: str, rows: RowArguments) -> str:
    from ggfmt.reading.recognition import INSERTS

    if not (rows.csv or rows.as_ or rows.op_column or rows.op_ts_column):
        return input_format
    if rows.as_ and rows.op_column:
        raise argument_error("`--as inserts` and `--op-column` exclude each other", "leave out one of them")
    chosen = "csv" if rows.csv else INSERTS
    if input_format not in ("auto", "csv", *(() if rows.csv else ("jsonl",))):
        message = f"`--input-format` is `{input_format}`, and `--csv`, `--as` and `--op-column` are for rows"
        raise argument_error(message, "leave out `--input-format`, or use `csv` or `jsonl`")
    return chosen if input_format == "auto" else input_format


def tables(definitions: Mapping[str, TableDef] | Paths, source: WriterSettings | None = None) -> dict[str, TableDef]:
    """Return table definitions of files and databases; files count first. `source` is how the input was written."""
    from ggfmt.definitions import load_definitions
    from ggfmt.formats.api.format import DEFAULT_SETTINGS
    from ggfmt.location import is_database

    if isinstance(definitions, Mapping):
        return dict(definitions)
    given = texts(definitions)
    urls = [place for place in given if is_database(place)]
    found = load_definitions([place for place in given if place not in urls], source or DEFAULT_SETTINGS)
    if urls:
        from ggfmt.database.definitions import table_definitions

        found = {name: table for url in urls for name, table in table_definitions(url).items()} | found
    return found


def resume(keeps: bool, fresh: bool) -> bool | None:
    """Return whether a run keeps results of tasks; None: if it reads much. Raises: UsageError GG565 for both."""
    if keeps and fresh:
        raise UsageError("GG565", "`--resume` and `--fresh` contradict each other", help="give one of them")
    return True if keeps else False if fresh else None


def check_choices(request: object) -> None:
    """Raises: UsageError GG565 if a field of a request that has a few legal words has another value."""
    for each in parameters(type(request)):  # type: ignore[arg-type]  # mypy sees the __hash__ of instances
        kinds = (each.type, *get_args(each.type))
        words = [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]
        value = getattr(request, each.name)
        if words and value not in (*words, each.default):
            raise argument_error(f"`{each.name}` cannot be `{value}`", f"legal values are {list_names(words)}")


def process(file: Path | None, warn: Callable[[Sequence[Diagnostic]], None] | None = None) -> ReplicatProcess:
    from ggfmt.sinks.process import ReplicatProcess, log_findings

    return ReplicatProcess(text(file), warn or log_findings)
