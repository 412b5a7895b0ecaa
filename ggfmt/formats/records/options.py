"""Options that several dialects share."""

from __future__ import annotations

from typing import ClassVar

from ggfmt.options.spec import Options, choice, option
from ggfmt.options.value_types import Keys, TableKeys

ABSENT_MISSING, ABSENT_NULL = "missing", "null"


class DialectOptions(Options):
    """The base class of the options of formats that are not GoldenGate's."""

    of_goldengate: ClassVar[bool] = False


def absent_means_option() -> str:
    """Return the option that says whether an absent column is missing or NULL, for writers that may omit NULL."""
    return choice(
        "For reading: how to read a column that a row does not contain.",
        (ABSENT_MISSING, "as missing"),
        (ABSENT_NULL, "as NULL, because the writer of the messages omits NULL from whole rows"),
    )


def primary_keys_option() -> Keys:
    """Return the option for the primary keys of tables, for messages that do not contain them."""
    doc = "The primary keys of tables, for reading messages that do not contain keys."
    return option(TableKeys(), (), doc, example="GG.TCUSTORD=CUST_CODE,PRODUCT", since="")
