"""Tables of a database: `ggfmt apply`.

A run is one transaction: COMMIT publishes the rows of all tables and the state, or nothing.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from binascii import a2b_base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import pyarrow as pa

from ggfmt import signals
from ggfmt.arrow.arrays import narrow
from ggfmt.commit.commit import CommitPart, write_errors_stop
from ggfmt.commit.names import counted
from ggfmt.commit.records import is_of_rows, kept_runs, run_file
from ggfmt.dataclasses import dataclass, replace
from ggfmt.diagnostics.diagnostic import Abend, UsageError
from ggfmt.frames.column_types import TEXT
from ggfmt.java.text import visible
from ggfmt.location import Location
from ggfmt.model.sql import Sql, joined, sql
from ggfmt.model.table import join_name, split_name
from ggfmt.rowfiles.writers import write_rows
from ggfmt.rows.base import BaseFile, BaseSnapshot, BaseTable, described_table, number_ranges
from ggfmt.rows.layout import FileLayout
from ggfmt.rows.manifest import TableResult, with_set_aside
from ggfmt.rows.numbers import NumberRange
from ggfmt.rows.output import RowsDirectory
from ggfmt.rows.query import CURRENT, MOVED_FROM, STATE, RowQuery
from ggfmt.rows.readers import read_rows
from ggfmt.rows.request import TargetOptions
from ggfmt.rows.results import TableQuery
from ggfmt.rows.staging import load
from ggfmt.rows.tables import RowTable, with_found_types
from ggfmt.rows.targets.database_table import (
    MARK,
    CatalogTable,
    Parking,
    TargetCatalog,
    TargetColumn,
    TargetTable,
    found_name,
    parents_first,
    table_error,
    text_of,
)
from ggfmt.rows.targets.target import Describe, Results, RowTarget

log = logging.getLogger("ggfmt")


class _Owner:
    """What a checkpoint belongs to: the directory of the engine has another name in each run."""

    root = Location.local("/ggfmt")

    def __init__(self, handler: str) -> None:
        self.handler = handler


class DatabaseTarget(RowTarget):
    """The tables of a database. The output directory has the manifest, and operations for later runs.

    title  the name of the database for people; `exchange_help`: what to do if rows exchange keys, and cannot
    """

    title: ClassVar[str]
    exchange_help: ClassVar[str]

    suffix = "parquet"
    keeps_unresolved = False

    def __init__(self, output: RowsDirectory, to: str, options: TargetOptions) -> None:
        super().__init__(output, self.suffix, options)  # the manifest lists files of later runs alone
        assert options.database is not None
        self._database = database = options.database
        self._tables: dict[str, Any] = {}  # each a `TargetTable`
        self._places: dict[str, tuple[str, str]] = {}
        self._described: set[str] = set()  # tables of which the input shows no column
        self._touched: dict[str, int] = {}  # by table how many keys its operations have
        self.owner, self.shown = _Owner(to), database.shown
        self.refused |= database.refused

    # What differs between databases

    @abstractmethod
    def _catalog(self) -> TargetCatalog: ...

    @abstractmethod
    def _schema(self, name: str, parts: Sequence[str], catalog: TargetCatalog) -> str:
        """Return the schema of a table with a name of `parts`."""

    @abstractmethod
    def _new_name(self, table: str, name: str) -> str:
        """Return the name of a new table or column. Raises: UsageError GG596 if it cannot have it."""

    @abstractmethod
    def _new_type(self, table: RowTable, column: str) -> Sql:
        """Return the type of a new column."""

    @abstractmethod
    def _column(self, table: RowTable, source: str, there: CatalogTable, name: str) -> TargetColumn:
        """Return the column with a name. Raises: UsageError GG596 if a column cannot be written."""

    @abstractmethod
    def _table(self, source: str, there: CatalogTable, columns: Sequence[Any], key: tuple[int, ...]) -> TargetTable: ...

    @abstractmethod
    def _check_same(self, table: RowTable, there: CatalogTable, entry: Mapping[str, Any], identity: object) -> None:
        """Raises: UsageError GG596 if a table is not that of an earlier run, which `entry` describes."""

    @abstractmethod
    def _stage_keys(self, tables: Sequence[RowTable]) -> None:
        """Lock tables against other writers, and bring the keys of all operations to the server."""

    @abstractmethod
    def _stage_rows(self, changes: Sequence[TableWork]) -> None:
        """Bring the rows of tables to the server."""

    def _with_column(self, error: Abend, table: str, columns: Sequence[Any], texts: Iterable[pa.RecordBatch]) -> Abend:
        """Name the column of the value that the server has refused."""
        return error

    @abstractmethod
    def _computed_help(self, table: TargetTable, column: TargetColumn) -> str: ...

    # For all databases

    def check(self, query: RowQuery, merges: bool) -> None:
        super().check(query, merges)
        assert query.kind == "current" and merges

    def base(self) -> BaseSnapshot | None:
        tables = {name: described_table(name, entry) for name, entry in self._known.items()}
        return BaseSnapshot(self.shown, tables) if tables else None

    @property
    def _known(self) -> Mapping[str, Any]:
        """The tables of earlier runs, as the manifest has them."""
        return {} if self.previous is None else self.previous.document["tables"]

    @cached_property
    def _before_reading(self) -> TargetCatalog:
        return self._catalog()

    def described(self, name: str) -> BaseTable | None:
        catalog = self._before_reading
        schema, table = self._place(name, catalog)
        there = catalog.schemas.get(schema, {}).get(table)
        if there is None:
            return None
        self._described.add(name)
        # Columns besides the key may be those that only the database has.
        return BaseTable(name, (), dict.fromkeys(there.key, TEXT), tuple(there.key))

    def prepare(self, names: Sequence[str], bases: Mapping[str, BaseTable]) -> dict[str, BaseTable]:
        found = super().prepare(names, bases)
        tables = [self._with_found_types(self.staged.tables[name], base) for name, base in found.items()]
        catalog = self._catalog()
        for name in self.staged.undefined:
            help = "give its columns with `--definitions`, or leave it out with `--exclude`"
            raise table_error(name, "the changes do not show the columns of the table, but perhaps a truncate", help)
        self._check_keys(tables)
        tables = [table for table in tables if table.name not in self.refused]
        tables = self._going_on(tables, lambda table: self._check_known(table, catalog))
        self._check_places({table.name: self._place(table.name, catalog) for table in tables})
        before = len(self._database.statements)
        tables = self._going_on(tables, lambda table: self._make_missing(table, catalog))
        now = catalog if len(self._database.statements) == before else self._catalog()
        tables = self._going_on(tables, lambda table: self._add_table(table, now))
        if tables:
            self._stage_keys(tables)

        def read(table: RowTable) -> None:
            made = self._tables[table.name]
            try:
                self._check_equal_keys(table)
                self._clear_returned(table, made)
                found[table.name] = self._with_rows(replace(found[table.name], key=table.key), table, made)
            except Abend as error:
                columns = [made.columns[i] for i in made.key]
                raise self._with_column(error, table.name, columns, self._keys(table).to_batches()) from None

        self._going_on(tables, read)
        return found

    def _going_on(self, tables: Iterable[RowTable], step: Callable[[RowTable], None]) -> list[RowTable]:
        """Take a step for each table; return those that can go on. Raises: UsageError if others stop the run."""
        found = []
        for table in tables:
            try:
                step(table)
                found.append(table)
            except UsageError as error:
                if self.options.on_table_error == "stop":
                    raise
                self.refused[table.name] = error
        return found

    def _add_table(self, table: RowTable, catalog: TargetCatalog) -> None:
        schema, name = self._place(table.name, catalog)
        there = catalog.schemas[schema][name]
        if self._database.options.keeps_deleted:
            there = replace(there, acts_on_delete=False)
        if self._database.options.as_replica:  # foreign keys neither check rows nor change them
            there = replace(there, foreign_keys=[], acts_on_delete=False)
        self._tables[table.name] = self._target_table(table, there)

    def _target_table(self, table: RowTable, there: CatalogTable) -> TargetTable:
        """Return a table that takes the rows. Raises: UsageError GG596 if it does not fit them."""
        names = {column: found_name(table.name, column, there.columns) or column for column in table.epochs[-1].columns}
        twice = [column for column in names if [*names.values()].count(names[column]) > 1]
        if twice:
            message = f"`{twice[0]}` and `{twice[1]}` are both `{names[twice[0]]}` in the database"
            raise table_error(table.name, message, "rename a column in the database")
        columns = tuple(self._column(table, source, there, name) for source, name in names.items())
        if {*there.key} != {names.get(column) for column in table.key}:
            own, other = ", ".join(table.key), ", ".join(there.key) or "none"
            help = "change the primary key in the database, or give its columns with `--key`"
            raise table_error(table.name, f"the key is ({own}) in the changes, and ({other}) in the database", help)
        for column in columns:
            if not column.fits:
                message = f"`{column.source}` is `{column.there.cast}` in the database, and "
                message += f"`{self._new_type(table, column.source)}` in the changes"
                help = f"change the type in the database; or give `--type '{table.name}.{column.source}=string'`, and "
                help += "the server reads the texts"
                raise table_error(table.name, message, help, column.source)
        return self._table(table.name, there, columns, tuple(map([*names].index, table.key)))

    def _check_keys(self, tables: Sequence[RowTable]) -> None:
        keyless = [table.name for table in tables if not table.key]
        if keyless:
            message = f"the changes of {counted(len(keyless), 'table')} have no primary key"
            help = f"give the columns that identify a row: `--key '{'=COLUMN;'.join(keyless)}=COLUMN'`"
            raise table_error(keyless[0], message, help)

    def _check_places(self, wanted: Mapping[str, tuple[str, str]]) -> None:
        """Raises: UsageError GG596 if two tables of the source are one table of the database."""
        places = {name: (*entry["target"],) for name, entry in self._known.items()} | {**wanted}
        first: dict[tuple[str, ...], str] = {}
        for name, place in places.items():
            if (other := first.setdefault(place, name)) != name:
                message = f"`{other}` and `{name}` of the changes are both `{join_name(*place)}` in the database"
                raise table_error(name, message, "create a table with the exact name, or leave one out by `--exclude`")

    def _with_found_types(self, table: RowTable, base: BaseTable) -> RowTable:
        return with_found_types(table, self.staged.staged[table.name].stats.numbers, number_ranges(base))[0]

    def _place(self, name: str, catalog: TargetCatalog) -> tuple[str, str]:
        """Return schema and name of a table. Raises: UsageError GG596 for a table that was dropped."""
        if name in self._known:
            schema, table = self._known[name]["target"]
            if table not in catalog.schemas.get(schema, {}):
                help = "restore it; or, to apply all changes to a new one, give another `--stream`"
                raise table_error(name, f"the table `{join_name(schema, table)}` was dropped", help)
            return schema, table
        if name not in self._places:  # a table that the run makes is not that of another case
            parts = split_name(name)
            schema = self._schema(name, parts, catalog)
            known = catalog.schemas.get(schema, {})
            self._places[name] = schema, found_name(name, parts[-1], known) or self._new_name(name, parts[-1])
        return self._places[name]

    def _make_missing(self, table: RowTable, catalog: TargetCatalog) -> None:
        """Create a table and columns that the database lacks."""
        schema, name = self._place(table.name, catalog)
        shown = self._database.dialect.identifier(schema, name)
        known = catalog.schemas.get(schema, {}).get(name)
        columns = table.epochs[-1].columns
        lacking = [each for each in columns if known is None or not found_name(table.name, each, known.columns)]
        self._check_cases(table.name, lacking, columns)
        marks = self._database.options.keeps_deleted and (known is None or STATE not in known.columns)
        if self._database.options.keeps_deleted and STATE in columns:
            message = f"the changes have a column `{STATE}`, which marks deleted rows"
            raise table_error(table.name, message, "leave it out with `--columns`", STATE)
        if schema not in catalog.schemas:
            self._database.execute(sql("create schema {}", self._database.dialect.identifier(schema)), table.name)
            catalog.schemas[schema] = {}
        names = {column: self._database.dialect.identifier(self._new_name(table.name, column)) for column in lacking}
        added = [sql("{} {}", names[column], self._new_type(table, column)) for column in lacking]
        if marks:
            added.append(sql("{} varchar(10) default '{}' not null", MARK, sql(CURRENT)))
        if known is None:
            added.append(sql("primary key ({})", joined(", ", [names[column] for column in table.key])))
            self._database.execute(sql("create table {} ({})", shown, joined(", ", added)), table.name)
            catalog.schemas[schema][name] = CatalogTable(schema, name)
        elif added:
            adds = joined(", ", [sql("add column {}", column) for column in added])
            self._database.execute(sql("alter table {} {}", shown, adds), table.name)

    def _check_cases(self, table: str, new: Sequence[str], columns: Sequence[str]) -> None:
        """Raises: UsageError GG596 if a new column would have the name of another one, but for its case."""
        for name in new:
            other = next((each for each in columns if each != name and each.casefold() == name.casefold()), None)
            if other is not None:
                message = f"the changes have the columns `{name}` and `{other}`, which are one name in {self.title}"
                help = "leave one out with `--columns`, or create the table with both names"
                raise table_error(table, f"{message} without quotes", help, name)

    def _check_known(self, table: RowTable, catalog: TargetCatalog) -> None:
        """Raises: UsageError GG596 for a table that is another one than in the run before: it was made again, or its
        columns were dropped, renamed or narrowed. In a restored database, the state of the stream is another table,
        too."""
        schema, name = self._place(table.name, catalog)
        there = catalog.schemas.get(schema, {}).get(name)
        if there is None:
            return
        entry = self._known.get(table.name, {})
        if entry.get("keeps_deleted") and not self._database.options.keeps_deleted:
            message = f"rows that the source has deleted are still in the table, marked in `{STATE}`"
            raise table_error(table.name, message, "run with `--keep deleted`, as before")
        before, now = entry.get("oids", [None, None]), [there.identity, self._database.state_oid]
        if before[1] not in (None, now[1]) or self._database.options.accepts:
            return
        self._check_same(table, there, entry, now[0])

    def _clear_returned(self, table: RowTable, made: TargetTable) -> None:
        """Empty columns that the source has dropped and added again: the table has their old values."""
        entry = self._known.get(table.name, {})
        earlier, gone = {*entry.get("columns", ())}, {*entry.get("dropped", ())}
        for epoch in table.epochs:
            gone |= earlier - {*epoch.columns}
            earlier |= {*epoch.columns}
        for column in made.columns:
            if column.source in gone and column.there.filled != "s":
                self._database.execute(sql("update {} set {} = null", made.only, column.name), table.name)

    def _keys(self, table: RowTable) -> pa.Table:
        kept = [] if self.previous is None else [self.previous.kept(table, self.output.root).batch]
        return _touched(table, chain(load(self.staged.staged[table.name].parts), kept))

    def _check_equal_keys(self, table: RowTable) -> None:
        if self._database.value(self._tables[table.name].equal_keys()):
            message = "different keys are one key in the database"
            raise table_error(table.name, message, "give the key columns a type in which they differ, such as `text`")

    def _with_rows(self, base: BaseTable, table: RowTable, made: TargetTable) -> BaseTable:
        """Return a base with the present rows of the keys that the run touches."""
        database, staged = self._database, self.staged.staged[table.name]
        if self.previous is None:
            base = replace(base, complete=bool(database.value(sql("select exists (select 1 from {})", made.only))))
        if staged.stats.truncates:
            return base
        numbers = {name: replace(base.numbers.get(name, NumberRange())) for name in table.found}
        schema = pa.schema([(column.source, TEXT) for column in made.columns])

        def rows() -> Iterator[pa.RecordBatch]:
            for batch in database.query(made.read_touched(), table.name):
                texts = pa.RecordBatch.from_arrays([column.cast(TEXT) for column in batch.columns], schema=schema)
                for name in numbers.keys() & {*schema.names}:
                    numbers[name].merge(NumberRange.of(narrow(texts[name], pa.StringArray)))
                yield texts

        location = self.staging.child("base", f"{made.number:05d}.{self.suffix}")
        file = write_rows(location, self.suffix, table.name, schema, rows())
        types = {**base.types, **dict.fromkeys(schema.names, TEXT)}
        return replace(base, files=(BaseFile(file.location, self.suffix),), types=types, numbers=numbers)

    def layout(self, query: TableQuery, number: int) -> FileLayout:
        return FileLayout(self.staging.child("rows", f"{number:05d}"), self.suffix)

    def publish(self, results: Results, describe: Describe, others: Sequence[CommitPart]) -> dict[str, Any]:
        database = self._database
        written = [result for result in results if result.aside is None]
        changes = [
            TableWork(self._tables[result.table.name], result, self._touched[result.table.name]) for result in written
        ]
        self._stage_rows(changes)
        self._write(changes)
        parts = {} if self.previous is None else self.previous.last_parts()
        published = [file for result in results for file in self.operation_files(result, parts)]
        document, stale = self._with_others(describe(published), results)
        if database.options.dry_run:
            self.ending = "rolled back, because of `--dry-run`: nothing was changed in"
            return document
        part = CommitPart(self.output, deletes=[*stale, *map(run_file, kept_runs(self.output.store))])
        for item in published:
            part.moves.append(self.output.move(item.file.location, item.name, item.file.size, item.file.sha256))
        with signals.deferred():  # a signal would find a commit in the directory, and none in the database
            with write_errors_stop(self.output.root):
                self.commit(part, document, others)
            database.save(Path(self.output.root.inner).parent)
        return document

    def _write(self, changes: Sequence[TableWork]) -> None:
        """Change all tables. Rows that are referred to come before those that refer to them, and leave after them."""
        by_oid = {change.table.there.oid: change for change in changes}
        ordered = [by_oid[there.oid] for there in parents_first(change.table.there for change in changes)]
        for change in reversed(ordered):
            for key in change.table.there.foreign_keys:
                parent = by_oid.get(key.to)
                if parent is not None and parent is not change and parent.moves:
                    for statement in change.table.follow(parent.table, key, change.moves):
                        change.follows = True
                        self._database.execute(statement, change.table.source)
        steps = [
            *((self._delete, change) for change in reversed(ordered) if change.deletes_first),
            *((self._upsert, change) for change in ordered),
            *((self._delete, change) for change in reversed(ordered) if not change.deletes_first),
            *((self._check, change) for change in ordered),
        ]
        for step, change in steps:
            try:
                step(change)
            except Abend as error:
                table, texts = change.table, change.batches(self.suffix)
                raise self._with_column(error, table.source, table.columns, texts) from None
        for change in changes:
            shown, rows = visible(change.table.shown), counted(change.rows, "row")
            log.info("%s: %s written, %s deleted", shown, rows, f"{change.deleted:,}")

    def _delete(self, change: TableWork) -> None:
        if change.may_delete:
            statement = change.table.delete(change.parking, change.rows > 0, not change.deletes_first, change.truncates)
            change.deleted = max(self._database.execute(statement, change.table.source), 0)

    def _upsert(self, change: TableWork) -> None:
        table, database = change.table, self._database
        if not change.rows:
            return
        if table.keeps_deleted:
            database.execute(table.replace_marked(), table.source)
        if change.moves:
            self._check_moves(table)
            column, is_occupied = table.parked_column(), database.value(table.occupied())
            if is_occupied and table.keeps_deleted and change.may_delete and not change.deletes_first:
                message = "keys change with keys of another table, and deleted rows have the new keys"
                raise table_error(table.source, message, "run without `--keep`, into another database")
            if is_occupied and column is not None:
                change.parking = self._parking(table, column)
                database.execute(table.park(change.parking), table.source)
            elif is_occupied and not (table.there.defers_key and change.deletes_first):
                message = "rows exchange keys, and no column of the key can have another value meanwhile"
                raise table_error(table.source, message, self.exchange_help)
            database.execute(table.move(change.parking), table.source)
        for index, column, own in table.unique_values():
            if column is None:
                continue  # a conflict is an error of the server
            value = None
            if column.there.required or index.one_null:
                value = self._parking(table, column)
            gone = None
            if change.may_delete and not (change.deletes_first or table.keeps_deleted):
                gone = table.gone(change.parking, True, True)
            database.execute(table.park_unique(column, value, own, gone, change.truncates), table.source)
        for statement in table.merge():
            database.execute(statement, table.source)

    def _parking(self, table: TargetTable, column: TargetColumn) -> Parking:
        return Parking(column, self._database.dialect.literal(self._database.value(table.highest(column)) or "0"))

    def _check_moves(self, table: TargetTable) -> None:
        for column in (table.columns[i] for i in table.key):
            if column.there.is_computed:
                self._raise_computed(table, column, "a row that moves")

    def _raise_computed(self, table: TargetTable, column: TargetColumn, rows: str) -> NoReturn:
        message = f"the database fills the column `{column.there.name}`, which has another value in {rows}"
        raise table_error(table.source, message, self._computed_help(table, column), column.source)

    def _check(self, change: TableWork) -> None:
        if not change.rows:
            return
        table, database = change.table, self._database
        columns, query = table.changed()
        lost, *changed = next(database.rows(query))
        if lost:
            message = f"the database has not stored {counted(lost, 'row')}"
            raise table_error(table.source, message, "look at the triggers and rules of the table")
        for column, count in zip(columns, changed, strict=True):
            if count and column.there.is_computed:
                self._raise_computed(table, column, f"{counted(count, 'row')} of the changes")
            if count:
                message, help = column.loss(counted(count, "value"))
                raise table_error(table.source, message, help, column.source)
        if not database.options.dry_run:  # a sequence does not roll back
            for statement in table.sequences():
                database.execute(statement, table.source)

    def _with_others(self, document: dict[str, Any], results: Results) -> tuple[dict[str, Any], list[str]]:
        """Return the manifest with the tables of earlier runs, and the files that it has no more."""
        for result in results:
            name = result.table.name
            if name in self._described:
                document["tables"].pop(name, None)  # names of the source may be others
            elif result.aside is None:
                before = self._known.get(name, {})
                earlier = {*before.get("columns", ()), *before.get("dropped", ()), *result.table.columns}
                entry, table = document["tables"][name], self._tables[name]
                entry["oids"] = [table.there.identity, self._database.state_oid]
                entry["target"] = [table.there.schema, table.there.name]
                entry["keeps_deleted"] = table.keeps_deleted
                columns = ((each.source, each.there) for each in table.columns)
                entry["there"] = {source: [there.number, there.name, there.written] for source, there in columns}
                entry["dropped"] = sorted(earlier - entry["columns"].keys())
        previous = {} if self.previous is None else self.previous.document
        stale = [] if self.previous is None else self.previous.read_again(results)
        document = with_set_aside(document, previous, {result.table.name for result in results})
        stay = [entry for entry in previous.get("files", ()) if not is_of_rows(entry) and entry["path"] not in stale]
        tables = dict(sorted({**self._known, **document["tables"]}.items()))
        return {**document, "tables": tables, "files": [*stay, *document["files"]]}, stale


@dataclass
class TableWork:
    """What a run does to a table. `touched`: how many keys its operations have."""

    table: TargetTable
    result: TableResult
    touched: int
    moves: bool = False
    parking: Parking | None = None  # of rows that have waited for their keys
    follows: bool = False  # a foreign key in its primary key has changed with that of another table
    deleted: int = 0

    @property
    def rows(self) -> int:
        return sum(file.rows for _, file in self.result.files)

    @property
    def truncates(self) -> bool:
        return bool(self.result.stats.truncates)

    @property
    def may_delete(self) -> bool:
        return self.truncates or self.touched > self.rows

    @property
    def deletes_first(self) -> bool:
        """Whether rows leave first, so that others may have their unique values. Not if rows that refer to them would
        be deleted, too, which refer to other rows later in the run."""
        return not (self.table.there.acts_on_delete or self.follows)

    def batches(self, suffix: str) -> Iterator[pa.RecordBatch]:
        """Yield the rows as texts, with the names of their columns in `ROWS`."""
        table = self.table
        sources = [column.source for column in table.columns]
        binary = [pa.types.is_binary(table.columns[i].type) for i in table.key]
        names = [*(f"s{i}" for i in range(len(sources))), *(f"f{j}" for j in range(len(binary)))]
        for _, file in self.result.files:
            for batch in read_rows(file.location, suffix, {}, table.source):
                columns = [text_of(batch[source]) for source in sources]
                if batch[MOVED_FROM].null_count < len(batch):
                    self.moves = True
                    keys = batch[MOVED_FROM].to_pylist()
                    columns += [_old_keys(keys, j, is_binary) for j, is_binary in enumerate(binary)]
                yield pa.RecordBatch.from_arrays(columns, names[: len(columns)])


def _old_keys(keys: Sequence[Sequence[str] | None], j: int, is_binary: bool) -> pa.StringArray:
    texts = (None if key is None else key[j] for key in keys)
    if is_binary:
        texts = (None if text is None else f"\\x{a2b_base64(text).hex()}" for text in texts)
    return pa.array(texts, TEXT)


def _touched(table: RowTable, batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """Return the keys that operations have before and after them, each once, as texts."""
    names = [f"k{j}" for j in range(len(table.key))]
    schema = pa.schema([(name, TEXT) for name in names])
    parts = [schema.empty_table()]
    for batch in batches:
        for prefix in "ko":
            keys = [text_of(batch[f"{prefix}{j}"]) for j in range(len(names))]
            parts.append(pa.table(keys, schema=schema).drop_null().group_by(names).aggregate([]))
    return pa.concat_tables(parts).group_by(names).aggregate([]).select(names)
