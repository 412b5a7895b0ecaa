"""`ggfmt.consolidate`: what `ggfmt consolidate` does, for programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from ggfmt.commands import arguments, declaration
from ggfmt.commands.arguments import Path, Paths, Properties
from ggfmt.commands.conversion import OnReject
from ggfmt.commands.declaration import After, OldName, Option, PythonOnly, settings_from
from ggfmt.commands.runners import choose_runner
from ggfmt.dataclasses import KW_ONLY, dataclass
from ggfmt.options.spec import argument_error
from ggfmt.options.value_types import ForeignCommits, OnUnfit, RowOrder, TableErrors
from ggfmt.rowfiles.formats import ROW_FORMATS
from ggfmt.summary import Summarized, Summary, SummaryTable

if TYPE_CHECKING:
    from ggfmt.model.table import TableDef
    from ggfmt.reading.progress import ProgressSnapshot
    from ggfmt.rows.targets.database_state import ApplyDatabase

RowMode = Literal["error", "overwrite"]
Moment = str | datetime | None
if TYPE_CHECKING:
    RowsTo = str
else:
    RowsTo = Literal[tuple(name for name, format in ROW_FORMATS.items() if format.is_offered)]


@dataclass(frozen=True, eq=False, repr=False)  # options of Spark may be passwords
class ConsolidateRequest(declaration.RowArguments):
    """Writes the rows of all tables in change files as they are after the last operation, as `ggfmt consolidate` does.

    The arguments are the options of `ggfmt consolidate`, with the same names, meanings and defaults. Those that
    `ggfmt.run` has too are as there; `types` is a mapping of patterns, `keep` has one or several words, and moments
    may be times.

    The manifest, which is also in `_ggfmt/manifest.json`: by table its rows, and the files with their digests.

    Raises ConfigurationError for definitions, UsageError for what makes no sense, Abend where nothing was committed
    because of the data, and CommittedWithErrors where something failed after the commit.
    """

    inputs: Annotated[Path | Sequence[Path], declaration.INPUTS, OldName("paths")]
    output: Annotated[
        Path,
        Option(
            "-o", "--output", metavar="DIR", panel="Output", help="The output directory, with one directory per table."
        ),
    ]
    to: Annotated[RowsTo, Option(panel="Handlers", help="The format of files, or of the tables of a lakehouse.")] = (
        "parquet"
    )
    as_of: Annotated[Moment, Option(metavar="TIME", help="Ignore operations after this time or position.")] = None
    since: Annotated[
        Moment, Option(metavar="TIME", help="With `--changes`: only changes after this time or position.")
    ] = None
    history: Annotated[bool, Option(help="Write every version of each row.")] = False
    changes: Annotated[bool, Option(help="Write net changes: one insert, update or delete for each key.")] = False
    base: Annotated[
        Path | None,
        Option(metavar="DIR", help="A base snapshot: an earlier result, or an export with one directory per table."),
    ] = None
    checkpoint: Annotated[Path | None, declaration.CHECKPOINT] = None
    settle: Annotated[float | None, declaration.SETTLE] = None
    keep: Annotated[
        str | Sequence[str] | None,
        Option(
            metavar="STATES", multiple=False, help="Also write rows that are `deleted` or `unresolved`, with a mark."
        ),
    ] = None
    key: Annotated[
        str | Sequence[str] | Mapping[str, Sequence[str]] | None, declaration.KEY, OldName("primary_keys")
    ] = None
    order: Annotated[RowOrder, declaration.ORDER] = "auto"
    types: Annotated[Mapping[str, str] | Sequence[str] | None, declaration.TYPES] = None
    strict: Annotated[bool, Option(panel="Checks", help="Stop if a row is unresolved, or a value is lost.")] = False
    mode: Annotated[RowMode, declaration.MODE] = "error"
    input_format: Annotated[str, declaration.INPUT_FORMAT] = "auto"
    input_config: Annotated[Path | None, declaration.INPUT_CONFIG] = None
    input_options: Annotated[Properties, declaration.INPUT_OPTIONS] = None
    definitions: Annotated[Mapping[str, TableDef] | Paths, declaration.DEFINITIONS] = None
    master: Annotated[
        str | None, Option(metavar="URL", panel="Spark", help="The Spark master; default local. `none`: without Spark.")
    ] = None
    spark_conf: Annotated[Properties, declaration.SPARK_CONF] = None
    java_home: Annotated[Path | None, declaration.JAVA_HOME] = None
    split_size: Annotated[int | str | None, declaration.SPLIT_SIZE] = None
    max_record: Annotated[int | str | None, declaration.MAX_RECORD] = None
    remote: Annotated[str | None, declaration.REMOTE] = None
    _: KW_ONLY
    schema_registry: Annotated[Path | None, declaration.SCHEMA_REGISTRY, After("input_options")] = None
    resume: Annotated[bool, declaration.RESUME, After("mode")] = False
    fresh: Annotated[bool, declaration.FRESH, After("resume")] = False
    max_files: Annotated[int | None, declaration.MAX_FILES, After("settle")] = None
    max_bytes: Annotated[int | str | None, declaration.MAX_BYTES, After("max_files")] = None
    producer_config: Annotated[Path | None, declaration.PRODUCER_CONFIG] = None
    staging: Annotated[Path | None, declaration.STAGING] = None
    allow_empty: Annotated[bool, declaration.ALLOW_EMPTY, After("base")] = False
    on_reject: Annotated[OnReject, declaration.ON_REJECT, After("mode")] = "abend"
    table: Annotated[str | Sequence[str] | None, declaration.TABLES, After("definitions")] = None
    exclude: Annotated[str | Sequence[str] | None, declaration.EXCLUDE, After("table")] = None
    columns: Annotated[str | Mapping[str, Sequence[str]] | None, declaration.COLUMNS, After("exclude")] = None
    mask: Annotated[Mapping[str, str] | str | Sequence[str] | None, declaration.MASK, After("columns")] = None
    mask_key: Annotated[Path | None, declaration.MASK_KEY, After("mask")] = None
    replicat: Annotated[Path | None, declaration.REPLICAT, After("mask_key")] = None
    catalog: Annotated[
        str | None, Option(metavar="NAME", help="The Iceberg catalog in the configuration of PyIceberg."), After("to")
    ] = None
    catalog_options: Annotated[
        Properties,
        Option("--catalog-option", metavar="KEY=VALUE", help="A property of the Iceberg catalog, such as `uri=...`."),
        After("catalog"),
    ] = None
    table_options: Annotated[
        Properties,
        Option("--table-option", metavar="KEY=VALUE", help="A property of new Delta or Iceberg tables."),
        After("catalog_options"),
    ] = None
    sort_by: Annotated[
        str | None, Option(metavar="COLUMNS", help="Sort the rows of each file: `PLACED,ID`."), After("table_options")
    ] = None
    partition_by: Annotated[
        str | None,
        Option(metavar="COLUMNS", help="Partition tables by columns: `REGION`, or `S.A=REGION;S.B=DAY`."),
        After("sort_by"),
    ] = None
    file_size: Annotated[
        int | str | None,
        Option(metavar="BYTES", help="The approximate size of each file of rows, such as `64m`."),
        After("sort_by"),
    ] = None
    metadata_prefix: Annotated[
        str,
        Option(metavar="TEXT", help="Text before the names of metadata columns: `gg` gives `gg_op`."),
        After("keep"),
    ] = ""
    starts_empty: Annotated[bool, declaration.STARTS_EMPTY, After("order")] = False
    on_unfit: Annotated[
        OnUnfit,
        Option(panel="Checks", help="What to do with a value that does not fit its column type."),
        After("strict"),
    ] = "error"
    drop_columns: Annotated[
        bool, Option(help="Drop a column from a table as the source does; default: keep it as NULL."), After("types")
    ] = False
    on_foreign_commit: Annotated[
        ForeignCommits,
        Option(panel="Checks", help="What to do if another program has written to a table."),
        After("strict"),
    ] = "refuse"
    on_table_error: Annotated[TableErrors, declaration.TABLE_ERRORS, After("on_foreign_commit")] = "stop"
    spark: Annotated[object | None, PythonOnly()] = None
    progress: Annotated[Callable[[ProgressSnapshot], None] | None, PythonOnly()] = None


class RowsManifest(Summarized, dict[str, Any]):
    """The manifest of a consolidation, with a summary in place of its text. `directory`: where the rows are;
    `is_unchanged`: there was nothing to do, and the manifest is that of the last run."""

    def __init__(self, manifest: Mapping[str, Any], directory: str, is_unchanged: bool = False) -> None:
        super().__init__(manifest)
        self.directory, self.is_unchanged = directory, is_unchanged

    @property
    def _summary(self) -> Summary:
        from ggfmt.commit.names import counted
        from ggfmt.location import strip_credentials

        tables = self.get("tables", {})  # nothing if there was nothing to read
        facts = [
            f"{counted(sum(table['rows'] for table in tables.values()), 'row')} of {counted(len(tables), 'table')}",
            f"{sum(table['unresolved'] for table in tables.values()):,} unresolved",
            f"{counted(sum(self.get('rejects', {}).values()), 'record')} rejected",
            *(f"{name} set aside" for name in self.get("set_aside", {})),
            f"in {strip_credentials(self.directory)}",
        ]
        rows = [
            (name, sum(table["operations"].values()), table["rows"], table["unresolved"], ", ".join(table["key"]))
            for name, table in tables.items()
        ]
        columns = ("table", "operations", "rows", "unresolved", "key")
        return Summary("ggfmt.consolidate", facts, [SummaryTable(columns, rows)])


def run_consolidation(
    request: ConsolidateRequest, to: str | None = None, database: ApplyDatabase | None = None
) -> RowsManifest:
    """Run a consolidation. `to`: a target that the request cannot name, with its connection."""
    from ggfmt.formats.api.reading import MAX_RECORD_BYTES
    from ggfmt.reading.listing import CommitLimits
    from ggfmt.rows.query import RowQuery, query_error
    from ggfmt.rows.request import TargetOptions
    from ggfmt.rows.run import ConsolidationSettings, UnchangedManifest, execute

    arguments.check_choices(request)
    if request.history and request.changes:
        raise query_error("a history and net changes are two results", "leave out one of `history` and `changes`")
    files, target = arguments.texts(request.inputs), arguments.text(request.output)
    assert target is not None
    runner = choose_runner(
        request.master, request.spark_conf, arguments.text(request.java_home), request.remote, request.spark
    )
    process = arguments.process(request.replicat)
    topics = arguments.topics(request.producer_config, request.staging)
    runner.check_reach(files, None, topics)
    kept = [word.strip() for text in arguments.words(request.keep) for word in text.split(",")]
    query = RowQuery(
        "history" if request.history else "changes" if request.changes else "current",
        _moment(request.as_of),
        _moment(request.since),
        request.order,
        frozenset(filter(None, kept)),
        request.on_unfit,
        request.starts_empty,
        request.metadata_prefix,
        traces=database is not None,
    )
    input_format, source = arguments.input_settings(
        request.input_format, request.input_config, request.input_options, request.schema_registry, request
    )
    settings = settings_from(request, ConsolidationSettings)(
        inputs=files,
        output=target,
        query=query,
        to=to or request.to,
        mode=request.mode,
        resume=arguments.resume(request.resume, request.fresh),
        quarantine=request.on_reject == "quarantine",
        base=arguments.text(request.base),
        checkpoint=arguments.text(request.checkpoint),
        limits=CommitLimits(request.max_files, arguments.size(request.max_bytes, "`--max-bytes`")),
        keys=arguments.keys(request.key),
        types=_types(request.types),
        target=TargetOptions(
            tuple(filter(None, map(str.strip, (request.sort_by or "").split(",")))),
            arguments.keys(request.partition_by, "`--partition-by`"),
            arguments.size(request.file_size, "`--file-size`"),
            request.catalog,
            arguments.pairs(request.catalog_options, "`--catalog-option`", "`uri=https://catalog.example`"),
            request.on_foreign_commit,
            request.drop_columns,
            arguments.pairs(request.table_options, "`--table-option`", "`delta.logRetentionDuration=interval 30 days`"),
            request.on_table_error,
            database,
        ),
        input_format=input_format,
        source=source,
        definitions=process.definitions(arguments.tables(request.definitions, source), source),
        selection=arguments.selection(
            request.table,
            request.exclude,
            request.columns,
            request.mask,
            request.mask_key,
            process.maps(source, strict=request.strict),
        ),
        topics=topics,
        split_size=arguments.size(request.split_size, "`--split-size`"),
        max_record=arguments.size(request.max_record, "`--max-record`") or MAX_RECORD_BYTES,
    )
    found = execute(settings, runner.start, request.progress)
    return RowsManifest(found, target, isinstance(found, UnchangedManifest))


def _moment(given: Moment) -> str | None:
    return given.isoformat() if isinstance(given, datetime) else given


def _types(given: Mapping[str, str] | Sequence[str] | None) -> tuple[tuple[str, str], ...]:
    if isinstance(given, Mapping):
        return tuple((pattern.strip(), type.strip()) for pattern, type in given.items())
    split = [text.rpartition("=") for text in arguments.words(given)]
    for pattern, equals, type in split:
        if not equals or not pattern or not type:
            message = f"`{pattern}{equals}{type}` is not TABLE.COLUMN=TYPE"
            raise argument_error(message, "for example `*.PRICE=string`")
    return tuple((pattern.strip(), type.strip()) for pattern, _, type in split)
