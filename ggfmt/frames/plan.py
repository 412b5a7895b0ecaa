"""The plan of a frame: its inputs and definitions, inspected once, and its columns."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import Any

import pyarrow as pa

from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.definitions import load_definitions
from ggfmt.diagnostics.diagnostic import Span, UsageError, list_names, suggestion
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import DEFAULT_SETTINGS, WriterSettings
from ggfmt.formats.api.reading import MAX_RECORD_BYTES
from ggfmt.frames.batches import FrameProjection
from ggfmt.frames.column_types import is_value_type, listed_types
from ggfmt.frames.shapes import GENERIC, IMAGES, UnknownTypeError, ddl_type, from_spark, typed, with_definitions
from ggfmt.java.text import InvalidValueError
from ggfmt.kafka import is_kafka
from ggfmt.model.change import OP_TYPES
from ggfmt.model.selection import ALL_TABLES
from ggfmt.model.table import STRING, Column, Kind, SqlType, TableDef
from ggfmt.options.spec import refuse_empty
from ggfmt.options.value_types import Keys, Size
from ggfmt.reading.discovery import find_keys, has_keys_in_changes
from ggfmt.reading.recognition import choose_format, reader_of, with_defaults
from ggfmt.reading.runner import Runner
from ggfmt.reading.scan import Scan, ScanRequest, check_selection
from ggfmt.reading.splits import Range, ReadJob, Split, view_of
from ggfmt.reading.standard_input import NO_TOPIC_SETTINGS, SpooledInputs, TopicSettings
from ggfmt.sinks.process import ReplicatProcess

# Options that are no properties of an input format, as Spark passes them to data sources.
OPTIONS = (
    "path", "paths", "table", "ops", "inputFormat", "definitions", "splitSize", "maxRecord", "discover", "allowEmpty",
    "settle", "complete", "maxFilesPerTrigger", "maxBytesPerTrigger",
)  # fmt: skip

_MAX_NAMED = 9  # maximum number of tables in an error


@dataclass(frozen=True)
class Request:
    """The request of a user. `options`: of the input format, in any case. `discover` None: infer tables if there are no
    definitions. For streams: if nothing was written for `settle` seconds to a file that is not read by lines, it is
    complete; `complete`: every file is, as soon as it is there; `max_files`, `max_bytes`: the most that a batch reads,
    as stored, but at least a line or a file that cannot be cut."""

    paths: tuple[str, ...]
    input_format: str = "auto"
    table: str | None = None
    ops: frozenset[str] | None = None
    definitions: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    split_size: int | None = None
    max_record: int = MAX_RECORD_BYTES
    discover: bool | None = None
    allow_empty: bool = False
    settle: float = 60.0
    complete: bool = False
    max_files: int | None = None
    max_bytes: int | None = None
    topics: TopicSettings = NO_TOPIC_SETTINGS
    replicat: str | None = None

    def __post_init__(self) -> None:
        refuse_empty("a path of the inputs", self.paths)
        for op in sorted(self.ops or ()):
            if op not in OP_TYPES:
                legal = list_names(OP_TYPES)
                raise frame_error(f"`ops` cannot be `{op}`", f"legal values are {legal}, with commas between them")

    @property
    def runs_discovery(self) -> bool:
        return not self.definitions if self.discover is None else self.discover


def parse_request(options: Mapping[str, str]) -> Request:
    """Return the request in the options of a source. Spark makes their names lower case, and several paths JSON."""
    given = {name.lower(): value for name, value in options.items()}
    own = {name: given.pop(name.lower(), None) for name in OPTIONS}
    paths = ([own["path"]] if own["path"] else []) + (json.loads(own["paths"]) if own["paths"] else [])
    if not paths:
        raise frame_error("no input path is set", "pass a file or a directory to `load`")
    return Request(
        tuple(paths),
        own["inputFormat"] or "auto",
        own["table"],
        frozenset(map(str.strip, own["ops"].split(","))) if own["ops"] else None,
        tuple(filter(None, (own["definitions"] or "").split(","))),
        given,
        None if own["splitSize"] is None else parse_size("splitSize", own["splitSize"]),
        MAX_RECORD_BYTES if own["maxRecord"] is None else parse_size("maxRecord", own["maxRecord"]),
        None if own["discover"] is None else _flag("discover", own["discover"]),
        _flag("allowEmpty", own["allowEmpty"] or "false"),
        _seconds("settle", own["settle"] or "60"),
        _flag("complete", own["complete"] or "false"),
        None if own["maxFilesPerTrigger"] is None else _count("maxFilesPerTrigger", own["maxFilesPerTrigger"]),
        None if own["maxBytesPerTrigger"] is None else parse_size("maxBytesPerTrigger", own["maxBytesPerTrigger"]),
    )


def parse_size(name: str, text: str) -> int:
    try:
        return Size().parse(text)
    except InvalidValueError as error:
        raise frame_error(f"`{name}` {error}", error.help) from None


def _count(name: str, text: str) -> int:
    if not re.fullmatch("0*[1-9][0-9]{0,17}", text.strip()):
        raise frame_error(f"`{name}` cannot be `{text}`", "give a whole number from 1 on")
    return int(text)


def _flag(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise frame_error(f"`{name}` cannot be `{text}`", "legal values are `true` and `false`")
    return text.lower() == "true"


def _seconds(name: str, text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise frame_error(f"`{name}` cannot be `{text}`", "give a number of seconds")
    return seconds


@dataclass(frozen=True)
class ReadPlan:
    job: ReadJob
    splits: tuple[Split, ...]
    wanted: FrameProjection


def make_plan(request: Request, runner: Runner, held: ExitStack | None = None) -> ReadPlan:
    """Return the plan. `held` has the messages of topics for as long as it is open; None: there cannot be topics."""
    scan = make_scan(request, held=held)
    if request.runs_discovery or (request.discover is None and has_keys_in_changes(scan.job)):
        job, splits = scan.discover(runner)
    else:
        splits = scan.splits(runner.parallelism)
        job = scan.job if request.discover is False else find_keys(scan.job, splits, runner)
    view = view_of(job.selection)
    if view is not None:
        view.check(job.definitions, (), scan.may_lack)
        if job.settled:
            check_selection(job.selection, {table.full_name for table in job.definitions}, scan.may_lack)
    return plan_of(request, job, splits.all)


def make_scan(request: Request, keys: Keys = (), held: ExitStack | None = None) -> Scan:
    """Return the scan of the files of a request. Raises: UsageError, ConfigurationError or Abend for a bad input."""
    if held is None and any(map(is_kafka, request.paths)):
        raise frame_error("only `ggfmt.read` and `ggfmt.scan` read topics", "read the topic with one of them")
    wanted = ScanRequest(
        request.paths,
        request.input_format,
        split_size=request.split_size,
        max_record=request.max_record,
        allow_empty=request.allow_empty,
        keys=keys,
    )
    files = wanted.list(None if held is None else SpooledInputs(held, request.topics, standard_input=False))
    if request.input_format == "auto" and not files:
        raise frame_error("no file exists yet, so ggfmt cannot detect the format", "set `inputFormat`")
    input_format = choose_format(files, request.input_format, request.max_record)[0]
    source = source_of(input_format, request.options)
    process = ReplicatProcess(request.replicat)
    definitions = process.definitions(load_definitions(request.definitions, source), source)
    selection = replace(ALL_TABLES, maps=process.maps(source, before_images=True))
    wanted = replace(wanted, input_format=input_format, source=source, definitions=definitions, selection=selection)
    # A stream may read files that grow, and Spark does not say here whether this is a stream. The readers check that a
    # file has not changed.
    return Scan(wanted, [replace(file, watched=False) for file in files])


def plan_of(request: Request, job: ReadJob, splits: Iterable[Split]) -> ReadPlan:
    planned = tuple(replace(split, ranges=tuple(map(_watched, split.ranges))) for split in splits)
    return ReadPlan(job, planned, projection_for(request, job.shown))


def _watched(part: Range) -> Range:
    return replace(part, input=replace(part.input, file=replace(part.input.file, watched=True)))


def source_of(input_format: str, options: Mapping[str, str]) -> WriterSettings:
    """Return the settings in options that Spark has made lower case. Raises: UsageError GG531 for an unknown one."""
    reader_of(input_format)  # raises for an unknown format
    specs = FORMATS[input_format].options.specs()
    names = {name.lower(): spec.name for spec in specs for name in (*spec.aliases, spec.name)}
    given = {}
    for name, value in options.items():
        if name.lower() not in names:
            help = (
                suggestion(name, [*OPTIONS, *(spec.name for spec in specs)])
                or f"to list the properties, run `ggfmt options {input_format}`"
            )
            raise frame_error(f"`{name}` is not an option of a frame, and not a property of `{input_format}`", help)
        given[names[name.lower()]] = value
    return with_defaults(replace(DEFAULT_SETTINGS, given=given), input_format)


def projection_for(request: Request, job: ReadJob) -> FrameProjection:
    if request.table is None:
        by_name: dict[str, list[TableDef]] = {}
        for known in job.definitions:
            by_name.setdefault(known.full_name, []).append(known)
        return FrameProjection(with_definitions(GENERIC, [*map(merge_tables, by_name.values())]), ops=request.ops)
    table = table_of(job, request.table)
    schema = with_definitions(typed(table), [table])
    return FrameProjection(schema, frozenset([table.full_name]), request.ops, table)


def table_of(job: ReadJob, name: str) -> TableDef:
    """Return a table with all columns of its definitions in the input. Raises: UsageError GG531 if none is known."""
    found = [*filter(None, [job.catalog.get(name)]), *(event.table for event in job.events)]
    known = [table for table in found if table.full_name == name]
    if not known:
        names = {table.full_name for table in (*job.catalog.tables(), *found)}
        help = suggestion(name, names) or (
            f"the tables are {list_names(sorted(names)[:_MAX_NAMED])}" if names else None
        )
        raise frame_error(f"table `{name}` not found", help)
    return merge_tables(known)


def merge_tables(tables: Iterable[TableDef]) -> TableDef:
    """Return the columns of several definitions of a table, in order of appearance, with types for all values."""
    columns: dict[str, Column] = {}
    key: tuple[str, ...] | None = None
    for table in tables:
        key = key or table.stated_key
        for column in table.columns:
            before = columns.get(column.name)
            columns[column.name] = column if before is None else replace(column, type=_common(before.type, column.type))
    return TableDef(table.full_name, tuple(columns.values())).with_keys(key)


def _common(one: SqlType, other: SqlType) -> SqlType:
    if one.unseen or other.unseen:
        return other if one.unseen else one
    if one.bits != other.bits:
        one, other = replace(one, bits=None), replace(other, bits=None)
    if one == other:
        return replace(one, timed=one.timed or other.timed)
    if one.kind is other.kind is Kind.DECIMAL and None not in (one.precision, other.precision):
        scale = max(one.scale or 0, other.scale or 0)
        whole = max((type.precision or 0) - (type.scale or 0) for type in (one, other))
        return SqlType(Kind.DECIMAL, precision=whole + scale, scale=scale)
    if one.kind is not other.kind or one.kind is Kind.INTEGER or one.zoned is not other.zoned or one.item != other.item:
        return STRING
    scaled = one.kind in (Kind.TIME, Kind.TIMESTAMP) and None not in (one.scale, other.scale)
    digits = max(one.scale or 0, other.scale or 0) if scaled else None
    base64, timed = one.base64 and other.base64, one.timed or other.timed
    return SqlType(one.kind, scale=digits, timed=timed, zoned=one.zoned, base64=base64, item=one.item)


def schema_from_spark(schema_json: Mapping[str, Any]) -> pa.Schema:
    """Return the schema in Spark's JSON (`StructType.jsonValue`). Raises: UsageError GG531 for a type of no frame."""
    try:
        return from_spark(schema_json)
    except UnknownTypeError as error:
        raise frame_error(f"a column of a frame cannot be `{error.name}`", _types()) from None


def narrow_projection(wanted: FrameProjection, schema: pa.Schema) -> FrameProjection:
    """Return the projection to a schema of a user. Raises: UsageError GG531 for a column that the frame lacks."""
    for asked in schema:
        place = wanted.schema.get_field_index(asked.name)
        if place < 0:
            help = suggestion(asked.name, wanted.schema.names) or f"the columns are {list_names(wanted.schema.names)}"
            raise frame_error(f"the frame has no column `{asked.name}`", help)
        had = wanted.schema.field(place).type
        if asked.name in IMAGES and pa.types.is_struct(had) and pa.types.is_struct(asked.type):
            _check_struct(asked, had)
        elif asked.type != had:
            message = f"the column `{asked.name}` is `{ddl_type(had)}`, and cannot be `{ddl_type(asked.type)}`"
            raise frame_error(
                message, "set `table`: only the frame of one table can have structs" if asked.name in IMAGES else None
            )
    own = (wanted.schema.field(asked.name) for asked in schema)
    kept = [had if had.type == asked.type else asked for had, asked in zip(own, schema, strict=True)]
    return replace(wanted, schema=pa.schema(kept))


def _check_struct(asked: pa.Field[Any], had: pa.StructType) -> None:
    names = [column.name for column in had]
    for column in asked.type:
        if column.name not in names:
            help = suggestion(column.name, names) or f"the columns are {list_names(names)}"
            raise frame_error(f"`{asked.name}` has no column `{column.name}`", help)
        if not is_value_type(column.type):
            raise frame_error(f"`{asked.name}.{column.name}` cannot be `{ddl_type(column.type)}`", _types())


def _types() -> str:
    return f"use one of these types: {listed_types()}"


def frame_error(message: str, help: str | None = None) -> UsageError:
    return UsageError("GG531", message, Span(), help)
