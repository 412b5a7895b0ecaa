"""Maxwell's JSON (Zendesk's Maxwell's daemon): `maxwell_json`.

* A message is one row. `data` is the row after the change, or the deleted row. In an update, `old` has the previous
  values of the changed columns.
* ggfmt reads an update with an empty `old`, or without `old`, as an update without a before image. ggfmt writes `old`
  in every update, because some readers require it.
* Values are JSON numbers and texts. A SET is an array, a JSON column is nested JSON, bytes are Base64. Only the
  statements `table-create` and `table-alter` contain the types of columns. Maxwell writes them only if you configure
  it.
* `ts` is in seconds since 1970 for rows, and in milliseconds for statements.
* All rows of a transaction have its `xid`. The last row has `commit`, the others can have `xoffset`.
* With Maxwell's `output_nulls=false`, `data` omits NULL columns. `old` keeps them.
* Rows of a bootstrap are inserts of the type `bootstrap-insert`.
* Maxwell's messages cannot show a truncate.
* ggfmt writes booleans as JSON booleans, which MySQL does not have.
"""

from __future__ import annotations

from ggfmt.dataclasses import dataclass
from ggfmt.formats.api import format as shared
from ggfmt.formats.api import losses
from ggfmt.formats.api.format import Format
from ggfmt.model.table import Kind
from ggfmt.options.spec import switch

# The members of a row that are tokens, in Maxwell's order: those that are numbers, and those that are texts.
NUMBER_TOKENS = ("xid", "xoffset", "server_id", "thread_id", "schema_id", "push_ts")
TEXT_TOKENS = ("query", "gtid")
COMMIT, SNAPSHOT = "commit", "snapshot"


@dataclass(frozen=True)
class MaxwellOptions(shared.DialectOptions):
    output_nulls: bool = switch("Write columns of `data` that are NULL. If false: omit them.", True)
    absent_means: str = shared.absent_means_option()
    output_position: bool = switch("Write the `position` of an operation.", True)
    output_primary_keys: bool = switch("Write the values of the primary key as `primary_key`.")
    output_primary_key_columns: bool = switch(
        "Write the names of the primary key's columns as `primary_key_columns`, if there is a key.", True
    )
    primary_keys: tuple[tuple[str, tuple[str, ...]], ...] = shared.primary_keys_option()


FORMATS = (
    Format(
        name="maxwell_json",
        doc="Maxwell: JSON, one row per message with the changed columns.",
        options=MaxwellOptions,
        proposed=("fileSuffix=.json",),
        losses=(
            losses.NULL_AS_MISSING.partly()
            .saying(" in a whole row")
            .when("outputNulls=false", f"absentMeans={shared.ABSENT_MISSING}"),
            losses.MISSING_AS_NULL.saying(" of a whole row").when(f"absentMeans={shared.ABSENT_NULL}"),
            losses.AFTER_MISSING_AS_NULL.when(f"absentMeans={shared.ABSENT_MISSING}"),
            losses.UNCHANGED_BEFORE_AS_NONE,
            losses.BEFORE_OVERLAID,
            losses.NUMBER_SPELLING.of(Kind.INTEGER, Kind.DECIMAL, Kind.NUMBER, Kind.FLOAT, Kind.DOUBLE),
            losses.TIME_DIGITS.to(0),
            losses.POSITION_NOT_SHOWN.saying(". If there is a token `gtid`, it is read as the position")
            .named("gtid")
            .when("outputPosition=false"),
            losses.TOKENS_BY_NAME.named(*NUMBER_TOKENS, *TEXT_TOKENS, COMMIT, SNAPSHOT)
            .saying(". Number tokens must contain numbers. `xoffset` is not shown next to `commit`")
            .matching(losses.LONG_WHOLE_NUMBER, *NUMBER_TOKENS)
            .matching("^true$", COMMIT, SNAPSHOT),
            losses.KEYS_NOT_SHOWN.when("outputPrimaryKeyColumns=false"),
            losses.TYPES_BY_VALUE,
            losses.CATALOG_NOT_SHOWN,
            losses.TRUNCATE_REFUSED,
        ),
        times_in_utc=True,
    ),
)
