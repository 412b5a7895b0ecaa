"""What `LakeTarget` needs to know of a table, whatever its format is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Literal

import pyarrow as pa

from ggfmt.dataclasses import dataclass, field
from ggfmt.diagnostics.diagnostic import Abend, Span, UsageError
from ggfmt.location import Location
from ggfmt.rowfiles.deleted_rows import decode_places
from ggfmt.rowfiles.writers import WrittenFile
from ggfmt.rows.layout import FileLayout
from ggfmt.rows.tables import can_hold

_PARTITION_TYPES = (pa.types.is_string, pa.types.is_integer, pa.types.is_date, pa.types.is_boolean)
WriteMode = Literal["replace", "merge", "append"]  # what becomes of the present rows


@dataclass(frozen=True)
class Round:
    """A run of an output directory, as tables remember it: the last round of a `stream` says what a table holds."""

    stream: str  # the id of the output directory
    number: int  # of the run there, from 1 on
    facts: Mapping[str, str]  # for people, such as the last position


@dataclass(frozen=True)
class TableChange:
    """What a commit does with the files of a table. `replaces_all`: `removed` are all files that it has; `compacted`:
    files with the rows of `removed`, so that no row changes there."""

    added: Sequence[WrittenFile]
    removed: Sequence[Location]
    replaces_all: bool
    round: Round
    deleted: Mapping[Location, str] = field(default_factory=dict)  # all deleted rows of files that get more of them
    compacted: Sequence[WrittenFile] = ()


class LakeTable(ABC):
    """A table as it is when a run opens it. Its commits fail if another program has changed it since.

    name      in the source
    version   the present version; None if there is no table
    columns   names and types; empty if there is no table
    files     the present files by their location, with the number of rows
    partition_by  the columns that divide the rows
    deleted   by file the rows that do not count, as the output knows them (see `encode_places`)
    foreign_deletes  what an error says of deleted rows that the output does not know, and what helps
    """

    foreign_deletes: tuple[str, str]

    def __init__(self, name: str) -> None:
        self.name = name
        self.version: int | None = None
        self.columns: dict[str, pa.DataType] = {}
        self.files: dict[Location, int] = {}
        self.partition_by: tuple[str, ...] = ()
        self.deleted: dict[Location, str] = {}

    @abstractmethod
    def round(self, stream: str) -> int:
        """Return the number of the last round of a stream that the table has; 0 if it has none."""

    @abstractmethod
    def held_round(self, stream: str) -> int:
        """Return the round whose rows the present version has: it goes back if a program restores a version."""

    @abstractmethod
    def has_same_rows(self, stream: str, round: int) -> bool:
        """Return whether all commits since a round of a stream say that they leave the rows as they are, as those do
        that compact files."""

    @abstractmethod
    def layout(self, schema: pa.Schema, run: str, mode: WriteMode) -> FileLayout:
        """Return where tasks write files with these columns. Raises: UsageError GG554 for impossible columns."""

    @abstractmethod
    def commit(self, change: TableChange) -> int:
        """Change the table at once; return its version. Raises: Abend GG553 after a foreign change, GG506."""

    @property
    @abstractmethod
    def marks_deleted(self) -> bool:
        """Whether commits may mark rows as deleted."""

    @abstractmethod
    def deleted_counts(self) -> dict[Location, int]:
        """Return the number of deleted rows of the files that have some, in the present version."""

    def check_readable(self) -> None:
        """Check that the files have the rows, but those in `deleted`. Raises: UsageError GG554 if not."""
        if not self.knows_deleted:
            raise self.column_error(None, *self.foreign_deletes)
        if self.partition_by:
            raise self.column_error(None, "the table has partitions", "consolidate into another output")

    @property
    def knows_deleted(self) -> bool:
        return self.deleted_counts() == {file: len(decode_places(text)) for file, text in self.deleted.items()}

    def evolved(self, schema: pa.Schema, drops: bool) -> pa.Schema:
        """Return the columns that the table has after a commit: its own order first. A column that the rows lack stays
        unless `drops`. Raises: UsageError GG554 for a type that cannot hold the values of the present one."""
        fields: list[pa.Field[pa.DataType]] = []
        for name, type in self.columns.items():
            if name not in schema.names:
                if not drops:
                    fields.append(pa.field(name, type))
                continue
            wanted = self.stored_type(schema.field(name).type)
            if not can_hold(wanted, type) or (pa.types.is_string(wanted) and not pa.types.is_string(type)):
                raise self.column_error(name, f"the column is `{type}`, but the operations have `{wanted}`")
            fields.append(pa.field(name, wanted))
        known = {field.name for field in fields}
        return pa.schema([*fields, *(pa.field(field.name, field.type) for field in schema if field.name not in known)])

    def check_partitions(self, schema: pa.Schema, wanted: Sequence[str]) -> None:
        """Choose the columns that divide the rows of a new table. Raises: UsageError GG554 for other ones."""
        if self.version is not None and wanted and tuple(wanted) != self.partition_by:
            shown = ", ".join(f"`{name}`" for name in self.partition_by) or "no columns"
            message = f"the table is partitioned by {shown}"
            raise self.column_error(None, message, "use the same `--partition-by`, or another output")
        if self.version is None:
            self.partition_by = tuple(wanted)
        for name in self.partition_by:
            type = schema.field(name).type if name in schema.names else None
            if type is None or not any(is_of(type) for is_of in _PARTITION_TYPES):
                message = (
                    f"a column of the type `{type}` cannot partition rows" if type else "the rows have no such column"
                )
                help = "choose columns with texts, integers, dates or booleans for `--partition-by`"
                raise self.column_error(name, message, help)

    def stored_type(self, type: pa.DataType) -> pa.DataType:
        return type

    def column_error(self, column: str | None, message: str, help: str | None = None) -> UsageError:
        help = help or f"use the type of the table, as in `--type '{self.name}.{column}=TYPE'`, or another output"
        return UsageError("GG554", message, Span(table=self.name, field=column), help)

    def conflict_error(self) -> Abend:
        help = "run again; the next run reports the changed table"
        return Abend("GG553", "another program has written to the table during this run", Span(table=self.name), help)
