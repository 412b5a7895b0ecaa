"""Maxwell's JSON, written: one row a message and a line, members in Maxwell's order.

The place of a row in its transaction comes from tokens: `xid`, and `xoffset` or `commit`. An insert with the
token `snapshot` is a `bootstrap-insert`.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.columnar.images import and_present, any_present, count_missing, differs_or_missing, updates_from, with_nulls
from ggfmt.columnar.metadata import Clock, token
from ggfmt.columnar.pieces import Piece, escape_json_text, join
from ggfmt.formats.api.format import ABSENT_NULL, Context
from ggfmt.formats.api.losses import AFTER_MISSING_AS_NULL, BEFORE_OVERLAID, UNCHANGED_BEFORE_AS_NONE
from ggfmt.formats.api.writing import RowErrors
from ggfmt.formats.maxwell import COMMIT, SNAPSHOT, MaxwellOptions
from ggfmt.formats.records import formatter
from ggfmt.formats.records.formatter import DialectFormatter
from ggfmt.model.change import ChangeBatch, Image, OpType
from ggfmt.model.table import Kind, TableDef

_TYPES = formatter.json_words(["insert", "update", "delete"])
_NOTHING = pa.scalar(None, pa.string())
MEMBERS = (
    *("database", "table", "query", "type", "ts", "xid", "commit", "xoffset", "position", "gtid"),
    *("server_id", "thread_id", "schema_id", "push_ts", "primary_key", "primary_key_columns", "data", "old"),
)


class MaxwellFormatter(DialectFormatter):
    def __init__(self, table: TableDef, options: MaxwellOptions, context: Context, clock: Clock) -> None:
        self._values = formatter.native_values(table)
        keeps = [column.type.kind is Kind.STRING for column in table.columns]
        super().__init__(table, context, clock, self._values, keeps)
        self.options = options
        self._database, self._name = escape_json_text(table.schema or ""), escape_json_text(table.name)
        keys = ",".join(map(escape_json_text, table.key_names)) if options.output_primary_key_columns else ""
        self._key_names = f"[{keys}]" if keys else None
        present = {
            "position": options.output_position,
            "primary_key": options.output_primary_keys,
            "primary_key_columns": bool(keys),
        }
        self.fields = tuple(name for name in MEMBERS if present.get(name, True))

    def format(self, batch: ChangeBatch) -> pa.StringArray:
        self.refuse(batch, [OpType.TRUNCATE], "Maxwell")
        rows = len(batch)

        def number(name: str) -> pa.StringArray:
            return formatter.whole_numbers(token(batch.tokens, name, rows))

        first = pc.and_(pc.equal(batch.op, OpType.INSERT.value), token(batch.tokens, SNAPSHOT, rows).is_valid())
        whole = pc.floor_temporal(self.micros(batch).cast(pa.timestamp("us")), unit="second")
        seconds = pc.cast(pc.cast(whole.cast(pa.timestamp("s")), pa.int64()), pa.string())
        commit = pc.equal(token(batch.tokens, COMMIT, rows), "true").fill_null(False)
        before, after = self._images(batch)
        delete = pc.equal(batch.op, OpType.DELETE.value)
        old = self.objects(self._changed(batch), rows, "{}")
        gtid = token(batch.tokens, "gtid", rows)
        position = None
        if self.options.output_position:
            named = pc.equal(batch.position, gtid).fill_null(False)
            position = formatter.quoted_if_valid(pc.if_else(named, _NOTHING, batch.position))
        message = formatter.json_object(
            {
                "database": self._database,
                "table": self._name,
                "query": formatter.quoted_if_valid(token(batch.tokens, "query", rows)),
                "type": pc.if_else(first, '"bootstrap-insert"', _TYPES.of(batch.op)),
                "ts": pc.fill_null(seconds, "null"),
                "xid": number("xid"),
                "commit": pc.if_else(commit, "true", _NOTHING),
                "xoffset": pc.if_else(commit, _NOTHING, number("xoffset")),
                "position": position,
                "gtid": formatter.quoted_if_valid(gtid),
                **{name: number(name) for name in ("server_id", "thread_id", "schema_id", "push_ts")},
                "primary_key": self._keys(batch) if self.options.output_primary_keys else None,
                "primary_key_columns": self._key_names,
                "data": pc.if_else(delete, self.objects(before, rows), self.objects(after, rows)),
                "old": pc.if_else(pc.equal(batch.op, OpType.UPDATE.value), old, _NOTHING),
            }
        )
        return join([*message, "\n"], rows)

    def _images(self, batch: ChangeBatch) -> tuple[Image, Image]:
        """The images of whole rows, less the columns that are NULL where these are to be left out."""
        gone = Image(batch.before.columns, pc.equal(batch.op, OpType.DELETE.value))
        absent_is_null = self.options.absent_means == ABSENT_NULL
        if absent_is_null:
            self.count_missing(gone, batch.after)
        if self.options.output_nulls:
            return batch.before, batch.after
        before, after = (self.without_nulls(image, len(batch), absent_is_null) for image in (gone, batch.after))
        return before, after

    def _changed(self, batch: ChangeBatch) -> Image:
        """Of updates the columns of the before image that the after image shows otherwise, or not at all."""
        pairs = list(zip(batch.before.columns, batch.after.columns, strict=True))
        columns = [replace(old, present=differs_or_missing(old, new)) for old, new in pairs]
        updates = updates_from(batch)
        changed = pc.and_(updates, any_present(columns, len(batch)))
        unchanged = pc.and_not(updates, changed)
        for column, (old, new) in zip(self.table.columns, pairs, strict=True):
            self.count(UNCHANGED_BEFORE_AS_NONE, column.name, and_present(unchanged, old).true_count)
            self.count(BEFORE_OVERLAID, column.name, count_missing(changed, old, new))
            if self.options.absent_means != ABSENT_NULL:
                self.count(AFTER_MISSING_AS_NULL, column.name, count_missing(updates, new, old))
        return Image(tuple(columns), updates)

    def _keys(self, batch: ChangeBatch) -> list[Piece] | None:
        """The values of the key as a JSON array, `null` for one that is missing; None if there is no key."""
        row = batch.row_image()
        pieces: list[Piece] = []
        for name in self.table.primary_keys:
            index = self.table.column_names.index(name)
            column = row.columns[index]
            # A missing value may be anything.
            values, wrong = self._values[index](with_nulls(column))
            if wrong:
                raise RowErrors([(place, self.misfit(name)) for place in wrong])
            pieces += [",", values]
        return ["[", *pieces[1:], "]"] if pieces else None


WRITE_SIDES = {"maxwell_json": formatter.text_output(MaxwellFormatter)}
