"""Arcion's messages as the native scanner takes them.

What `exists` says is a part of a record's identity: records of the same states are taken, once the exact reader has
seen one of them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.columnar.timestamps import scale_numbers
from ggfmt.formats.arcion.changes import OPS
from ggfmt.formats.records.scanner import (
    ANY,
    INTEGER,
    NULL,
    Grammar,
    Member,
    ScannedBatch,
    Token,
    after,
    before,
    enter,
    identity,
    op,
    skip,
    slot,
)
from ggfmt.model.change import ImageColumn

_NULL = pa.scalar(None, pa.string())


@lru_cache(maxsize=16)
def grammar(cursor_in_text: bool, counts_in_text: bool, *others: tuple[Member, ...]) -> Grammar:
    """Changes whose cursor and counts are objects or texts of such, with these members that nobody knows in them, in
    `tableName` and its namespace. A cursor without a position is itself the position, and odd."""
    of_message, of_name, of_namespace = others
    namespace = enter("namespace", identity("catalog"), identity("schema"), skip("hash"), *of_namespace, required=False)
    cursor = enter(
        "cursor",
        slot("timestamp", INTEGER | NULL),
        slot("log", ANY),
        slot("position", ANY & ~NULL, required=True),
        required=False,
        others=Token(""),
        in_text=cursor_in_text,
    )
    counts = enter("operationcount", required=False, others=Token("", rank=1), in_text=counts_in_text)
    members = (
        enter("tableName", namespace, identity("name"), skip("hash"), *of_name),
        op("opType"),
        cursor,
        before("before"),
        after("after"),
        identity("exists"),
        counts,
        skip("payload"),
        *of_message,
    )
    return Grammar(members, {name: name for name in OPS})


def heads(scanned: ScannedBatch) -> tuple[pa.Int64Array, pa.StringArray]:
    """As `cursor.place_of`."""
    log, position = scanned.values("log"), scanned.values("position")
    in_log = pc.binary_join_element_wise(log, position, ":")
    return scale_numbers(scanned.values("timestamp"), 1000), pc.coalesce(in_log, position)


def decode_scanned(scanned: ScannedBatch, null: str) -> ScannedBatch:
    """Values are texts, of which one stands for NULL."""
    before, after = (tuple(_texts(column, null) for column in columns) for columns in (scanned.before, scanned.after))
    return replace(scanned, before=before, after=after)


def _texts(column: ImageColumn, null: str) -> ImageColumn:
    equal = pc.equal(column.values, null)
    values = pc.if_else(equal, _NULL, column.values) if equal.true_count else column.values
    return ImageColumn(values, column.present)
