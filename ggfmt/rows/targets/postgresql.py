"""Tables of a PostgreSQL database: `ggfmt apply`.

A run is one transaction: COMMIT publishes the rows of all tables and the state, or nothing.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from ggfmt import signals
from ggfmt.arrow.arrays import narrow
from ggfmt.commit.commit import CommitPart, write_errors_stop
from ggfmt.commit.names import counted
from ggfmt.commit.records import is_of_rows, kept_runs, run_file
from ggfmt.database.postgresql import CatalogColumn, PostgreSQL
from ggfmt.diagnostics.diagnostic import Abend, Diagnostic, listing
from ggfmt.frames.column_types import TEXT
from ggfmt.java.text import visible
from ggfmt.location import Location
from ggfmt.model.sql import POSTGRESQL, joined, sql
from ggfmt.model.table import join_name, split_name
from ggfmt.rowfiles.writers import write_rows
from ggfmt.rows.base import BaseFile, BaseSnapshot, BaseTable, described_table, number_ranges
from ggfmt.rows.layout import FileLayout
from ggfmt.rows.manifest import TableResult
from ggfmt.rows.numbers import NumberRange
from ggfmt.rows.output import RowsDirectory
from ggfmt.rows.query import RowQuery
from ggfmt.rows.readers import read_rows
from ggfmt.rows.results import TableQuery
from ggfmt.rows.staging import load
from ggfmt.rows.tables import RowTable, with_found_types
from ggfmt.rows.targets.postgresql_state import STATE, ApplyConnection
from ggfmt.rows.targets.postgresql_table import (
    TableColumn,
    TargetTable,
    found_name,
    new_name,
    sql_type,
    table_error,
    text_of,
)
from ggfmt.rows.targets.target import Describe, Results, RowTarget

log = logging.getLogger("ggfmt")

_SCHEMA = sql("select current_schema()::text")
_SCHEMAS = sql("select nspname::text from pg_catalog.pg_namespace")


class _Owner:
    """What a checkpoint belongs to: the directory of the engine has another name in each run."""

    root, handler = Location.local("/ggfmt"), "postgresql"


class PostgreSQLTarget(RowTarget):
    """The tables of a database. The output directory has the manifest, and operations for later runs."""

    suffix = "parquet"
    keeps_unresolved = False

    def __init__(self, output: RowsDirectory, to: str, database: ApplyConnection) -> None:
        super().__init__(output, to)
        self._database = database
        self._tables: dict[str, TargetTable] = {}
        self._oids: dict[str, list[int | None]] = {}  # by table its number in the catalog, and that of the state
        self.owner, self.shown = _Owner(), database.shown

    def check(self, query: RowQuery, merges: bool) -> None:
        assert query.kind == "current" and merges

    def base(self) -> BaseSnapshot | None:
        tables = {name: described_table(name, entry) for name, entry in self._known.items()}
        return BaseSnapshot(self.shown, tables) if tables else None

    @property
    def _known(self) -> Mapping[str, Any]:
        """The tables of earlier runs, as the manifest has them."""
        return {} if self.previous is None else self.previous.document["tables"]

    def prepare(self, names: Sequence[str], bases: Mapping[str, BaseTable]) -> dict[str, BaseTable]:
        found = super().prepare(names, bases)
        tables = [self._with_found_types(self.staged.tables[name], base) for name, base in found.items()]
        catalog = _Catalog(self._database)
        if self._make_missing(tables, catalog):
            catalog = _Catalog(self._database)
        for number, table in enumerate(tables):
            made = self._tables[table.name] = catalog.target(number, table, *self._place(table.name, catalog))
            self._database.execute(sql("lock table {} in share row exclusive mode", made.shown), table.name)
            self._check_made_again(table, made)
            self._clear_returned(table, made)
            found[table.name] = self._with_rows(replace(found[table.name], key=table.key), table, made)
        places = {name: (*entry["target"],) for name, entry in self._known.items()}
        places |= {name: (made.schema, made.name) for name, made in self._tables.items()}
        for name, place in places.items():
            if (other := next(other for other in places if places[other] == place)) != name:
                message = f"`{other}` and `{name}` are both `{join_name(*place)}` in the database"
                raise table_error(name, message, "create a table with the exact name, or leave one out by `--exclude`")
        return found

    def _with_found_types(self, table: RowTable, base: BaseTable) -> RowTable:
        return with_found_types(table, self.staged.staged[table.name].stats.numbers, number_ranges(base))[0]

    def _place(self, name: str, catalog: _Catalog) -> tuple[str, str]:
        """Return schema and name of a table. Raises: UsageError GG596 for a table that was dropped."""
        if name in self._known:
            schema, table = self._known[name]["target"]
            if table not in catalog.schemas.get(schema, {}):
                help = "restore it; or, to apply all changes to a new one, give another `--stream`"
                raise table_error(name, f"the table `{join_name(schema, table)}` was dropped", help)
            return schema, table
        parts = split_name(name)
        schema = parts[-2] if len(parts) > 1 else self._database.value(_SCHEMA) or "public"
        schema = found_name(name, schema, catalog.schemas) or new_name(name, schema)
        known = catalog.schemas.get(schema, {})
        return schema, found_name(name, parts[-1], known) or new_name(name, parts[-1])

    def _make_missing(self, tables: Sequence[RowTable], catalog: _Catalog) -> bool:
        """Create tables and columns that the database lacks; return whether there were any."""
        before = len(self._database.statements)
        keyless = [table.name for table in tables if not table.key]
        if keyless:
            message = f"the changes of {counted(len(keyless), 'table')} have no primary key"
            help = f"give the columns that identify a row: `--key '{'=COLUMN;'.join(keyless)}=COLUMN'`"
            raise table_error(keyless[0], message, help)
        for table in tables:
            schema, name = self._place(table.name, catalog)
            shown = POSTGRESQL.identifier(schema, name)
            if schema not in catalog.schemas:
                self._database.execute(sql("create schema {}", POSTGRESQL.identifier(schema)), table.name)
                catalog.schemas[schema] = {}
            known = catalog.schemas[schema].get(name)
            columns = table.epochs[-1].columns
            lacking = [column for column in columns if known is None or not found_name(table.name, column, known)]
            names = {column: POSTGRESQL.identifier(new_name(table.name, column)) for column in lacking}
            added = [sql("{} {}", names[column], sql_type(table, column)) for column in lacking]
            if known is None:
                added.append(sql("primary key ({})", joined(", ", [names[column] for column in table.key])))
                self._database.execute(sql("create table {} ({})", shown, joined(", ", added)), table.name)
                catalog.schemas[schema][name] = {}
            elif added:
                adds = joined(", ", [sql("add column {}", column) for column in added])
                self._database.execute(sql("alter table {} {}", shown, adds), table.name)
        return len(self._database.statements) > before

    def _check_made_again(self, table: RowTable, made: TargetTable) -> None:
        """Raises: UsageError GG596 for a table that was dropped and made again without its rows. In a restored
        database, the state of the stream is another table, too."""
        database = self._database
        ids = sql("{}::regclass::oid::bigint, to_regclass('{}')::oid::bigint", POSTGRESQL.literal(made.shown), STATE)
        now = self._oids[table.name] = list(next(database.rows(sql("select {}", ids))))
        before = self._known.get(table.name, {}).get("oids", now)
        if before[0] == now[0] or (before[1] not in (None, now[1])) or self.staged.staged[table.name].stats.truncates:
            return
        if database.value(sql("select not exists (select from {})", made.shown)):
            help = "restore its rows; or, to apply all changes to it, give another `--stream`"
            raise table_error(table.name, f"the table {made.shown} was made again, and is empty", help)
        log.warning("%s was made again; rows that the run does not change stay as they are", visible(made.shown))

    def _clear_returned(self, table: RowTable, made: TargetTable) -> None:
        """Empty columns that the source has dropped and added again: the table has their old values."""
        entry = self._known.get(table.name, {})
        earlier, gone = {*entry.get("columns", ())}, {*entry.get("dropped", ())}
        for epoch in table.epochs:
            gone |= earlier - {*epoch.columns}
            earlier |= {*epoch.columns}
        for column in made.columns:
            if column.source in gone and column.there.filled != "s":
                self._database.execute(sql("update {} set {} = null", made.shown, column.name), table.name)

    def _with_rows(self, base: BaseTable, table: RowTable, made: TargetTable) -> BaseTable:
        """Return a base with the present rows of the keys that the run touches."""
        database, staged = self._database, self.staged.staged[table.name]
        if self.previous is None:
            complete = bool(database.value(sql("select exists (select from {})", made.shown)))
            base = replace(base, complete=complete)
        kept = [] if self.previous is None else [self.previous.kept(table, self.output.root).batch]
        touched = _touched(table, chain(load(staged.parts), kept))
        database.copy(made.touched, touched.schema, touched.to_batches(), table.name)
        database.execute(made.make_keys(), table.name)
        if database.value(made.equal_keys()):
            message = "different keys of the changes are one key in the database"
            raise table_error(table.name, message, "give the key columns a type in which they differ, such as `text`")
        database.execute(sql("analyze {}", made.keys), table.name)
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
        database.execute(sql("set constraints all deferred"))  # those that are deferrable
        for result in results:
            self._change(result)
        database.execute(sql("set constraints all immediate"))  # an error now, and not at COMMIT
        parts = {} if self.previous is None else self.previous.last_parts()
        published = [file for result in results for file in self.operation_files(result, parts)]
        document, stale = self._with_others(describe(published), results)
        if database.dry_run:
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

    def _change(self, result: TableResult) -> None:
        database, name, table = self._database, result.table.name, self._tables[result.table.name]
        schema = pa.schema([(f"s{i}", TEXT) for i in range(len(table.columns))])
        sources = [column.source for column in table.columns]
        rows = sum(file.rows for _, file in result.files)

        def texts() -> Iterator[pa.RecordBatch]:
            for _, file in result.files:
                for batch in read_rows(file.location, self.suffix, {}, name):
                    yield pa.RecordBatch.from_arrays([text_of(batch[source]) for source in sources], schema=schema)

        try:
            if rows:
                database.copy(table.rows, schema, texts(), name)
            gone = sql("delete from {}", table.shown) if result.stats.truncates else table.delete(rows > 0)
            deleted = database.execute(gone, name)
            if rows:
                database.execute(table.merge(), name)
                self._check(table)
        except Abend as error:
            raise Abend.of(_with_columns(error.diagnostics[0], table)) from None
        log.info("%s: %s written, %s deleted", visible(table.shown), counted(rows, "row"), f"{max(deleted, 0):,}")

    def _check(self, table: TargetTable) -> None:
        columns, query = table.changed()
        lost, *changed = next(self._database.rows(query))
        if lost:
            message = f"the database has not stored {counted(lost, 'row')}"
            raise table_error(table.source, message, "look at the triggers and rules of the table")
        for column, count in zip(columns, changed, strict=True):
            if count:
                message = f"the type `{column.there.cast}` of `{column.source}` in the database does not hold"
                message += f" {counted(count, 'value')} exactly"
                help = "nothing was changed; give the column a type with more digits, or `text`"
                raise table_error(table.source, message, help, column.source)

    def _with_others(self, document: dict[str, Any], results: Results) -> tuple[dict[str, Any], list[str]]:
        """Return the manifest with the tables of earlier runs, and the files that it has no more."""
        for result in results:
            name = result.table.name
            before = self._known.get(name, {})
            earlier = {*before.get("columns", ()), *before.get("dropped", ()), *result.table.columns}
            entry = document["tables"][name]
            entry["oids"] = self._oids[name]
            entry["target"] = [self._tables[name].schema, self._tables[name].name]
            entry["dropped"] = sorted(earlier - entry["columns"].keys())
        entries = [] if self.previous is None else self.previous.document["files"]
        stay = [entry for entry in entries if entry["table"] not in document["tables"] and not is_of_rows(entry)]
        stale = [entry["path"] for entry in entries if entry not in stay]
        tables = dict(sorted({**self._known, **document["tables"]}.items()))
        return {**document, "tables": tables, "files": [*stay, *document["files"]]}, stale


class _Catalog:
    """The tables of a database: by schema and table their columns by name; and their primary keys."""

    def __init__(self, database: PostgreSQL) -> None:
        self.schemas: dict[str, dict[str, dict[str, CatalogColumn]]] = {
            schema: {} for (schema,) in database.rows(_SCHEMAS)
        }
        self._keys = database.primary_keys()
        for column in database.catalog():
            columns = self.schemas[column.schema].setdefault(column.table, {})
            if column.name is not None:
                columns[column.name] = column

    def target(self, number: int, table: RowTable, schema: str, name: str) -> TargetTable:
        """Return a table that takes the rows. Raises: UsageError GG596 if it does not fit them."""
        there = self.schemas[schema][name]
        names = {column: found_name(table.name, column, there) or column for column in table.epochs[-1].columns}
        twice = [column for column in names if [*names.values()].count(names[column]) > 1]
        if twice:
            message = f"`{twice[0]}` and `{twice[1]}` are both `{names[twice[0]]}` in the database"
            raise table_error(table.name, message, "rename a column in the database")
        columns = tuple(TableColumn(column, table.types[column], there[names[column]]) for column in names)
        key = self._keys.get(join_name(schema, name), ())
        if {*key} != {names.get(column) for column in table.key}:
            own, other = ", ".join(table.key), ", ".join(key) or "none"
            help = "change the primary key in the database, or give its columns with `--key`"
            raise table_error(table.name, f"the key is ({own}) in the changes, and ({other}) in the database", help)
        for column in columns:
            if not column.fits:
                message = f"`{column.source}` is `{column.there.cast}` in the database, and "
                message += f"`{sql_type(table, column.source)}` in the changes"
                help = f"change the type in the database; or give `--type '{table.name}.{column.source}=string'`, and "
                help += "the server reads the texts"
                raise table_error(table.name, message, help, column.source)
        return TargetTable(number, table.name, schema, name, columns, tuple(map([*names].index, table.key)))


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


def _with_columns(diagnostic: Diagnostic, table: TargetTable) -> Diagnostic:
    """Name the columns that a message of the server may mean: it has their type."""
    found = re.search(r"reports: .* (?:type|enum) ([^(]+)", diagnostic.message)
    if found is None:
        return diagnostic
    types = ((column.source, f"{column.there.cast}\n{column.there.type}") for column in table.columns)
    names = [name for name, both in types if re.search(f"^{re.escape(found[1])}", both, re.MULTILINE)]
    return replace(diagnostic, help=f"nothing was changed; columns of this type: {listing(names)}")
