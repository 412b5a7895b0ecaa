"""What a loss is: one way in which messages of a format show less than operations have.

A format's declaration lists its losses, which are those of `ggfmt.formats.api.losses` narrowed by what is its own:
under which settings they happen, which tokens are kept. They stand in the order in which they happen. Documents,
`ggfmt explain` and the fidelity matrix are made from them. Those that happen to single values have a `note`: writers
count them, a run warns of them, the manifest lists them, and `--strict-fidelity` forbids them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from ggfmt.formats.api.context import Context
from ggfmt.model.table import Kind
from ggfmt.options.releases import RELEASES, Metadata
from ggfmt.options.spec import Options


class Aspect(str, Enum):
    """What of operations there is to lose. The first ten are the columns of the fidelity matrix."""

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


MATRIX = tuple(Aspect)[:10]
INCLUDE_TOKENS = "includeTokens"  # the one setting of these that is a handler's and no format's


@dataclass(frozen=True)
class Setting:
    """A property of a handler or format and its value, as a properties file has them."""

    name: str
    value: str

    def __str__(self) -> str:
        return f"{self.name}={self.value}"

    def holds(self, options: Options, context: Context) -> bool:
        if self.name == INCLUDE_TOKENS:
            return context.include_tokens == (self.value == "true")
        (spec,) = (spec for spec in options.specs() if spec.name == self.name)
        return spec.text(getattr(options, spec.attr)) == self.value


@dataclass(frozen=True)
class Loss:
    """One way in which messages show less than operations have.

    id         its name in the manifest
    aspects    what it concerns
    sentence   what is lost; `{detail}`, `{names}`, `{system}` and `{unit}` stand for what the format says of it
    instead    what a reader gets, or of what it gets less, for a cell of the fidelity matrix
    part       what it concerns is lost in part; otherwise all of it
    note       of a loss that happens to values: what a warning says of them after their number, by the words of `count`
    code       of that warning
    only, unless  it happens under all of these settings, and under none of those
    names      tokens that are kept, or are not
    digits     how many digits of a second there are
    kinds      of which columns it is; empty: of any
    lacking    keywords of a `metaColumnsTemplate`: where metadata are those of a template, it happens if it has none of
               these, whatever the settings are
    system     whose types there are
    detail     what the format adds to the sentence
    """

    id: str
    aspects: tuple[Aspect, ...]
    sentence: str
    instead: str
    part: bool = False
    note: str = ""
    code: str = "GG406"
    only: tuple[Setting, ...] = ()
    unless: tuple[Setting, ...] = ()
    names: tuple[str, ...] = ()
    digits: int = 0
    kinds: tuple[Kind, ...] = ()
    lacking: tuple[str, ...] = ()
    system: str = ""
    detail: str = ""

    def when(self, *settings: str) -> Loss:
        """The loss where it happens only under settings, each as `name=value`."""
        return replace(self, only=_settings(settings))

    def except_when(self, *settings: str) -> Loss:
        """The loss where it does not happen under any of some settings."""
        return replace(self, unless=_settings(settings))

    def by_template(self, *keywords: str) -> Loss:
        """The loss where, with metadata by a template, it happens only without these keywords; with fixed metadata it
        happens by its settings, and never if it has none."""
        return replace(self, lacking=keywords)

    def of(self, *kinds: Kind) -> Loss:
        return replace(self, kinds=kinds)

    def named(self, *names: str) -> Loss:
        return replace(self, names=names)

    def to(self, digits: int) -> Loss:
        return replace(self, digits=digits)

    def has(self, system: str) -> Loss:
        return replace(self, system=system)

    def saying(self, detail: str) -> Loss:
        return replace(self, detail=detail)

    def partly(self) -> Loss:
        return replace(self, part=True)

    def happens(self, options: Options, context: Context) -> bool:
        """Whether a handler with these options has it."""
        if self.lacking:
            template = getattr(options, "meta_columns_template", None)
            if template is not None or RELEASES[context.release].metadata is Metadata.TEMPLATE:
                return not any(column.keyword in self.lacking for column in template or ())
            if not self.only and not self.unless:
                return False
        held = all(setting.holds(options, context) for setting in self.only)
        return held and not any(setting.holds(options, context) for setting in self.unless)

    @property
    def is_of_templates(self) -> bool:
        """Whether it happens under templates alone."""
        return bool(self.lacking and not self.only and not self.unless)

    @property
    def unit(self) -> str:
        return {0: "seconds", 3: "milliseconds", 6: "microseconds", 9: "nanoseconds"}[self.digits]

    @property
    def text(self) -> str:
        """The sentence, with the settings that it depends on."""
        text = self._filled(self.sentence)
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
        """The templates under which it happens."""
        return f"a `metaColumnsTemplate` without {_names(self.lacking)}"

    @property
    def depends(self) -> bool:
        """Whether it happens under some settings only."""
        return bool(self.only or self.unless or self.lacking)

    @property
    def outcome(self) -> str:
        return self._filled(self.instead)

    def _filled(self, pattern: str) -> str:
        return pattern.format(detail=self.detail, names=_names(self.names), system=self.system, unit=self.unit)


def happening(losses: Iterable[Loss], options: Options, context: Context) -> tuple[Loss, ...]:
    """The losses that a handler with these options has."""
    return tuple(loss for loss in losses if loss.happens(options, context))


def _settings(texts: Iterable[str]) -> tuple[Setting, ...]:
    return tuple(Setting(name, value) for name, _, value in (text.partition("=") for text in texts))


def _listed(settings: Iterable[Setting], word: str) -> str:
    return f" {word} ".join(f"`{setting}`" for setting in settings)


def _names(names: tuple[str, ...]) -> str:
    quoted = [f"`{name}`" for name in names]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def _lower(text: str) -> str:
    return text if text[:2].isalpha() and text[:2].isupper() else text[:1].lower() + text[1:]
