"""The plan of a run: inputs cut into splits, and what every task is told.

Splits are made here and not by Spark, whose file sources pack files by size and promise no order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import pyarrow as pa

from ggfmt.config.handlers import Configuration
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, Span, UsageError, suggestion
from ggfmt.engine.files import InputFile, list_inputs, open_input, unreadable
from ggfmt.formats import FORMATS
from ggfmt.formats.api.context import DEFAULT_SETTINGS, Context, WriterSettings
from ggfmt.formats.api.reading import Layout, Reader, SchemaChange
from ggfmt.java.charsets import native_charset
from ggfmt.java.text import IllegalValue
from ggfmt.model.table import Catalog
from ggfmt.options.replacements import Replacements
from ggfmt.options.spec import Options
from ggfmt.options.value_types import NATIVE

HEAD_BYTES = 256 << 10
SPLIT_BYTES = 64 << 20
MIN_SPLIT_BYTES = 8 << 20
READ = [name for name, format in FORMATS.items() if format.reads is not None]


@dataclass(frozen=True)
class PlannedInput:
    """A file of the run: its place in the order of inputs and the layout of its records."""

    file: InputFile
    index: int
    layout: Layout


@dataclass(frozen=True)
class Range:
    """The records of an input that start in `length` bytes from `start`; None means to the end."""

    input: PlannedInput
    start: int
    length: int | None

    @property
    def size(self) -> int:
        return self.input.file.size if self.length is None else self.length


@dataclass(frozen=True)
class Split:
    """What one task reads: ranges that follow each other in the order of the input."""

    ordinal: int
    ranges: tuple[Range, ...]

    @property
    def size(self) -> int:
        return sum(part.size for part in self.ranges)


@dataclass(frozen=True)
class HandlerOutput:
    """One handler's output as a task needs to know it. `directory` is `<output>/<handler>`."""

    handler: str
    format: str
    options: Options
    context: Context
    partition_by_table: bool
    max_file_size: int
    roll_on_metadata_change: bool
    root: str
    suffix: str
    schema_path: str | None = None


@dataclass(frozen=True)
class Job:
    """All that the tasks of a run have in common. `events` are metadata changes in input order;
    `settled` tells that every definition in the input is known, so that no task need look for more."""

    run: str
    input_format: str
    targets: tuple[HandlerOutput, ...]
    catalog: Catalog
    events: tuple[SchemaChange, ...] = ()
    settled: bool = False
    quarantine: bool = False
    strict: bool = False
    current_timestamp: datetime | None = None
    staging: dict[str, str] = field(default_factory=dict)
    source: WriterSettings = DEFAULT_SETTINGS
    trace: bool = False
    replacements: Replacements = field(default_factory=Replacements)

    def catalog_at(self, split: Split) -> Catalog:
        """The definitions that hold at the start of a split."""
        return self.catalog.with_tables(event.table for event in self.events[: self.epoch_at(split)])

    def epoch_at(self, split: Split) -> int:
        """How many metadata change events lie before a split."""
        first = split.ranges[0]
        place = (first.input.index, first.start)
        return sum((event.input, event.offset) < place for event in self.events)

    def epoch_after(self, event: SchemaChange) -> int:
        """How many metadata change events there are up to and with `event`."""
        return self.events.index(event) + 1


def detect_format(files: Sequence[InputFile]) -> tuple[str, str]:
    """The input format by the first input that holds anything, and why; Abend GG309 if none or two fit."""
    for file in files:
        head = read_head(file)
        if not head.strip():
            continue
        reasons = {name: reason for name in _candidates(head) if (reason := reader_of(name).sniff(head))}
        if len(reasons) == 1:
            ((name, reason),) = reasons.items()
            return name, f"in {file.shown}, {reason}"
        found = f"fits {' and '.join(reasons)}" if reasons else "fits no input format"
        help = "name only files of changes, or give `--input-format`"
        raise Abend(Diagnostic("GG309", f"the first record {found}", Span(file=file.shown), help))
    return READ[0], "there is no input"


def _candidates(head: bytes) -> list[str]:
    """The formats whose readers are worth loading for an input that starts like this."""
    return [name for name in READ if any(mark in head for mark in FORMATS[name].marks)]


def written_by(configuration: Configuration) -> tuple[str, WriterSettings]:
    """The input format and the source of what one configured handler wrote; UsageError GG105 if there are more."""
    handlers = configuration.handlers
    if len(handlers) != 1:
        names = ", ".join(f"`{handler.name}`" for handler in handlers)
        message = f"`--input-config` has more than one handler: {names}"
        raise UsageError(Diagnostic("GG105", message, help="leave one of them in its `gg.handlerlist`"))
    (handler,) = handlers
    return handler.format, WriterSettings(
        handler.options, Context(handler.handler.include_tokens, configuration.run.compatibility)
    )


def reader_of(name: str) -> type[Reader]:
    """The reader of an input format by its id; UsageError GG309 for an unknown one."""
    if name not in READ:
        near = suggestion(name, READ)
        legal = f"legal values are `auto`, {', '.join(f'`{known}`' for known in READ)}"
        raise UsageError(
            Diagnostic("GG309", f"`--input-format` cannot be `{name}`", help=f"{legal}; {near}" if near else legal)
        )
    return FORMATS[name].read_side.reader


def settled_options(options: Options) -> Options:
    """The options of a format, with the charset of this machine where they say `native`."""
    if getattr(options, "encoding", None) != NATIVE:
        return options
    return replace(options, encoding=native_charset())  # type: ignore[call-arg]


def with_defaults(source: WriterSettings, input_format: str) -> WriterSettings:
    """The source, with the default options of the format where nobody told others; UsageError for illegal ones."""
    make = FORMATS[input_format].options
    options, specs = source.options or make(), {spec.name: spec for spec in make.specs()}
    values = {}
    for name, text in source.given.items():
        if name not in specs:
            help = suggestion(name, specs) or f"`ggfmt options {input_format}` lists its properties"
            message = f"`--input-option` names `{name}`, which is not a property of `{input_format}`"
            raise UsageError(Diagnostic("GG103", message, help=help))
        try:
            values[specs[name].attr] = specs[name].value(text)
        except IllegalValue as error:
            raise UsageError(Diagnostic("GG103", f"`--input-option {name}` {error}", help=error.help)) from None
    return replace(source, options=replace(options, **values), given={})


def read_head(file: InputFile) -> bytes:
    try:
        with open_input(file) as stream:
            return stream.read(HEAD_BYTES)
    except (OSError, pa.ArrowException) as error:
        raise Abend(unreadable(file.shown, error)) from None


def plan_inputs(
    inputs: Sequence[str], input_format: str, source: WriterSettings = DEFAULT_SETTINGS
) -> tuple[str, str, list[PlannedInput]]:
    """The input format, why it was taken, and the inputs in order with their layouts."""
    files = list_inputs(inputs)
    if input_format == "auto":
        input_format, reason = detect_format(files)
    else:
        reason = "given by `--input-format`"
    reader = reader_of(input_format)
    source = with_defaults(source, input_format)
    planned = []
    for index, file in enumerate(files):
        head = read_head(file)
        planned.append(PlannedInput(file, index, reader.layout(head, len(head) < HEAD_BYTES, source)))
    return input_format, reason, planned


def plan_splits(inputs: Sequence[PlannedInput], parallelism: int, split_size: int | None = None) -> list[Split]:
    """Splits of about equal size, in input order. A compressed file, or one whose layout cannot be split, is not cut;
    small files share a split."""
    total = sum(item.file.size for item in inputs)
    size = split_size or min(max(total // (2 * parallelism), MIN_SPLIT_BYTES), SPLIT_BYTES)
    groups: list[list[Range]] = [[]]
    room = size
    for item in inputs:
        if item.file.compression is not None or not item.layout.splittable:
            if room < size and item.file.size > room:
                groups.append([])
                room = size
            groups[-1].append(Range(item, 0, None))
            room -= item.file.size
        else:
            start = 0
            while start < item.file.size:
                length = min(room, item.file.size - start)
                groups[-1].append(Range(item, start, length))
                start += length
                room -= length
                if room <= 0:
                    groups.append([])
                    room = size
        if room <= 0:
            groups.append([])
            room = size
    return [Split(ordinal, tuple(ranges)) for ordinal, ranges in enumerate(group for group in groups if group)]
