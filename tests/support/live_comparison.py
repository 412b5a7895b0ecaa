"""Rows of a result that are compared with those of a database, value by value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from round_trips import Row

from ggfmt.commit.names import safe_name

Key = tuple[str | None, ...]
Reader = Callable[[str], Sequence[Row]]  # of the rows of a table


def unset_values(manifest: Mapping[str, Any]) -> dict[str, Counter[str]]:
    """Return by table and column how many values no event contains, by a manifest."""
    return {
        name: Counter({column: sum(causes.values()) for column, causes in table["unset"].items()})
        for name, table in manifest["tables"].items()
    }


@dataclass
class RowsComparison:
    """Compares a result with the rows of the database.

    keys       the columns of the primary keys, by table
    described  events show which columns were dropped, and a result has dropped them
    ignored    columns that are not compared
    """

    keys: Mapping[str, Sequence[str]]
    described: bool
    ignored: Sequence[str] = ()
    unresolved: int = 0

    def differences(
        self,
        output: Path,
        manifest: Mapping[str, Any],
        tables: Mapping[str, Sequence[Row]],
        unset: Mapping[str, Counter[str]],
        read: Reader | None = None,
    ) -> Iterator[str]:
        """Yield the differences. `unset`: how many values of each column no event contains; `read`: another reader
        than that of plain files."""
        for name, expected in tables.items():
            table = manifest["tables"].get(name)
            if table is None:
                if expected:
                    yield f"{name}: no rows, expected {len(expected)}"
                continue
            rows = read_rows(output / safe_name(name)) if read is None else read(name)
            if not self.keys[name]:
                yield from _differences_without_key(name, rows, expected)
            else:
                withheld = self._unresolved_keys(output, name) if table["unresolved"] else set()
                yield from self._differences(name, rows, expected, Counter(unset.get(name)), withheld)
            if table["unresolved"]:
                yield f"{name}: {table['unresolved']} unresolved"
            self.unresolved += table["unresolved"]

    def _differences(
        self, name: str, rows: Sequence[Row], expected: Sequence[Row], unset: Counter[str], withheld: set[Key]
    ) -> Iterator[str]:
        found, wanted = ({self._key_of(name, row): row for row in several} for several in (rows, expected))
        if len(found) < len(rows):
            yield f"{name}: two rows of one key"
        for key in sorted({*found, *wanted}, key=str):
            if key not in wanted:
                yield f"{name}: row {key} is not in the database"
            elif key not in found:
                if key not in withheld:
                    yield f"{name}: row {key} is missing"
            elif {*found[key]} != {*wanted[key]} if self.described else {*wanted[key]} - {*found[key]}:
                yield f"{name}: columns {sorted(found[key])}, expected {sorted(wanted[key])}"
                return
            else:
                for column, value in wanted[key].items():
                    if column in self.ignored:
                        continue
                    if found[key][column] is None is not value and unset[column]:
                        unset[column] -= 1
                    elif found[key][column] != value:
                        shown = f"{_short(found[key][column])}, expected {_short(value)}"
                        yield f"{name}: row {key}: {column} is {shown}"

    def _unresolved_keys(self, output: Path, table: str) -> set[Key]:
        """Return the keys in the unresolved operations of a table."""
        found = set()
        for path in (output / "_unresolved").glob("*.parquet"):
            for operation in pq.read_table(path).to_pylist():
                if operation["table"] == table:
                    images = [dict(operation[name]) for name in ("before", "after") if operation[name] is not None]
                    found |= {self._key_of(table, image) for image in images if {*self.keys[table]} <= {*image}}
        return found

    def _key_of(self, table: str, row: Mapping[str, str | None]) -> Key:
        return tuple(row[name] for name in self.keys[table])


def _differences_without_key(name: str, rows: Sequence[Row], expected: Sequence[Row]) -> Iterator[str]:
    found, wanted = (Counter(tuple(sorted(row.items())) for row in several) for several in (rows, expected))
    for title, more in (("too many", found - wanted), ("missing", wanted - found)):
        for row in more.elements():
            yield f"{name}: {title}: {dict(row)}"


def read_rows(directory: Path) -> list[Row]:
    """Return the rows of a directory of Parquet files, as texts."""
    return text_rows([row for path in sorted(directory.glob("*.parquet")) for row in pq.read_table(path).to_pylist()])


def _short(value: str | None) -> str:
    return repr(value) if value is None or len(value) <= 40 else f"{value[:20]!r}... ({len(value)} characters)"


def as_text(value: Any) -> str | None:
    """Return the text of a value, the same for all types that can have it."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, timedelta):
        return str((datetime(1970, 1, 1) + value).time())  # not of a day or longer
    if isinstance(value, datetime):
        return str(value.replace(tzinfo=None))  # in UTC
    return str(value)


def text_rows(rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    return [{name: as_text(value) for name, value in row.items()} for row in rows]
