"""Changes of Arcion: the parts that the readers of JSON and CSV share, and those that the writers share."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated

import msgspec
import pyarrow as pa
from msgspec import Raw

from ggfmt.arrow import compute as pc
from ggfmt.columnar.images import and_present, with_nulls
from ggfmt.formats.arcion.cursor import place_of
from ggfmt.formats.records import roles
from ggfmt.formats.records.dialect import ABSENT, Change, Dialect, RecordSchema
from ggfmt.formats.records.problems import MAX_SHOWN, RecordError, missing_member_error, no_op
from ggfmt.formats.records.scanner import SourceBatch
from ggfmt.model.change import ChangeBatch, Image, ImageColumn
from ggfmt.model.table import Column, TableDef

OPS = {name: name for name in ("I", "U", "D")}
STATES = frozenset("0123")
CURSOR_IN_TEXT, COUNTS_IN_TEXT = "cursor in text", "counts in text"
NEW, OLD = frozenset("13"), frozenset("23")

Texts = Mapping[str, str | None]

# Written: images with values of all columns, NULL for a missing one, and states that say which image has a value.

_STATES = pa.array(["0", "1", "2", "3"], pa.string())


def values_of(image: Image) -> list[pa.StringArray]:
    columns = []
    for column in image.columns:
        values = with_nulls(column)
        columns.append(values if image.exists is None else with_nulls(ImageColumn(values, image.exists)))
    return columns


def states(batch: ChangeBatch) -> list[pa.StringArray]:
    """For each column n texts: `1` for a value in the after image, `2` for one in the before image, or their sum."""
    rows = len(batch)
    codes = []
    for old, new in zip(_present(batch.before, rows), _present(batch.after, rows), strict=True):
        number = pc.add(pc.cast(new, pa.int64()), pc.multiply(pc.cast(old, pa.int64()), 2))
        codes.append(_STATES.take(number))
    return codes


def _present(image: Image, rows: int) -> list[pa.BooleanArray]:
    exists = image.exists_mask(rows)
    return [and_present(exists, column) for column in image.columns]


class ScannedCursor(msgspec.Struct, gc=False):
    """A cursor as the scanner takes it; the exact reader has `cursor.place_of`.

    A cursor without a position is itself the position: it is odd.
    """

    timestamp: Annotated[int | None, roles.time("ms")] = None
    log: Annotated[Raw, roles.slot()] = ABSENT
    position: Annotated[Raw, roles.slot(roles.ANY & ~roles.NULL, required=True)] = ABSENT


class ArcionChange(msgspec.Struct, gc=False):
    opType: Annotated[str | None, roles.op(OPS)] = None
    cursor: Annotated[
        Raw, roles.enter(ScannedCursor, required=False, others=roles.Token(0), in_text=CURSOR_IN_TEXT)
    ] = ABSENT
    operationcount: Annotated[Raw, roles.enter(required=False, others=roles.Token(1), in_text=COUNTS_IN_TEXT)] = ABSENT
    before: Annotated[Raw, roles.before()] = ABSENT
    after: Annotated[Raw, roles.after()] = ABSENT


class ArcionDialect(Dialect):
    """Changes from images in which a state says of each column where it has a value."""

    ordered = False
    scanned = True
    scalars_only = True
    keeps_nested = False

    def describe(self, table: str, names: tuple[str, ...]) -> RecordSchema:
        return self.described_in_any_order(table, frozenset(names), lambda: TableDef(table, tuple(map(Column, names))))

    def change(
        self,
        table: str,
        op: str,
        images: tuple[Texts | None, Texts | None],
        cursor: str | None,
        counts: str | None,
        record_schema: RecordSchema | None,
    ) -> Change:
        micros, position, tokens = place_of(cursor, counts)
        return Change(table, op, micros, position, *images, tokens if self.with_tokens else {}, record_schema)

    def positions(self, scanned: SourceBatch) -> pa.StringArray:
        log, position = scanned.values("log"), scanned.values("position")
        return pc.coalesce(pc.binary_join_element_wise(log, position, ":"), position)


def check_op(op: str | None, table: str) -> str:
    """Return the type of an operation. Raises: RecordError if the text is no type."""
    if op is None:
        raise missing_member_error("opType", "every Arcion change must have an operation type", table)
    if op not in OPS:
        raise no_op("opType", op[:MAX_SHOWN], OPS, table)
    return op


def check_states(states: Collection[str | None], table: str) -> None:
    if not STATES.issuperset(states):
        wrong = next(state for state in states if state not in STATES)
        word = "NULL" if wrong is None else f"`{wrong[:MAX_SHOWN]}`"
        raise RecordError("GG308", f"`exists` of a column cannot be {word}", "legal values are 0, 1, 2 and 3", table)


def images_of(op: str, old: Texts, new: Texts) -> tuple[Texts | None, Texts | None]:
    """The images of an operation from the values that it has. What contradicts its type is left for others to see."""
    before = old if old or op == "D" else None
    after = new if new or op != "D" else None
    return before, after
