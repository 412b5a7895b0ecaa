"""Row files, Delta and Iceberg: on a disk, and in stores of objects."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import fastavro
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.fs as pafs
import pyarrow.orc as orc
import pyarrow.parquet as parquet
from lake_compaction import compact_delta, compact_iceberg
from s3_server import S3Server

import ggfmt
from contract.targets import KEPT, WHOLE, Row, Target
from ggfmt.commit.names import lake_directory, safe_name
from ggfmt.model.table import split_name


def read_csv(data: bytes) -> list[Row]:
    """Return rows as texts. NULL has no quotes, and an empty text has."""
    width = len(pa_csv.read_csv(io.BytesIO(data.split(b"\n", 1)[0] + b"\n")).schema)
    names = [f"c{number}" for number in range(width)]
    options = pa_csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    parsing = pa_csv.ParseOptions(newlines_in_values=True)
    table = pa_csv.read_csv(io.BytesIO(data), pa_csv.ReadOptions(column_names=names), parsing, options)
    header, *rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return [dict(zip(header, row, strict=True)) for row in rows]


def read_json(data: bytes) -> list[Row]:
    return [json.loads(line, parse_float=str, parse_int=str) for line in data.decode().split("\n") if line]


def read_avro(data: bytes) -> list[Row]:
    return [dict(row) for row in fastavro.reader(io.BytesIO(data))]  # type: ignore[arg-type]


def read_parquet(data: bytes) -> list[Row]:
    rows: list[Row] = parquet.read_table(pa.BufferReader(data)).to_pylist()
    return rows


def read_orc(data: bytes) -> list[Row]:
    """Return rows. Times without a zone are numbers, as Spark writes them."""
    table = orc.read_table(pa.BufferReader(data))
    columns = []
    for field in table.schema:
        values: list[Any] = table[field.name].to_pylist()
        if (field.metadata or {}).get(b"spark.sql.catalyst.type") == b"timestamp_ntz":
            start = datetime(1970, 1, 1)
            values = [None if value is None else start + timedelta(microseconds=value) for value in values]
        columns.append(values)
    return [dict(zip(table.schema.names, row, strict=True)) for row in zip(*columns, strict=True)]


READERS: dict[str, Callable[[bytes], list[Row]]] = {
    "csv": read_csv,
    "json": read_json,
    "avro": read_avro,
    "parquet": read_parquet,
    "orc": read_orc,
}


class Place:
    """The directory of an output: its address for ggfmt, and a file system with its path there."""

    def __init__(self, address: str, fs: pafs.FileSystem, path: str) -> None:
        self.address, self.fs, self.path = address, fs, path

    def files(self, below: str) -> dict[str, bytes]:
        """Return the files below a path that readers of the output see, by their paths there."""
        top = f"{self.path}/{below}"
        found = self.fs.get_file_info(pafs.FileSelector(top, recursive=True, allow_not_found=True))
        return {
            info.path.removeprefix(f"{top}/"): self.fs.open_input_stream(info.path).read()
            for info in sorted(found, key=lambda info: info.path)
            if info.type == pafs.FileType.File
        }

    def put(self, path: str, data: bytes) -> None:
        with self.fs.open_output_stream(f"{self.path}/{path}") as stream:
            stream.write(data)

    def remove(self, path: str) -> None:
        local = Path(f"{self.path}/{path}")
        if isinstance(self.fs, pafs.LocalFileSystem) and local.is_symlink():
            local.unlink()
        elif isinstance(self.fs, pafs.LocalFileSystem):
            shutil.rmtree(local)
        else:
            self.fs.delete_dir(f"{self.path}/{path}")

    def make(self, path: str) -> None:
        if isinstance(self.fs, pafs.LocalFileSystem):
            Path(f"{self.path}/{path}").mkdir()


def place_on_disk(directory: Path, server: None) -> Place:
    return Place(str(directory / "out"), pafs.LocalFileSystem(), str(directory / "out"))


def place_in_s3(directory: Path, server: S3Server) -> Place:
    bucket = f"b{abs(hash(str(directory))):x}"
    fs = server.client()
    fs.create_dir(bucket)
    return Place(f"s3://{bucket}/out", fs, f"{bucket}/out")


class Store(NamedTuple):
    """A store of objects: the fixture of its server, and what makes a place there."""

    server: str
    place: Callable[[Path, Any], Place]


STORES: Mapping[str, Store] = {"s3": Store("s3_server", place_in_s3)}


def in_stores(target: type[Target]) -> Iterator[type[Target]]:
    """Yield a target in each store; it keeps there what it keeps on a disk."""
    for name, store in STORES.items():
        own = {"name": f"{target.name}-{name}", "store": name, "server": store.server, "kills": False}
        own["is_long"] = target.name == "json"  # Parquet is beside it
        yield type(f"{target.__name__}In{name.title()}", (target,), own)


class Files(Target):
    """Files in an output directory, whatever they are."""

    to: ClassVar[str]

    def __init__(self, directory: Path, server: Any = None) -> None:
        super().__init__(directory, server)
        make = STORES[self.store].place if self.store else place_on_disk
        self.place = make(directory, server)

    def is_empty(self) -> bool:
        return super().is_empty() and not self.place.files("")

    def directory_of(self, table: str) -> str:
        return safe_name(table)

    def add_foreign(self, table: str) -> None:
        self.place.put(f"{self.directory_of(table)}/foreign.txt", b"of another program\n")

    def drop(self, table: str) -> None:
        self.place.remove(self.directory_of(table))

    def make(self, table: str) -> None:
        self.place.make(self.directory_of(table))


class RowFiles(Files):
    merges: ClassVar[bool] = False
    loses: ClassVar = {"missing": "lost"}
    foreign = "GG501"  # with --mode overwrite
    dropped = made_again = WHOLE

    @property
    def settings(self) -> dict[str, Any]:
        merging = {"checkpoint": str(self.directory / "seen")}
        return {"to": self.to, "key": "ID", "master": "none", **(merging if self.merges else {"mode": "overwrite"})}

    def run(self, **settings: Any) -> Any:
        return ggfmt.consolidate(self.changes, self.place.address, **{**self.settings, **settings})

    def command(self) -> list[str]:
        words = [word for name, value in self.settings.items() for word in (f"--{name}", value)]
        return ["-q", "consolidate", str(self.changes), "-o", self.place.address, *words]

    def remove_file(self, table: str) -> bool:
        known = {str(number) for number in range(10)}
        for name, data in self.place.files(self.directory_of(table)).items():
            if name.endswith(f".{self.to}") and known.isdisjoint(row["ID"] for row in READERS[self.to](data)):
                self.place.fs.delete_file(f"{self.place.path}/{self.directory_of(table)}/{name}")
                return True
        return False

    def rows(self, table: str) -> list[Row]:
        files = self.place.files(self.directory_of(table))
        return [row for name, data in files.items() if name != "foreign.txt" for row in READERS[self.to](data)]


class MergedFiles(RowFiles):
    merges = True
    foreign = KEPT
    dropped = made_again = "GG509"


class Delta(RowFiles):
    to, merges, compacts = "delta", True, True
    loses: ClassVar = {"missing": "lost", "case": "GG558", "blanks": "GG554"}
    foreign = dropped = made_again = "GG553"
    point = "ggfmt.rows.targets.delta:_DeltaTable.commit"

    def directory_of(self, table: str) -> str:
        return lake_directory(table)

    @property
    def storage(self) -> dict[str, str]:
        return {} if self.place.address.startswith("/") else {"aws_allow_http": "true", "aws_region": "us-east-1"}

    def rows(self, table: str) -> list[Row]:
        address = f"{self.place.address}/{self.directory_of(table)}"
        return _delta(address, self.storage).to_pyarrow_table().to_pylist()  # type: ignore[no-any-return]

    def add_foreign(self, table: str) -> None:
        from deltalake import write_deltalake

        address = f"{self.place.address}/{self.directory_of(table)}"
        schema = _delta(address, self.storage).to_pyarrow_table().schema
        row = pa.Table.from_pylist([_foreign_row(schema)], schema)
        write_deltalake(address, row, mode="append", storage_options=self.storage)

    def compact(self, table: str) -> None:
        compact_delta(f"{self.place.address}/{self.directory_of(table)}", storage=self.storage)

    def make(self, table: str) -> None:
        from deltalake import write_deltalake

        schema = pa.schema([("ID", pa.string()), ("V", pa.string())])
        address = f"{self.place.address}/{self.directory_of(table)}"
        write_deltalake(address, schema.empty_table(), storage_options=self.storage)


def _delta(address: str, storage: dict[str, str]) -> Any:
    from deltalake import DeltaTable

    return DeltaTable(address, storage_options=storage)


def _foreign_row(schema: pa.Schema) -> Row:
    row: Row = dict.fromkeys(schema.names)
    return {**row, "ID": pa.scalar("77").cast(schema.field("ID").type).as_py()}


class Iceberg(RowFiles):
    to, merges, compacts = "iceberg", True, True
    foreign = dropped = made_again = "GG553"
    point = "ggfmt.rows.targets.iceberg:_IcebergTable.commit"

    @property
    def catalog(self) -> Any:
        from pyiceberg.catalog.sql import SqlCatalog

        root = self.place.path
        return SqlCatalog("default", uri=f"sqlite:///{root}/_catalog.db", warehouse=f"file://{root}")

    def rows(self, table: str) -> list[Row]:
        return self.catalog.load_table(tuple(split_name(table))).scan().to_arrow().to_pylist()  # type: ignore[no-any-return]

    def add_foreign(self, table: str) -> None:
        found = self.catalog.load_table(tuple(split_name(table)))
        schema = found.schema().as_arrow()
        found.append(pa.Table.from_pylist([_foreign_row(schema)], schema))

    def compact(self, table: str) -> None:
        compact_iceberg(self.catalog.load_table(tuple(split_name(table))))

    def drop(self, table: str) -> None:
        self.catalog.drop_table(tuple(split_name(table)))

    def make(self, table: str) -> None:
        schema = pa.schema([("ID", pa.string()), ("V", pa.string())])
        location = f"file://{self.place.path}/again"
        self.catalog.create_table(tuple(split_name(table)), schema, location)


def _on_disk() -> list[type[Target]]:
    found: list[type[Target]] = [Delta, Iceberg]
    orc_loses = {"missing": "lost", "far instants": "GG551"}
    for base, to, loses in (
        (RowFiles, "json", RowFiles.loses),
        (RowFiles, "csv", RowFiles.loses),
        (RowFiles, "avro", {**RowFiles.loses, "quotes": "GG206", "blanks": "GG206"}),
        (MergedFiles, "parquet", RowFiles.loses),
        (MergedFiles, "orc", orc_loses),
    ):
        found.append(type(f"{to.title()}Files", (base,), {"to": to, "loses": loses}))
    for one in found:
        one.name = one.to  # type: ignore[attr-defined]
        one.kills = one.name in ("parquet", "delta")
    return found


_ON_DISK = _on_disk()
_STORED = [one for one in _ON_DISK if one.name in ("json", "parquet", "delta")]
TARGETS: list[type[Target]] = [*_ON_DISK, *(each for one in _STORED for each in in_stores(one))]
