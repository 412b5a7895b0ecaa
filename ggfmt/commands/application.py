"""`ggfmt.apply`: what `ggfmt apply` does, for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path as LocalPath
from typing import TYPE_CHECKING, Annotated, Any, Literal

from ggfmt.commands import arguments, declaration
from ggfmt.commands.arguments import Path, Paths, Properties
from ggfmt.commands.consolidation import ConsolidateRequest, RowsManifest, run_consolidation
from ggfmt.commands.declaration import Option, PythonOnly, parameters
from ggfmt.dataclasses import KW_ONLY, dataclass, replace
from ggfmt.diagnostics.diagnostic import Diagnostic, GgfmtError, UsageError
from ggfmt.options.value_types import RowOrder, TableErrors

if TYPE_CHECKING:
    from ggfmt.model.table import TableDef
    from ggfmt.reading.progress import ProgressSnapshot

Dialect = Literal["snowflake", "bigquery", "databricks"]


@dataclass(frozen=True, eq=False, repr=False)
class ApplyRequest(declaration.RowArguments):
    """Applies change files to the tables of a PostgreSQL or MariaDB database, as `ggfmt apply` does.

    The arguments are the options of `ggfmt apply`; those that `ggfmt.consolidate` has too are as there. `inputs` may
    have the URL of the database as its last one, as on the command line.

    The statements of the run, as SQL.

    Raises UsageError for what makes no sense and for tables that do not fit the changes, and Abend where the data or
    the database prevents the run. Nothing was changed then.
    """

    inputs: Annotated[Path | Sequence[Path], declaration.CHANGES_AND_DATABASE]
    database: Annotated[str | None, PythonOnly()] = None
    stream: Annotated[
        str, Option(metavar="NAME", panel="Output", help="The name under which the database remembers what was read.")
    ] = "default"
    settle: Annotated[
        float | None,
        Option(
            metavar="SECONDS", min=0, panel="Input", help="Skip files that were just written to, and all after them."
        ),
    ] = None
    key: Annotated[str | Sequence[str] | Mapping[str, Sequence[str]] | None, declaration.KEY] = None
    order: Annotated[RowOrder, declaration.ORDER] = "auto"
    starts_empty: Annotated[bool, declaration.STARTS_EMPTY] = False
    types: Annotated[Mapping[str, str] | Sequence[str] | None, declaration.TYPES] = None
    strict: Annotated[
        bool, Option(panel="Checks", help="Stop if operations contradict the rows, or a value is lost.")
    ] = False
    on_table_error: Annotated[TableErrors, declaration.TABLE_ERRORS] = "stop"
    accept: Annotated[
        bool, Option(panel="Checks", help="Go on with tables that another program has altered or made again.")
    ] = False
    keep: Annotated[
        Literal["deleted"] | None,
        Option(panel="Output", metavar="deleted", help="Keep rows that the source deletes, marked in `_state`."),
    ] = None
    as_replica: Annotated[
        bool, Option(panel="Output", help="Check no foreign keys and fire no triggers, as replication does.")
    ] = False
    lock_timeout: Annotated[
        float | None,
        Option(metavar="SECONDS", min=0, panel="Output", help="Stop if a lock is not free after so many seconds."),
    ] = None
    dry_run: Annotated[bool, Option(panel="Checks", help="Print the SQL of the run, and roll it back.")] = False
    print_sql: Annotated[
        Dialect | None,
        Option(
            panel="Output",
            metavar="snowflake|bigquery|databricks",
            help="Only print SQL for an INPUT of `consolidate --changes`; without DATABASE.",
        ),
    ] = None
    input_format: Annotated[str, declaration.INPUT_FORMAT] = "auto"
    input_config: Annotated[Path | None, declaration.INPUT_CONFIG] = None
    input_options: Annotated[Properties, declaration.INPUT_OPTIONS] = None
    schema_registry: Annotated[Path | None, declaration.SCHEMA_REGISTRY] = None
    definitions: Annotated[Mapping[str, TableDef] | Paths, declaration.DEFINITIONS] = None
    table: Annotated[str | Sequence[str] | None, declaration.TABLES] = None
    exclude: Annotated[str | Sequence[str] | None, declaration.EXCLUDE] = None
    columns: Annotated[str | Mapping[str, Sequence[str]] | None, declaration.COLUMNS] = None
    mask: Annotated[Mapping[str, str] | str | Sequence[str] | None, declaration.MASK] = None
    mask_key: Annotated[Path | None, declaration.MASK_KEY] = None
    replicat: Annotated[Path | None, declaration.REPLICAT] = None
    max_record: Annotated[int | str | None, declaration.MAX_RECORD] = None
    _: KW_ONLY
    producer_config: Annotated[Path | None, declaration.PRODUCER_CONFIG] = None
    staging: Annotated[Path | None, declaration.STAGING] = None
    progress: Annotated[Callable[[ProgressSnapshot], None] | None, PythonOnly()] = None


class AppliedStatements(list[str]):
    """The statements of a run. `set_aside`: the tables whose changes are left to the next run; `manifest`: what
    `ggfmt.consolidate` returns; `database`: its address without credentials."""

    def __init__(self, statements: Iterable[str], manifest: RowsManifest | None = None, database: str = "") -> None:
        from ggfmt.commit.records import SET_ASIDE_MEMBER

        super().__init__(statements)
        self.manifest, self.database = manifest if manifest is not None else RowsManifest({}, ""), database
        self.set_aside = list(self.manifest.get(SET_ASIDE_MEMBER, ()))


def run_application(request: ApplyRequest) -> AppliedStatements:
    from ggfmt.location import is_database
    from ggfmt.rows.targets.database_state import CHECKPOINT, OUTPUT, ApplyOptions
    from ggfmt.rows.targets.mariadb_state import ApplyMariaDB, is_mariadb
    from ggfmt.rows.targets.postgresql_state import ApplyConnection
    from ggfmt.scratch import Scratch, remove_abandoned

    arguments.check_choices(request)
    inputs = arguments.texts(request.inputs)
    if request.print_sql is not None:
        from ggfmt.rows.merge_sql import merge_statements

        return AppliedStatements(sql for given in inputs for sql in merge_statements(given, request.print_sql))
    url = request.database if request.database is not None else inputs.pop()
    if not (is_database(url) or is_mariadb(url)) or not inputs:
        help = "for example `ggfmt apply changes/ postgresql://HOST/DATABASE`"
        raise UsageError("GG580", "give change files, and last the URL of a PostgreSQL or MariaDB database", help=help)
    shared = {each.name for each in parameters(ConsolidateRequest)} & {each.name for each in parameters(ApplyRequest)}
    given: dict[str, Any] = {name: getattr(request, name) for name in shared - {"keep"}}  # the target keeps them
    remove_abandoned()
    refused: dict[str, GgfmtError] = {}
    keeps_deleted, timeout = request.keep is not None, request.lock_timeout
    options = ApplyOptions(request.stream, request.dry_run, request.accept, request.as_replica, keeps_deleted, timeout)
    while True:
        connect = ApplyMariaDB if is_mariadb(url) else ApplyConnection
        database = connect(url, options, refused)
        try:
            with Scratch() as scratch:
                database.restore(scratch)
                places = {"output": scratch / OUTPUT, "checkpoint": scratch / CHECKPOINT}
                consolidation = ConsolidateRequest(**{**given, **places, "inputs": inputs}, master="none")
                manifest = run_consolidation(consolidation, database.target, database)
            return AppliedStatements(database.statements, manifest, database.shown)
        except GgfmtError as error:
            table = _refusing_table(error)
            if request.on_table_error == "stop" or table is None or table in refused:
                raise type(error).of(*(_placed(each, scratch, database.shown) for each in error.diagnostics)) from None
            refused[table] = error  # an error ends a transaction: the run starts again, without the table
        finally:
            database.close()


def _refusing_table(error: GgfmtError) -> str | None:
    """Return the table that cannot take its rows, if an error is of one."""
    first = error.diagnostics[0]
    return None if first.span is None or first.code not in ("GG588", "GG596") else first.span.table


def _placed(diagnostic: Diagnostic, scratch: LocalPath, shown: str) -> Diagnostic:
    """Return a diagnostic with the database in place of the directory of the run, which is gone."""
    span = diagnostic.span
    if span is None or not (span.file or "").startswith(str(scratch)):
        return diagnostic
    return replace(diagnostic, span=replace(span, file=shown))
