"""What every target of a run owes: what a reader finds there is what the source had.

`TARGETS` has a declaration for each target: how to run into it, how to read it back with other programs, and what it
does not keep. `rules` has what is asked of each; `tests/contract/test_targets.py` asks it. A loss that is declared and
does not happen is a failure, too.
"""

from __future__ import annotations

import base64
import struct
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

from runs import write_lines

from ggfmt.model.table import Column, Kind, SqlType, TableDef

Row = dict[str, Any]

# Outcomes of a run after another program has changed the target, besides the code of an error.
WHOLE = "whole"  # all rows of the source are there again
KEPT = "kept"  # they are there, and what the other program has added
LOST = "lost"  # rows of earlier runs are not there, without an error


class Target(ABC):
    """A target in a directory of a test. `server`: what the fixture of that name gives.

    loses    by what a target does not keep, the code of the run that refuses it; or `lost`, without an error
    foreign, dropped, made_again  the outcome of a run after another program has put something into a table, removed
             it, or made it again without rows
    point    the function of ggfmt in which a process is killed; `kills`: also in tests that do not take long
    """

    name: ClassVar[str]
    server: ClassVar[str] = ""
    loses: ClassVar[Mapping[str, str]] = {}
    foreign: ClassVar[str]
    dropped: ClassVar[str]
    made_again: ClassVar[str]
    point: ClassVar[str] = "ggfmt.commit.store:Store.move"
    kills: ClassVar[bool] = False
    is_long: ClassVar[bool] = False  # its tests take long, and another target in the same place is beside it
    has_rows: ClassVar[bool] = True  # and not messages
    compacts: ClassVar[bool] = False  # other programs write the rows of a table to other files
    store: ClassVar[str] = ""  # the name of a store of objects that has the files

    def __init__(self, directory: Path, server: Any = None) -> None:
        self.directory = directory
        self.changes = directory / "changes"
        self.changes.mkdir(parents=True)

    def add(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """Add a file of changes."""
        write_lines(self.changes / f"{len([*self.changes.iterdir()]):04d}.json", map(dict, lines))

    @abstractmethod
    def run(self, **settings: Any) -> Any:
        """Bring the files that are new into the target; return what ggfmt says."""

    @abstractmethod
    def command(self) -> list[str]:
        """Return the arguments of the program that do the same."""

    @abstractmethod
    def rows(self, table: str) -> list[Row]:
        """Return the rows as another program reads them."""

    @abstractmethod
    def add_foreign(self, table: str) -> None:
        """Put something into a table, as another program does: a row with the key 77, or a file."""

    def compact(self, table: str) -> None:
        """Write the rows of a table to other files, as another program does."""
        raise NotImplementedError

    @abstractmethod
    def drop(self, table: str) -> None:
        """Remove a table, as another program does."""

    @abstractmethod
    def make(self, table: str) -> None:
        """Make a table again that was dropped, without rows."""

    def remove_file(self, table: str) -> bool:
        """Remove the file of a table that has none of the keys 0 to 9; return whether the target has such files."""
        return False

    def column(self, name: str) -> str:
        """Return the name of a column in the target."""
        return name

    def unresolved(self, said: Any) -> int:
        """Return how many operations a run has reported as unresolved."""
        return sum(table["unresolved"] for table in said["tables"].values())

    def is_empty(self) -> bool:
        """Return whether a refused first run has left nothing."""
        return not [path for path in self.directory.iterdir() if path != self.changes]


# Values


def change(kind: str, number: int, table: str, **images: Row) -> Row:
    moment = f"2020-01-01 00:{number // 60:02d}:{number % 60:02d}.000000"
    operation = {"table": table, "op_type": kind, "op_ts": moment, "current_ts": moment.replace(" ", "T")}
    return {**operation, "pos": f"{number:020d}", "primary_keys": ["ID"], **images}


def table_of(name: str, types: Mapping[str, SqlType]) -> dict[str, TableDef]:
    columns = [Column(column, type, key=int(column == "ID")) for column, type in types.items()]
    return {name: TableDef(name, tuple(columns))}


INTEGER, TEXT = SqlType(Kind.INTEGER), SqlType(Kind.STRING)
TYPES: dict[str, SqlType] = {
    "ID": INTEGER,
    "TEXT": TEXT,
    "LONG": INTEGER,
    "DECIMAL": SqlType(Kind.DECIMAL, precision=38, scale=10),
    "WHOLE": SqlType(Kind.DECIMAL, precision=38, scale=0),
    "NUMBER": SqlType(Kind.NUMBER),
    "FLOAT": SqlType(Kind.FLOAT),
    "DOUBLE": SqlType(Kind.DOUBLE),
    "FLAG": SqlType(Kind.BOOLEAN),
    "DAY": SqlType(Kind.DATE),
    "CLOCK": SqlType(Kind.TIME),
    "LOCAL": SqlType(Kind.TIMESTAMP, scale=6),
    "INSTANT": SqlType(Kind.TIMESTAMP, scale=6, zoned=True),
    "BYTES": SqlType(Kind.BINARY, base64=True),
}
# By column the values at the edges of its type; NULL and missing besides.
EDGES: dict[str, list[str]] = {
    "TEXT": ["", " ", "NULL", "a\nb\"c'd\\e,f;", "ä😀\u2028", "\\N", '""', "0" * 40],
    "LONG": ["-9223372036854775808", "9223372036854775807", "0"],
    "DECIMAL": ["-9999999999999999999999999999.9999999999", "0.0000000001", "0"],
    "WHOLE": ["9" * 38, "-" + "9" * 38],
    "NUMBER": ["1234567890123456789012345678901234567890.5", "-0.000000000000000000000000000000000000000000001"],
    "FLOAT": ["0.1", "3.4028235E38", "-1.0E-45", "16777216"],
    "DOUBLE": ["0.30000000000000004", "1.7976931348623157E308", "5.0E-324", "-9007199254740992.0"],
    "FLAG": ["true", "false"],
    "DAY": ["0001-01-01", "9999-12-31", "1969-12-31"],
    "CLOCK": ["00:00:00.000000", "23:59:59.999999"],
    "LOCAL": ["0001-01-01 00:00:00.000001", "9999-12-31 23:59:59.999999", "1969-12-31 23:59:59.999999"],
    "INSTANT": ["1678-01-01 00:00:00.000000Z", "2262-01-01 00:00:00.123456Z", "1970-01-01 00:00:00.000001Z"],
    "BYTES": ["", "AP8=", "AAAA"],
}
# Before 1970 with a fraction of a second, and of years that nanoseconds of 64 bits do not reach.
FAR_INSTANTS = ["1969-12-31 23:59:59.999999Z", "0001-01-02 00:00:00.000001Z", "9999-12-30 23:59:59.999999Z"]


def canonical(value: Any, type: SqlType) -> Any:
    """Return a value so that equal values of the type are equal, from a text or from what a library gives."""
    if value is None:
        return None
    return _CANONICAL.get(type.kind, str)(value)


def _number(value: Any) -> Fraction:
    return Fraction(value if isinstance(value, Decimal) else Decimal(str(value)))


def _time(value: Any) -> str:
    text = value.isoformat(timespec="microseconds") if isinstance(value, (datetime, time)) else str(value)
    text = text.replace("T", " ").removesuffix("Z").removesuffix("+00:00").removesuffix("+00")
    whole, _, fraction = text.partition(".")
    return f"{whole}.{fraction:0<6}"


def _bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return bytes.fromhex(value[2:]) if value.startswith("\\x") else base64.b64decode(value)
    return bytes(value)


_CANONICAL: Mapping[Kind, Any] = {
    Kind.INTEGER: _number,
    Kind.DECIMAL: _number,
    Kind.NUMBER: _number,
    Kind.FLOAT: lambda value: struct.pack("<f", float(value)),
    Kind.DOUBLE: lambda value: struct.pack("<d", float(value)),
    Kind.BOOLEAN: lambda value: str(value).lower()[:1] == "t",
    Kind.DATE: lambda value: value.isoformat() if isinstance(value, date) else str(value)[:10],
    Kind.TIME: _time,
    Kind.TIMESTAMP: _time,
    Kind.BINARY: _bytes,
}


def canonical_rows(rows: Sequence[Mapping[str, Any]], types: Mapping[str, SqlType], key: str = "ID") -> list[Row]:
    """Return rows with canonical values, in the order of their keys. A column that `types` lacks is a text."""
    found = [{name: canonical(value, types.get(name, TEXT)) for name, value in row.items()} for row in rows]
    return sorted(found, key=lambda row: str(row[key]))
