"""Kernels for Avro's `timestamp-micros` (Avro specification 1.8): microseconds since 1970 as a long."""

from __future__ import annotations

from functools import partial

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import non_null_values
from ggfmt.columnar.avro import NULL, AvroEncoder, Encoded, longs, optional
from ggfmt.columnar.timestamps import text_micros
from ggfmt.java.date_format import DateMask


def optional_micros(mask: DateMask) -> AvroEncoder:
    """The encoder of n unions of null and a time, of texts by a mask; a text without a zone is taken as UTC."""
    return partial(_micros, mask=mask)


def _micros(values: pa.StringArray, mask: DateMask) -> Encoded:
    if values.null_count == len(values):
        return [NULL], []
    unlike = pc.fill_null(pc.invert(pc.match_substring_regex(values, mask.pattern)), False)
    if unlike.true_count:
        return [NULL], non_null_values(pc.indices_nonzero(unlike))
    numbers, bad = text_micros(pc.replace_substring_regex(values, mask.pattern, mask.rewrite))
    return ([NULL], bad) if bad else optional(values, longs(numbers))
