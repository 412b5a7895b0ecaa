"""SharePlex's JSON (Quest SharePlex, and Alibaba's DTS in this format): `shareplex_json`.

* A message is one operation. `meta` describes it. `data` has the row of an insert or delete, or the changed columns of
  an update. `key` is the row before the update, in spite of its name.
* Only `op` is always in `meta`. The configuration of SharePlex decides on the other members.
* Known messages have the operations `ins`, `upd` and `del`. The documentation lists `INSERT`, `UPDATE`, `DELETE`,
  `TRUNCATE`, `DROP COLUMN`, `UPDATE BEFORE` and `UPDATE AFTER`, but does not show the form of the last four.
* ggfmt assumes that a truncate has no row, and counts statements. It rejects the two halves of an update unless
  `updateHalves` says how to read them.
* Values are texts or null. Messages contain neither types nor the primary key.
* `time` and `posttime` are UTC, with or without a `Z`.
"""

from __future__ import annotations

from ggfmt.dataclasses import dataclass
from ggfmt.formats.api import losses
from ggfmt.formats.api.format import DialectOptions, Format, primary_keys_option
from ggfmt.options.spec import choice, option, switch
from ggfmt.options.value_types import Text

REFUSE, AFTER = "refuse", "after"
CHANGED, ALL = "changed", "all"
SHORT, LONG = "short", "long"

# The members of `meta` that are tokens: those written as numbers if they are some, and those that are texts.
NUMBER_TOKENS = ("userid", "seq", "size")
TEXT_TOKENS = ("rowid", "trans", "idx", "posttime")


@dataclass(frozen=True)
class SharePlexOptions(DialectOptions):
    table_name: str = option(Text(), "", "For reading: the table, such as `S.ORDERS`, of messages without a name.")
    complete_after: bool = switch(
        "For reading: add the columns of an update that are only in `key` to the after image."
    )
    update_halves: str = choice(
        "For reading: how to read updates that arrive as two messages.",
        (REFUSE, "reject them"),
        (AFTER, "read `UPDATE AFTER` as an update without a before image; count `UPDATE BEFORE`"),
    )
    update_data: str = choice(
        "For writing: the columns in `data` of an update that has a before image.",
        (CHANGED, "the changed columns, like SharePlex"),
        (ALL, "all columns of the after image"),
    )
    op_names: str = choice(
        "For writing: the names of operations.",
        (SHORT, "`ins`, `upd`, `del`, `truncate`"),
        (LONG, "`INSERT`, `UPDATE`, `DELETE`, `TRUNCATE`"),
    )
    utc_suffix: bool = switch("Write a `Z` after `time`.")
    primary_keys: tuple[tuple[str, tuple[str, ...]], ...] = primary_keys_option()


FORMATS = (
    Format(
        name="shareplex_json",
        doc="SharePlex, and DTS in SharePlex's format: JSON, one row per message with the changed columns.",
        options=SharePlexOptions,
        proposed=("fileSuffix=.json",),
        losses=(
            losses.NESTED_AS_TEXT,
            losses.AFTER_CHANGES_ONLY.except_when(f"updateData={ALL}"),
            losses.TIME_DIGITS.to(0),
            losses.TOKENS_BY_NAME.named(*NUMBER_TOKENS, *TEXT_TOKENS),
            losses.KEYS_NOT_SHOWN,
            losses.TYPES_NOT_SHOWN,
            losses.CATALOG_NOT_SHOWN,
        ),
        times_in_utc=True,
    ),
)
