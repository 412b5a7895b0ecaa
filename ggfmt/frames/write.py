"""Frames of operations written by the sink of `ggfmt run`: staged by Spark's tasks, committed together.

Spark asks for a writer when it plans the query, sends it to the tasks, and calls its commit with their messages, each
in another process. So the output is checked twice, before the work and at its end, and the tasks share its lock.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from ggfmt.commit.commit import MODES, write_errors_stop
from ggfmt.commit.directory import OutputDirectory
from ggfmt.commit.locking import SharedLease, owner_of
from ggfmt.config.handlers import read_configuration
from ggfmt.dataclasses import dataclass, field
from ggfmt.definitions import load_definitions
from ggfmt.diagnostics.diagnostic import Abend, GgfmtError, Span, UsageError, list_names, suggestion
from ggfmt.engine import Run, open_outputs
from ggfmt.formats.api.reading import Reject
from ggfmt.frames.operations import RowReader, SequenceRange, other_columns, out_of_order, with_key
from ggfmt.frames.shapes import AFTER, BEFORE, FrameShape, schema_of_user
from ggfmt.java.text import InvalidValueError
from ggfmt.model.table import Column, TableDef
from ggfmt.options.spec import refuse_empty
from ggfmt.options.value_types import Keys, parse_keys
from ggfmt.reading.progress import READING
from ggfmt.reading.scan import check_ended
from ggfmt.reading.tasks import TaskStopped, in_task
from ggfmt.sinks.messages import report
from ggfmt.sinks.messages.pipeline import Job
from ggfmt.sinks.messages.run import MessageSink, RunSettings
from ggfmt.sinks.messages.sink import MessageOutcome, SplitSink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

log = logging.getLogger("ggfmt")

# The options of `df.write.format("ggfmt")`: those of `ggfmt run`, with names as Spark's options have them.

FRAME = "dataframe"  # the input format in a manifest

OPTIONS = {
    "path": "the output directory; default: `rootFilePath` of each handler",
    "config": "handler files, separated by commas",
    "settings": "properties, one per line, as in a handler file; they follow the properties of `config`",
    "handlers": "the names of the handlers to write for, separated by commas; default: all",
    "definitions": "files and directories of table definitions, separated by commas",
    "columns": 'tables with the names of their columns, as JSON: `{"GG.T": ["ID", "NAME"]}`',
    "keyColumns": "the primary keys of tables that `definitions` lacks: `ID` for all, or `S.ORDERS=ID;S.LINES=ID,LINE`",
    "mode": "`error`, `append` or `overwrite`, as for `ggfmt run --mode`",
    "onReject": "`abend` (the default) or `quarantine`",
    "strictFidelity": "`true` to stop if a handler cannot show a value as it is",
    "currentTimestamp": "one `current_ts` for all messages, such as `2015-09-18T13:39:35.447000`",
}

T = TypeVar("T")
_SHOWN = 3  # tables in a warning


@dataclass(frozen=True)
class WriteOptions:
    """The options of a write: the settings of a run without inputs, and the keys of tables without a definition."""

    settings: RunSettings
    keys: Keys

    @classmethod
    def of(cls, options: Mapping[str, str], overwrite: bool) -> WriteOptions:
        """Return the options by name, in any case, and Spark's mode. Raises: UsageError GG541 for an unknown option or
        an illegal value; ConfigurationError for problems of the files that they name."""
        spelled = {name.lower(): name for name in OPTIONS}
        for name in options:
            if name.lower() not in spelled:
                help = suggestion(name, OPTIONS) or f"options are {list_names(OPTIONS)}"
                raise _option_error(f"`{name}` is not an option of a write", help)
        given = {spelled[name.lower()]: value for name, value in options.items()}
        refuse_empty("the option `path`", given.get("path"))
        lines = given.get("settings", "").splitlines()
        configuration = read_configuration(_listed(given, "config"), lines, _listed(given, "handlers"))
        keys = _parsed("keyColumns", given.get("keyColumns"), parse_keys) or ()
        definitions = {**_columns(given.get("columns"), keys), **load_definitions(_listed(given, "definitions"))}
        settings = RunSettings(
            inputs=(),
            handlers=configuration.handlers,
            output=given.get("path"),
            input_format=FRAME,
            definitions=definitions,
            mode=_mode(given.get("mode"), overwrite),
            quarantine=_one_of(given, "onReject", {"abend": False, "quarantine": True}, "abend"),
            strict=_one_of(given, "strictFidelity", {"false": False, "true": True}, "false"),
            current_timestamp=_parsed("currentTimestamp", given.get("currentTimestamp"), _moment),
            run_options=configuration.run,
            replacements=configuration.replacements,
        )
        return cls(settings, keys)


def _listed(given: Mapping[str, str], name: str) -> list[str]:
    return [part.strip() for part in given.get(name, "").split(",") if part.strip()]


def _mode(asked: str | None, overwrite: bool) -> str:
    """Return the mode. Spark knows only `append` and `overwrite`; the option `mode` replaces `append` by `error`."""
    saves = "overwrite" if overwrite else "append"
    mode = saves if asked is None else asked.lower()
    if mode not in MODES:
        raise _illegal("mode", mode, MODES)
    if (mode == "overwrite") != overwrite:
        message = f"the option `mode` is `{mode}`, but the frame's writer has `.mode({saves!r})`"
        help = "use `.mode('append')` for `error` and `append`, and `.mode('overwrite')` for `overwrite`"
        raise _option_error(message, help)
    return mode


def _one_of(given: Mapping[str, str], name: str, values: Mapping[str, T], default: str) -> T:
    word = given.get(name, default).lower()
    if word not in values:
        raise _illegal(name, word, values)
    return values[word]


def _illegal(name: str, word: str, legal: Mapping[str, object]) -> UsageError:
    help = f"legal values are {list_names(legal)}"
    return _option_error(f"the option `{name}` cannot be `{word}`", help)


def _option_error(message: str, help: str | None) -> UsageError:
    return UsageError("GG541", message, help=help)


def _parsed(name: str, text: str | None, parse: Callable[[str], T]) -> T | None:
    try:
        return None if text is None else parse(text)
    except InvalidValueError as error:
        raise _option_error(f"the option `{name}` {error}", error.help) from None


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        raise InvalidValueError(f"cannot be `{text}`", "give a time as `2015-09-18T13:39:35.447000`") from None


def _columns(text: str | None, keys: Keys) -> dict[str, TableDef]:
    help = f"give {OPTIONS['columns']}"
    try:
        document = json.loads(text or "{}")
    except ValueError:
        raise _option_error("the option `columns` is not JSON", help) from None
    if not isinstance(document, dict) or not all(map(_are_names, document.values())):
        raise _option_error("the option `columns` has values that are not lists of distinct names", help)
    return {table: with_key(TableDef(table, tuple(map(Column, names))), keys) for table, names in document.items()}


def _are_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value) and len(set(value)) == len(value)


@dataclass
class PartWritten(WriterCommitMessage):
    """The result of one task: its outcome, its ranges of `seq`, and the tables whose columns it found."""

    outcome: MessageOutcome
    order: dict[str, SequenceRange] = field(default_factory=dict)
    found: dict[str, TableDef] = field(default_factory=dict)


def frame_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> FrameWriter:
    """Return the writer of a frame; nothing is written yet. Raises: UsageError GG540 for a frame of neither shape,
    GG541 for contradictory options, and the errors of `ggfmt run` for its configuration or its output."""
    try:
        return writer_of(WriteOptions.of(options, overwrite), FrameShape.of(schema_of_user(schema.jsonValue())))
    except GgfmtError as error:
        raise _plain(error) from None


def columns_of(frame: DataFrame) -> str:
    """Return the columns of all tables in a frame, for the option `columns`, after a pass over all rows. Those of maps
    are in order if each is in an image with all columns before it."""
    from pyspark.sql import functions
    from pyspark.sql.types import StructType

    structs = [frame.schema[name].dataType for name in (AFTER, BEFORE) if name in frame.columns]
    if structs and isinstance(structs[0], StructType):
        tables = sorted(row.table for row in frame.select("table").dropna().distinct().collect())
        return json.dumps(dict.fromkeys(tables, structs[0].fieldNames()), ensure_ascii=False)
    images = functions.explode(functions.array(AFTER, BEFORE)).alias("image")
    names = functions.posexplode(functions.map_keys("image")).alias("place", "name")
    places = frame.select("table", images).select("table", names).groupBy("table", "name").agg({"place": "max"})
    columns: dict[str, list[str]] = {}
    for table, name, _ in sorted(map(tuple, places.dropna().collect()), key=lambda row: (row[0], row[2], row[1])):
        columns.setdefault(table, []).append(name)
    return json.dumps(columns, ensure_ascii=False)


def writer_of(asked: WriteOptions, shape: FrameShape) -> FrameWriter:
    """Return the writer after checking the output, unlocked: no process could hold the lock until the tasks start."""
    run, sink = Run.of(asked.settings), MessageSink(asked.settings)
    with ExitStack() as held:
        sink.check(held)
        open_outputs(run, sink, held)
    return FrameWriter(sink.job(run), run.mode, shape, asked.keys, owner_of(run.id))


class FrameWriter(DataSourceArrowWriter):
    def __init__(self, job: Job, mode: str, shape: FrameShape, keys: Keys, owner: dict[str, Any]) -> None:
        self._job = job
        self._mode = mode
        self._shape = shape
        self._keys = keys
        self._owner = owner
        self._started = time.time()

    def write(self, iterator: Iterator[pa.RecordBatch]) -> PartWritten:  # type: ignore[override]
        """Write one partition. An error in the data is part of the result, because a retry would find it again."""
        context = TaskContext.get()
        assert context is not None
        return self.write_part(iterator, context.partitionId(), context.taskAttemptId())

    def write_part(self, batches: Iterator[pa.RecordBatch], ordinal: int, attempt: int) -> PartWritten:
        part = PartWritten(MessageOutcome(ordinal))
        try:
            with ExitStack() as held:
                for root in self._job.staging:
                    held.enter_context(SharedLease(root, self._owner, OutputDirectory.what))
                write = partial(self._write, part, batches, attempt)
                part.outcome = in_task(self._job, self._job.staging.values(), part.outcome, write)
        except GgfmtError as error:
            part.outcome.abend = error.diagnostics[0]
        return part

    def _write(self, part: PartWritten, batches: Iterator[pa.RecordBatch], attempt: int) -> MessageOutcome:
        in_order = any(not target.settings.partition_by_table for target in self._job.targets)
        reader = RowReader(self._shape, self._job.catalog.trusted, self._keys, in_order)
        number = part.outcome.split
        sink = SplitSink(self._job, number, 0, attempt, lambda ordinal: (number, ordinal))
        sink.watch.lap(None)
        try:
            for batch in batches:
                for event in reader.read(batch):
                    sink.watch.lap(READING)
                    if isinstance(event, Reject):
                        sink.reject(event.record, event.diagnostic)
                    else:
                        sink.write(event, reader.locate)
                sink.end_of_chunk()
                sink.watch.lap(READING)
            sink.close()
        except TaskStopped:
            pass
        except Abend as error:
            (sink.outcome.abend,) = error.diagnostics
        sink.outcome.steps = sink.watch.seconds
        part.order, part.found = reader.order, reader.found
        return sink.outcome

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Commit the files of the tasks. Raises: Abend if nothing is committed, or CommittedWithErrors."""
        try:
            self._commit([message for message in messages if isinstance(message, PartWritten)])
        except GgfmtError as error:
            raise _plain(error) from None

    def _commit(self, parts: list[PartWritten]) -> None:
        job, started = self._job, time.perf_counter() - (time.time() - self._started)
        settings = RunSettings(inputs=(), handlers=(), mode=self._mode, current_timestamp=job.current_timestamp)
        sink = MessageSink(settings, job.targets)
        run = Run(settings, job.run, job.moment, self._mode, started=started)
        with ExitStack() as held:
            open_outputs(run, sink, held)
            if run.moment != job.moment:  # by the times in names, this run came first
                message = "another run has added files to the output since this run started"
                place, help = Span(file=sink.outputs[0].root.shown), "nothing was committed; write the frame again"
                raise Abend("GG506", message, place, help)
            outcomes = [part.outcome for part in parts]
            check_ended(outcomes)
            _check_order(parts)
            _check_columns(parts)
            with write_errors_stop(sink.outputs[0].root):
                sink.collect(run, job, outcomes)
            sink.results.totals.seconds_in_tasks = sum(outcome.seconds for outcome in outcomes)
            sink.commit(run, [])
        for warning in report.warnings(sink.results.totals):
            log.warning("%s", warning)
        plain = sorted({name for part in parts for name in part.found} - self._shape.definitions.keys())
        if plain and self._shape.columns is None:
            log.warning(
                "the frame carries no definition of %s: its columns are texts; set the option `definitions`",
                list_names(plain[:_SHOWN]) + (", ..." if len(plain) > _SHOWN else ""),
            )

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        for root in self._job.staging:
            OutputDirectory(root).discard_staging(self._job.run)


def _plain(error: GgfmtError) -> GgfmtError:
    """Return the error without the places in code that Spark would show above it."""
    return error.with_traceback(None)


def _check_order(parts: list[PartWritten]) -> None:
    last: dict[str, tuple[int, int]] = {}
    for part in parts:
        for table, order in part.order.items():
            before = last.get(table)
            if before is not None and order.first < before[1]:
                where = f", in the partitions {before[0]} and {part.outcome.split}"
                raise Abend.of(out_of_order(table, before[1], order.first, where))
            last[table] = part.outcome.split, order.last


def _check_columns(parts: list[PartWritten]) -> None:
    known: dict[str, TableDef] = {}
    for part in parts:
        for name, table in part.found.items():
            first = known.setdefault(name, table)
            if first != table:
                names = set(first.column_names) ^ set(table.column_names)
                raise Abend.of(other_columns(first, next(iter([*sorted(names), *table.column_names]))))
