"""A handler made from its entries: the options of the handler and of its format, and their problems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ggfmt.config import property_names
from ggfmt.config.comments import before_comment
from ggfmt.config.handler_options import (
    DEFAULT_FORMAT,
    OF_FILE_WRITER,
    EventHandlerConfig,
    HandlerConfig,
    HandlerOptions,
    KafkaOptions,
    Work,
    is_partitioner,
    partitioner_property,
    read_partitioner,
)
from ggfmt.config.lint.chains import UNSUPPORTED, EventHandlers, check_use, check_value, illegal_value, report_duplicate
from ggfmt.config.lint.names import check_names
from ggfmt.config.properties import Entry, removal, renamed_key
from ggfmt.config.property_table import (
    EVENT_HANDLER_TYPES,
    FORMAT_OWNERS,
    HANDLER_TYPES,
    HANDLERS,
    KAFKA_TYPES,
    OF_JAVA_ADAPTER,
    Formats,
    types_having,
)
from ggfmt.diagnostics.diagnostic import Diagnostic, Span, did_you_mean, list_names, listing, suggestion
from ggfmt.formats import formats_of_handlers
from ggfmt.formats.api.format import Format
from ggfmt.java.text import InvalidValueError, is_java_class, trim, visible
from ggfmt.options.spec import NO_PROPERTIES, Options, OptionSpec, PropertySet

# Aliases that are the right names in handlers of other types.
_NAMES_ELSEWHERE = ("avrocodec",)
_SURELY = 0.8  # how near a word is that a text with dots means

_Keyed = Sequence[tuple[property_names.HandlerKey, Entry]]

# The code of a handler whose messages ggfmt does not write.
LEFT_OUT = "GG124"


class HandlerBuilder:
    """Builds one handler; problems are added to `findings`.

    `given`: the effective entry of every given property. An `illegal` property has its default. If the format cannot be
    written, `options` is None. `others`: given properties that GoldenGate's type has and ggfmt does not apply, by name.
    `uncovered`: those that change messages. `type` is None if the handler has no type, a Java class (`is_custom`), or
    one that ggfmt does not know; `type_text` is the value, from `type_entry`.
    """

    def __init__(
        self,
        name: str,
        keyed: _Keyed,
        formats: Mapping[str, Format],
        findings: list[Diagnostic],
        event_handlers: EventHandlers,
    ) -> None:
        self.name = name
        self.formats = formats
        self.findings = findings
        self.keys = [key for key, _ in keyed]
        self.entries = [entry for _, entry in keyed]
        self.given: dict[str, Entry] = {}
        self.others: dict[str, Entry] = {}
        self.illegal: set[str] = set()
        self.uncovered: dict[str, tuple[Entry, OptionSpec]] = {}
        self.type_entry = next((entry for key, entry in reversed(keyed) if key.rest.lower() == "type"), None)
        self.type_text = before_comment(self.type_entry) if self.type_entry and not self.type_entry.secret else ""
        self.type = HANDLER_TYPES.get(self.type_text.lower())
        self.is_custom = _is_class(self.type_text, HANDLER_TYPES)
        of_format = [(key, entry) for key, entry in keyed if key.is_format]
        self.format_given = bool(of_format)
        self.format_of_type = self._own_format(of_format)
        self.is_left_out = self.format_of_type is None and not self._has_formatter()
        self._check_type()
        self.format = self._choose_format(of_format)
        for key, entry in keyed:
            if not key.is_format:
                self._take_property(key, entry)
        partitioner = read_partitioner(self.given, self.illegal, self.findings)
        self.handler = HandlerOptions(**self._values(HandlerOptions.specs(), ""), partitioner=partitioner)
        self.options: Options | None = None
        if self.format is not None:
            self.options = self.format.options(**self._values(self.format.options.specs(), "format."))
        self.events = self._events(event_handlers)

    def config(self) -> HandlerConfig | None:
        if self.format is None or self.options is None:
            return None
        entries, kafka = self.given, None
        if self.type is not None and self.type.name in KAFKA_TYPES:
            entries = {**self.others, **self.given}
            given = ((spec.attr, self.others.get(spec.name)) for spec in KafkaOptions.specs())
            kafka = KafkaOptions(**{name: trim(entry.value) or None for name, entry in given if entry is not None})
        return HandlerConfig(
            self.name, self.format.name, self.options, self.handler, entries, events=self.events, kafka=kafka
        )

    # The type

    def _has_formatter(self) -> bool:
        if self.type is not None:
            return self.type.formats is Formats.DEFAULT or (self.type.formats is Formats.GIVEN and self.format_given)
        return self.format_given or not self.type_text

    def _check_type(self) -> None:
        if self.type_entry is None or not self.type_text:
            return
        span, shown = self.type_entry.value_span, visible(self.type_text)
        if self.type is None and not self.is_custom:
            help = self._as_event_handler(shown.lower()) or suggestion(self.type_text, HANDLER_TYPES)
            help = help or (f"write `{shown.replace('/', '.')}`" if "/" in shown else None)
            self._report("GG123", f"`{shown}` is not a type of handlers that ggfmt knows", span, help)
        if not self.is_left_out:
            return
        if self.type is not None and self.type.own.find("format") is not None:
            message = f"handlers of the type `{shown}` make messages in their own format, which ggfmt does not write"
            help = f"`ggfmt run` leaves `{self.name}` out"
        elif self.type is not None and self.type.formats is Formats.NONE:
            message = f"handlers of the type `{shown}` have no formatter"
            help = f"`ggfmt run` leaves `{self.name}` out"
        else:
            message = f"the output of a handler of the type `{shown}` without a `format` is unknown"
            help = f"`ggfmt run` leaves `{self.name}` out; if it has a format, add `gg.handler.{self.name}.format`"
        self._report(LEFT_OUT, message, span, help)

    def _as_event_handler(self, word: str) -> str | None:
        """Return the lines to write for a word that is a type of event handlers of a File Writer."""
        if word == "hive":
            return f"Hive reads the files of HDFS: write `gg.handler.{self.name}.type=hdfs`"
        if word not in EVENT_HANDLER_TYPES:
            return None
        own = f"gg.handler.{self.name}."
        lines = [f"{own}type=filewriter", f"{own}eventHandler={word}", f"gg.eventhandler.{word}.type={word}"]
        if EVENT_HANDLER_TYPES[word].work is Work.CONVERT:
            lines.insert(1, f"{own}format=avro_row_ocf")
        return f"an event handler does that: write {listing(lines)}"

    # The format

    def _own_format(self, keyed: _Keyed) -> Format | None:
        """Return the format that the type of the handler writes without a formatter; None if it has none."""
        names = formats_of_handlers(self.type.name) if self.type is not None else []
        own = [self.formats[name] for name in names if name in self.formats]
        chosen = {before_comment(entry).lower() for _, entry in keyed}
        return next((f for f in own if f.name in chosen), own[0] if own else None)

    def _choose_format(self, keyed: _Keyed) -> Format | None:
        spec, own = self.type.own.find("format") if self.type is not None else None, self.format_of_type
        if own is None and not self.is_left_out:
            return self._format(keyed)
        if own is None:
            for _, entry in keyed if self.type is not None else ():
                self.findings += check_value(entry, spec.kind) if spec is not None else self._without_formatter(entry)
            return None
        for _, entry in keyed:
            if before_comment(entry).lower() == own.name:
                self._give("format", entry)
                continue
            self.findings += self._without_formatter(entry, f"remove it; the handler writes `{own.name}`")
        return own

    def _without_formatter(self, entry: Entry, help: str = "remove it", meant: str = "") -> Iterator[Diagnostic]:
        """Yield GG110 for a format, or a property of one. `meant`: the property of the handler of the same name."""
        if self.type is None or not self.type.ignores_format:
            return
        rewrite = removal(entry)
        if meant:
            key = f"gg.handler.{self.name}.{meant}"
            is_given = any(other.rest.lower() == meant.lower() for other in self.keys)
            help = f"remove it: `{key}` is given too" if is_given else f"write `{key}`"
            rewrite = rewrite if is_given else renamed_key(entry, key)
        message = f"`{entry.key}` has no effect: a handler of the type `{self.type_text}` has no formatter"
        yield Diagnostic("GG110", message, entry.key_span, help, rewrite=rewrite)

    def _format(self, keyed: _Keyed) -> Format | None:
        for key, entry in keyed:
            if key.misspells_format:
                self._report_renamed(entry, "format")
            self._give("format", entry)
        chosen = self.given.get("format")
        text = (trim(chosen.value) if chosen else "") or DEFAULT_FORMAT
        value = self._written(text)
        if value is None:
            code, message, help = self._no_format("***" if chosen and chosen.secret else text)
            self._report(code, message, chosen.value_span if chosen else Span(), help)
            # If a comment follows, it is clear which format was meant: check its properties too.
            value = self._written(before_comment(chosen)) if chosen else None
        return value

    def _written(self, text: str) -> Format | None:
        format = self.formats.get(text.lower())
        return format if format is not None and format.writes is not None else None

    def _no_format(self, text: str) -> tuple[str, str, str]:
        written = [name for name, format in self.formats.items() if format.writes is not None]
        help = f"formats are {list_names(written)}"
        folded = text.lower()
        of_adapter = folded.endswith(".vm")
        if folded in FORMAT_OWNERS:
            of_adapter = FORMAT_OWNERS[folded].since == OF_JAVA_ADAPTER
        if folded in self.formats and not of_adapter:
            return "GG106", f"`{text}` is a format that ggfmt reads, but does not write", help
        is_default = self.type is not None and self.type.formats is Formats.DEFAULT
        if is_default and (of_adapter or (folded == "sequencefile" and self.type_text.lower() != "hdfs")):
            types = "the older Java adapter" if of_adapter else "`hdfs`"
            return "GG106", f"`{text}` is a format of handlers of {types}, not of `{self.type_text}`", help
        if folded in FORMAT_OWNERS:
            whose = "the older Java adapter" if of_adapter else "GoldenGate"
            return UNSUPPORTED, f"`{text}` is a format of {whose} that ggfmt does not write", help
        if _is_class(text, written) or of_adapter:
            return UNSUPPORTED, f"`{text}` is a Java class or a template, which ggfmt cannot run", help
        near = "write each property in a separate line" if "=" in text else suggestion(text, written)
        help = self._as_event_handler(folded) or (f"{help}; {near}" if near else help)
        return "GG106", f"`{text}` is not a format", help

    # Properties

    def _take_property(self, key: property_names.HandlerKey, entry: Entry) -> None:
        meant = (key.format_property or "").lower()
        if not self.format_given and not trim(entry.value) and meant in self.formats:  # `format.json` lacks its `=`
            report_missing_format(self.findings, self.name, entry, meant)
        elif key.format_property is None:
            self._take_handler_property(key.rest, entry)
        elif self.format is not None:
            self._take_format_property(key.format_property, key.misspells_format, entry, self.format)
        elif self.type is not None and (applied := self.type.find(key.format_property)):
            self.findings += self._without_formatter(entry, meant=applied.name)
        else:
            self.findings += self._without_formatter(entry)

    def _events(self, event_handlers: EventHandlers) -> tuple[EventHandlerConfig, ...]:
        start = self.given.get("eventHandler")
        if start is None or not trim(start.value) or self.is_custom:
            return ()
        is_container = self.format is not None and self.format.by_table
        return tuple(event_handlers.chain(start, self.given.get("format"), is_container))

    def _take_handler_property(self, name: str, entry: Entry) -> None:
        own = self.format.options.specs().find(name) if self.format and self.format.handler_type else None
        if own is not None:
            if own.is_other_name(name):
                self._report_renamed(entry, own.name)
            self._give(f"format.{own.name}", entry)
            return
        applied = None if self.is_left_out else HandlerOptions.specs().find(name)
        listed = (self.type or HANDLERS).find(name)
        if (
            name.lower() == "compressioncodec"
            and _is_class(entry.value, ())
            and not (self.format and self.format.by_table)
        ):
            applied = None  # a class of Hadoop, for sequence files
        if is_partitioner(name) and not self.is_left_out:
            self._give(partitioner_property(name), entry)
        elif applied is not None:
            if applied.is_other_name(name) and name.lower() not in _NAMES_ELSEWHERE:
                self._report_renamed(entry, applied.name)
            if applied.name in OF_FILE_WRITER and self.type and self.type.complete and listed is None:
                self._report_foreign(name, entry)
            else:
                self._give(applied.name, entry)
        elif self.is_custom:
            return
        elif listed is not None and listed.changes and not self.is_left_out:
            self._leave(listed, entry)
        elif listed is not None:
            self._take_listed(listed, name, entry)
        elif self.type is not None or not types_having(name):
            self._report_foreign(name, entry)

    def _take_listed(self, known: OptionSpec, name: str, entry: Entry) -> None:
        if known.is_other_name(name):
            self._report_renamed(entry, known.name)
        property = name.lower() if known.is_open else known.name
        if property in self.others:
            report_duplicate(self.findings, self.others[property], entry)
        self.others[property] = entry
        self.findings += check_value(entry, known.kind)
        self.findings += check_use(entry, known)
        if self.type is not None:
            self.findings += check_names(entry, f"{self.type.name} {known.name}")

    def _report_foreign(self, name: str, entry: Entry) -> None:
        types = [self.type] if self.type is not None else HANDLER_TYPES.values()
        known = (*HandlerOptions.specs().names, *(own for type in types for own in type.properties.names))
        format = _properties(self.format) if self.format else NO_PROPERTIES
        near = property_names.nearest_handler_property(name, known, format)
        meant = self.type.find(near) if self.type is not None and near else None
        near = meant.replaced_by or near if meant is not None else near
        others = types_having(name)
        if others and not (near or "").startswith("format."):
            help = f"{listing(others)} {'has' if len(others) == 1 else 'have'} it"
            if self.type is not None and self.type.complete:
                having = f"the type{'s' if len(others) > 1 else ''} {listing(others)}"
                message = f"`{entry.key}` is a property of handlers of {having}, not of `{self.type.name}`"
                self._report("GG110", message, entry.key_span, "it has no effect")
            else:
                self._report("GG125", f"`{entry.key}` is {self._not_of_type()}", entry.key_span, help)
            return
        if self.type_text and not (self.type and self.type.complete):
            given = [key.rest for key in self.keys]
            certain = property_names.meant_property(name, known, given) if self.type is not None else None
            code, near = ("GG101", certain) if certain is not None else ("GG125", near)
            self._report_unknown(code, f"`{entry.key}` is {self._not_of_type()}", entry, near)
        elif near is None and "." in name and self.type is not None and self.type.name in KAFKA_TYPES:
            message = f"`{entry.key}` is not a property of a handler"
            help = f"a property `{visible(name)}` of Kafka's producer belongs into the `kafkaProducerConfigFile`"
            self._report("GG101", message, entry.key_span, help)
        else:
            self._report_unknown("GG101", f"`{entry.key}` is not a property of a handler", entry, near)
        if near == "format" and "format" not in self.given and not self.is_left_out:
            report_missing_format(self.findings, self.name, entry)

    def _not_of_type(self) -> str:
        return f"not known as a property of handlers of the type `{visible(self.type_text)}`"

    def _take_format_property(self, name: str, misspelt: bool, entry: Entry, format: Format) -> None:
        found = _properties(format).find(name)
        if found is not None and self.format_of_type is not None:
            self.findings += self._without_formatter(entry, meant=found.name)
            return
        if found is not None and found.changes:
            self._leave(found, entry)
            return
        if found is not None:
            if misspelt or found.is_other_name(name):
                self._report_renamed(entry, f"format.{found.name}")
            self._give(f"format.{found.name}", entry)
            return
        whose = property_names.owner(name)
        if whose is not None:
            message = f"`{entry.key}` is a property of {whose}, not of `{format.name}`"
            self._report("GG110", message, entry.key_span, "it has no effect")
            return
        message = f"`{entry.key}` is not a property of `{format.name}`"
        if name.lower() in self.formats:
            self._report("GG101", message, entry.key_span, f"write `gg.handler.{self.name}.format={name.lower()}`")
            return
        of_handler = (HandlerOptions.specs(), *([self.type.properties] if self.type is not None else []))
        near = property_names.nearest_format_property(name, of_handler, format.options.specs())
        self._report_unknown("GG101", message, entry, near)

    def _leave(self, known: OptionSpec, entry: Entry) -> None:
        if known.name in self.uncovered:
            report_duplicate(self.findings, self.uncovered[known.name][0], entry)
        self.uncovered[known.name] = entry, known

    def _give(self, property: str, entry: Entry) -> None:
        if property in self.given:
            report_duplicate(self.findings, self.given[property], entry)
        self.given[property] = entry

    def _values(self, specs: Sequence[OptionSpec], prefix: str) -> dict[str, Any]:
        values = {}
        for spec in specs:
            entry = self.given.get(prefix + spec.name)
            if entry is None:
                continue
            try:
                values[spec.attr] = spec.value(entry.value)
            except InvalidValueError as error:
                self.illegal.add(prefix + spec.name)
                self.findings.append(illegal_value(entry, error))
        return values

    def _report(self, code: str, message: str, span: Span, help: str | None) -> None:
        self.findings.append(Diagnostic(code, message, span, help))

    def _report_renamed(self, entry: Entry, property: str) -> None:
        name = f"gg.handler.{self.name}.{property}"
        self.findings.append(property_names.rename_finding(entry, name, property.rpartition(".")[2], f"write `{name}`"))

    def _report_unknown(self, code: str, message: str, entry: Entry, near: str | None) -> None:
        help = f"did you mean `gg.handler.{self.name}.{near}`?" if near else None
        self._report(code, message, entry.key_span, help)


def _is_class(text: str, words: Iterable[str]) -> bool:
    """Return whether a text is a Java class in a package, and not one of the words with a mistake."""
    return "." in text and is_java_class(text) and did_you_mean(text, words, _SURELY) is None


def _properties(format: Format) -> PropertySet:
    """Return the properties of a format, with those that ggfmt lacks."""
    return FORMAT_OWNERS[format.name].own if format.name in FORMAT_OWNERS else format.options.specs()


def report_missing_format(findings: list[Diagnostic], name: str, entry: Entry, format: str | None = None) -> None:
    """Report a misspelled format as an error: with the default format, the output would be wrong.

    `format`: the format that is in the key.
    """
    meant = f"gg.handler.{name}.format"
    message = f"`{meant}` is missing, and `{entry.key}` is not it"
    value = format or ("***" if entry.secret else visible(trim(entry.value)))
    span, fix = entry.key_span, None
    if format and entry.is_plain and not entry.continued:
        span, fix = replace(span, length=entry.key_length + len(entry.separator)), f"{meant}={value}"
    findings.append(Diagnostic("GG109", message, span, f"write `{meant}={value}`", fix))
