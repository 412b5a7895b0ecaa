"""Kernels that cut delimited text: lines into fields, fields into columns, fields into tokens."""

from __future__ import annotations

import pyarrow as pa

from ggfmt.arrow import compute as pc
from ggfmt.arrow.arrays import StringMapArray, as_strings, string_maps
from ggfmt.model.change import ImageColumn

_STRING = pa.string()


def split(text: str, delimiter: str) -> pa.StringArray:
    """The pieces of a text between delimiters; n + 1 of them for n delimiters."""
    whole = pa.array([text], pa.large_string())
    return pc.cast(pc.split_pattern(whole, delimiter).flatten(), _STRING)


def table_of_fields(lines: pa.StringArray, delimiter: str, width: int) -> list[pa.StringArray]:
    """`width` columns of the fields of lines that all have that many."""
    if width == 1:
        return [lines]
    fields = pc.split_pattern(lines, delimiter).flatten()
    rows = pa.FixedSizeListArray.from_arrays(fields, width)
    return [as_strings(pc.list_element(rows, index)) for index in range(width)]


def count_fields(lines: pa.StringArray, delimiter: str) -> pa.Int64Array:
    """How many fields each line has."""
    return pc.add(pc.count_substring(lines, delimiter), 1)


def image_column(fields: pa.StringArray, null: str, missing: str, exists: pa.BooleanArray) -> ImageColumn:
    """A column of an image from the fields that show it; where there is no image the column is missing.

    A field that stands for both a NULL and a missing column is taken as missing.
    """
    absent = pc.or_(pc.equal(fields, missing), pc.invert(exists))
    empty = pc.or_(absent, pc.equal(fields, null))
    values = pc.if_else(empty, pa.scalar(None, _STRING), fields) if empty.true_count else fields
    return ImageColumn(values, pc.invert(absent) if absent.true_count else None)


def unquoted(column: ImageColumn) -> ImageColumn:
    """The column with the quotes taken off values that are in quotes, and those within made single."""
    values = column.values
    quoted = pc.fill_null(pc.match_substring_regex(values, '(?s)^".*"$'), False)
    if not quoted.true_count:
        return column
    inner = pc.replace_substring(pc.utf8_slice_codeunits(values, 1, -1), '""', '"')
    return ImageColumn(pc.if_else(quoted, inner, values), column.present)


def tokens_of(fields: pa.StringArray, between: str, within: str) -> StringMapArray:
    """Tokens from texts such as `L=1,R=x`; an empty text has none, a token without `within` has an empty value."""
    some = pc.not_equal(fields, "")
    pairs = pc.split_pattern(fields.filter(some), between)
    none = pa.repeat(pa.scalar(0, pa.int32()), len(fields))
    lengths = pc.replace_with_mask(none, some, pc.list_value_length(pairs))
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)])
    flat = as_strings(pairs.flatten())
    marked = pc.match_substring(flat, within)
    halves = pc.split_pattern(flat.filter(marked), within, max_splits=1)
    names = pc.replace_with_mask(flat, marked, pc.list_element(halves, 0))
    values = pc.replace_with_mask(pa.repeat(pa.scalar("", _STRING), len(flat)), marked, pc.list_element(halves, 1))
    return string_maps(offsets, names, values)
