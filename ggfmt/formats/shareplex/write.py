"""SharePlex's JSON, written: one message a line, the members of `meta` in the order of its description.

`scn` is the position; other members are tokens, and left out where there is no such token.
"""

from __future__ import annotations

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import as_strings
from ggfmt.columnar.images import count_missing, differs_or_missing, updates_from
from ggfmt.columnar.metadata import Clock, token
from ggfmt.columnar.pieces import escape_json_text, join, repeat
from ggfmt.formats.api.format import Context
from ggfmt.formats.api.losses import AFTER_CHANGES_ONLY
from ggfmt.formats.records import formatter
from ggfmt.formats.records.formatter import DialectFormatter
from ggfmt.formats.shareplex import CHANGED, NUMBER_TOKENS, SHORT, SharePlexOptions
from ggfmt.model.change import ChangeBatch, Image, ImageColumn, OpType
from ggfmt.model.table import TableDef, join_name

_SHORT = formatter.json_words(["ins", "upd", "del", "truncate"])
_LONG = formatter.json_words([op.name for op in OpType])
_META = ("time", "userid", "op", "scn", "rowid", "trans", "seq", "size", "table", "idx", "posttime")


class SharePlexFormatter(DialectFormatter):
    def __init__(self, table: TableDef, options: SharePlexOptions, context: Context, clock: Clock) -> None:
        super().__init__(table, context, clock, [formatter.quoted] * len(table.columns))
        self.options = options
        self._table = escape_json_text(join_name(table.schema, table.name))
        self._names = _SHORT if options.op_names == SHORT else _LONG
        self._suffix = "Z" if options.utc_suffix else ""
        self.fields = (*(f"meta: {member}" for member in _META), "data", "key")

    def format(self, batch: ChangeBatch) -> pa.StringArray:
        rows = len(batch)
        delete = pc.equal(batch.op, OpType.DELETE.value)
        before = self.objects(batch.before, rows)
        data = pc.if_else(delete, before, self.objects(self._shown(batch), rows))
        data = pc.if_else(pc.equal(data, ""), "{}", data)
        has_key = updates_from(batch)
        members = {
            "time": formatter.quoted_if_valid(self._times(batch)),
            "op": as_strings(self._names.of(batch.op)),
            "scn": formatter.quoted_if_valid(batch.position),
            "table": repeat(self._table, rows),
        }
        parts = [formatter.member(name, members[name] if name in members else _token(batch, name)) for name in _META]
        # The first member there is has no comma before it.
        meta = pc.replace_substring_regex(join(parts, rows), "^,", "")
        message = formatter.json_object(
            {"meta": ["{", meta, "}"], "data": data, "key": pc.if_else(has_key, before, None)}
        )
        return join([*message, "\n"], rows)

    def _times(self, batch: ChangeBatch) -> pa.StringArray:
        seconds = pc.floor_temporal(self.micros(batch).cast(pa.timestamp("us")), unit="second")
        texts = pc.replace_substring(pc.cast(seconds.cast(pa.timestamp("s")), pa.string()), " ", "T")
        if not self._suffix:
            return texts
        return pc.if_else(texts.is_valid(), join([texts.fill_null(""), self._suffix]), texts)

    def _shown(self, batch: ChangeBatch) -> Image:
        """The after images; of an update with a before image what the option asks for."""
        if self.options.update_data != CHANGED:
            return batch.after
        update = updates_from(batch)
        if not update.true_count:
            return batch.after
        columns = []
        for column, old, new in zip(self.table.columns, batch.before.columns, batch.after.columns, strict=True):
            changed = differs_or_missing(new, old)
            whole = pa.scalar(True) if new.present is None else new.present
            columns.append(ImageColumn(new.values, pc.if_else(update, changed, whole)))
            if new.present is not None:
                self.count(AFTER_CHANGES_ONLY, column.name, count_missing(update, new, old))
        return Image(tuple(columns), batch.after.exists)


def _token(batch: ChangeBatch, name: str) -> pa.StringArray:
    values = token(batch.tokens, name, len(batch))
    texts = formatter.quoted_if_valid(values)
    if name not in NUMBER_TOKENS:
        return texts
    numbers = formatter.whole_numbers(values)
    return pc.if_else(numbers.is_valid(), numbers, texts)


WRITE_SIDES = {"shareplex_json": formatter.text_output(SharePlexFormatter)}
