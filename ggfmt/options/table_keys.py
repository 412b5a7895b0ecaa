"""Primary keys by table, as the value of an option: `GG.ORDERS=ID;GG.LINES=ORDER_ID,LINE`."""

from __future__ import annotations

from typing import ClassVar

from ggfmt.java.text import InvalidValueError, trim
from ggfmt.options.value_types import ValueType

Keys = tuple[tuple[str, tuple[str, ...]], ...]

EVERY_TABLE = "*"  # in keys that may be given for all


class TableKeys(ValueType[Keys]):
    """Pairs of a table and its key columns; a table by its full name or the last part of it."""

    keeps_empty: ClassVar[bool] = True

    @property
    def legal(self) -> str:
        return "tables with their key columns, such as `S.ORDERS=ID;S.LINES=ORDER_ID,LINE`"

    def parse(self, text: str) -> Keys:
        keys = []
        for part in filter(None, map(trim, text.split(";"))):
            table, equals, columns = map(trim, part.partition("="))
            names = tuple(map(trim, columns.split(",")))
            if not equals or not table or not all(names) or len(set(names)) < len(names):
                excerpt = part if len(part) <= 60 else part[:57] + "..."
                raise InvalidValueError(f"cannot be `{excerpt}`", f"give {self.legal}")
            keys.append((table, names))
        return tuple(keys)

    def render(self, value: Keys) -> str:
        return ";".join(f"{table}={','.join(columns)}" for table, columns in value)


def parse_keys(text: str) -> Keys:
    """Keys of tables, or `ID` for the key of every table. InvalidValueError if the text is none of that."""
    return TableKeys().parse(text if "=" in text else f"{EVERY_TABLE}={text}")


def keys_of(table: str, keys: Keys) -> tuple[str, ...]:
    """The key columns given for a table; none if it is not among them."""
    last = table.rpartition(".")[2]
    return next((columns for name, columns in keys if name in (table, last)), ())


def key_of(table: str, keys: Keys) -> tuple[str, ...]:
    """The same of keys that may be given for every table."""
    return keys_of(table, keys) or keys_of(EVERY_TABLE, keys)
