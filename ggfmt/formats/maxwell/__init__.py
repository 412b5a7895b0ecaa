"""Maxwell's JSON (Zendesk's Maxwell's daemon): `maxwell_json`.

* A message is one row: `data` is the row after the change, of a delete the row that is gone; `old` has the columns of
  an update that changed, as they were before. If `old` has a column, what is not in `old` did not change. An update
  without `old`, or with an empty one, is read as an update without a before image: Maxwell does not say whether nothing
  changed or nothing is known. Every update that is written has an `old`, for readers that cannot do without.
* Values are JSON numbers and texts, a SET is an array, a JSON column lies in the row as it is, bytes are Base64. The
  only statements have the types of columns (`table-create`, `table-alter`); Maxwell writes them if asked to.
* `ts` is in seconds since 1970 for rows and in milliseconds for statements.
* All rows of a transaction have its `xid`; the last has `commit`, the others may have `xoffset`.
* With Maxwell's `output_nulls=false` a column of `data` that is NULL is left out. `old` keeps its nulls.
* Rows of a bootstrap are inserts of the type `bootstrap-insert`.
* Maxwell drops truncates, so that its messages have no form for one.

Written, booleans are JSON booleans, which MySQL does not have.
"""

from __future__ import annotations

from dataclasses import dataclass

from ggfmt.formats.api import losses
from ggfmt.formats.api.format import Format
from ggfmt.formats.records.options import (
    ABSENT_MISSING,
    ABSENT_NULL,
    DialectOptions,
    absent_means_option,
    primary_keys_option,
)
from ggfmt.model.table import Kind
from ggfmt.options.spec import option
from ggfmt.options.value_types import Bool

# The members of a row that are tokens, in Maxwell's order: those that are numbers, and those that are texts.
NUMBER_TOKENS = ("xid", "xoffset", "server_id", "thread_id", "schema_id", "push_ts")
TEXT_TOKENS = ("query", "gtid")
COMMIT, SNAPSHOT = "commit", "snapshot"


@dataclass(frozen=True)
class MaxwellOptions(DialectOptions):
    output_nulls: bool = option(Bool(), True, "Write columns of `data` that are NULL; false leaves them out.")
    absent_means: str = absent_means_option()
    output_position: bool = option(Bool(), True, "Write the `position` of an operation.")
    output_primary_keys: bool = option(Bool(), False, "Write the values of the primary key as `primary_key`.")
    output_primary_key_columns: bool = option(
        Bool(), True, "Write the names of the primary key's columns as `primary_key_columns`, if there is a key."
    )
    primary_keys: tuple[tuple[str, tuple[str, ...]], ...] = primary_keys_option()


FORMATS = (
    Format(
        name="maxwell_json",
        doc="Maxwell: JSON, one row a message with what changed of it.",
        options=MaxwellOptions,
        writes="ggfmt.formats.maxwell.write",
        reads="ggfmt.formats.maxwell.read",
        proposed=("fileSuffix=.json",),
        marks=(b'"database"',),
        losses=(
            losses.NULL_AS_MISSING.partly()
            .saying(" in a whole row")
            .when("outputNulls=false", f"absentMeans={ABSENT_MISSING}"),
            losses.MISSING_AS_NULL.saying(" of a whole row").when(f"absentMeans={ABSENT_NULL}"),
            losses.UNCHANGED_BEFORE_AS_NONE,
            losses.BEFORE_OVERLAID,
            losses.NUMBER_SPELLING.of(Kind.INTEGER, Kind.DECIMAL, Kind.NUMBER, Kind.FLOAT, Kind.DOUBLE),
            losses.TIME_DIGITS.to(0),
            losses.POSITION_NOT_SHOWN.saying(", but for a token `gtid`, which is then read as it").when(
                "outputPosition=false"
            ),
            losses.TOKENS_BY_NAME.named(*NUMBER_TOKENS, *TEXT_TOKENS, COMMIT, SNAPSHOT).saying(
                ", nor those of a number that are none, nor an `xoffset` beside a `commit`"
            ),
            losses.KEYS_NOT_SHOWN.when("outputPrimaryKeyColumns=false"),
            losses.TYPES_BY_VALUE,
            losses.CATALOG_NOT_SHOWN,
            losses.TRUNCATE_REFUSED,
        ),
        times_in_utc=True,
    ),
)
