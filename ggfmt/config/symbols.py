"""Words that `ggfmt explain` explains: a code, a property, a format, or a key of GoldenGate that ggfmt does not use.

A property may be given by its name (`pkUpdateHandling`), by the end of its key (`format.pkUpdateHandling`) or as a
whole key (`gg.handler.x.format.pkUpdateHandling`), in any case, and by its aliases and misprints.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ggfmt.config import goldengate_keys, handler_types
from ggfmt.config.event_handlers import EVENT_HANDLER_TYPES, TARGETS
from ggfmt.config.handler_options import DEFAULT_FORMAT, HandlerOptions, KafkaOptions, RunOptions
from ggfmt.config.property_names import find_option
from ggfmt.config.replacements import LIST_SPEC, TRANSFORM_SPECS, general_key, is_replacement
from ggfmt.diagnostics.codes import CODES, Code
from ggfmt.diagnostics.diagnostic import did_you_mean
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Format
from ggfmt.options.spec import Options, OptionSpec
from ggfmt.options.value_types import Choice, Text

HANDLER = "gg.handler.<name>."
_FORMAT = f"{HANDLER}format."
_OWN = "ggfmt."
_KEY = re.compile(r"gg\.handler\.([^.]+)\.(.+)", re.DOTALL | re.IGNORECASE)
_EVENT_KEY = re.compile(r"gg\.eventhandler\.[^.]+\.(.+)", re.DOTALL | re.IGNORECASE)
_BELOW_FORMAT = re.compile(r"format(?:ter)?\.(.+)", re.DOTALL | re.IGNORECASE)


def _key(name: str, doc: str, example: str) -> OptionSpec:
    return OptionSpec(name, "", Text(), None, doc, "12.2", (), example)


def _replacement_keys(what: str, where: str, regex: str, string: str) -> tuple[OptionSpec, OptionSpec]:
    key = f"gg.{what}replaceregex"
    replace_each = f"Replace each match of `{key}` with this text. Without it, ggfmt removes the match."
    return (
        _key(key, f"Replace the matches of this Java regular expression in {where}.", regex),
        _key(f"gg.{what}replacestring", replace_each, string),
    )


# Keys that ggfmt reads from a handler file, and that are no option of a handler, of a format or of ggfmt.
KEYS = (
    _key("gg.handlerlist", "Name the handlers to run, separated by commas.", "text,json"),
    *_replacement_keys("schema", "names of tables and columns", "[$]", "_"),
    *_replacement_keys("content", "the text of columns", "[0-9]+", "#"),
    LIST_SPEC,
    *(replace(spec, name=f"gg.transform.<name>.{spec.name}") for spec in TRANSFORM_SPECS),
)


@dataclass(frozen=True)
class Variant:
    spec: OptionSpec
    formats: tuple[str, ...] = ()


@dataclass(frozen=True)
class PropertySymbol:
    """A property: the part of its key before the name, and its declarations, which may differ between formats.

    `handler`: the name in the given key. `renamed`: the word is not the property's own name. `others`: keys of the same
    name.
    """

    prefix: str
    variants: tuple[Variant, ...]
    handler: str | None = None
    renamed: bool = False
    others: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.variants[0].spec.name

    @property
    def key(self) -> str:
        return self.prefix + self.name


Symbol = Code | Format | PropertySymbol | str  # a text explains something of GoldenGate that ggfmt does not use


def find_symbol(word: str) -> Symbol | None:
    key = word.partition("=")[0].strip()
    if key.upper() in CODES:
        return CODES[key.upper()]
    symbol = _property(key)
    if symbol is not None:
        return symbol
    for name, format in FORMATS.items():
        if name.lower() == key.lower():
            return format
    return _outside(key)


def nearest(word: str) -> str | None:
    key = word.partition("=")[0].strip()
    parts = _KEY.fullmatch(key)
    rest = parts[2] if parts else key
    below = _BELOW_FORMAT.fullmatch(rest)
    return did_you_mean(below[1] if below else rest, dict(titles()))


def titles() -> Iterator[tuple[str, str]]:
    """Yield every word that can be explained, with a short title: codes, formats, then properties by name."""
    yield from ((name, code.title) for name, code in CODES.items())
    yield from ((name, format.doc) for name, format in FORMATS.items())
    seen = set(FORMATS)
    for _, owners in _sections():
        for specs in owners.values():
            for spec in specs:
                if spec.name not in seen:
                    seen.add(spec.name)
                    yield spec.name, spec.doc


def format_spec() -> OptionSpec:
    words = {name: format.doc for name, format in FORMATS.items() if format.writes is not None}
    return OptionSpec("format", "format", Choice(words), DEFAULT_FORMAT, "Choose the format.", "12.2", ("formatter",))


def option_sets() -> dict[str, type[Options]]:
    return {
        "ggfmt": RunOptions,
        "handler": HandlerOptions,
        **{name: format.options for name, format in FORMATS.items()},
    }


def _sections() -> tuple[tuple[str, Mapping[str, Sequence[OptionSpec]]], ...]:
    options = {name: (format.options.specs(), bool(format.handler_type)) for name, format in FORMATS.items()}
    return (
        (_FORMAT, {name: specs for name, (specs, of_handler) in options.items() if not of_handler}),
        (HANDLER, {"": (format_spec(), *HandlerOptions.specs(), *KafkaOptions.specs())}),
        (HANDLER, {name: specs for name, (specs, of_handler) in options.items() if of_handler}),
        (_OWN, {"": RunOptions.specs()}),
        ("", {"": KEYS}),
    )


def _property(key: str) -> PropertySymbol | None:
    parts = _KEY.fullmatch(key)
    handler, rest = (parts[1], parts[2]) if parts else (None, key)
    below = _BELOW_FORMAT.fullmatch(rest)
    if below:
        sections: Iterable[str] = (_FORMAT,)
        name = below[1]
    elif parts:
        sections, name = (HANDLER,), rest
    elif key.lower().startswith(_OWN):
        sections, name = (_OWN,), key[len(_OWN) :]
    else:
        sections, name = (_FORMAT, HANDLER, _OWN, ""), key
    found = [_find(prefix, owners, name, handler) for prefix, owners in _sections() if prefix in sections]
    symbols = [symbol for symbol in found if symbol is not None]
    if not symbols:
        return None
    others = dict.fromkeys(symbol.key for symbol in symbols if symbol.key != symbols[0].key)
    return replace(symbols[0], others=tuple(others))


def _find(
    prefix: str, owners: Mapping[str, Sequence[OptionSpec]], name: str, handler: str | None
) -> PropertySymbol | None:
    if not prefix and is_replacement(name):
        name = name.rstrip("0123456789")
    name = name if prefix else general_key(name)
    formats: dict[OptionSpec, tuple[str, ...]] = {}
    renamed = False
    for owner, specs in owners.items():
        match = find_option(name, specs)
        if match is not None:
            formats[match.spec] = (*formats.get(match.spec, ()), *([owner] if owner else []))
            own = match.spec.name
            renamed = renamed or name not in (own, own[:1].upper() + own[1:])  # as it follows `set` in a Java bean
    if not formats:
        return None
    return PropertySymbol(prefix, tuple(Variant(spec, who) for spec, who in formats.items()), handler, renamed)


def _outside(key: str) -> str | None:
    """Return a text about something of GoldenGate that ggfmt does not use; None if the key is nothing known."""
    folded = key.lower()
    if folded == "gg.target":
        targets = goldengate_keys.listing(list(TARGETS))
        return (
            "With `gg.target`, GoldenGate creates the File Writer and its event handlers. ggfmt writes their files if "
            f"`ggfmt.target.format` and `ggfmt.target.template` are set. Targets: {targets}."
        )
    parts = _KEY.fullmatch(key)
    rest = parts[2] if parts else key
    below = _BELOW_FORMAT.fullmatch(rest)
    for known in goldengate_keys.GOLDENGATE_PROPERTIES:
        if known.name.lower() == (below[1] if below else rest).lower():
            return f"`{known.name}` is a property of {known.owner}, which ggfmt does not have."
    of_event = _EVENT_KEY.fullmatch(key)
    owners = [name for name, type in EVENT_HANDLER_TYPES.items() if of_event and type.find(of_event[1])]
    having = handler_types.types_having(rest)
    what = None
    if folded in goldengate_keys.GOLDENGATE_FORMATS:
        what = "a format of GoldenGate that ggfmt does not have"
    elif folded in goldengate_keys.ADAPTER_FORMATS:
        what = "a format of the older Java adapter, which ggfmt does not have"
    elif folded in handler_types.HANDLER_TYPES:
        what = f"a type of handlers of GoldenGate. Its `format` {handler_types.HANDLER_TYPES[folded].formats.value}"
    elif folded in EVENT_HANDLER_TYPES:
        what = f"a type of event handlers of the File Writer. ggfmt {EVENT_HANDLER_TYPES[folded].work.value}"
    elif folded in TARGETS:
        what = f"a target, whose handlers GoldenGate makes itself: {TARGETS[folded].known}"
    elif of_event and owners:
        listed, plural = goldengate_keys.listing(owners), "s" if len(owners) > 1 else ""
        key, what = of_event[1], f"a property of event handlers of the type{plural} {listed}"
    elif not below and rest.lower() in handler_types.CHOOSING:
        key, what = rest, "a property of all handlers of GoldenGate, which ggfmt does not have"
    elif not below and (having or (not parts and goldengate_keys.is_outside_scope(key))):
        what = "a property of GoldenGate for work that ggfmt does not do. ggfmt accepts and ignores it"
    return what and f"`{key}` is {what}."
