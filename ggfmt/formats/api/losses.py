"""Losses: the ways in which messages of a format show less than operations contain, and the fidelity that remains.

Each loss is declared once here. A format's declaration lists its losses in the order in which they happen, restricted
to the settings under which they happen, the tokens that survive, and so on. Documents, `ggfmt explain` and the fidelity
table are made from these declarations.

A loss of values has a `note`. ggfmt counts the values that it happens to: a value of a column, or an operation that
loses something besides its columns. The manifest lists them, and `--strict` forbids them. Values are compared, not
their texts. A loss without a note is one of a whole format, of tables, or of how equal values are written.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import TYPE_CHECKING

from ggfmt.dataclasses import dataclass, replace
from ggfmt.model.table import Kind
from ggfmt.options.releases import RELEASES, Metadata
from ggfmt.options.spec import Options

if TYPE_CHECKING:
    from ggfmt.formats.api.format import Context


class Aspect(str, Enum):
    MISSING = "missing"
    NULL = "NULL"
    DIGITS = "digits"
    MICROSECONDS = "microseconds"
    TOKENS = "tokens"
    POSITION = "position"
    KEYS = "keys"
    TYPES = "types"
    TRUNCATE = "truncate"
    ORDER = "order"
    BEFORE = "before images"
    TIMES = "times in columns"
    KINDS = "kinds of operations"
    TEXTS = "texts"
    NAMES = "names of tables"
    ABSENCE = "absent metadata"


INCLUDE_TOKENS = "includeTokens"  # the only setting that belongs to the handler and not to a format

# Texts that a member for numbers can show: what writers write, and what counts as lost.
DIGITS = "^[0-9]{1,18}$"
WHOLE_NUMBER = "^(?:0|[1-9][0-9]{0,17})$"
LONG_WHOLE_NUMBER = "^(?:0|[1-9][0-9]{0,18})$"
INTEGER = "^(?:0|-?[1-9][0-9]{0,17})$"


@dataclass(frozen=True)
class Loss:
    """One way in which messages show less than operations contain.

    aspects    what the loss concerns
    sentence   description of the loss; `{detail}`, `{names}`, `{system}` and `{unit}` are filled in by the format
    part       the loss concerns only a part of the aspects
    note       for a loss of values: the text after their number; `count` fills in the words
    code       code of that warning
    only, unless  the loss happens under all settings of `only`, and under none of `unless`; as in a properties file
    names      tokens that survive, or that do not
    patterns   tokens that survive only if their texts match a regular expression
    digits     number of fraction digits of a second
    kinds      kinds of columns that are concerned; empty: all
    lacking    keywords of a `metaColumnsTemplate`: if a template gives the metadata, the loss happens if it has
               none of these keywords, whatever the settings are
    system     the system whose types the format has
    detail     addition of the format to the sentence
    id         name of the loss in the manifest: that of its declaration, in lower case
    """

    aspects: tuple[Aspect, ...]
    sentence: str
    part: bool = False
    note: str = ""
    code: str = "GG406"
    only: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    patterns: tuple[tuple[str, str], ...] = ()
    digits: int = 0
    kinds: tuple[Kind, ...] = ()
    lacking: tuple[str, ...] = ()
    system: str = ""
    detail: str = ""
    id: str = ""

    def when(self, *settings: str) -> Loss:
        return replace(self, only=settings)

    def except_when(self, *settings: str) -> Loss:
        return replace(self, unless=settings)

    def by_template(self, *keywords: str) -> Loss:
        """Return the loss as one that, with a template, happens only without these keywords. With fixed metadata, its
        settings decide; without settings, it never happens."""
        return replace(self, lacking=keywords)

    def of(self, *kinds: Kind) -> Loss:
        return replace(self, kinds=kinds)

    def named(self, *names: str) -> Loss:
        return replace(self, names=names)

    def matching(self, pattern: str, *names: str) -> Loss:
        return replace(self, patterns=(*self.patterns, *((name, pattern) for name in names)))

    def uncounted(self) -> Loss:
        """Return the loss as one that depends on the reader, so that values do not show whether it happens."""
        return replace(self, note="")

    def to(self, digits: int) -> Loss:
        return replace(self, digits=digits)

    def has(self, system: str) -> Loss:
        return replace(self, system=system)

    def saying(self, detail: str) -> Loss:
        return replace(self, detail=detail)

    def partly(self) -> Loss:
        return replace(self, part=True)

    def happens(self, options: Options, context: Context) -> bool:
        if self.lacking:
            template = getattr(options, "meta_columns_template", None)
            if template is not None or RELEASES[context.release].metadata is Metadata.TEMPLATE:
                return not any(column.keyword in self.lacking for column in template or ())
            if not self.only and not self.unless:
                return False
        held = all(_holds(setting, options, context) for setting in self.only)
        return held and not any(_holds(setting, options, context) for setting in self.unless)

    @property
    def unit(self) -> str:
        return {0: "seconds", 3: "milliseconds", 6: "microseconds", 9: "nanoseconds"}[self.digits]

    @property
    def text(self) -> str:
        """The sentence, with the settings under which the loss happens."""
        text = self.sentence.format(detail=self.detail, names=_names(self.names), system=self.system, unit=self.unit)
        if self.lacking and not self.unless:
            listed = [*([_listed(self.only, "and")] if self.only else ()), self.without]
            return f"With {' or '.join(listed)}: {_lower(text)}"
        if self.only:
            text = f"With {_listed(self.only, 'and')}: {_lower(text)}"
        if self.unless:
            start = f"Unless {_listed(self.unless, 'or')}"
            if self.lacking:
                start += f", and with {self.without}"
            text = f"{start}: {_lower(text)}" if not self.only else f"{start}, {_lower(text)}"
        return text

    @property
    def without(self) -> str:
        return f"a `metaColumnsTemplate` without {_names(self.lacking)}"


def active_losses(losses: Iterable[Loss], options: Options, context: Context) -> tuple[Loss, ...]:
    return tuple(loss for loss in losses if loss.happens(options, context))


def _holds(setting: str, options: Options, context: Context) -> bool:
    name, _, value = setting.partition("=")
    if name == INCLUDE_TOKENS:
        return context.include_tokens == (value == "true")
    (spec,) = (spec for spec in options.specs() if spec.name == name)
    return spec.text(getattr(options, spec.attr)) == value


def _listed(settings: Iterable[str], word: str) -> str:
    return f" {word} ".join(f"`{setting}`" for setting in settings)


def _names(names: tuple[str, ...]) -> str:
    quoted = [f"`{name}`" for name in names]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def _lower(text: str) -> str:
    return text if text[:2].isalpha() and text[:2].isupper() else text[:1].lower() + text[1:]


# Images

MISSING_AS_NULL = Loss(
    (Aspect.MISSING,),
    "A missing column{detail} looks like NULL.",
    note="missing from the image, which will be read back as NULL",
)
NULL_AS_MISSING = Loss(
    (Aspect.NULL,), "NULL{detail} looks like a missing column.", note="NULL, which will be read back as missing"
)
BEFORE_NOT_SHOWN = Loss(
    (Aspect.BEFORE,),
    "The before image of an update is not shown.",
    note="with a before image, which the messages do not show",
)
BEFORE_OVERLAID = Loss(
    (Aspect.MISSING, Aspect.BEFORE),
    "A column that is only in the after image of an update is read as unchanged.",
    part=True,
    note="missing from the before image, which will be read back as unchanged",
)
UNCHANGED_BEFORE_AS_NONE = Loss(
    (Aspect.BEFORE,),
    "If no column of a before image differs from the after image, the update is read without a before image.",
    part=True,
    note="in a before image without a change, which will be read back as no before image",
)
NO_BEFORE_AS_EMPTY = Loss(
    (Aspect.BEFORE,),
    "An update without a before image is read as an update whose before image has no columns.",
    part=True,
)
EMPTY_BEFORE_AS_NONE = Loss((Aspect.BEFORE,), "A before image without columns is read as no before image.", part=True)
AFTER_MISSING_AS_NULL = Loss(
    (Aspect.MISSING,),
    "A column that is missing only from the after image of an update is read as NULL.",
    part=True,
    note="missing from the after image, which will be read back as NULL",
)
BEFORE_MISSING_AS_NULL = Loss(
    (Aspect.MISSING, Aspect.BEFORE),
    "A column that is missing only from the before image of an update is read as NULL.",
    part=True,
    note="missing from the before image, which will be read back as NULL",
)
BEFORE_NULL_AS_MISSING = Loss(
    (Aspect.NULL, Aspect.BEFORE),
    "A NULL in the before image of an update is read as missing if the after image lacks the column.",
    part=True,
    note="NULL in the before image, which will be read back as missing",
)
AFTER_CHANGES_ONLY = Loss(
    (Aspect.MISSING,),
    "If an update has a before image, the after image contains only the changed columns. `completeAfter` restores the "
    "others, and reads a column that is only in the before image as unchanged.",
    part=True,
    note="missing from the after image, which `completeAfter` will read back as unchanged",
)

# Values

DIGITS_OF_DOUBLE = Loss(
    (Aspect.DIGITS,),
    "A number{detail} becomes a double. Digits beyond its precision and trailing zeros are lost.",
    note="with more digits than a floating-point number keeps",
)
NUMBER_SPELLING = Loss((Aspect.TEXTS,), "A number{detail} is read back in the notation of JSON.", part=True)
SCALE_OF_COLUMN = Loss((Aspect.DIGITS,), "A decimal is read back with the scale of its column.", part=True)
TIME_CUT = Loss(
    (Aspect.TIMES,),
    "A time in a column is cut off after the {unit}.",
    part=True,
    note="with a finer time than {than}, which was cut off",
)
ZONE_CUT = Loss(
    (Aspect.TIMES,),
    "A time stamp with a zone is read back in UTC, without its zone.",
    part=True,
    note="with a zone, which will be read back in UTC without it",
)
TIME_FILLED = Loss((Aspect.TIMES,), "A time in a column is read back in {unit}{detail}.", part=True)
TIME_SPELLING = Loss((Aspect.TIMES,), "A time is read back in the format of ISO 8601, with `T` and `Z`.", part=True)
TEXT_AS_STATE = Loss(
    (Aspect.TEXTS,),
    "A value that equals the text for {detail} is read as {detail}.",
    part=True,
    note="equal to the text for {state}, which will be read back as {state}",
)
PLACEHOLDER_AS_MISSING = Loss(
    (Aspect.TEXTS,),
    "A text that equals the placeholder is read as a missing column.",
    part=True,
    note="the placeholder of unavailable values, which will be read back as missing",
)
DELIMITER_INSIDE = Loss(
    (Aspect.TEXTS,),
    "A value that contains a delimiter is read as several fields or lines.",
    part=True,
    note="with the {delimiter} delimiter inside, which will be read back wrong",
    code="GG403",
)
NESTED_AS_TEXT = Loss(
    (Aspect.TEXTS,),
    "A JSON object or array becomes a string.",
    part=True,
    note="an object or array of JSON, which will be read back as a string",
)
CHARACTER_REPLACED = Loss(
    (Aspect.TEXTS,),
    "A character that the encoding does not support is written as `?`.",
    part=True,
    note="that the encoding does not have",  # counts characters per handler, where text is encoded
    code="GG404",
)

# Metadata of operations

TIME_DIGITS = Loss(
    (Aspect.MICROSECONDS,),
    "The time of the operation is written in {unit}.",
    note="at a finer time than the messages show, which was cut off",
)
TIME_NOT_SHOWN = Loss(
    (Aspect.MICROSECONDS,),
    "The time of the operation is not shown.",
    note="with a time, which the messages do not show",
)
POSITION_NOT_SHOWN = Loss(
    (Aspect.POSITION, Aspect.ORDER),
    "The position is not shown{detail}.",
    note="with a position, which the messages do not show",
)
POSITION_WHOLE_NUMBER = Loss(
    (Aspect.POSITION, Aspect.ORDER),
    "A position is shown only if it is a whole number, and without leading zeros.",
    part=True,
    note="with a position that is not a whole number, or has leading zeros; it is lost, or read back without them",
)
POSITION_BY_GTID = Loss(
    (Aspect.POSITION, Aspect.ORDER),
    "The position is shown as `gtid`, unless the operation has a token `gtid`. Without a `gtid`, the token `id` is "
    "read as the position.",
    part=True,
    note="with a token that will be read back as the position",
)
NOTHING_FOR_ZERO = Loss(
    (Aspect.ABSENCE,),
    "The time 0, the start of 1970, is read as no time.",
    part=True,
    note="at the time 0, which will be read back as no time",
)
_TOKENS_LOST = "with tokens that the messages do not show"
TOKENS_NOT_SHOWN = Loss((Aspect.TOKENS,), "Tokens{detail} are not shown.", note=_TOKENS_LOST)
TOKENS_BY_NAME = Loss(
    (Aspect.TOKENS,), "Tokens other than {names} are not shown{detail}.", part=True, note=_TOKENS_LOST
)
TOKENS_WHOLE_NUMBERS = Loss(
    (Aspect.TOKENS,),
    "Tokens other than {names} are shown only if they are whole numbers.",
    part=True,
    note=_TOKENS_LOST,
)
TOKENS_RESERVED = Loss((Aspect.TOKENS,), "Tokens named {names} are not shown{detail}.", part=True, note=_TOKENS_LOST)
TOKENS_ADDED = Loss(
    (Aspect.ABSENCE,), "A reader adds {detail}.", part=True, note="that will be read back with a token from the options"
)
TOKEN_FROM_POSITION = Loss(
    (Aspect.ABSENCE,),
    "A position that is shown as `gtid` is also read as the token `gtid`.",
    part=True,
    note="with a position that will also be read back as the token `gtid`",
)
TOKEN_DELIMITERS = Loss(
    (Aspect.TOKENS,),
    "A token that contains a delimiter of tokens is read as several tokens.",
    part=True,
    note="with a token that contains a delimiter, which will be read back as several tokens",
)

# Tables

KEYS_NOT_SHOWN = Loss((Aspect.KEYS,), "The primary key is not shown{detail}.")
KEY_IN_TABLE_ORDER = Loss((Aspect.KEYS,), "The columns of a key are in the order of the table.", part=True)
TYPES_NOT_SHOWN = Loss((Aspect.TYPES,), "The types of columns are not shown{detail}.")
TYPES_BY_VALUE = Loss(
    (Aspect.TYPES,), "The types of columns are not shown. A reader sees only numbers, booleans and texts.", part=True
)
TYPES_BY_ENCODING = Loss((Aspect.TYPES,), "{detail}", part=True)
TYPES_NEAREST = Loss(
    (Aspect.TYPES,), "A type that {system} does not have is read as the nearest type of {system}{detail}.", part=True
)
SIZES_NOT_SHOWN = Loss((Aspect.TYPES,), "Sizes of types are not shown{detail}.", part=True)
CATALOG_NOT_SHOWN = Loss(
    (Aspect.NAMES,),
    "The catalog of a table name is not shown{detail}.",
    part=True,
    note="of a table with a catalog, which the messages do not show",
)

# Kinds of operations

TRUNCATE_REFUSED = Loss(
    (Aspect.TRUNCATE, Aspect.KINDS),
    "The format cannot show a truncate{detail}. ggfmt rejects it; `--on-reject quarantine` sets it aside.",
)
INSERTS_ONLY = Loss(
    (Aspect.TRUNCATE, Aspect.KINDS),
    "Only inserts can be shown. ggfmt rejects other operations; `--on-reject quarantine` sets them aside.",
)
KEY_UPDATE_REFUSED = Loss((Aspect.KINDS,), "An update of the primary key is rejected.", part=True)
KEY_UPDATE_SPLIT = Loss((Aspect.KINDS,), "An update of the primary key becomes a delete and an insert.", part=True)

LOSSES: dict[str, Loss] = {}
for _name, _loss in tuple(globals().items()):
    if isinstance(_loss, Loss):
        LOSSES[_name.lower()] = globals()[_name] = replace(_loss, id=_name.lower())
