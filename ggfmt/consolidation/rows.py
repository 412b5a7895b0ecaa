"""What is known of a row from its operations: the last that each column was told, and since when that counts."""

from __future__ import annotations

from dataclasses import dataclass
from operator import add

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from ggfmt.consolidation.images import any_of, balanced, has
from ggfmt.consolidation.moves import IDENTITY, OVERTAKEN, UNKNOWN_UNTIL, with_identities
from ggfmt.consolidation.operations import KEYED, OP, ORD, TableOperations, new_key, steps
from ggfmt.consolidation.profile import Profile
from ggfmt.frames.shapes import BEFORE

LAST, RESET, INSERT, UNTOLD = "__last", "__reset", "__insert", "__untold"
REASON = "__reason"
BY = "__by"  # with a place: what rows are grouped by
OVERTAKEN_ROW, MET_ROW, NEVER_SEEN, NO_KEY = "overtaken", "collision", "never seen", "no key"


def latest(place: int) -> str:
    """The column with the last that a column of the table was told: a struct of `o`, where in the order, and `v`."""
    return f"__c{place}"


def found(place: int) -> str:
    """The column with the value that a column of the table has in a row."""
    return f"__v{place}"


@dataclass(frozen=True)
class Identified:
    """Steps that count, each with the columns that tell its row from others (`group`). `moved`: keys were updated.
    `before`: before images tell more than after images."""

    steps: DataFrame
    group: tuple[str, ...]
    moved: bool
    before: bool


def identified(operations: TableOperations, frame: DataFrame, profile: Profile) -> Identified:
    """The steps of rows of a table with a key; operations without it are left out."""
    parts = len(operations.key)
    every = steps(frame, operations.key, profile.ordering.column).where(KEYED).drop(KEYED)
    if not profile.moves:
        return Identified(every, tuple(new_key(place) for place in range(parts)), False, profile.before)
    every = with_identities(every, parts, profile.truncates)
    own = {f"__g{place}": F.when(F.col(IDENTITY).isNull(), F.col(new_key(place))) for place in range(parts)}
    return Identified(every.withColumns(own), (*own, IDENTITY), True, profile.before)


def candidate(operations: TableOperations, name: str, before: bool, deletes: bool = False) -> Column:
    """What a step tells of a column, with its place in the order; null where it tells nothing. `deletes` tell what the
    row was."""
    tells = operations.is_told(name, before)
    if deletes and name not in operations.of_base_alone:
        tells |= (F.col(OP) == "D") & has(BEFORE, name)
    return F.when(tells, F.struct(F.col(ORD).alias("o"), operations.told(name, before or deletes).alias("v")))


def resolved(rows: DataFrame, operations: TableOperations, moved: bool) -> DataFrame:
    """Rows with `found` for all columns, the number of those that no operation told (`UNTOLD`: by an insert, or added
    since), and the reason why it is not certain what they are (`REASON`, or null).

    `rows` have `latest` of each column, `LAST` and `RESET` (structs of `o` and `op`, the latter of the last insert or
    delete), new keys, and where rows have moved, `OVERTAKEN` and `UNKNOWN_UNTIL`.
    """
    reset, op = F.col(RESET).getField("o"), F.col(RESET).getField("op")
    by_insert = F.coalesce(op == "I", F.lit(False))
    after_meeting, met = F.lit(True), F.lit(False)
    if moved:
        until = F.col(UNKNOWN_UNTIL)
        after_meeting = until.isNull()
        by_insert &= after_meeting | F.coalesce(reset >= until, F.lit(False))
        met = until.isNotNull() & ~F.coalesce(reset > until, F.lit(False))
    values: dict[str, Column] = {}
    unknown, untold = [], [F.lit(0)]
    for place, name in enumerate(operations.columns):
        if name in operations.key:
            values[found(place)] = F.col(new_key(operations.key.index(name)))
            continue
        when = F.col(latest(place)).getField("o")
        known = when.isNotNull() & (
            reset.isNull() | F.coalesce(F.when(op == "D", when > reset).otherwise(when >= reset), F.lit(False))
        )
        if moved:
            known &= after_meeting | F.coalesce(when >= F.col(UNKNOWN_UNTIL), F.lit(False))
        values[found(place)] = F.when(known, F.col(latest(place)).getField("v"))
        if name not in operations.added:
            unknown.append(~known & ~by_insert)
        elif moved:  # it was told since it was added, and of which row is not certain
            unknown.append(~known & ~by_insert & met & (_seq_of(rows, UNKNOWN_UNTIL) >= operations.added[name]))
        untold.append(F.when(~known, 1).otherwise(0))
    lacking = any_of(unknown)
    reason = F.when(lacking, F.lit(NEVER_SEEN))
    if moved:
        reason = (
            F.when(F.col(OVERTAKEN), F.lit(OVERTAKEN_ROW))
            .when(lacking & met, F.lit(MET_ROW))
            .when(lacking, F.lit(NEVER_SEEN))
        )
    return rows.withColumns(values | {UNTOLD: balanced(add, untold), REASON: reason})


def _seq_of(rows: DataFrame, ord: str) -> Column:
    """The `seq` in a place of the order."""
    return F.col(ord).getField("s") if isinstance(rows.schema[ord].dataType, StructType) else F.col(ord)
