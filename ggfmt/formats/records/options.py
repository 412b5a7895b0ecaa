"""Options that several dialects have."""

from __future__ import annotations

from typing import ClassVar

from ggfmt.options.spec import Options, option
from ggfmt.options.value_types import Choice, Keys, TableKeys

ABSENT_MISSING, ABSENT_NULL = "missing", "null"


class DialectOptions(Options):
    """Base of the options of formats of other systems."""

    of_goldengate: ClassVar[bool] = False


def absent_means_option() -> str:
    """The option for what a reader takes columns for that are not there, where NULL may have been left out."""
    return option(
        Choice(
            {
                ABSENT_MISSING: "it is missing",
                ABSENT_NULL: "it is NULL: who wrote the messages left NULL out of whole rows",
            }
        ),
        ABSENT_MISSING,
        "For reading: what a column is that a row does not show.",
    )


def primary_keys_option() -> Keys:
    """The option for primary keys, where messages do not tell them."""
    doc = "The primary keys of tables, for reading messages that do not tell them."
    return option(TableKeys(), (), doc, example="GG.TCUSTORD=CUST_CODE,PRODUCT", since="")
