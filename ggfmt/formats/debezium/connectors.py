"""What single connectors do in a way of their own, by the `connector` in their source block.

A column is a cell where a connector writes it as an object, such as `{"value":1,"set":true}`. In an image with cells,
an absent or null cell is missing, and a cell whose `value` is null is NULL.

* `cassandra`, `scylla`: all images have cells. In Scylla, key columns are plain values.
* `yugabytedb`: up to 1.9, all columns are cells; in later releases, none is.
* CockroachDB's changefeeds have no `connector`, but the `origin` `cockroachdb`. The only time is `ts_ns`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from ggfmt.dataclasses import dataclass, field
from ggfmt.formats.connect.schemas import SchemaField
from ggfmt.formats.json.values import raw_members
from ggfmt.formats.records.dialect import ABSENT, none_if_null
from ggfmt.formats.records.problems import RecordError

ALWAYS, IF_ANY = "always", "if any"  # an image has cells always, or if one of its values is a cell


@dataclass(frozen=True)
class Connector:
    """The rules of a connector; the defaults are those of most.

    lacking      what to do about a delete without a before image
    ops          operation types by the letters that only this connector has
    cells        `ALWAYS` or `IF_ANY` if columns are cells
    key_in_after  a delete has its key columns in `after`
    range_ends   members of images that only a delete of a range of rows has
    nanos_alone  the time of a change is `ts_ns`
    """

    lacking: str = "configure the source system to write the row before the change, or read messages with their keys"
    ops: Mapping[bytes, str] = field(default_factory=dict)
    cells: str | None = None
    key_in_after: bool = False
    range_ends: tuple[str, ...] = ()
    nanos_alone: bool = False


_OTHER = Connector()
_CONNECTORS = {
    "postgresql": Connector(
        "PostgreSQL sends the row of a delete according to the replica identity: add a primary key to the table, or "
        "run `ALTER TABLE ... REPLICA IDENTITY FULL`"
    ),
    "cassandra": Connector(
        "the Cassandra connector writes the key of a deleted row to `after`: read the messages as it wrote them",
        ops={b'"i"': "I"},
        cells=ALWAYS,
        key_in_after=True,
        range_ends=("_range_start", "_range_end"),
    ),
    "scylla": Connector(cells=ALWAYS),
    "yugabytedb": Connector(cells=IF_ANY),
    "cockroachdb": Connector(
        "the key of the message has the key of the deleted row: read the messages with their keys, or create the "
        "changefeed with `diff`",
        nanos_alone=True,
    ),
}


def connector_of(connector: Any, origin: Any = None) -> Connector:
    """Return the rules for the `connector` of a source block, or else for its `origin`."""
    name = origin if connector is None else connector
    return _CONNECTORS.get(name, _OTHER) if isinstance(name, str) else _OTHER


def key_of_list(key: bytes, names: tuple[str, ...]) -> dict[str, Raw]:
    """Return the columns of a message's key that is a list of their values; empty if it is anything else."""
    try:
        values = _values(key)
    except (ValueError, RecursionError):
        return {}
    return dict(zip(names, values, strict=True)) if len(values) == len(names) else {}


_values = msgspec.json.Decoder(list[Raw]).decode


# Cells


class _Cell(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    value: Raw
    set: bool = True
    deletion_ts: Raw = ABSENT


_cell = msgspec.json.Decoder(_Cell).decode
_OF_CELL = frozenset(_Cell.__struct_fields__)
_SET = b'"set"'


def without_cells(image: Raw, rules: Connector, table: str) -> Raw:
    """Return an image with the values of its cells, without the columns that are missing.

    Raises: RecordError if a column is another object (GG308), or if the image is a range of rows (GG304).
    """
    try:
        members = raw_members(image)
    except (ValueError, RecursionError):
        return image  # the reader of images reports it
    for name in rules.range_ends:
        if none_if_null(members.pop(name, ABSENT)) is not None:
            reason = f"the record deletes a range of rows: `{name}` has a value, and ggfmt reads deletes of single rows"
            raise RecordError("GG304", reason, "apply this delete to the target yourself", table)
    if rules.cells == IF_ANY and not any(_SET in bytes(value) for value in members.values() if _is_object(value)):
        return image
    row = {}
    for name, value in members.items():
        cell = _value_in(value, name, table) if _is_object(value) else none_if_null(value)
        if cell is not None:
            row[name] = cell
    return Raw(msgspec.json.encode(row))


def _is_object(value: Raw) -> bool:
    return bytes(value)[:1] == b"{"


def _value_in(data: Raw, column: str, table: str) -> Raw | None:
    try:
        cell = _cell(data)
    except (ValueError, RecursionError):
        cell = None
    if cell is None or (not cell.set and none_if_null(cell.value) is not None):
        reason = "a column is an object, but not a cell with a `value`"
        raise RecordError("GG308", reason, "read records as the connector wrote them", table, column)
    return cell.value if cell.set else None


def fields_without_cells(fields: tuple[SchemaField, ...], rules: Connector) -> tuple[SchemaField, ...]:
    """Return the fields of a row, with the types of the values in cells."""
    plain = []
    for item in fields:
        inner = {part.field: part for part in item.fields or ()}
        if "value" in inner and inner.keys() <= _OF_CELL:
            item = msgspec.structs.replace(inner["value"], field=item.field, optional=True)
        if item.field not in rules.range_ends:
            plain.append(item)
    return tuple(plain)
