"""Canal's JSON, written.

The members of a message are in the order in which Canal's serialiser writes them, which is that of their names. The
number `id` of a message is its token `id`, or 0. With a `batchSize`, the message of several operations stands at the
last of them.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ggfmt.columnar.clock import Clock
from ggfmt.columnar.join import join
from ggfmt.columnar.strings import escape_json_text, quote_json
from ggfmt.columnar.timestamps import floor_millis
from ggfmt.columnar.tokens import token
from ggfmt.formats.api.context import Context, Projection
from ggfmt.formats.api.framing import TextFraming
from ggfmt.formats.api.writing import WriteSide
from ggfmt.formats.canal import DELETE_IN_OLD, CanalOptions
from ggfmt.formats.records.formatter import DialectFormatter, quoted, unlike
from ggfmt.formats.records.mysql_types import type_text
from ggfmt.model.change import ChangeBatch, Image, ImageColumn, OpType
from ggfmt.model.table import Kind, TableDef

_MEMBERS = "data database es gtid id isDdl mysqlType old pkNames sql sqlType table ts type"
_TYPES = {"I": "INSERT", "U": "UPDATE", "D": "DELETE", "T": "TRUNCATE"}


class CanalFormatter(DialectFormatter):
    def __init__(self, table: TableDef, options: CanalOptions, context: Context, clock: Clock) -> None:
        super().__init__(table, context, clock, [_VALUES.get(column.type.kind, quoted) for column in table.columns])
        self.options = options
        types = [(escape_json_text(column.name), *type_text(column.type)) for column in table.columns]
        keys = ",".join(map(escape_json_text, table.primary_keys))
        self._database = escape_json_text(table.schema or "")
        self._key_names = f"[{keys}]" if keys else "null"
        self._mysql_types = "{" + ",".join(f"{name}:{escape_json_text(text)}" for name, text, _ in types) + "}"
        self._sql_types = "{" + ",".join(f"{name}:{number}" for name, _, number in types) + "}"
        self._name = escape_json_text(table.name)
        quoted_name = ".".join(f"`{part}`" for part in (table.schema, table.name) if part)
        self._statement = escape_json_text(f"TRUNCATE TABLE {quoted_name}")
        self.fields = tuple(_MEMBERS.split())

    def format(self, batch: ChangeBatch) -> pa.StringArray:
        rows = len(batch)
        micros = self.micros(batch)
        changed = self._changed(batch)
        truncate = pc.equal(batch.op, OpType.TRUNCATE.value)
        delete = pc.equal(batch.op, OpType.DELETE.value)
        after, before = self.objects(batch.after, rows), self.objects(batch.before, rows)
        old = self.objects(changed, rows)
        in_old = delete if self.options.delete_rows == DELETE_IN_OLD else None
        data = pc.if_else(delete, before, after)
        old = pc.if_else(pc.equal(old, ""), "{}", old)
        if in_old is not None:
            old = pc.if_else(in_old, before, old)
        has_old = pc.equal(batch.op, OpType.UPDATE.value)
        if batch.before.exists is not None:
            has_old = pc.and_(has_old, batch.before.exists)
        has_data = pc.invert(truncate)
        if in_old is not None:
            has_old, has_data = pc.or_(has_old, in_old), pc.and_not(has_data, in_old)
        identity = token(batch.tokens, "id", rows)
        gtid = token(batch.tokens, "gtid", rows)
        own = pc.if_else(pc.equal(batch.position, identity).fill_null(False), None, batch.position)
        gtid = quote_json(pc.coalesce(gtid, own))
        number = pc.if_else(pc.match_substring_regex(identity, _NUMBER), identity, "0").fill_null("0")
        es = floor_millis(micros).cast(pa.string()).fill_null("null")
        types = pa.array(_TYPES.values(), pa.string()).take(pc.index_in(batch.op, _OPS))
        groups = _groups((batch.op, has_old, gtid, number, es), truncate, self.options.batch_size)
        ends = None if groups is None else pa.array([end - 1 for end in groups[1:]], pa.int64())
        messages = join(
            [
                '{"data":', _listed(data, has_data, groups),
                f',"database":{self._database},"es":', _at(es, ends),
                ',"gtid":', _at(gtid, ends),
                ',"id":', _at(number, ends),
                ',"isDdl":', _at(pc.if_else(truncate, "true", "false"), ends),
                f',"mysqlType":{self._mysql_types},"old":', _listed(old, has_old, groups),
                f',"pkNames":{self._key_names},"sql":', _at(pc.if_else(truncate, self._statement, '""'), ends),
                f',"sqlType":{self._sql_types},"table":{self._name},"ts":{self.clock.millis()},"type":"',
                _at(types, ends),
                '"}\n',
            ]
        )  # fmt: skip
        if ends is None:
            return messages
        places = pc.index_in(pa.array(range(rows), pa.int64()), ends)
        return messages.take(places).fill_null("")

    def _changed(self, batch: ChangeBatch) -> Image:
        """Of updates the columns of the before image that the after image shows otherwise, or not at all."""
        update = pc.equal(batch.op, OpType.UPDATE.value)
        columns = []
        for column, old, new in zip(self.table.columns, batch.before.columns, batch.after.columns, strict=True):
            columns.append(ImageColumn(old.values, unlike(old, new)))
            if old.present is not None:
                shown = pc.and_not(update, old.present)
                if batch.before.exists is not None:
                    shown = pc.and_(shown, batch.before.exists)
                lost = (shown if new.present is None else pc.and_(shown, new.present)).true_count
                self.count(column.name, lost, "missing from the before image, which will be read back as unchanged")
        exists = update if batch.before.exists is None else pc.and_(update, batch.before.exists)
        return Image(tuple(columns), exists)


def _groups(parts: Sequence[pa.Array], alone: pa.BooleanArray, most: int) -> list[int] | None:
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


def _listed(objects: pa.StringArray, there: pa.BooleanArray, groups: list[int] | None) -> pa.StringArray:
    """The objects of each run as a JSON array, `null` where they are not there."""
    if groups is None:
        return pc.if_else(there, join(["[", objects, "]"]), "null")
    lists = pa.ListArray.from_arrays(pa.array(groups, pa.int32()), objects)
    first = there.take(pa.array(groups[:-1], pa.int64()))
    return pc.if_else(first, join(["[", pc.binary_join(lists, ","), "]"]), "null")


def _latin_1(values: pa.StringArray) -> tuple[pa.StringArray, list[int]]:
    """Base64 as the text whose characters have the numbers of the bytes."""
    made: list[str | None] = []
    bad = []
    for row, text in enumerate(values.to_pylist()):
        try:
            made.append(None if text is None else base64.b64decode(text, validate=True).decode("latin-1"))
        except ValueError:
            made.append(None)
            bad.append(row)
    return quote_json(pa.array(made, pa.string())), bad


def _bits(values: pa.StringArray) -> tuple[pa.StringArray, list[int]]:
    """Booleans as MySQL has them."""
    places = pc.index_in(values, _BOOLEANS)
    bad = pc.indices_nonzero(pc.and_(places.is_null(), values.is_valid())).to_pylist()
    return _BITS.take(places).fill_null("null"), bad


_OPS = pa.array(_TYPES, pa.string())
_NUMBER = "^[0-9]{1,18}$"
_BOOLEANS = pa.array(["false", "true"], pa.string())
_BITS = pa.array(['"0"', '"1"'], pa.string())
_VALUES = {Kind.BINARY: _latin_1, Kind.BOOLEAN: _bits}

WRITE_SIDES = {
    "canal_json": WriteSide(
        formatter=CanalFormatter,
        framing=lambda table, options, context: TextFraming("UTF-8"),
        projection=lambda options: Projection(tokens=True),
    )
}
