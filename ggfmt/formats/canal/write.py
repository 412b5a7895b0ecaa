"""Canal's JSON, written.

The members of a message are in the order in which Canal's serialiser writes them, which is that of their names. The
number `id` of a message is its token `id`, and left out if there is none. With a `batchSize`, the message of several
operations is at the last of them.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings
from ggfmt.columnar.images import count_missing, differs_or_missing, updates_from
from ggfmt.columnar.json_text import json_number, json_texts, quote_json
from ggfmt.columnar.metadata import Clock, token
from ggfmt.columnar.pieces import Conditional, Encoding, Equals, Piece, Repeated, escape_json_text, join
from ggfmt.columnar.strings import by_value
from ggfmt.formats.api.format import Context
from ggfmt.formats.api.losses import BEFORE_OVERLAID, DIGITS
from ggfmt.formats.canal import DELETE_IN_OLD, CanalOptions
from ggfmt.formats.mysql.types import type_text
from ggfmt.formats.records.formatter import DialectFormatter, json_object, json_words, quoted, text_output
from ggfmt.model.change import ChangeBatch, Image, ImageColumn, OpType
from ggfmt.model.sql import MYSQL, sql
from ggfmt.model.table import Kind, TableDef

_MEMBERS = "data database es gtid id isDdl mysqlType old pkNames sql sqlType table ts type"
_TYPES = json_words([op.name for op in OpType])


class CanalFormatter(DialectFormatter):
    def __init__(self, table: TableDef, options: CanalOptions, context: Context, clock: Clock) -> None:
        super().__init__(table, context, clock, [_VALUES.get(column.type.kind, quoted) for column in table.columns])
        self.options = options
        types = [(escape_json_text(column.name), *type_text(column.type)) for column in table.columns]
        keys = ",".join(map(escape_json_text, table.key_names))
        self._database = escape_json_text(table.schema or "")
        self._key_names = f"[{keys}]" if keys else "null"
        self._mysql_types = "{" + ",".join(f"{name}:{escape_json_text(text)}" for name, text, _ in types) + "}"
        self._sql_types = "{" + ",".join(f"{name}:{number}" for name, _, number in types) + "}"
        self._name = escape_json_text(table.name)
        names = filter(None, (table.schema, table.name))
        self._statement = escape_json_text(sql("TRUNCATE TABLE {}", MYSQL.identifier(*names)))
        self.fields = tuple(_MEMBERS.split())

    def format(self, batch: ChangeBatch) -> pa.StringArray:
        rows = len(batch)
        micros = self.micros(batch)
        changed = self._changed(batch)
        truncate = pc.equal(batch.op, OpType.TRUNCATE.value)
        delete = Equals(batch.op, OpType.DELETE.value)
        after, before = self.object_pieces(batch.after, rows), self.object_pieces(batch.before, rows)
        old = self.object_pieces(changed, rows, "{}")
        data: list[Piece] = [Conditional(delete, before, after)]
        in_old = None
        if self.options.delete_rows == DELETE_IN_OLD:
            in_old = pc.equal(batch.op, OpType.DELETE.value)
            old = [Conditional(in_old, before, old)]
        has_old = updates_from(batch)
        has_data = pc.invert(truncate)
        if in_old is not None:
            has_old, has_data = pc.or_(has_old, in_old), pc.and_not(has_data, in_old)
        identity = token(batch.tokens, "id", rows)
        own = batch.position
        if identity.null_count < rows:
            identity = pc.if_else(pc.match_substring_regex(identity, DIGITS), identity, _NOTHING)
            own = pc.if_else(pc.equal(batch.position, identity).fill_null(False), None, batch.position)
        gtid = token(batch.tokens, "gtid", rows)
        gtid = quote_json(pc.coalesce(gtid, own))
        es = join([json_number(micros, Encoding.MILLIS)])
        groups = _groups((batch.op, has_old, gtid, identity, es), truncate, self.options.batch_size)
        ends = None if groups is None else pa.array([end - 1 for end in groups[1:]], pa.int64())
        at = partial(_at, rows=ends)
        message = json_object(
            {
                "data": _listed(data, has_data, groups, rows),
                "database": self._database,
                "es": at(es),
                "gtid": at(gtid),
                "id": at(identity),
                "isDdl": at(pc.if_else(truncate, "true", "false")),
                "mysqlType": self._mysql_types,
                "old": _listed(old, has_old, groups, rows),
                "pkNames": self._key_names,
                "sql": at(pc.if_else(truncate, self._statement, '""')),
                "sqlType": self._sql_types,
                "table": self._name,
                "ts": str(self.clock.millis()),
                "type": at(as_strings(_TYPES.of(batch.op))),
            }
        )
        messages = join([*message, "\n"])
        if ends is None:
            return messages
        places = pc.index_in(pa.array(range(rows), pa.int64()), ends)
        return pc.fill_null(messages.take(places), "")

    def _changed(self, batch: ChangeBatch) -> Image:
        """Of updates the columns of the before image that the after image shows otherwise, or not at all."""
        update = updates_from(batch)
        columns = []
        for column, old, new in zip(self.table.columns, batch.before.columns, batch.after.columns, strict=True):
            columns.append(ImageColumn(old.values, differs_or_missing(old, new)))
            if old.present is not None:
                self.count(BEFORE_OVERLAID, column.name, count_missing(update, old, new))
        return Image(tuple(columns), update)


def _groups(parts: Sequence[pa.Array[Any]], alone: pa.BooleanArray, most: int) -> list[int] | None:
    """Where runs of at most `most` operations that are alike in all parts start, and where the last ends; None if every
    operation is a run of its own."""
    if most == 1:
        return None
    starts = [0]
    if not len(alone):
        return starts
    alike = list(zip(*(part.to_pylist() for part in parts), alone.to_pylist(), strict=True))
    for row in range(1, len(alike)):
        if alike[row] != alike[row - 1] or alike[row][-1] or row - starts[-1] == most:
            starts.append(row)
    return [*starts, len(alike)]


def _at(texts: pa.StringArray, rows: pa.Int64Array | None) -> pa.StringArray:
    return texts if rows is None else texts.take(rows)


def _listed(objects: list[Piece], there: pa.BooleanArray, groups: list[int] | None, rows: int) -> list[Piece]:
    """The objects of each run as a JSON array, `null` where they are not there."""
    if groups is None:
        return [Conditional(there, ["[", *objects, "]"], ["null"])]
    lists = pa.ListArray.from_arrays(pa.array(groups, pa.int32()), join(objects, rows))
    first = there.take(pa.array(groups[:-1], pa.int64()))
    return [Conditional(first, ["[", Repeated(lists, [lists.values], ","), "]"], ["null"])]


_NOTHING = pa.scalar(None, pa.string())
_VALUES = {
    Kind.BINARY: json_texts(by_value(lambda text: base64.b64decode(text, validate=True).decode("latin-1"))),
    Kind.BOOLEAN: json_texts(by_value({"false": "0", "true": "1"}.get)),  # as MySQL has them
}

WRITE_SIDES = {"canal_json": text_output(CanalFormatter)}
