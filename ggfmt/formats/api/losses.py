"""The losses that there are, each declared once: formats name theirs among these."""

from __future__ import annotations

from ggfmt.formats.api.loss import Aspect, Loss

# Images

MISSING_AS_NULL = Loss(
    "missing_as_null",
    (Aspect.MISSING,),
    "A missing column{detail} is not told from NULL.",
    "NULL",
    note="missing from the image, which will be read back as NULL",
)
NULL_AS_MISSING = Loss(
    "null_as_missing",
    (Aspect.NULL,),
    "NULL{detail} is not told from a missing column.",
    "missing",
    note="NULL, which will be read back as missing",
)
BEFORE_NOT_SHOWN = Loss(
    "before_not_shown", (Aspect.BEFORE,), "The before image of an update is not shown.", "no before image"
)
BEFORE_OVERLAID = Loss(
    "before_overlaid",
    (Aspect.MISSING, Aspect.BEFORE),
    "A column that the before image of an update lacks, and its after image has, is read as unchanged.",
    "of before images, the value of the after image",
    part=True,
    note="missing from the before image, which will be read back as unchanged",
)
UNCHANGED_BEFORE_AS_NONE = Loss(
    "unchanged_before_as_none",
    (Aspect.BEFORE,),
    "A before image of an update in which no column differs from the after image is read as none.",
    "no before image where nothing changed",
    part=True,
    note="in a before image without a change, which will be read back as no before image",
)
NO_BEFORE_AS_EMPTY = Loss(
    "no_before_as_empty",
    (Aspect.BEFORE,),
    "An update without a before image is read as one whose before image has no columns.",
    "a before image without columns",
    part=True,
)
EMPTY_BEFORE_AS_NONE = Loss(
    "empty_before_as_none",
    (Aspect.BEFORE,),
    "A before image of an update that has no columns is read as none.",
    "no before image",
    part=True,
)
BEFORE_MISSING_AS_NULL = Loss(
    "before_missing_as_null",
    (Aspect.MISSING, Aspect.BEFORE),
    "A column that only the before image of an update lacks is read as NULL.",
    "of before images, NULL where the after image has the column",
    part=True,
    note="missing from the before image, which will be read back as NULL",
)
BEFORE_NULL_AS_MISSING = Loss(
    "before_null_as_missing",
    (Aspect.NULL, Aspect.BEFORE),
    "A NULL of the before image of an update is read as missing where the after image lacks the column.",
    "of before images, missing where the after image lacks the column",
    part=True,
    note="NULL in the before image, which will be read back as missing",
)
AFTER_CHANGES_ONLY = Loss(
    "after_changes_only",
    (Aspect.MISSING,),
    "Of an update that has a before image, what did not change is left out of the after image, so that it is read back "
    "whole with `completeAfter` alone; a column that only the before image has is then read as unchanged.",
    "of after images, missing is not told from unchanged",
    part=True,
    note="missing from the after image, which `completeAfter` will read back as unchanged",
)

# Values

DIGITS_OF_DOUBLE = Loss(
    "digits_of_double",
    (Aspect.DIGITS,),
    "A number{detail} is a double: digits beyond its precision, and trailing zeros, are not kept.",
    "as the double is written: 17520.00 as 17520.0",
)
NUMBER_SPELLING = Loss(
    "number_spelling",
    (Aspect.TEXTS,),
    "A number that JSON would write otherwise is read back as JSON writes it.",
    "as JSON writes it",
    part=True,
)
SCALE_OF_COLUMN = Loss(
    "scale_of_column",
    (Aspect.DIGITS,),
    "A decimal has the digits of its column's scale.",
    "as many digits as the scale of the column",
    part=True,
)
TIME_CUT = Loss(
    "time_cut",
    (Aspect.TIMES,),
    "A time in a column has {unit}: what follows them is cut off.",
    "{unit}",
    part=True,
    note="with a finer time than {than}, which was cut off",
)
ZONE_CUT = Loss(
    "zone_cut",
    (Aspect.TIMES,),
    "A time stamp with a zone is read back in UTC, without its zone.",
    "in UTC",
    part=True,
    note="with a zone, which will be read back in UTC without it",
)
TIME_FILLED = Loss(
    "time_filled",
    (Aspect.TIMES,),
    "A time in a column is read back with the digits of {unit}{detail}.",
    "the digits of {unit}",
    part=True,
)
TIME_SPELLING = Loss(
    "time_spelling",
    (Aspect.TIMES,),
    "A time is read back as ISO 8601 writes it, with `T` and `Z`.",
    "with `T` and `Z`",
    part=True,
)
TEXT_AS_STATE = Loss(
    "text_as_state",
    (Aspect.TEXTS,),
    "A value equal to the text that stands for {detail} is read as that.",
    "{detail}",
    part=True,
    note="equal to the text that stands for {state}, which will be read back as one",
)
PLACEHOLDER_AS_MISSING = Loss(
    "placeholder_as_missing",
    (Aspect.TEXTS,),
    "A text that is the placeholder is read as a missing column.",
    "missing",
    part=True,
    note="the placeholder of unavailable values, which will be read back as missing",
)
DELIMITER_INSIDE = Loss(
    "delimiter_inside",
    (Aspect.TEXTS,),
    "A value that holds a delimiter is read as more fields or lines.",
    "more fields or lines",
    part=True,
    note="with the {delimiter} delimiter inside, which will be read back wrong",
    code="GG403",
)
NESTED_AS_TEXT = Loss(
    "nested_as_text",
    (Aspect.TEXTS,),
    "A JSON object or array is a text.",
    "a text of JSON",
    part=True,
    note="an object or array of JSON, which will be read back as a text",
)
CHARACTER_REPLACED = Loss(
    "character_replaced",
    (Aspect.TEXTS,),
    "A character that the encoding does not have is written as `?`.",
    "`?`",
    part=True,
    note="that the encoding does not have",  # counted by characters and handler, where bytes are made
    code="GG404",
)

# What is told of an operation besides its images

TIME_DIGITS = Loss(
    "time_digits", (Aspect.MICROSECONDS,), "The time of the operation has {unit}.", "the time has {unit}"
)
TIME_NOT_SHOWN = Loss("time_not_shown", (Aspect.MICROSECONDS,), "The time of the operation is not shown.", "no time")
POSITION_NOT_SHOWN = Loss(
    "position_not_shown", (Aspect.POSITION, Aspect.ORDER), "The position is not shown{detail}.", "no position"
)
POSITION_WHOLE_NUMBER = Loss(
    "position_whole_number",
    (Aspect.POSITION, Aspect.ORDER),
    "A position that is no whole number is not shown, nor are its leading zeros.",
    "whole numbers, without leading zeros",
    part=True,
)
POSITION_BY_GTID = Loss(
    "position_by_gtid",
    (Aspect.POSITION, Aspect.ORDER),
    "A position is shown as `gtid`, unless a token of this name is shown there. An operation without one has its token "
    "`id` as its position.",
    "not beside another token `gtid`",
    part=True,
)
NOTHING_FOR_ZERO = Loss(
    "nothing_for_zero",
    (Aspect.ABSENCE,),
    "A time at the start of 1970 is read as none.",
    "no time",
    part=True,
)
TOKENS_NOT_SHOWN = Loss("tokens_not_shown", (Aspect.TOKENS,), "Tokens{detail} are not shown.", "no tokens{detail}")
TOKENS_BY_NAME = Loss(
    "tokens_by_name",
    (Aspect.TOKENS,),
    "Tokens other than {names} are not shown{detail}.",
    "those with a place of their own",
    part=True,
)
TOKENS_WHOLE_NUMBERS = Loss(
    "tokens_whole_numbers",
    (Aspect.TOKENS,),
    "Tokens other than {names} are not shown unless they are whole numbers.",
    "those with a place of their own, and whole numbers",
    part=True,
)
TOKENS_RESERVED = Loss(
    "tokens_reserved",
    (Aspect.TOKENS,),
    "Tokens named {names} are not shown{detail}.",
    "all but {names}",
    part=True,
)
TOKEN_DELIMITERS = Loss(
    "token_delimiters",
    (Aspect.TOKENS,),
    "A token that holds a delimiter of tokens is read as other tokens.",
    "not with a delimiter inside",
    part=True,
)

# Tables

KEYS_NOT_SHOWN = Loss("keys_not_shown", (Aspect.KEYS,), "The primary key is not shown{detail}.", "no key")
KEY_IN_TABLE_ORDER = Loss(
    "key_in_table_order",
    (Aspect.KEYS,),
    "The columns of a key are in the order of the table.",
    "in the order of the table",
    part=True,
)
TYPES_NOT_SHOWN = Loss("types_not_shown", (Aspect.TYPES,), "The types of columns are not shown{detail}.", "texts")
TYPES_BY_VALUE = Loss(
    "types_by_value",
    (Aspect.TYPES,),
    "Types of columns are not shown, only whether values are numbers, booleans or texts.",
    "number, boolean or text",
    part=True,
)
TYPES_BY_ENCODING = Loss(
    "types_by_encoding",
    (Aspect.TYPES,),
    "{detail}",
    "the type that the values are written with",
    part=True,
)
TYPES_NEAREST = Loss(
    "types_nearest",
    (Aspect.TYPES,),
    "A type that {system} does not have is read as the one nearest to it{detail}.",
    "the nearest that {system} has",
    part=True,
)
SIZES_NOT_SHOWN = Loss(
    "sizes_not_shown", (Aspect.TYPES,), "Sizes of types are not shown{detail}.", "without sizes", part=True
)
CATALOG_NOT_SHOWN = Loss(
    "catalog_not_shown", (Aspect.NAMES,), "The catalog of a table name is not shown{detail}.", "no catalog", part=True
)

# Kinds of operations

TRUNCATE_REFUSED = Loss(
    "truncate_refused",
    (Aspect.TRUNCATE, Aspect.KINDS),
    "A truncate{detail} has no form: it is a reject, which `--on-reject quarantine` sets aside.",
    "a reject{detail}",
)
INSERTS_ONLY = Loss(
    "inserts_only",
    (Aspect.TRUNCATE, Aspect.KINDS),
    "Operations other than inserts have no form: they are rejects, which `--on-reject quarantine` sets aside.",
    "a reject",
)
KEY_UPDATE_REFUSED = Loss(
    "key_update_refused", (Aspect.KINDS,), "An update of the primary key is a reject.", "a reject", part=True
)
KEY_UPDATE_SPLIT = Loss(
    "key_update_split",
    (Aspect.KINDS,),
    "An update of the primary key is a delete and an insert.",
    "a delete and an insert",
    part=True,
)

LOSSES = {loss.id: loss for loss in tuple(globals().values()) if isinstance(loss, Loss)}
