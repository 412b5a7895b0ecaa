"""What the readers of Arcion's JSON and CSV have in common."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ggfmt.formats.arcion.cursor import place_of
from ggfmt.formats.records.dialect import Change, Dialect, RecordSchema
from ggfmt.formats.records.refused import MOST_SHOWN, RecordError, missing_member_error, no_op
from ggfmt.model.table import Column, TableDef

OPS = ("I", "U", "D")
STATES = frozenset("0123")
NEW, OLD = frozenset("13"), frozenset("23")

Texts = Mapping[str, str | None]


class ArcionDialect(Dialect):
    """Changes from images in which a state says of each column where it has a value."""

    ordered = False

    def describe(self, table: str, names: tuple[str, ...]) -> RecordSchema:
        """The definition of a table with these columns."""
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


def check_op(op: str | None, table: str) -> str:
    """The type of an operation; RecordError if it is none."""
    if op is None:
        raise missing_member_error("opType", "every change of Arcion has one", table)
    if op not in OPS:
        raise no_op("opType", op[:MOST_SHOWN], OPS, table)
    return op


def check_states(states: Collection[str | None], table: str) -> None:
    if not STATES.issuperset(states):
        wrong = next(state for state in states if state not in STATES)
        word = "NULL" if wrong is None else f"`{wrong[:MOST_SHOWN]}`"
        raise RecordError("GG308", f"`exists` of a column cannot be {word}", "legal values are 0, 1, 2 and 3", table)


def images_of(op: str, old: Texts, new: Texts) -> tuple[Texts | None, Texts | None]:
    """The images of an operation from the values that it has. What contradicts its type is left for others to see."""
    before = old if old or op == "D" else None
    after = new if new or op != "D" else None
    return before, after
