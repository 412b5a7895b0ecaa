"""The schema command: schema files of tables in definition files or in the data, without a run."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain
from pathlib import Path

from ggfmt.columnar.replacement import UnusableName, merged_tables_error, replace_names
from ggfmt.commit.names import counted, safe_name
from ggfmt.config.handlers import Configuration
from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.diagnostics.diagnostic import Abend, ConfigurationError, Diagnostic, UsageError, without_credentials
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Context, Projection
from ggfmt.formats.api.reading import Reject, SplitBoundaryError
from ggfmt.formats.api.writing import SchemaFile
from ggfmt.formats.avro.schemas import describe_change
from ggfmt.location import Location, StoreError
from ggfmt.model.table import TableDef
from ggfmt.options.value_types import Replacements
from ggfmt.reading.recognition import explained
from ggfmt.reading.runner import InProcess
from ggfmt.reading.scan import Scan, ScanRequest, check_selection
from ggfmt.reading.splits import ReadJob, Split, SplitReader, view_of
from ggfmt.reading.standard_input import SpooledInputs, check_standard_input
from ggfmt.reading.tasks import RecordCounts, TaskOutcome, log_account, take_counts
from ggfmt.sinks.messages.pipeline import HandlerSettings
from ggfmt.sinks.messages.sink import add_counts
from ggfmt.summary import Summarized, Summary, SummaryTable

DDL = "ddl"
# The formats whose schemas are made, with default options, where no handler is configured: of each kind the first.
DEFAULT_FORMATS = {format.schema_kind: name for name, format in reversed([*FORMATS.items()]) if format.schema_kind}


@dataclass(frozen=True)
class SchemaHandler:
    """A handler whose format has such schemas; `location`: the parent directory of its tables."""

    settings: HandlerSettings
    location: str | None = None


class Schemas(Summarized, list[SchemaFile]):
    """Schemas, and the number of the records that were left out, by code."""

    rejected: Counter[str]

    @property
    def _summary(self) -> Summary:
        rows = [(file.name, len(file.content)) for file in self]
        return Summary("ggfmt.schema", [counted(len(rows), "schema")], [SummaryTable(("file", "bytes"), rows)])


def schemas(
    wanted: ScanRequest, configuration: Configuration | None, kind: str | None, quarantine: bool = False
) -> Schemas:
    """Return the schemas of all tables, for every handler whose format has some of the kind.

    The tables are those in the inputs, each with its last definition; without inputs, those of the definitions. Raises:
    Abend for a record that cannot be read, unless `quarantine`.
    """
    if not wanted.inputs and not wanted.definitions:
        raise UsageError("GG310", "schemas need an input or definitions", help="give INPUT or `--definitions`")
    requests = _requests(configuration, kind)
    tables, rejected = _found(wanted, quarantine) if wanted.inputs else (list(wanted.definitions.values()), Counter())
    check_selection(wanted.selection, [table.full_name for table in tables], wanted.allow_empty)
    tables = _shown(tables, wanted)
    if not tables:
        help = "look for the wrong input, `--table` or `--exclude`"
        raise UsageError("GG310", "no table found for a schema", help=help)
    if configuration is not None:
        tables = _replaced(tables, configuration.replacements)
    files: dict[str, SchemaFile] = {}
    problems: list[Diagnostic] = []
    for request in requests:
        for table in tables:
            own = request.settings
            result = _ddl(request, table) if kind == DDL else own.schema_problem(table) or own.schema_files(table)
            if isinstance(result, Diagnostic):
                problems.append(result)
            else:
                files |= {file.name: file for file in result}
    if problems:
        raise ConfigurationError.of(*problems)
    found = Schemas(files.values())
    found.rejected = rejected
    return found


def _shown(tables: Sequence[TableDef], wanted: ScanRequest) -> list[TableDef]:
    selected = [table for table in tables if wanted.selection.selects(table.full_name)]
    view = view_of(wanted.selection)
    if view is None:
        return selected
    view.check(tables, wanted.keys, wanted.allow_empty)
    return list({own.full_name: own for table in selected for own in view.tables(table)}.values())


def _requests(configuration: Configuration | None, kind: str | None) -> list[SchemaHandler]:
    if configuration is None:
        if kind == DDL:
            raise UsageError("GG105", "a Hive table needs a handler", help="give a handler file with `-c`")
        name = DEFAULT_FORMATS[kind or "json"]
        return [SchemaHandler(HandlerSettings("", name, FORMATS[name].options(), Context()))]
    requests = []
    for handler in configuration.handlers:
        format = FORMATS[handler.format]
        fits = (
            format.write_support.ddl is not None
            if kind == DDL
            else format.schema_kind is not None and kind in (None, format.schema_kind)
        )
        if fits:
            root = handler.handler.root_file_path
            location = None if root is None else _location(root, handler.name)
            requests.append(SchemaHandler(HandlerSettings.of(handler, configuration.run), location))
    if not requests:
        formats = ", ".join(f"`{handler.format}`" for handler in configuration.handlers)
        message = f"no format of the handlers has such schemas: {formats}"
        raise UsageError("GG106", message, help="configure another format, or give another `--kind`")
    return requests


def _location(place: str, name: str) -> str:
    """Return the address of `name` below a place that Hive can open, though ggfmt may not."""
    try:
        return Location.of(place).child(name).address
    except StoreError:
        return f"{place.rstrip('/')}/{name}"


def _replaced(tables: Sequence[TableDef], replacements: Replacements) -> list[TableDef]:
    replaced, problems = [], []
    for table in tables:
        try:
            replaced.append(replace_names(table, replacements.schema))
        except UnusableName as error:
            problems.append(error.diagnostic)
    merged = merged_tables_error([table.full_name for table in tables], replacements.schema)
    if merged is not None:
        problems.append(merged)
    if problems:
        raise ConfigurationError.of(*problems)
    return replaced


def _ddl(request: SchemaHandler, table: TableDef) -> tuple[SchemaFile, ...] | Diagnostic:
    settings, make = request.settings, request.settings.write_support.ddl
    assert make is not None
    if request.location is None:
        return Diagnostic(
            "GG109", "the handler has no `rootFilePath`, which is the location of its tables", help="set `rootFilePath`"
        )
    location = without_credentials(_location(request.location, safe_name(table.full_name)))
    text = settings.schema_problem(table) or make(table, settings.options, settings.context, location)
    return text if isinstance(text, Diagnostic) else (SchemaFile(f"{table.full_name}.sql", text.encode()),)


def _found(wanted: ScanRequest, quarantine: bool) -> tuple[list[TableDef], Counter[str]]:
    """Return the tables in the inputs, and the rejected records by code; each record counts as in a run."""
    check_standard_input(wanted.inputs)
    with ExitStack() as held:
        listed = wanted.list(SpooledInputs(held, wanted.topics))
        scan = Scan(wanted, [replace(file, watched=False) for file in listed])  # a file may grow meanwhile
        job, splits = scan.discover(InProcess())
        job, outcomes = scan.run(job, _Counting(quarantine), InProcess(), cut=splits)
    account, rejected = RecordCounts(), Counter[str]()
    for outcome in outcomes:
        add_counts(RecordCounts, account, outcome)
        rejected += outcome.rejected
    log_account(account, rejected)
    return list(job.catalog.with_tables(event.table for event in job.events).tables()), rejected


@dataclass
class _Counted(TaskOutcome):
    rejected: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class _Counting:
    """Reads and counts the records as a run does, and writes nothing."""

    quarantine: bool

    def task(self, job: ReadJob) -> Callable[[Split, int], _Counted]:
        return partial(self._read, job)

    def discard(self) -> None:
        """Do nothing: nothing is written."""

    def go_on(self) -> None:
        """Do nothing: no task stops another one."""

    def _read(self, job: ReadJob, split: Split, attempt: int) -> _Counted:
        counted = _Counted(split.ordinal)
        reader = job.reader(job.catalog_at(split), Projection())
        source = SplitReader(reader, split, job.selection)
        try:
            for event in chain.from_iterable(source):
                if isinstance(event, Reject) and not self.quarantine:
                    raise Abend.of(explained(event, job.input_format, job.reason))
                if isinstance(event, Reject):
                    counted.rejected[event.diagnostic.code] += 1
        except Abend as error:
            counted.abend = error.diagnostics[0]
        except SplitBoundaryError:
            counted.crossed = None if source.input is None else source.input.index
        take_counts(counted, reader, source)
        return counted


def write(files: Sequence[SchemaFile], directory: Path) -> Iterator[Path]:
    directory.mkdir(parents=True, exist_ok=True)
    for file in files:
        path = directory / safe_name(file.name)
        path.write_bytes(file.content)
        yield path


def drift(files: Sequence[SchemaFile], directory: Path) -> Iterator[tuple[Diagnostic, str]]:
    """Yield each difference to the schemas in a directory, and its lines; for Avro, with what it means to readers."""
    for file in files:
        path = directory / safe_name(file.name)
        try:
            old = path.read_bytes()
        except OSError as error:
            yield _changed(path, f"the schema cannot be read: {error.strerror}"), ""
            continue
        if old != file.content:
            before, after = (text.decode("utf-8", "replace").splitlines() for text in (old, file.content))
            difference = "\n".join(
                difflib.unified_diff(before, after, str(path), "as it would be written", lineterm="")
            )
            yield (
                _changed(path, "the schema differs from the schema that ggfmt would write" + _meaning(file, old)),
                difference,
            )


def _changed(path: Path, message: str) -> Diagnostic:
    return Diagnostic("GG209", message, str(path), "write the schema again with `ggfmt schema -o`")


def _meaning(file: SchemaFile, old: bytes) -> str:
    if not file.name.endswith(".avsc"):
        return ""
    try:
        return f"; the change is {describe_change(json.loads(old), json.loads(file.content))}"
    except (ValueError, KeyError, TypeError):
        return "; the existing file is not an Avro schema"
