"""Iceberg tables, by the package `pyiceberg`: a commit is one snapshot with the files that tasks have written."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyiceberg import types
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NoSuchTableError,
    ResolveError,
    TableAlreadyExistsError,
    ValidationException,
)
from pyiceberg.io.pyarrow import parquet_file_to_data_file
from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema, promote
from pyiceberg.table import Table, Transaction
from pyiceberg.table.snapshots import Operation
from pyiceberg.transforms import IdentityTransform

from ggfmt.commit.names import EMBEDDED_CATALOG, lake_directory
from ggfmt.commit.store import Store
from ggfmt.diagnostics.diagnostic import Abend, Span, UsageError, without_credentials
from ggfmt.location import Location
from ggfmt.model.table import split_name
from ggfmt.rowfiles.writers import WrittenFile
from ggfmt.rows.layout import FileLayout
from ggfmt.rows.output import RowsDirectory
from ggfmt.rows.request import TargetOptions
from ggfmt.rows.targets.iceberg_deletes import OverwriteWithDeletes
from ggfmt.rows.targets.lake import LakeTarget
from ggfmt.rows.targets.stores import check_root, location_in_catalog
from ggfmt.rows.targets.table import LakeTable, Round, TableChange, WriteMode

_STREAM = "ggfmt.stream."  # properties of tables: the last round of each stream
_NAMESPACE = "default"  # of tables without a schema
_TYPES: dict[pa.DataType, types.PrimitiveType] = {
    pa.bool_(): types.BooleanType(),
    pa.int32(): types.IntegerType(),
    pa.int64(): types.LongType(),
    pa.float32(): types.FloatType(),
    pa.float64(): types.DoubleType(),
    pa.string(): types.StringType(),
    pa.binary(): types.BinaryType(),
    pa.date32(): types.DateType(),
    pa.time64("us"): types.TimeType(),
    pa.timestamp("us"): types.TimestampType(),
    pa.timestamp("us", "UTC"): types.TimestamptzType(),
}
_FIELD_ID = b"PARQUET:field_id"
_MODE = "write.merge.mode"  # a property of tables: `merge-on-read` keeps files that lose few rows


class IcebergTarget(LakeTarget):
    """The tables of a catalog, which is opened for the first of them."""

    def __init__(self, output: RowsDirectory, to: str, options: TargetOptions) -> None:
        super().__init__(output, to, options)
        self._is_embedded = options.catalog is None and not options.catalog_options
        if self._is_embedded:
            check_root(output.root)

    @cached_property
    def _catalog(self) -> Catalog:
        try:
            if not self._is_embedded:
                return load_catalog(self.options.catalog, **dict(self.options.catalog_options))
            root = self.output.root
            if not root.is_local:
                help = "give `--catalog NAME`, or `--catalog-option uri=...` and other options"
                raise UsageError("GG551", "Iceberg in an object store needs a catalog", help=help)
            from pyiceberg.catalog.sql import SqlCatalog  # it loads SQLAlchemy, which other catalogs do without

            Store(root).make_directory("")
            path = root.inner
            return SqlCatalog("default", uri=f"sqlite:///{path}/{EMBEDDED_CATALOG}", warehouse=f"file://{path}")
        except UsageError:
            raise
        except Exception as error:  # libraries of catalogs raise errors of their own
            help = "check the configuration of PyIceberg: `.pyiceberg.yaml`, `PYICEBERG_...`, `--catalog-option`"
            raise UsageError("GG551", f"the Iceberg catalog cannot be opened: {_reason(error)}", help=help) from None

    def open_table(self, name: str) -> LakeTable:
        *above, last = split_name(name)
        location = f"file://{self.output.root.child(lake_directory(name)).inner}" if self._is_embedded else None
        return _IcebergTable(name, (*(above or [_NAMESPACE]), last), self._catalog, location, self.options)


class _IcebergTable(LakeTable):
    foreign_deletes = (
        "the table has delete files of another program, which ggfmt does not read",
        "rewrite the data files first: `CALL catalog.system.rewrite_data_files(...)` in Spark",
    )

    def __init__(
        self, name: str, identifier: tuple[str, ...], catalog: Catalog, location: str | None, options: TargetOptions
    ) -> None:
        super().__init__(name)
        self._identifier, self._catalog, self._location, self._options = identifier, catalog, location, options
        self._table: Table | None = None
        self._transaction: Transaction | None = None
        self._data_files: dict[Location, DataFile] = {}
        self._deletes: dict[Location, set[DataFile]] = {}  # files of deleted rows, by data file
        with self._errors():
            try:
                self._table = catalog.load_table(identifier)
            except NoSuchTableError:
                return
            table = self._table
            snapshot = table.current_snapshot()
            self.version = 0 if snapshot is None else snapshot.snapshot_id
            self.columns = {field.name: self._arrow_type(field) for field in table.schema().fields}
            self.partition_by = self._partition_columns(table)
            for task in table.scan().plan_files():
                file = location_in_catalog(task.file.file_path, table.io.properties)
                self._data_files[file] = task.file
                self.files[file] = task.file.record_count
                if task.delete_files:
                    self._deletes[file] = task.delete_files

    def _partition_columns(self, table: Table) -> tuple[str, ...]:
        """Return the columns that divide the rows. Raises: UsageError GG554 for partitions of other kinds."""
        names = []
        for field in table.spec().fields:
            if not isinstance(field.transform, IdentityTransform):
                message = f"the table has partitions by `{field.transform}`, which ggfmt does not write"
                raise self.column_error(None, message, "consolidate into another output")
            names.append(table.schema().find_field(field.source_id).name)
        return tuple(names)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (Abend, UsageError, KeyboardInterrupt):
            raise
        except (CommitFailedException, ValidationException, TableAlreadyExistsError):
            raise self.conflict_error() from None
        except Exception as error:
            raise Abend("GG506", f"the Iceberg table cannot be used: {_reason(error)}", Span(table=self.name)) from None

    def round(self, stream: str) -> int:
        return 0 if self._table is None else int(self._table.properties.get(f"{_STREAM}{stream}", 0))

    def held_round(self, stream: str) -> int:
        for summary in self._summaries():
            if summary is None:
                return self.round(stream)  # its snapshot has expired
            if summary.get("ggfmt.stream") == stream:
                return int(summary["ggfmt.round"])
        return 0

    def has_same_rows(self, stream: str, round: int) -> bool:
        for summary in self._summaries():
            if summary is not None and summary.get("ggfmt.stream") == stream:
                return summary["ggfmt.round"] == str(round)
            if summary is None or summary["operation"] != Operation.REPLACE.value:
                return False
        return False

    def _summaries(self) -> Iterator[Mapping[str, str] | None]:
        """Yield the summaries of the snapshots, from the present one on; None in place of those that have expired."""
        table = self._table
        snapshot = None if table is None else table.current_snapshot()
        while table is not None and snapshot is not None:
            summary = snapshot.summary
            yield {} if summary is None else {**summary.additional_properties, "operation": summary.operation.value}
            if snapshot.parent_snapshot_id is None:
                return
            snapshot = table.snapshot_by_id(snapshot.parent_snapshot_id)
        yield None

    def check_readable(self) -> None:
        super().check_readable()
        assert self._table is not None
        names: dict[int, str] = {}
        for schema in self._table.schemas().values():
            for field in schema.fields:
                if names.setdefault(field.field_id, field.name) != field.name:
                    raise self.column_error(field.name, "the column was renamed", "consolidate into another output")

    @property
    def marks_deleted(self) -> bool:
        if self._table is None or self._table.format_version != 2:  # version 3 has other files for it
            return False
        return {**self._table.properties, **dict(self._options.table_options)}.get(_MODE) == "merge-on-read"

    def deleted_counts(self) -> dict[Location, int]:
        return {file: sum(each.record_count for each in deletes) for file, deletes in self._deletes.items()}

    def stored_type(self, type: pa.DataType) -> pa.DataType:
        return pa.int32() if type in (pa.int8(), pa.int16()) else type

    def layout(self, schema: pa.Schema, run: str, mode: WriteMode) -> FileLayout:
        with self._errors():
            transaction = self._begin(schema, mode)
        metadata = transaction.table_metadata
        fields = metadata.schema().fields
        stored = pa.schema(
            [
                pa.field(field.name, self._arrow_type(field), metadata={_FIELD_ID: str(field.field_id).encode()})
                for field in fields
            ]
        )
        self._transaction = transaction
        directory = location_in_catalog(f"{metadata.location}/data/{run}", transaction._table.io.properties)
        return FileLayout(directory, "parquet", stored)

    def _begin(self, schema: pa.Schema, mode: WriteMode) -> Transaction:
        wanted = {field.name: self._iceberg_type(field) for field in schema}
        if self._table is None:
            self._catalog.create_namespace_if_not_exists(self._identifier[:-1])
            fields = [
                types.NestedField(i, name, type, required=False) for i, (name, type) in enumerate(wanted.items(), 1)
            ]
            return self._catalog.create_table_transaction(
                self._identifier,
                Schema(*fields),
                self._location,
                PartitionSpec(
                    *(
                        PartitionField(field.field_id, 1000 + i, IdentityTransform(), field.name)
                        for i, name in enumerate(self.partition_by)
                        for field in fields
                        if field.name == name
                    )
                ),
                properties=dict(self._options.table_options),
            )
        present = {field.name: field.field_type for field in self._table.schema().fields}
        gone = [name for name in present if name not in wanted]
        for name, type in present.items():
            if name in wanted and not _can_become(type, wanted[name]):
                if mode != "replace":
                    raise self.column_error(name, f"Iceberg cannot change the type `{type}` to `{wanted[name]}`")
                gone.append(name)
        transaction = self._table.transaction()
        if gone:
            with transaction.update_schema(allow_incompatible_changes=True) as update:
                for name in gone:
                    update.delete_column(name)
        left = {name: type for name, type in present.items() if name not in gone}
        changed = {name: type for name, type in wanted.items() if left.get(name) != type}
        if changed:
            with transaction.update_schema() as update:
                for name, type in changed.items():
                    if name in left:
                        update.update_column((name,), field_type=type)
                    else:
                        update.add_column((name,), type)
        return transaction

    def _iceberg_type(self, field: pa.Field[Any]) -> types.PrimitiveType:
        type = self.stored_type(field.type)
        if pa.types.is_decimal(type):
            return types.DecimalType(type.precision, type.scale)
        if type not in _TYPES:
            raise self.column_error(field.name, f"Iceberg has no type for `{type}`")
        return _TYPES[type]

    def _arrow_type(self, field: types.NestedField) -> pa.DataType:
        type = field.field_type
        if isinstance(type, types.DecimalType):
            return pa.decimal128(type.precision, type.scale)
        found = next((arrow for arrow, iceberg in _TYPES.items() if iceberg == type), None)
        if found is None:
            raise self.column_error(field.name, f"ggfmt does not write the type `{type}`", "drop the column")
        return found

    def commit(self, change: TableChange) -> int:
        transaction = self._transaction
        assert transaction is not None
        round = change.round
        with self._errors(), _quiet():
            transaction.set_properties({f"{_STREAM}{round.stream}": str(round.number)})
            if self._table is not None and self._options.table_options:
                transaction.set_properties(dict(self._options.table_options))
            io = transaction._table.io
            empty = transaction.table_metadata.current_snapshot() is None
            operation = Operation.APPEND if empty else Operation.OVERWRITE

            def append(snapshot: OverwriteWithDeletes, file: WrittenFile) -> None:
                path = f"{transaction.table_metadata.location}/data/{self._below(file.location)}"
                snapshot.append_data_file(
                    parquet_file_to_data_file(io=io, table_metadata=transaction.table_metadata, file_path=path)
                )

            if change.compacted:
                compaction = OverwriteWithDeletes(operation, transaction, io)
                compaction.compacts = True
                with compaction:
                    for file in change.compacted:
                        append(compaction, file)
                    for location in change.removed:
                        compaction.delete_data_file(self._data_files[location])
            snapshot = OverwriteWithDeletes(operation, transaction, io, snapshot_properties=_summary(round))
            with snapshot:
                for file in change.added:
                    append(snapshot, file)
                for location in () if change.compacted else change.removed:
                    snapshot.delete_data_file(self._data_files[location])
                for location in change.removed:
                    snapshot.removed_deletes |= self._deletes.get(location, set())
                for location, deleted in change.deleted.items():
                    present, known = self._deletes.get(location, set()), self.deleted.get(location, "")
                    snapshot.mark_deleted(self._data_files[location], deleted, known, present)
            table = transaction.commit_transaction()
            found = table.current_snapshot()
            self._sync(table, [file.file_path for file in snapshot.added_deletes])
        return 0 if found is None else found.snapshot_id

    @staticmethod
    def _below(file: Location) -> str:
        parent = file.parent
        assert parent is not None
        return f"{parent.name}/{file.name}"

    def _sync(self, table: Table, written: Sequence[str]) -> None:
        """Let a commit on a disk survive a power failure."""
        snapshot = table.current_snapshot()
        if snapshot is None:
            return
        paths = [
            table.metadata_location,
            snapshot.manifest_list,
            *(m.manifest_path for m in snapshot.manifests(table.io)),
            *written,
        ]
        found = [location_in_catalog(path, table.io.properties) for path in paths]
        for location in found:
            if location.is_local and (parent := location.parent) is not None:
                Store(parent).sync_all([location.name])


def _can_become(type: Any, wanted: types.PrimitiveType) -> bool:
    """Return whether Iceberg turns a type into another: it widens integers, floats and decimals."""
    if type == wanted:
        return True
    if isinstance(wanted, (types.StringType, types.BinaryType)):
        return False
    try:
        promote(type, wanted)
    except ResolveError:
        return False
    return True


def _summary(round: Round) -> dict[str, str]:
    facts = {**round.facts, "stream": round.stream, "round": str(round.number)}
    return {f"ggfmt.{name}": value for name, value in facts.items()}


def _reason(error: Exception) -> str:
    return without_credentials(str(error).split("\n", 1)[0] or type(error).__name__)


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave out the warnings of pyiceberg that it tries a commit again: the end of it is reported."""
    logger = logging.getLogger("pyiceberg.table")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
