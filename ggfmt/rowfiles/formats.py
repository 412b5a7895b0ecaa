"""All formats of rows, and their targets that have no files of their own, by name.

Declarations are light, so that commands can name the formats without loading Arrow or a library of lakehouses: what
`writer`, `reader`, `base` and `target` name, as `MODULE:NAME`, is loaded on first use. See the page Extending.
"""

from __future__ import annotations

from typing import Literal

from ggfmt.dataclasses import dataclass

Lack = Literal["times of day", "lists", "lists of times"]


@dataclass(frozen=True)
class RowFormat:
    """A format of files with rows, or a target that keeps rows in its own way."""

    name: str
    title: str  # in messages
    file_title: str = ""  # what messages call a file of the format
    suffixes: tuple[str, ...] = ()  # of the names of files: first the name of the format, others for `compare` alone
    mark: bytes = b""  # the first bytes of a file, for a name without a suffix; empty: they do not show the format
    table_mark: tuple[str, str] | None = None  # a directory in that of a table, and how the name of a file there ends
    writer: str = ""  # makes a `RowWriter` of (stream, schema, table)
    reader: str = ""  # makes a `RowFile` of an `Open`, for `ggfmt compare`
    base: str = ""  # makes a `RowFile` to start from, of an `Open` and, if it is not typed, the types of columns
    target: str = "ggfmt.rows.targets.files:FileTarget"  # makes a `RowTarget` of (output, name, options)
    is_typed: bool = True  # files have the types of columns; otherwise all values are texts
    merges: bool = False  # later runs can merge changes into the current rows in files
    connects: bool = False  # the target needs a connection, which its command makes: `--to` does not offer it
    library: str = ""  # the package that the target needs, in the extra of the format's name
    lacks: tuple[Lack, ...] = ()  # types that it does not have: their columns are texts
    folds: bool = False  # the names of columns do not differ by case

    @property
    def is_offered(self) -> bool:
        return bool(self.target) and not self.connects

    @property
    def of_operations(self) -> str:
        """The format of files with unresolved operations, which are next to the rows."""
        return "parquet" if self.is_typed else "json"


_DECLARED = (
    RowFormat(
        "parquet", "Parquet", "a Parquet file", ("parquet", "pq"), b"PAR1",
        writer="ggfmt.rowfiles.writers:ParquetWriter", reader="ggfmt.rowfiles.files:ParquetFile",
        base="ggfmt.rows.readers:BaseParquetFile", merges=True,
    ),
    RowFormat(
        "csv", "CSV", "CSV", ("csv", "tsv", "tab", "txt", "psv", "dat", "unl", "del"),
        writer="ggfmt.rowfiles.writers:CsvWriter", reader="ggfmt.rowfiles.csv_files:CsvFile",
        base="ggfmt.rows.readers:BaseCsvFile", is_typed=False,
    ),
    RowFormat(
        "json", "JSON lines", "a file of JSON lines", ("json", "jsonl", "ndjson"), b"{",
        writer="ggfmt.rowfiles.writers:JsonWriter", reader="ggfmt.rowfiles.files:JsonFile",
        base="ggfmt.rows.readers:BaseJsonFile", is_typed=False,
    ),
    RowFormat(
        "orc", "ORC", "an ORC file", ("orc",), b"ORC",
        writer="ggfmt.rowfiles.writers:OrcWriter", reader="ggfmt.rowfiles.files:OrcFile",
        base="ggfmt.rows.readers:BaseOrcFile", merges=True, lacks=("times of day", "lists of times"),
    ),
    RowFormat(
        "avro", "Avro", "an Avro file", ("avro",), b"Obj\1",
        writer="ggfmt.rowfiles.writers:AvroWriter", reader="ggfmt.comparison.files:AvroFile",
    ),
    RowFormat(
        "delta", "Delta", table_mark=("_delta_log", ".json"), target="ggfmt.rows.targets.delta:DeltaTarget",
        library="deltalake", lacks=("times of day", "lists"), folds=True,
    ),
    RowFormat(
        "iceberg", "Iceberg", table_mark=("metadata", ".metadata.json"),
        target="ggfmt.rows.targets.iceberg:IcebergTarget", library="pyiceberg", lacks=("lists",),
    ),
    RowFormat("postgresql", "PostgreSQL", target="ggfmt.rows.targets.postgresql:PostgreSQLTarget", connects=True),
    RowFormat("mariadb", "MariaDB", target="ggfmt.rows.targets.mariadb:MariaDBTarget", connects=True),
    RowFormat("spark", "DataFrames", target="", lacks=("times of day",)),
)  # fmt: skip
ROW_FORMATS: dict[str, RowFormat] = {each.name: each for each in _DECLARED}
