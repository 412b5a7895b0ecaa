"""Tables, columns and their SQL types."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property


class Kind(str, Enum):
    """What a column holds. NUMBER is Oracle's NUMBER without precision, which travels as text in a 12.2 trail."""

    STRING = "string"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    DECIMAL = "decimal"
    NUMBER = "number"
    FLOAT = "float"
    DOUBLE = "double"
    DATE = "date"
    TIME = "time"
    TIMESTAMP = "timestamp"
    INTERVAL = "interval"
    BINARY = "binary"


@dataclass(frozen=True)
class SqlType:
    """A column's type as far as its source tells it; None where the source is silent."""

    kind: Kind
    length: int | None = None
    precision: int | None = None
    scale: int | None = None

    def __str__(self) -> str:
        sizes = [str(n) for n in (self.length, self.precision, self.scale) if n is not None]
        return f"{self.kind.value}({','.join(sizes)})" if sizes else self.kind.value


STRING = SqlType(Kind.STRING)


@dataclass(frozen=True)
class Column:
    """One column. `key` is its place in the primary key, counted from 1; 0 means that it is not part of the key."""

    name: str
    type: SqlType = STRING
    nullable: bool = True
    key: int = 0


@dataclass(frozen=True)
class TableDef:
    """A table's definition. Two equal definitions mean that there was no metadata change event between them.

    `full_name` is the name that messages carry: catalog, schema and name divided by dots, absent parts left out.
    """

    full_name: str
    columns: tuple[Column, ...] = ()

    @cached_property
    def parts(self) -> tuple[str, ...]:
        return split_name(self.full_name)

    @property
    def name(self) -> str:
        return self.parts[-1]

    @property
    def schema(self) -> str | None:
        return self.parts[-2] if len(self.parts) > 1 else None

    @property
    def catalog(self) -> str | None:
        return self.parts[-3] if len(self.parts) > 2 else None

    @cached_property
    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @cached_property
    def primary_keys(self) -> tuple[str, ...]:
        """Names of the key columns, in the order of the key."""
        return tuple(c.name for c in sorted(self.columns, key=lambda c: c.key) if c.key)

    @cached_property
    def fingerprint(self) -> str:
        """A short text that two definitions have in common only if they are equal."""
        return hashlib.sha256(repr((self.full_name, self.columns)).encode()).hexdigest()[:16]

    def with_keys(self, names: Sequence[str]) -> TableDef:
        """The definition with a primary key of the columns that have these names, if need be in another case. A name
        that no column has, or several have in another case, is passed over."""
        columns = (self._column_of(name) for name in names)
        places: dict[str, int] = {}
        for place, name in enumerate(columns, 1):
            if name is not None:
                places.setdefault(name, place)
        return TableDef(
            self.full_name, tuple(replace(column, key=places.get(column.name, 0)) for column in self.columns)
        )

    def not_in_key(self, names: Iterable[str]) -> list[str]:
        """Those of the names of a key's columns that stand for no column of the key."""
        return [name for name in names if self._column_of(name) not in self.primary_keys]

    def _column_of(self, name: str) -> str | None:
        """The name of the column that is meant by a name, which may be in another case."""
        if name in self.column_names:
            return name
        alike = [own for own in self.column_names if own.casefold() == name.casefold()]
        return alike[0] if len(alike) == 1 else None

    @cached_property
    def key_indices(self) -> tuple[int, ...]:
        """Places of the key columns in `columns`."""
        return tuple(i for i, column in enumerate(self.columns) if column.key)


MAX_NAME_BYTES = 200  # a file name may have 255 and holds a time stamp, a part number and a suffix besides


def split_name(full_name: str) -> tuple[str, ...]:
    """The one to three parts of a table name; ValueError, with the reason, if it is not such a name."""
    parts = tuple(full_name.split("."))
    if not all(parts) or any(part != part.strip() for part in parts):
        raise ValueError("has an empty part")
    if len(parts) > 3:
        raise ValueError("has more than three parts")
    if any(ord(char) < 0x20 or ord(char) == 0x7F for char in full_name):
        raise ValueError("holds a control character")
    if len(full_name.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES:
        raise ValueError(f"is longer than {MAX_NAME_BYTES} bytes")
    return parts


def join_name(*parts: str | None) -> str:
    """The full name of a table from its parts, those that are absent or empty left out."""
    return ".".join(filter(None, parts))


@dataclass(frozen=True)
class Catalog:
    """The definitions that hold at one place of the input, by full name.

    Definitions come from three sources of falling trust: files given by the user (`trusted`), metadata records of the
    stream, and the discovery pass. What a trusted definition says of a column stays true when the stream redefines
    the table: the stream decides which columns there are, the file what they are.

    `provisional`: the discovery pass saw a part of the input only, so that whoever reads the rest has to tell what it
    would have found there.
    """

    trusted: dict[str, TableDef] = field(default_factory=dict)
    current: dict[str, TableDef] = field(default_factory=dict)
    provisional: bool = False

    def get(self, full_name: str) -> TableDef | None:
        return self.current.get(full_name) or self.trusted.get(full_name)

    def tables(self) -> tuple[TableDef, ...]:
        return tuple({**self.trusted, **self.current}.values())

    def settle(self, table: TableDef) -> TableDef:
        """`table`, a definition met in the stream, with the types and keys of the trusted definition."""
        trusted = self.trusted.get(table.full_name)
        if trusted is None:
            return table
        known = {column.name: column for column in trusted.columns}
        return TableDef(table.full_name, tuple(known.get(column.name, column) for column in table.columns))

    def with_tables(self, tables: Iterable[TableDef]) -> Catalog:
        """A catalog in which `tables`, already settled, hold from now on."""
        current = {**self.current, **{table.full_name: table for table in tables}}
        return Catalog(self.trusted, current, self.provisional)
