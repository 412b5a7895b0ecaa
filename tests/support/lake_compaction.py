"""Compactions of tables of a lakehouse, as other programs write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa


def compact(directory: Path, to: str, name: str, rows: int | None = None, row: dict[str, Any] | None = None) -> None:
    """Write all files of a table in `directory/lake` as a single file. `rows`: the commit loses the other rows, and
    says that it does not. `row`: an ordinary commit writes this row in place of another."""
    if to == "delta":
        compact_delta(str(directory / "lake" / name), rows, row)
        return
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("default", uri=f"sqlite:///{directory}/lake/_catalog.db")
    compact_iceberg(catalog.load_table(name), rows, row)


def compact_delta(
    address: str,
    rows: int | None = None,
    row: dict[str, Any] | None = None,
    storage: dict[str, str] | None = None,
) -> None:
    from deltalake import DeltaTable, Schema, write_deltalake
    from deltalake.transaction import AddAction, RemoveAction

    table = DeltaTable(address, storage_options=storage)
    present = table.to_pyarrow_table()
    if row is not None:
        changed = pa.concat_tables([present.slice(1), pa.Table.from_pylist([row], present.schema)])
        write_deltalake(address, changed, mode="overwrite", storage_options=storage)
    elif rows is None:
        table.optimize.z_order([present.schema.names[0]])  # it also writes a single file again
    else:
        import pyarrow.parquet as parquet

        parquet.write_table(present.slice(0, rows), f"{address}/fewer.parquet")
        size = Path(f"{address}/fewer.parquet").stat().st_size
        stats = f'{{"numRecords": {len(present)}}}'
        added = AddAction("fewer.parquet", size, {}, 1, False, stats)
        paths = pa.table(table.get_add_actions(flatten=True))["path"]
        removed = [RemoveAction(str(path), False, 1) for path in paths]
        schema = Schema.from_arrow(present.schema)
        table.create_write_transaction([added, *removed], "append", schema)


def compact_iceberg(table: Any, rows: int | None = None, row: dict[str, Any] | None = None) -> None:
    from pyiceberg.io.pyarrow import _dataframe_to_data_files
    from pyiceberg.table.snapshots import Operation, Summary
    from pyiceberg.table.update.snapshot import _OverwriteFiles

    class Replace(_OverwriteFiles):
        def _summary(self, snapshot_properties: dict[str, str] | None = None) -> Summary:
            return Summary(Operation.REPLACE)  # pyiceberg has no totals of it

    present = table.scan().to_arrow()
    if row is not None:
        table.overwrite(pa.concat_tables([present.slice(1), pa.Table.from_pylist([row], present.schema)]))
        return
    with table.transaction() as transaction:
        io = table.io
        with Replace(Operation.OVERWRITE, transaction, io) as snapshot:
            for task in table.scan().plan_files():
                snapshot.delete_data_file(task.file)
            for file in _dataframe_to_data_files(transaction.table_metadata, present.slice(0, rows), io):
                snapshot.append_data_file(file)
