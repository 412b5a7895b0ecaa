"""Handlers that a target makes itself (`gg.target`): what is known of them, and the File Writer that ggfmt runs.

GoldenGate for Big Data 21.1 and later. The format and the metadata of the files are the user's to name, because no
source has them for every target and release.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from ggfmt.config.comments import before_comment
from ggfmt.config.handler_options import RunOptions
from ggfmt.config.lint.chains import check_use, check_value, missing_properties
from ggfmt.config.lint.names import check_names
from ggfmt.config.properties import Entry
from ggfmt.config.property_names import meant_property, suggest_name
from ggfmt.config.property_table import (
    EVENT_HANDLER_TYPES,
    FILE_WRITER,
    FORMAT_OWNERS,
    HANDLER_TYPES,
    PROCESS,
    TARGETS,
    Owner,
    Target,
)
from ggfmt.diagnostics.codes import Severity
from ggfmt.diagnostics.diagnostic import Diagnostic, did_you_mean, list_names, listing
from ggfmt.java.text import trim, visible
from ggfmt.lazy import lazy_regex
from ggfmt.options.spec import Need

TARGET = "GG146"  # the code of a target without the format and the metadata of its files

_TARGET, _FORMAT, _TEMPLATE = "gg.target", "ggfmt.target.format", "ggfmt.target.template"
_STAGE = "gg.stage"
_CONVERTED = ("parquet", "orc")
_CONTAINER = "avro_row_ocf"
_HANDLER = lazy_regex(r"gg\.handler\.([^.]+)\.", re.IGNORECASE)


class TargetHandlers:
    """The File Writer of a target, as more entries of the configuration.

    `entry` is that of `gg.target`; None if `gg.handlerlist` names handlers. `entries` is empty unless the file says
    what ggfmt is to write.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        last = {entry.key.lower(): entry for entry in entries}
        self.entry = None if "gg.handlerlist" in last else last.get(_TARGET)
        self.format = last.get(_FORMAT)
        self.template = last.get(_TEMPLATE)
        self.stage = last.get(_STAGE)
        self.chosen = last.get("gg.format")
        self.given = entries
        self.entries: list[Entry] = []
        if self.entry is not None and self.format is not None and self.template is not None:
            names = [match[1] for entry in entries if (match := _HANDLER.match(entry.key))]
            self.entries = list(_made(names[0] if names else FILE_WRITER, self.format, self.template, self.entry))

    @property
    def target(self) -> Target | None:
        return None if self.entry is None else TARGETS.get(trim(self.entry.value).lower())

    def findings(self, run_options: RunOptions) -> Iterator[Diagnostic]:
        """Yield GG146 for a target whose files are not described, GG123 for an unknown target."""
        if self.entry is None:
            return
        text = visible(trim(self.entry.value))
        target = self.target
        if target is None:
            help = suggest_name(text, TARGETS)
            yield Diagnostic("GG123", f"`{text}` is not a target that ggfmt knows", self.entry.value_span, help)
        stage = trim(self.stage.value).lower() if self.stage is not None else ""
        if self.stage is not None and stage not in (stages := PROCESS.words(_STAGE)):
            text_of_stage = visible(trim(self.stage.value))
            message = f"`{text_of_stage}` is not a staging area that ggfmt knows"
            help = suggest_name(text_of_stage, stages) or f"staging areas are {list_names(stages)}"
            yield Diagnostic("GG123", message, self.stage.value_span, help)
        elif self.stage is not None and target is not None and target.stages and stage not in ("", *target.stages):
            message, help = f"no source says that `{text}` loads from `{stage}`", f"known is {listing(target.stages)}"
            yield Diagnostic("GG123", message, self.stage.value_span, help, level=Severity.NOTE)
        chosen = before_comment(self.chosen) if self.chosen is not None else ""
        formats = {*_CONVERTED, *FORMAT_OWNERS}
        if (
            self.chosen is not None
            and chosen.lower() not in formats
            and (near := did_you_mean(chosen, sorted(formats)))
        ):
            message = f"`{visible(chosen)}` is not a format"
            span, help = self.chosen.value_span, f"did you mean `{near}`?"
            yield Diagnostic("GG106", message, span, help, level=Severity.WARNING)
        if self.entries:
            return
        yield from _misspelt(self.given)
        yield from self._lacking(self.entry)
        message = f"GoldenGate makes the handlers of `{text}` itself, which ggfmt does not know"
        if target is not None:
            about = f"{target.doc[:1].lower()}{target.doc[1:].removesuffix('.')}"
            chain = " -> ".join(("File Writer", *target.chain))
            message = f"GoldenGate makes the handlers of `{text}` itself: {chain}; {about}"
        lacking = [name for name, entry in ((_FORMAT, self.format), (_TEMPLATE, self.template)) if entry is None]
        help = f"set {' and '.join(f'`{name}`' for name in lacking)} so that ggfmt writes the files of its staging area"
        yield Diagnostic(TARGET, message, self.entry.value_span, help)

    def _lacking(self, entry: Entry) -> Iterator[Diagnostic]:
        """Yield GG109 as a note for usual properties of the target and its stage that the file does not have."""
        names = [trim(entry.value).lower()]
        if self.stage is not None and self.target is not None:
            names += {trim(self.stage.value).lower()} & {*self.target.stages}
        keys = {given.key.lower() for given in self.given if trim(given.value)}
        for name in names:
            prefix, type = f"gg.eventhandler.{name}.", EVENT_HANDLER_TYPES.get(name)
            lacking = [
                spec
                for spec in (type.own if type is not None else ())
                if spec.need is not Need.NONE
                and not any(f"{prefix}{known}".lower() in keys for known in (spec.name, *spec.substitutes))
            ]
            if lacking:
                owner = f"files with the {'target' if name == names[0] else 'stage'} `{name}`"
                finding = missing_properties(prefix, lacking, owner, entry, Need.USUAL)
                yield replace(finding, level=Severity.NOTE)


_BELOW = lazy_regex(r"gg\.(handler|eventhandler)\.([^.]+)\.(.+)", re.IGNORECASE | re.DOTALL)
_CHAINED = "eventhandler"
_NEAR = 0.8  # names are free: only what is nearly a known one is a mistake


def _misspelt(entries: Sequence[Entry]) -> Iterator[Diagnostic]:
    """Yield GG101 and GG104 for misspelled names and properties of the handlers that a target makes."""
    below = [(entry, match) for entry in entries if (match := _BELOW.fullmatch(entry.key))]
    # Those with a type of their own are checked as any other.
    typed = {match[2] for _, match in below if match[1].lower() == _CHAINED and match[3].lower() == "type"}
    for entry, match in below:
        section, name, rest = match.groups()
        types: Mapping[str, Owner]
        types = EVENT_HANDLER_TYPES if section.lower() == _CHAINED else HANDLER_TYPES
        names, type = {*types, *TARGETS}, types.get(name.lower())
        if section.lower() == _CHAINED and name in typed:
            continue
        if rest.lower() == _CHAINED and (finding := _unknown_link(entry, {*typed, *EVENT_HANDLER_TYPES})) is not None:
            yield finding
        known = type.find(rest) if type is not None else None
        near = None
        if name.lower() not in names:
            near = did_you_mean(name, sorted(names), _NEAR)
            meant = f"gg.{section}.{near}.{rest}"
        elif type is not None and known is None and not rest.lower().startswith("format"):
            given = [other[3] for _, other in below if other[2].lower() == name.lower()]
            near = meant_property(rest, type.properties.names, given)
            meant = f"gg.{section}.{name}.{near}"
            if near is None:
                message = f"`{entry.key}` is not known as a property of the handlers that GoldenGate makes"
                yield Diagnostic("GG125", message, entry.key_span)
        if near is not None:
            message = f"`{entry.key}` is not a property of the handlers that GoldenGate makes"
            yield Diagnostic("GG101", message, entry.key_span, f"did you mean `{meant}`?")
        elif type is not None and known is not None:
            yield from check_value(entry, known.kind)
            yield from check_use(entry, known)
            yield from check_names(entry, f"{type.name} {known.name}")


def _unknown_link(entry: Entry, known: Collection[str]) -> Diagnostic | None:
    name = before_comment(entry)
    near = None if name in known or name.lower() in known else did_you_mean(name, sorted(known), _NEAR)
    if near is None:
        return None
    message = f"`{entry.key}` names `{visible(name)}`, which is not an event handler"
    return Diagnostic("GG104", message, entry.value_span, f"did you mean `{near}`?")


def _made(name: str, format: Entry, template: Entry, target: Entry) -> Iterator[Entry]:
    chosen = trim(format.value)
    converted = chosen.lower() in _CONVERTED
    prefix = f"gg.handler.{name}."
    yield _entry(target, "gg.handlerlist", name)
    yield _entry(format, f"{prefix}format", _CONTAINER if converted else chosen)
    if trim(template.value):
        yield _entry(template, f"{prefix}format.metaColumnsTemplate", template.value)
    if converted:
        yield _entry(format, f"{prefix}eventHandler", chosen.lower())
        yield _entry(format, f"{prefix}finalizeAction", "delete")
        yield _entry(format, f"gg.eventhandler.{chosen.lower()}.type", chosen.lower())


def _entry(place: Entry, key: str, value: str) -> Entry:
    return replace(place, key=key, value=value)
