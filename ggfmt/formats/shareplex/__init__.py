"""SharePlex's JSON (Quest SharePlex, and Alibaba's DTS in this format): `shareplex_json`.

* A message is one operation: `meta` describes it, `data` has the row of an insert or of a delete, and of an update the
  columns that changed; `key` is the row before the update, in spite of its name.
* Of `meta` only `op` is sure to be there; which others are is a matter of how SharePlex is set up. A message may lack
  the name of its table.
* Operations are `ins`, `upd` and `del` in messages that are known, and `INSERT`, `UPDATE`, `DELETE`, `TRUNCATE`,
  `DROP COLUMN`, `UPDATE BEFORE` and `UPDATE AFTER` by the description; the forms of the last four are not. A truncate
  is taken to have no row; statements are counted; the halves of an update are refused unless `updateHalves` says what
  they are, because nothing shows for sure which two belong together.
* Values are texts or null; messages have neither types nor the primary key.
* `time` and `posttime` are UTC, with or without a `Z`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ggfmt.formats.api import losses
from ggfmt.formats.api.format import Format
from ggfmt.formats.records.options import DialectOptions, primary_keys_option
from ggfmt.options.spec import option
from ggfmt.options.value_types import Bool, Choice, Text

REFUSE, AFTER = "refuse", "after"
CHANGED, ALL = "changed", "all"
SHORT, LONG = "short", "long"

# The members of `meta` that are tokens: those written as numbers if they are some, and those that are texts.
NUMBER_TOKENS = ("userid", "seq", "size")
TEXT_TOKENS = ("rowid", "trans", "idx", "posttime")


@dataclass(frozen=True)
class SharePlexOptions(DialectOptions):
    table_name: str = option(Text(), "", "The table, such as `S.ORDERS`, of messages that are read without a name.")
    complete_after: bool = option(
        Bool(), False, "For reading: take columns of an update that are in `key` alone into the after image."
    )
    update_halves: str = option(
        Choice(
            {
                REFUSE: "they are rejects",
                AFTER: "an `UPDATE AFTER` is an update without a before image; an `UPDATE BEFORE` is counted",
            }
        ),
        REFUSE,
        "For reading: what the two halves of an update are, where they are messages of their own.",
    )
    update_data: str = option(
        Choice({CHANGED: "what changed, as SharePlex does", ALL: "all of the after image"}),
        CHANGED,
        "For writing: which columns of an update `data` has, where there is a before image.",
    )
    op_names: str = option(
        Choice(
            {
                SHORT: "`ins`, `upd`, `del`, `truncate`",
                LONG: "`INSERT`, `UPDATE`, `DELETE`, `TRUNCATE`",
            }
        ),
        SHORT,
        "For writing: the names of operations.",
    )
    utc_suffix: bool = option(Bool(), False, "Write a `Z` behind `time`.")
    primary_keys: tuple[tuple[str, tuple[str, ...]], ...] = primary_keys_option()


FORMATS = (
    Format(
        name="shareplex_json",
        doc="SharePlex, and DTS in SharePlex's format: JSON, one row a message with what changed of it.",
        options=SharePlexOptions,
        writes="ggfmt.formats.shareplex.write",
        reads="ggfmt.formats.shareplex.read",
        proposed=("fileSuffix=.json",),
        marks=(b'"meta"',),
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
