"""Delta tables, by the package `deltalake`: a commit adds files that tasks have written, and removes others."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions

from ggfmt.arrow.arrays import narrow
from ggfmt.commit.names import lake_directory
from ggfmt.commit.store import Store
from ggfmt.diagnostics.diagnostic import Abend, without_credentials
from ggfmt.location import Location
from ggfmt.rowfiles.deleted_rows import decode_places, size_in_bytes
from ggfmt.rowfiles.writers import WrittenFile
from ggfmt.rows.layout import FileLayout
from ggfmt.rows.output import RowsDirectory
from ggfmt.rows.request import TargetOptions
from ggfmt.rows.targets.lake import LakeTarget
from ggfmt.rows.targets.stores import check_root, delta_storage
from ggfmt.rows.targets.table import LakeTable, Round, TableChange, WriteMode
from ggfmt.version import VERSION

_NOT_IN_NAMES = " ,;{}()\n\t="  # of columns, where a table has no column mapping
# Of writers: all that ggfmt follows. `deltalake` adds the one for variants to tables with deletion vectors.
_FEATURES = {"timestampNtz", "appendOnly", "invariants", "deletionVectors", "variantType"}
_DELETES = "delta.enableDeletionVectors"
_CHECKPOINT_COMMITS = 10  # of ggfmt with deletion vectors, as by Spark
_FACTS = "ggfmt"  # what a commit of ggfmt says of itself
_MAPPING = "delta.columnMapping.mode"
_MAX_TEXT = 64  # characters of a text in statistics: a longer one would have to be cut, and rounded up


class DeltaTarget(LakeTarget):
    def __init__(self, output: RowsDirectory, to: str, options: TargetOptions) -> None:
        check_root(output.root)
        super().__init__(output, to, options)

    def open_table(self, name: str) -> LakeTable:
        return _DeltaTable(name, self.output.root.child(lake_directory(name)), self.options)


class _DeltaTable(LakeTable):
    foreign_deletes = (
        "the table has deletion vectors of another program, which ggfmt does not read",
        "rewrite the files first: `REORG TABLE ... APPLY (PURGE)` in Spark",
    )

    def __init__(self, name: str, root: Location, options: TargetOptions) -> None:
        super().__init__(name)
        self._root, self._options = root, options
        self._uri, self._storage = delta_storage(root)
        self._schema = pa.schema([])
        self._table: DeltaTable | None = None
        try:
            self._table = DeltaTable(self._uri, storage_options=self._storage)
        except TableNotFoundError:
            return
        except DeltaError as error:
            raise self._error(error) from None
        table = self._table
        self.version = table.version()
        self.columns = {field.name: field.type for field in _arrow_schema(table)}
        self._schema = pa.schema(list(self.columns.items()))
        self.partition_by = tuple(table.metadata().partition_columns)
        actions: pa.Table = pa.table(table.get_add_actions(flatten=True))
        for action in actions.select(["path", "num_records"]).to_pylist():
            self.files[self._location(action["path"])] = int(action["num_records"] or 0)

    def _location(self, path: str) -> Location:
        return Location.of(path) if "://" in path or path.startswith("/") else self._root.child(*path.split("/"))

    def round(self, stream: str) -> int:
        return 0 if self._table is None else self._table.transaction_version(_app_id(stream)) or 0

    def held_round(self, stream: str) -> int:
        if self._table is None or self.version is None:
            return 0
        commits, held = self._table.history(), self.version  # from the last one
        while True:
            left = commits[self.version - held :]
            found = next((each for each in left if _FACTS in each or each.get("operation") == "RESTORE"), None)
            if found is None or _FACTS in found:
                break
            version = found.get("operationParameters", {}).get("version")
            if version is None or int(version) >= held:
                return 0  # restored by its time
            held = int(version)
        if held == self.version:
            return self.round(stream)
        try:
            table = DeltaTable(self._uri, held, storage_options=self._storage)
        except DeltaError:
            return 0  # the version is gone
        return table.transaction_version(_app_id(stream)) or 0

    def has_same_rows(self, stream: str, round: int) -> bool:
        if self.version is None or self.round(stream) != round:
            return False
        store = Store(self._root)
        for version in range(self.version, -1, -1):
            text = store.read(f"_delta_log/{version:020d}.json")
            if text is None:
                return False  # the log is cut off
            actions = [json.loads(line) for line in text.splitlines() if line]
            if any(action.get("txn", {}).get("appId") == _app_id(stream) for action in actions):
                return True
            files = [action[what] for action in actions for what in ("add", "remove") if what in action]
            if any(file.get("dataChange", True) for file in files):
                return False
        return False

    @property
    def marks_deleted(self) -> bool:
        # A commit is a file that must not replace another one, which stores of objects do not offer to ggfmt.
        return self._root.is_local and self._configuration().get(_DELETES, "").lower() == "true"

    def deleted_counts(self) -> dict[Location, int]:
        if self._table is None or "deletionVectors" not in (self._table.protocol().reader_features or ()):
            return {}
        files = {file.canonical: file for file in self.files}
        found: pa.Table = pa.table(self._table.deletion_vectors())
        masks = (narrow(mask.values, pa.BooleanArray) for mask in found["selection_vector"])
        paths = (files[Location.of(path).canonical] for path in found["filepath"].to_pylist() if path)
        return {file: len(mask) - mask.true_count for file, mask in zip(paths, masks, strict=True)}

    def layout(self, schema: pa.Schema, run: str, mode: WriteMode) -> FileLayout:
        for name in schema.names:
            if any(character in _NOT_IN_NAMES for character in name):
                message = (
                    f"Delta does not allow the characters `{_NOT_IN_NAMES.strip()}` and blanks in the name of a column"
                )
                raise self.column_error(name, message, "rename the column, or write another format")
        self._check_mapping()
        if self._table is not None:
            self._check_features()
            if mode == "append":
                self._check_appended(schema)
        self._schema = schema
        return FileLayout(self._root.child(run), "parquet", schema)

    def _check_mapping(self) -> None:
        """Raises: UsageError GG554 for columns with other names in files: `deltalake` reads and writes none of them."""
        configuration = {**dict(self._options.table_options), **self._configuration()}
        if configuration.get(_MAPPING, "none") != "none":
            message = f"the table has `{_MAPPING}`, which ggfmt does not write"
            raise self.column_error(None, message, "leave out the property, or consolidate into another output")

    def _configuration(self) -> dict[str, str]:
        return {} if self._table is None else dict(self._table.metadata().configuration)

    def _check_features(self) -> None:
        assert self._table is not None
        unknown = sorted(set(self._table.protocol().writer_features or ()) - _FEATURES)
        if unknown:
            message = f"the table has the feature `{unknown[0]}`, which ggfmt does not write"
            raise self.column_error(None, message, "consolidate into another output")

    def _check_appended(self, schema: pa.Schema) -> None:
        for name, type in self.columns.items():
            if schema.field(name).type != type:
                message = f"the column is `{type}`, but new rows have `{schema.field(name).type}`"
                raise self.column_error(name, message)

    def commit(self, change: TableChange) -> int:
        schema = Schema.from_arrow(self._schema)
        added = [_add_action(file, self._path(file.location)) for file in change.added]
        added += [_add_action(file, self._path(file.location), False) for file in change.compacted]
        round = change.round
        properties = CommitProperties(
            custom_metadata={_FACTS: _facts(round)},
            max_commit_retries=0,  # what this run has read is what it changes
            app_transactions=[Transaction(_app_id(round.stream), round.number)],
        )
        try:
            if self._table is None:
                create_table_with_add_actions(
                    self._uri,
                    schema,
                    added,
                    mode="error",
                    partition_by=list(self.partition_by),
                    name=self.name,
                    configuration=dict(self._options.table_options),
                    storage_options=self._storage,
                    commit_properties=properties,
                )
                version = 0
            else:
                version = self._change(self._table, added, change, schema, properties)
        except CommitFailedError:
            raise self.conflict_error() from None
        except DeltaError as error:
            if self._table is None and DeltaTable.is_deltatable(self._uri, self._storage):
                raise self.conflict_error() from None
            raise self._error(error) from None
        Store(self._root).sync_all([f"_delta_log/{version:020d}.json"])
        return version

    def _change(
        self,
        table: DeltaTable,
        added: Sequence[AddAction],
        change: TableChange,
        schema: Schema,
        properties: CommitProperties,
    ) -> int:
        assert self.version is not None
        columns = list(self.partition_by)
        other_columns = self._schema != pa.schema(list(self.columns.items()))
        if other_columns and not change.replaces_all:
            # `deltalake` appends no columns. If the run ends here, the table has the column, without values.
            present = {field.name for field in table.schema().fields}
            new = [field for field in schema.fields if field.name not in present]
            table.alter.add_columns(new, commit_properties=CommitProperties(max_commit_retries=0))
            if table.version() != self.version + 1:
                raise self.conflict_error()
        version = table.version() + 1
        if change.replaces_all and (other_columns or self.deleted_counts()):
            table.create_write_transaction(list(added), "overwrite", schema, columns, commit_properties=properties)
            return version
        now = int(time.time() * 1000)
        if change.deleted or self.deleted:
            self._commit_deleted(added, change, version, now)
            return version
        removed = [RemoveAction(self._path(file), not change.compacted, now) for file in change.removed]
        table.create_write_transaction([*added, *removed], "append", schema, columns, commit_properties=properties)
        return version

    def _commit_deleted(self, added: Sequence[AddAction], change: TableChange, version: int, now: int) -> None:
        """Write a commit with deletion vectors, which no action of `deltalake` has. Raises: Abend GG553."""
        round, paths = change.round, self._path
        operation = {"operation": "WRITE", "operationParameters": {"mode": "Append"}, "engineInfo": f"ggfmt {VERSION}"}
        actions: list[dict[str, Any]] = [
            {"commitInfo": {"timestamp": now, **operation, _FACTS: _facts(round)}},
            {"txn": {"appId": _app_id(round.stream), "version": round.number, "lastUpdated": now}},
        ]
        for file in (*change.removed, *change.deleted):
            removed = {"path": paths(file), "deletionTimestamp": now, "dataChange": True}
            actions.append({"remove": removed | _vector(self.deleted.get(file))})
        present = [_add_action(WrittenFile(f, self.files[f], f.info().size, ""), paths(f)) for f in change.deleted]
        for action, text in [*((each, None) for each in added), *zip(present, change.deleted.values(), strict=True)]:
            stats = json.dumps({**json.loads(action.stats), "tightBounds": False}) if text else action.stats
            given = {"path": action.path, "partitionValues": dict(action.partition_values), "size": action.size}
            given |= {"modificationTime": action.modification_time, "dataChange": True, "stats": stats}
            actions.append({"add": given | _vector(text)})
        store, name = Store(self._root), f"_delta_log/{version:020d}.json"
        draft = f"_delta_log/.ggfmt-{uuid.uuid4().hex}.tmp"
        try:
            if store.exists(name):
                raise self.conflict_error()
            store.write(draft, "".join(json.dumps(action) + "\n" for action in actions).encode())
            store.sync_all([draft])
            store.share(draft, name)
        except FileExistsError:
            raise self.conflict_error() from None
        finally:
            store.delete(draft)
        if version % _CHECKPOINT_COMMITS == 0:
            with suppress(DeltaError):  # the commit is there
                DeltaTable(self._uri, storage_options=self._storage).create_checkpoint()

    def _path(self, file: Location) -> str:
        return file.name_below(self._root) or file.address

    def _error(self, error: Exception) -> Abend:
        reason = without_credentials(str(error).split("\n", 1)[0])
        return Abend("GG506", f"the Delta table cannot be used: {reason}", self._root.shown)


def _app_id(stream: str) -> str:
    return f"ggfmt:{stream}"


def _facts(round: Round) -> dict[str, Any]:
    return {**round.facts, "round": round.number}


def _arrow_schema(table: DeltaTable) -> pa.Schema:
    schema: Any = table.schema().to_arrow()
    return pa.schema(schema)


def _vector(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    size, count = size_in_bytes(text), len(decode_places(text))
    vector = {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": size, "cardinality": count}
    return {"deletionVector": vector}


def _add_action(file: WrittenFile, path: str, changes: bool = True) -> AddAction:
    with file.location.open_file() as stream:
        stats = _statistics(parquet.read_metadata(stream), file.rows)
    partition = dict(file.partition)
    for values in (stats["minValues"], stats["maxValues"], stats["nullCount"]):
        for name in partition:
            values.pop(name, None)
    return AddAction(path, file.size, partition, int(time.time() * 1000), changes, json.dumps(stats))


def _statistics(about: parquet.FileMetaData, rows: int) -> dict[str, Any]:
    """Return the statistics of a file as Delta has them: of types whose values JSON holds exactly."""
    least: dict[str, Any] = {}
    most: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    groups = [about.row_group(group) for group in range(about.num_row_groups)]
    for index in range(about.num_columns if groups else 0):
        chunks = [group.column(index) for group in groups]
        found: list[Any] = [chunk.statistics for chunk in chunks if chunk.is_stats_set]
        if len(found) < len(chunks):
            continue
        name = chunks[0].path_in_schema
        if all(each.has_null_count for each in found):
            nulls[name] = sum(each.null_count for each in found)
        bounded = [each for each in found if each.num_values]
        if bounded and all(each.has_min_max for each in bounded):
            low, high = min(each.min for each in bounded), max(each.max for each in bounded)
            if _is_exact(low) and _is_exact(high):
                least[name], most[name] = _as_json(low), _as_json(high)
    return {"numRecords": rows, "minValues": least, "maxValues": most, "nullCount": nulls}


def _is_exact(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= _MAX_TEXT
    return isinstance(value, (int, date)) and not isinstance(value, bool) and not hasattr(value, "hour")


def _as_json(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value
