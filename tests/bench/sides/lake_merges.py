"""Changes merged into a Delta or Iceberg table: `make` writes both, each side merges them.

usage: python lake_merges.py make|SIDE JSON

ggfmt reads GoldenGate's JSON. The others begin with the rows that this JSON leads to, one for each key, as Parquet:
what another program has consolidated before. A side prints what it has written, and then the number of rows and sums
of them.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import uuid
from pathlib import Path
from typing import Any, Literal

from order_changes import order_rows, write_lake_changes
from told import work

TABLE, KEY = "GG.TCUSTORD", "ORDER_ID"
MARKS = {
    "delta-marks": {"delta.enableDeletionVectors": "true"},
    "iceberg-marks": {"write.merge.mode": "merge-on-read"},
}


def make(given: dict[str, Any]) -> None:
    """Write the changes, the rows of the changes, and for each format the table that a first run of ggfmt makes."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    import ggfmt

    data = Path(given["data"])
    data.mkdir()
    draw = random.Random(7)
    changed = {draw.randrange(given["rows"]): draw.randrange(10**6) for _ in range(given["changes"])}
    write_lake_changes(data, given["rows"], changed)
    for to in ("delta", "iceberg", *MARKS):
        options: dict[str, Any] = {"to": to.removesuffix("-marks"), "key": KEY, "master": "none"}
        options["table_options"] = MARKS.get(to)
        ggfmt.consolidate(str(data / "before.json"), given[f"lake-{to}"], checkpoint=given[f"seen-{to}"], **options)
        for name in ("lake", "seen"):
            shutil.copytree(given[f"{name}-{to}"], f"{given[f'{name}-{to}']}-before")
    rows = [{name: str(value) for name, value in row.items()} for row in order_rows(changed)]
    (data / "before.json").unlink()
    parquet.write_table(pa.Table.from_pylist(rows), f"{data}-rows.parquet")


def restore(given: dict[str, Any], to: str) -> Path:
    """Put the table and the checkpoint back to the state before the changes. Return the directory of the table."""
    for name in ("lake", "seen"):
        place = given[f"{name}-{to}"]
        shutil.rmtree(place)
        shutil.copytree(f"{place}-before", place)
    return Path(given[f"lake-{to}"])


def in_ggfmt(given: dict[str, Any], to: Literal["delta", "iceberg"], table: str) -> None:
    lake = restore(given, table)
    with work():
        import ggfmt

        ggfmt.consolidate(given["data"], lake, to=to, key=KEY, checkpoint=given[f"seen-{table}"], master="none")
    print_sums(lake, to)


def in_delta_rs(given: dict[str, Any]) -> None:
    lake = restore(given, "delta")
    with work():
        import pyarrow.parquet as parquet
        from deltalake import DeltaTable

        rows = parquet.read_table(f"{given['data']}-rows.parquet")
        merging = DeltaTable(str(lake / TABLE)).merge(rows, f"t.{KEY} = s.{KEY}", source_alias="s", target_alias="t")
        merging.when_matched_update_all().when_not_matched_insert_all().execute()
    print_sums(lake, "delta")


def by_hand(given: dict[str, Any]) -> None:
    """Rewrite the files with changed keys, and commit them as one snapshot."""
    lake = restore(given, "iceberg")
    with work():
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.parquet as parquet
        from pyiceberg.io.pyarrow import parquet_file_to_data_file

        table = loaded(lake)
        rows = parquet.read_table(f"{given['data']}-rows.parquet")
        with table.transaction() as transaction, transaction.update_snapshot().overwrite() as snapshot:
            for task in table.scan().plan_files():
                path = task.file.file_path.removeprefix("file://")
                present = parquet.read_table(path)
                mine: Any = pc.is_in(rows[KEY], value_set=present[KEY].combine_chunks())
                if not pc.any(mine).as_py():
                    continue
                news = rows.filter(mine).select(present.column_names)
                kept: Any = pc.invert(pc.is_in(present[KEY], value_set=news[KEY].combine_chunks()))
                merged = pa.concat_tables([present.filter(kept), news.cast(present.schema)])
                target = str(Path(path).with_name(f"{uuid.uuid4()}.parquet"))
                parquet.write_table(merged, target, compression="zstd")
                snapshot.delete_data_file(task.file)
                metadata = transaction.table_metadata
                file = parquet_file_to_data_file(io=table.io, table_metadata=metadata, file_path=f"file://{target}")
                snapshot.append_data_file(file)
    print_sums(lake, "iceberg")


def by_upsert(given: dict[str, Any]) -> None:
    lake = restore(given, "iceberg")
    with work():
        import pyarrow.parquet as parquet

        table = loaded(lake)
        rows = parquet.read_table(f"{given['data']}-rows.parquet")
        table.upsert(rows.select(table.schema().column_names), join_cols=[KEY])
    print_sums(lake, "iceberg")


def loaded(lake: Path) -> Any:
    from pyiceberg.catalog.sql import SqlCatalog

    return SqlCatalog("default", uri=f"sqlite:///{lake}/_catalog.db").load_table(TABLE)


def print_sums(lake: Path, to: str) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc
    from deltalake import DeltaTable

    before = Path(f"{lake}-before")
    sizes = {file: file.stat().st_size for file in lake.glob(f"{TABLE}/**/*.parquet")}
    new = [size for file, size in sizes.items() if not (before / file.relative_to(lake)).exists()]
    print(f"{len(new):,} new files, {sum(new):,} bytes: {sum(new) / (sum(sizes.values()) - sum(new)):.2%} of the table")
    if to == "delta":
        rows: Any = pa.table(DeltaTable(str(lake / TABLE)).scan())
    else:
        rows = loaded(lake).scan().to_arrow()
    sums = [pc.sum(rows[name].cast(pa.decimal128(38, 2))).as_py() for name in (KEY, "PRODUCT_PRICE", "PRODUCT_AMOUNT")]
    print(len(rows), *sums, pc.sum(pc.utf8_length(rows["PRODUCT_CODE"].cast(pa.string()))).as_py(), flush=True)


SIDES: dict[str, Any] = {
    "make": make,
    "ggfmt-delta": lambda given: in_ggfmt(given, "delta", "delta"),
    "ggfmt-delta-marks": lambda given: in_ggfmt(given, "delta", "delta-marks"),
    "delta-rs": in_delta_rs,
    "ggfmt-iceberg": lambda given: in_ggfmt(given, "iceberg", "iceberg"),
    "ggfmt-iceberg-marks": lambda given: in_ggfmt(given, "iceberg", "iceberg-marks"),
    "pyiceberg-files": by_hand,
    "pyiceberg-upsert": by_upsert,
}

if __name__ == "__main__":
    side, given = sys.argv[1:]
    SIDES[side](json.loads(given))
