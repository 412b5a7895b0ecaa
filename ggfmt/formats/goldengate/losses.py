"""What messages of several GoldenGate formats do not show."""

from __future__ import annotations

from ggfmt.formats.api.losses import (
    KEY_UPDATE_REFUSED,
    KEY_UPDATE_SPLIT,
    POSITION_NOT_SHOWN,
    TIME_NOT_SHOWN,
    TOKENS_NOT_SHOWN,
)
from ggfmt.model.table import Kind

TOKENS = TOKENS_NOT_SHOWN.except_when("includeTokens=true").by_template("alltokens")
NO_TIME, NO_POSITION = TIME_NOT_SHOWN.by_template("timestamp"), POSITION_NOT_SHOWN.by_template("position")
KEY_UPDATES = (
    KEY_UPDATE_REFUSED.when("pkUpdateHandling=abend"),
    KEY_UPDATE_SPLIT.when("pkUpdateHandling=delete-insert"),
)
NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT, Kind.DOUBLE)  # what messages show as numbers in every release
