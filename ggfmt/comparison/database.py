"""The tables of a PostgreSQL database as a side of a comparison, read by ADBC as a stream of Arrow batches.

All tables are read in one read-only transaction, so that they belong to one point in time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from ggfmt.comparison.files import Columns
from ggfmt.comparison.kinds import GEOMETRY, HSTORE, INTERVAL, JSON, NUMBER, TEXT, TIME_WITH_ZONE, UUID, array_of, bits
from ggfmt.comparison.values import storage_type, stored, stored_type, with_infinite
from ggfmt.database.postgresql import PostgreSQL, output_text
from ggfmt.dataclasses import dataclass
from ggfmt.model.sql import POSTGRESQL, joined, sql
from ggfmt.model.table import join_name

# How a column is read: the type of its values in Arrow, and whether the server writes the values as text.
_NATIVE: dict[str, pa.DataType] = {
    "bool": pa.bool_(),
    **dict.fromkeys(("int2", "int4", "int8"), pa.int64()),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "time": pa.time64("us"),
    "bytea": pa.binary(),
    **dict.fromkeys(("text", "varchar", "bpchar"), TEXT),
}
_AS_TEXT: dict[str, pa.DataType] = {
    "numeric": NUMBER,
    "interval": INTERVAL,
    "timetz": TIME_WITH_ZONE,
    "uuid": UUID,
    "json": JSON,
    "jsonb": JSON,
    "hstore": HSTORE,
    **dict.fromkeys(("point", "line", "lseg", "box", "path", "polygon", "circle"), GEOMETRY),
}


@dataclass(frozen=True)
class _Column:
    type: pa.DataType
    is_native: bool


def _column(type: str, element: str, modifier: int | None) -> _Column:
    if element:
        inner = _column(element, "", modifier).type
        return _Column(array_of(stored_type(inner)), False)
    if type in ("bit", "varbit"):
        return _Column(bits(modifier if type == "bit" and modifier and modifier > 0 else None), False)
    if type in _NATIVE:
        return _Column(stored_type(_NATIVE[type]), True)
    return _Column(_AS_TEXT.get(type, TEXT), False)


class DatabaseTable:
    """The rows of a table, with the interface of `TableRows`."""

    named = True
    sparse = False

    def __init__(self, database: Database, name: str, schema: str, table: str, kind: str, key: tuple[str, ...]) -> None:
        self.schema, self.key = schema, key
        self._database, self._name = database, name
        # A partitioned table has its rows in its partitions; those that inherit from another are tables of their own.
        self._source = sql("only {}" if kind == "r" else "{}", POSTGRESQL.identifier(schema, table))
        self._columns: dict[str, _Column] = {}

    def add(self, name: str, column: _Column) -> None:
        self._columns[name] = column

    @property
    def columns(self) -> Columns:
        return {name: column.type for name, column in self._columns.items()}

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        columns = [self._columns[name] for name in names]
        selected = [
            POSTGRESQL.identifier(name) if column.is_native else output_text(POSTGRESQL.identifier(name))
            for name, column in zip(names, columns, strict=True)
        ]
        schema = pa.schema([(f"{place}", storage_type(column.type)) for place, column in enumerate(columns)])
        for batch in self._database.query(sql("select {} from {}", joined(", ", selected), self._source), self._name):
            with self._database.errors(self._name):
                arrays = [
                    with_infinite(stored(array, name).cast(field.type))
                    for array, field, name in zip(batch.columns, schema, names, strict=True)
                ]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)


class Database(PostgreSQL):
    """A connection with its tables. Raises: as `PostgreSQL`."""

    def __init__(self, url: str) -> None:
        super().__init__(url, ["set transaction isolation level repeatable read read only"])

    def _start(self) -> None:
        self.tables: dict[str, DatabaseTable] = {}
        keys = self.primary_keys()
        for schema, table, kind, column, type, element, modifier, *_ in self.catalog():
            name = join_name(schema, table)
            if name not in self.tables:
                self.tables[name] = DatabaseTable(self, name, schema, table, kind, keys.get(name, ()))
            if column is not None and type is not None:
                self.tables[name].add(column, _column(type, element or "", modifier))
