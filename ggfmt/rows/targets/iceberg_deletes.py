"""Snapshots of Iceberg tables with files of deleted rows, which the public methods of pyiceberg do not write."""

from __future__ import annotations

from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.parquet as parquet
from pyiceberg.exceptions import ValidationException
from pyiceberg.manifest import (
    POSITIONAL_DELETE_SCHEMA,
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestWriterV2,
)
from pyiceberg.table.snapshots import Operation, Summary
from pyiceberg.table.update.snapshot import _OverwriteFiles

from ggfmt.arrow import compute as pc
from ggfmt.rowfiles.deleted_rows import decode_places
from ggfmt.rows.layout import files_to_join

_PATH, _PLACE = (field.field_id for field in POSITIONAL_DELETE_SCHEMA.fields)
_FIELDS: list[pa.Field[Any]] = [
    pa.field("file_path", pa.string(), nullable=False, metadata={"PARQUET:field_id": str(_PATH)}),
    pa.field("pos", pa.int64(), nullable=False, metadata={"PARQUET:field_id": str(_PLACE)}),
]

_MIN_BYTES = 8 << 10  # of files of deleted rows of a data file, to add another one


class _DeletesWriter(ManifestWriterV2):
    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


class OverwriteWithDeletes(_OverwriteFiles):
    """An overwrite that may add and remove files of deleted rows: each has the places of one data file."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.added_deletes: list[DataFile] = []
        self.removed_deletes: set[DataFile] = set()
        self.compacts = False  # no row changes
        self._read = self._parent_snapshot_id

    def mark_deleted(self, file: DataFile, deleted: str, known: str, present: set[DataFile]) -> None:
        """Write the deleted rows of a data file beside it: those that are not in `present` files, or all if these are
        small or many. `deleted`: as `encode_places` has them; `known`: those in `present`."""
        sizes = {each: each.file_size_in_bytes for each in present}
        if sum(sizes.values()) < _MIN_BYTES or files_to_join(sizes):
            self.removed_deletes |= present
            known = ""
        places = decode_places(deleted)
        places = places.filter(pc.invert(pc.is_in(places, value_set=decode_places(known))))
        target = f"{file.file_path.removesuffix('.parquet')}-deletes-{self.snapshot_id}.parquet"
        output = self._io.new_output(target)
        paths = pa.repeat(pa.scalar(file.file_path), len(places))
        rows = pa.Table.from_arrays([paths, places], schema=pa.schema(_FIELDS))
        dictionary: Any = ["file_path"]  # one for the places would be longer than the places
        with output.create() as stream:
            parquet.write_table(rows, cast(BinaryIO, stream), compression="zstd", use_dictionary=dictionary)
        bounds = {_PATH: file.file_path.encode()}
        found: DataFile = DataFile.from_args(
            content=DataFileContent.POSITION_DELETES,
            file_path=target,
            file_format=FileFormat.PARQUET,
            partition=file.partition,
            record_count=len(places),
            file_size_in_bytes=len(output),
            lower_bounds=bounds,
            upper_bounds=bounds,
        )
        found.spec_id = file.spec_id
        self.added_deletes.append(found)

    def _manifests(self) -> list[ManifestFile]:
        manifests = super()._manifests()
        if not self.added_deletes and not self.removed_deletes:
            return manifests
        if self._parent_snapshot_id != self._read:  # places are those in files of the snapshot that was read
            raise ValidationException("another program has written to the table")
        present = [manifest for manifest in manifests if manifest.content == ManifestContent.DELETES]
        entries = [entry for manifest in present for entry in self.fetch_manifest_entry(manifest)]
        metadata = self._transaction.table_metadata
        given = metadata.spec(), self.schema(), self.new_manifest_output(), self.snapshot_id, self._compression
        with _DeletesWriter(*given) as writer:
            for file in self.added_deletes:
                status = ManifestEntryStatus.ADDED
                writer.add(ManifestEntry.from_args(status=status, snapshot_id=self.snapshot_id, data_file=file))
            for entry in entries:
                (writer.delete if entry.data_file in self.removed_deletes else writer.existing)(entry)
        return [*(manifest for manifest in manifests if manifest not in present), writer.to_manifest_file()]

    def _summary(self, snapshot_properties: dict[str, str] | None = None) -> Summary:
        added, removed = self._added_data_files, self._deleted_data_files
        self._added_data_files = [*added, *self.added_deletes]
        self._deleted_data_files = removed | self.removed_deletes
        try:
            found: Summary = super()._summary(snapshot_properties or {})
        finally:
            self._added_data_files, self._deleted_data_files = added, removed
        if self.compacts:  # pyiceberg has no totals for the operation
            return Summary(Operation.REPLACE, **found.additional_properties)
        return found
