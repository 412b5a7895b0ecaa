"""`ggfmt.preview`, `ggfmt.schema` and `ggfmt.validate_config`: the commands of these names, for programs."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal

from ggfmt.commands import arguments, declaration
from ggfmt.commands.arguments import Path, Paths, Properties, ignore_warnings
from ggfmt.commands.conversion import OnReject
from ggfmt.commands.declaration import After, Argument, Option, PythonOnly, settings_from
from ggfmt.dataclasses import KW_ONLY, dataclass
from ggfmt.diagnostics.diagnostic import Diagnostic, UsageError
from ggfmt.java.text import visible
from ggfmt.summary import Summarized, Summary, SummaryTable

if TYPE_CHECKING:
    from ggfmt.model.table import TableDef
    from ggfmt.sinks.preview import Preview
    from ggfmt.sinks.schema import Schemas

log = logging.getLogger("ggfmt")

SchemaKind = Literal["avro", "json", "xsd", "ddl"]


@dataclass(frozen=True, eq=False, repr=False)
class PreviewRequest(declaration.KeyedRowArguments):
    """The first messages of each table as a run would write them; nothing is written, and no Spark is started.

    The arguments are the options of `ggfmt preview`, in the forms that `convert` takes. The messages of a table are
    among its items, with their bytes as `data`, and so are the diagnostics of rejects.

    Raises what `convert` raises.
    """

    inputs: Annotated[Path | Sequence[Path], declaration.INPUTS]
    config: Annotated[Paths, declaration.CONFIG] = None
    count: Annotated[
        int, Option("-n", "--messages", metavar="N", min=1, panel="Display", help="How many messages of each table.")
    ] = 5
    table: Annotated[str | Sequence[str] | None, declaration.TABLES] = None
    to: Annotated[str | None, declaration.TO] = None
    handlers: Annotated[str | Sequence[str] | None, declaration.HANDLERS] = None
    input_format: Annotated[str, declaration.INPUT_FORMAT] = "auto"
    input_config: Annotated[Path | None, declaration.INPUT_CONFIG] = None
    input_options: Annotated[Properties, declaration.INPUT_OPTIONS] = None
    definitions: Annotated[Mapping[str, TableDef] | Paths, declaration.DEFINITIONS] = None
    settings: Annotated[Properties, declaration.SETTINGS] = None
    current_timestamp: Annotated[datetime | str | None, declaration.CURRENT_TIMESTAMP] = None
    _: KW_ONLY
    schema_registry: Annotated[Path | None, declaration.SCHEMA_REGISTRY, After("input_options")] = None
    producer_config: Annotated[Path | None, declaration.PRODUCER_CONFIG] = None
    exclude: Annotated[str | Sequence[str] | None, declaration.EXCLUDE, After("table")] = None
    columns: Annotated[str | Mapping[str, Sequence[str]] | None, declaration.COLUMNS, After("exclude")] = None
    mask: Annotated[Mapping[str, str] | str | Sequence[str] | None, declaration.MASK, After("columns")] = None
    mask_key: Annotated[Path | None, declaration.MASK_KEY, After("mask")] = None
    replicat: Annotated[Path | None, declaration.REPLICAT, After("config")] = None
    warn: Annotated[Callable[[Sequence[Diagnostic]], None], PythonOnly()] = ignore_warnings


def run_preview(request: PreviewRequest) -> Preview:
    from ggfmt.sinks.preview import PreviewSettings
    from ggfmt.sinks.preview import preview as look

    process = arguments.process(request.replicat, request.warn)
    config = request.config if request.to is not None else process.config(arguments.texts(request.config))
    configuration = arguments.configuration(config, request.settings, request.handlers, request.to, group=process.group)
    request.warn(configuration.diagnostics)
    if configuration.release is not None and not configuration.release.given:
        log.info("%s", visible(configuration.release.reason))
    input_format, source = arguments.input_settings(
        request.input_format, request.input_config, request.input_options, request.schema_registry, request
    )
    settings = settings_from(request, PreviewSettings)(
        inputs=arguments.texts(request.inputs),
        handlers=configuration.handlers,
        input_format=input_format,
        definitions=process.definitions(arguments.tables(request.definitions, source), source),
        current_timestamp=arguments.parse_timestamp(request.current_timestamp),
        run_options=configuration.run,
        source=source,
        replacements=configuration.replacements,
        selection=arguments.selection(
            request.table,
            request.exclude,
            request.columns,
            request.mask,
            request.mask_key,
            process.maps(source, configuration),
        ),
        topics=arguments.topics(request.producer_config),
    )
    return look(settings)


@dataclass(frozen=True, eq=False, repr=False)
class SchemaRequest(declaration.KeyedRowArguments):
    """The schemas of the messages, each with the `name` of its file and its `content` in bytes, for the tables of
    `definitions` or those found in the inputs.

    The arguments are the options of `ggfmt schema`, in the forms that `convert` takes. Raises ConfigurationError where
    a schema cannot be made, UsageError where there is nothing to make one of, and Abend for a record that cannot be
    read. With `on_reject="quarantine"`, the attribute `rejected` of the schemas counts such records by code.
    """

    inputs: Annotated[
        Path | Sequence[Path] | None, Argument(metavar="INPUT", help="Files, directories or globs to find tables in.")
    ] = None
    config: Annotated[Paths, declaration.CONFIG] = None
    definitions: Annotated[Mapping[str, TableDef] | Paths, declaration.DEFINITIONS] = None
    settings: Annotated[Properties, declaration.SETTINGS] = None
    handlers: Annotated[str | Sequence[str] | None, declaration.HANDLERS] = None
    input_format: Annotated[str, declaration.INPUT_FORMAT] = "auto"
    kind: Annotated[
        SchemaKind | None,
        Option(help="The kind of schema. Default: the kind of each handler's format."),
        After("output"),
    ] = None
    _: KW_ONLY
    on_reject: Annotated[OnReject, declaration.ON_REJECT, After("output")] = "abend"
    producer_config: Annotated[Path | None, declaration.PRODUCER_CONFIG] = None
    input_config: Annotated[Path | None, declaration.INPUT_CONFIG, After("input_format")] = None
    input_options: Annotated[Properties, declaration.INPUT_OPTIONS, After("input_config")] = None
    schema_registry: Annotated[Path | None, declaration.SCHEMA_REGISTRY, After("input_options")] = None
    table: Annotated[str | Sequence[str] | None, declaration.TABLES, After("definitions")] = None
    exclude: Annotated[str | Sequence[str] | None, declaration.EXCLUDE, After("table")] = None
    columns: Annotated[str | Mapping[str, Sequence[str]] | None, declaration.COLUMNS, After("exclude")] = None
    mask: Annotated[Mapping[str, str] | str | Sequence[str] | None, declaration.MASK, After("columns")] = None
    mask_key: Annotated[Path | None, declaration.MASK_KEY, After("mask")] = None
    replicat: Annotated[Path | None, declaration.REPLICAT, After("config")] = None
    warn: Annotated[Callable[[Sequence[Diagnostic]], None], PythonOnly()] = ignore_warnings


def make_schemas(request: SchemaRequest) -> Schemas:
    from ggfmt.reading.scan import ScanRequest
    from ggfmt.sinks.schema import schemas

    arguments.check_choices(request)
    configuration, process = None, arguments.process(request.replicat, request.warn)
    config = process.config(arguments.texts(request.config))
    if config or arguments.lines(request.settings):
        configuration = arguments.configuration(config, request.settings, request.handlers, None, group=process.group)
        request.warn(configuration.diagnostics)
    input_format, source = arguments.input_settings(
        request.input_format, request.input_config, request.input_options, request.schema_registry, request
    )
    definitions = process.definitions(arguments.tables(request.definitions, source), source)
    given = request.table, request.exclude, request.columns, request.mask, request.mask_key
    selection = arguments.selection(*given, process.maps(source, configuration))
    files, topics = arguments.texts(request.inputs), arguments.topics(request.producer_config)
    wanted = ScanRequest(files, input_format, source, definitions, selection=selection, topics=topics)
    return schemas(wanted, configuration, request.kind, request.on_reject == "quarantine")


@dataclass(frozen=True, eq=False, repr=False)
class LintRequest:
    """All that `ggfmt validate-config` finds in handler files, or in the text of one, in order.

    `files` are files, directories of them, or globs; `name` is the name of the text in diagnostics. Settings of
    the linter in `ggfmt.toml` and `pyproject.toml` are not taken. Raises UsageError for a file that is not there.
    """

    files: Annotated[
        Path | Sequence[Path] | None,
        Argument(
            metavar="FILE",
            required=True,
            help="Handler files, directories with handler files, globs, or `-` for standard input.",
        ),
    ] = None
    text: Annotated[str | bytes | None, PythonOnly()] = None
    settings: Annotated[Properties, declaration.SETTINGS, After("machine")] = None
    name: Annotated[str, PythonOnly()] = "<text>"
    _: KW_ONLY
    for_run: Annotated[
        bool,
        Option(panel="Checks", help="Report what ggfmt does not do with the severity that it has in a run."),
        After("strict"),
    ] = False


class Findings(Summarized, list[Diagnostic]):
    """What a check has found."""

    @property
    def _summary(self) -> Summary:
        from ggfmt.commit.names import counted

        found = Counter(one.severity.value for one in self)
        rows = [(str(one.span.line or ""), one.severity.value, one.code, one.message, one.help or "") for one in self]
        facts = [counted(count, severity) for severity, count in found.items()] or ["no findings"]
        table = SummaryTable(("line", "severity", "code", "message", "help"), rows)
        return Summary("ggfmt.validate_config", facts, [table])


def find_mistakes(request: LintRequest) -> list[Diagnostic]:
    import io

    from ggfmt.config.lint.files import find_sources
    from ggfmt.config.lint.reading import Rules
    from ggfmt.config.lint.reading import lint as check

    given, rules = arguments.lines(request.settings), Rules(for_run=request.for_run)
    found: list[Diagnostic] = []
    if request.text is not None:
        text = request.text.encode() if isinstance(request.text, str) else request.text
        found += check(text, request.name, rules, given)
    files = arguments.texts(request.files)
    if files:
        sources = find_sources(files, io.BytesIO())
        if sources.findings:
            raise UsageError.of(*sources.findings)
        for source in sources.found:
            found += check(source.content, source.name, rules, given)
    return Findings(dict.fromkeys(found))
