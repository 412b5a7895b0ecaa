"""Tables, columns and their SQL types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from functools import cached_property

from ggfmt.dataclasses import dataclass, field, replace
from ggfmt.lazy import lazy_regex


class Kind(str, Enum):
    """The kind of a column's values. NUMBER is Oracle's NUMBER without precision, which is text in a 12.2 trail."""

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
    """The type of a column as far as its source describes it; None is unknown.

    scale  of a time, the digits of a fraction of a second
    timed  a date has a time of day (Oracle); two definitions of a table may differ in that
    zoned  times are instants: their texts have a zone, or are in UTC
    base64  the texts of bytes are known to be Base64; others may be hexadecimal digits, which can look the same
    unseen  the data have nothing but NULL, so that the type is not known
    bits   of an integer, if the source has a type with fewer than 64 bits for it
    item   the type of the items if the source has an array, whose text is a JSON array; the kind is STRING
    unknown  the name of the type, if ggfmt does not know it; the values are texts
    """

    kind: Kind
    length: int | None = None
    precision: int | None = None
    scale: int | None = None
    # Not in fingerprints: what these say is not in messages.
    timed: bool = field(default=False, repr=False, compare=False)
    unseen: bool = field(default=False, repr=False, compare=False)
    zoned: bool = field(default=False, repr=False)
    base64: bool = field(default=False, repr=False)
    bits: int | None = field(default=None, repr=False)
    item: SqlType | None = field(default=None, repr=False)
    unknown: str = field(default="", repr=False, compare=False)

    def __str__(self) -> str:
        sizes = [str(n) for n in (self.length, self.precision, self.scale) if n is not None]
        return f"{self.kind.value}({','.join(sizes)})" if sizes else self.kind.value


STRING = SqlType(Kind.STRING)


@dataclass(frozen=True)
class Column:
    """A column. `key` is its place in the primary key, counted from 1; 0 if it is not part of the key."""

    name: str
    type: SqlType = STRING
    nullable: bool = True
    key: int = 0


@dataclass(frozen=True)
class TableDef:
    """The definition of a table. Equal definitions mean that no schema change occurs between them.

    `full_name` is the name in messages: catalog, schema and name, separated by dots; absent parts are omitted,
    and a part with a dot is in double quotes.

    `stated_key` has three states: the names of the key, () if the source says that there is none, and None if it says
    nothing. The columns decide where they are known; without any, the names that records state are kept.
    """

    full_name: str
    columns: tuple[Column, ...] = ()
    stated_key: tuple[str, ...] | None = field(default=None, repr=False, compare=False)
    key_names: tuple[str, ...] = field(init=False, repr=False)
    """The key to show in messages; `primary_keys` has those of its names that are columns."""

    def __post_init__(self) -> None:
        if self.columns and (self.primary_keys or self.stated_key):
            object.__setattr__(self, "stated_key", self.primary_keys)
        object.__setattr__(self, "key_names", self.stated_key or ())

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
        return tuple(c.name for c in sorted(self.columns, key=lambda c: c.key) if c.key)

    @cached_property
    def fingerprint(self) -> str:
        """Return a short text that only equal definitions share."""
        import hashlib  # a check of handler files does without

        return hashlib.sha256(repr((self.full_name, self.columns or self.key_names)).encode()).hexdigest()[:16]

    def with_columns(self, columns: Sequence[Column]) -> TableDef:
        """Return the definition with other columns and the same key."""
        return TableDef(self.full_name, tuple(columns)).with_keys(self.stated_key)

    def with_keys(self, names: Sequence[str] | None) -> TableDef:
        """Return the definition with another primary key, in the same or another case; None: the key is not stated. Of
        a table with columns, unclear names are ignored."""
        columns = (self.column_of(name) for name in names or ())
        places: dict[str, int] = {}
        for place, name in enumerate(columns, 1):
            if name is not None:
                places.setdefault(name, place)
        keys = (places.get(column.name, 0) for column in self.columns)
        keyed = tuple(c if c.key == key else replace(c, key=key) for c, key in zip(self.columns, keys, strict=True))
        return TableDef(self.full_name, keyed, None if names is None else tuple(names))

    def not_in_key(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if self.column_of(name) not in self.primary_keys]

    def column_of(self, name: str) -> str | None:
        """Return the name of the column that a name means: the same, or the only one that differs in case."""
        if name in self.column_names:
            return name
        alike = [own for own in self.column_names if own.casefold() == name.casefold()]
        return alike[0] if len(alike) == 1 else None

    @cached_property
    def key_indices(self) -> tuple[int, ...]:
        return tuple(i for i, column in enumerate(self.columns) if column.key)


MAX_NAME_BYTES = 200  # a file name has at most 255 and also contains a time stamp, a part number and a suffix


def split_name(full_name: str) -> tuple[str, ...]:
    """Return one to three parts of a name; one in double quotes may have dots. Raises: ValueError says what is
    illegal."""
    parts = name_parts(full_name)
    if not all(parts) or any(part != part.strip() for part in parts):
        raise ValueError("has an empty part")
    if len(parts) > 3:
        raise ValueError("has more than three parts")
    if any(ord(char) < 0x20 or ord(char) == 0x7F for char in full_name):
        raise ValueError("holds a control character")
    if len(full_name.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES:
        raise ValueError(f"is longer than {MAX_NAME_BYTES} bytes")
    return parts


_QUOTED = lazy_regex(r'"((?:[^"]|"")*\.(?:[^"]|"")*)"(?=\.|$)')  # quotes around names without a dot belong to the name


def name_parts(full_name: str) -> tuple[str, ...]:
    if '"' not in full_name:
        return tuple(full_name.split("."))
    parts, start = [], 0
    while start <= len(full_name):
        quoted = _QUOTED.match(full_name, start)
        end = quoted.end() if quoted else full_name.find(".", start)
        end = len(full_name) if end < 0 else end
        parts.append(quoted[1].replace('""', '"') if quoted else full_name[start:end])
        start = end + 1
    return tuple(parts)


def join_name(*parts: str | None) -> str:
    """Return the full name of a table from its parts, without empty ones; a part with a dot gets double quotes."""
    return ".".join(_quoted(part) if "." in part else part for part in parts if part)


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def name_of_fields(fields: Sequence[str | None]) -> str:
    """Return a full name from the fields of a message; a single field has the full name."""
    return join_name(*fields) if len(fields) > 1 else "".join(filter(None, fields))


@dataclass(frozen=True)
class Catalog:
    """The definitions that hold at one place of the input, by full name.

    Definitions have three sources, in descending trust: files of the user (`trusted`), metadata records of the stream,
    and the discovery pass. If the stream redefines a table, the stream decides which columns exist, and the trusted
    definition decides their types and keys.

    `provisional`: the discovery pass has read only a part of the input. A reader of the rest must report what the pass
    would have found there.
    """

    trusted: dict[str, TableDef] = field(default_factory=dict)
    current: dict[str, TableDef] = field(default_factory=dict)
    provisional: bool = False

    def get(self, full_name: str) -> TableDef | None:
        return self.current.get(full_name) or self.trusted.get(full_name)

    @property
    def lacks_keys(self) -> bool:
        """Whether a definition of the user does not state its key, so that the records may."""
        return any(table.stated_key is None for table in self.trusted.values())

    def tables(self) -> tuple[TableDef, ...]:
        return tuple({**self.trusted, **self.current}.values())

    def near(self, full_name: str) -> str | None:
        """Return a trusted name that differs in its case or its schema alone, as in dumps that name no database."""
        return self._last_parts.get(name_parts(full_name)[-1].casefold())

    @cached_property
    def _last_parts(self) -> dict[str, str]:
        return {name_parts(name)[-1].casefold(): name for name in self.trusted}

    def settle(self, table: TableDef) -> TableDef:
        """Return a definition from the stream with the types of the trusted definition, and with its key if it states
        one."""
        trusted = self.trusted.get(table.full_name)
        if trusted is None:
            return table
        known = {column.name: column for column in trusted.columns}
        settled = TableDef(table.full_name, tuple(known.get(column.name, column) for column in table.columns))
        return settled.with_keys(table.stated_key) if trusted.stated_key is None else settled

    def with_tables(self, tables: Iterable[TableDef]) -> Catalog:
        """Return a catalog in which `tables`, already settled, hold from now on."""
        current = {**self.current, **{table.full_name: table for table in tables}}
        return Catalog(self.trusted, current, self.provisional)
