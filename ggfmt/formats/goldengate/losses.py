"""What messages of several GoldenGate formats do not show."""

from __future__ import annotations

from ggfmt.formats.api.losses import KEY_UPDATE_REFUSED, KEY_UPDATE_SPLIT, TOKENS_NOT_SHOWN
from ggfmt.model.table import Kind

TOKENS = TOKENS_NOT_SHOWN.except_when("includeTokens=true")
KEY_UPDATES = (
    KEY_UPDATE_REFUSED.when("pkUpdateHandling=abend"),
    KEY_UPDATE_SPLIT.when("pkUpdateHandling=delete-insert"),
)
NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT, Kind.DOUBLE)  # what messages show as numbers in every release
