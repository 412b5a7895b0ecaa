"""Event handlers of a configuration: the blocks `gg.eventhandler.<name>.`, their problems, and chains of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ggfmt.config.comments import before_comment
from ggfmt.config.handler_options import BUCKETS, EventHandlerConfig, Work
from ggfmt.config.lint.names import LEFT_IN, check_marks, check_names, part_span
from ggfmt.config.properties import Entry, removal
from ggfmt.config.property_names import is_placeholder, suggest_name
from ggfmt.config.property_table import EVENT_HANDLER_TYPES, EventHandlerType, Owner
from ggfmt.dataclasses import dataclass, field
from ggfmt.diagnostics.codes import Severity
from ggfmt.diagnostics.diagnostic import Diagnostic, Span, did_you_mean, listing
from ggfmt.java.text import InvalidValueError, UnsupportedValueError, is_java_class, trim, visible
from ggfmt.lazy import lazy_regex
from ggfmt.options.spec import Need, OptionSpec
from ggfmt.options.templates import NameTemplate
from ggfmt.options.value_types import AwsRegion, Duration, Uri, ValueType

EVENT_HANDLER_KEY = lazy_regex(r"(?-i:gg)\.eventhandler\.([^.]+)\.(.+)", re.IGNORECASE | re.DOTALL)
UNSUPPORTED = "GG149"  # the code of a value that GoldenGate accepts and ggfmt cannot apply
WITHOUT_EFFECT = "GG156"  # the code of a property that has no effect in ggfmt

_CHAINED = "eventhandler"
_LIST = "gg.eventhandlerlist"
_MILLISECONDS = 1000  # a time below it is a mistake, unless it has a unit


def check_value(entry: Entry, kind: ValueType[Any]) -> Iterator[Diagnostic]:
    """Yield GG103 if the value of a property that ggfmt does not apply is illegal, GG142 for a template in quotes."""
    text = trim(entry.value)
    if not text:
        return
    try:
        value = kind.parse(text)
    except InvalidValueError as error:
        yield illegal_value(entry, error)
        return
    yield from check_marks(entry, kind)
    if isinstance(kind, Uri) and not value.strip("\"'").lower().startswith(kind.starts) and not LEFT_IN.match(text):
        message = f"`{entry.key}` does not start with {' or '.join(f'`{start}`' for start in kind.starts)}"
        yield Diagnostic("GG142", message, entry.value_span, f"give {kind.legal}")
    if isinstance(kind, Duration) and text.replace(".", "", 1).isdigit() and 0 < value < _MILLISECONDS:
        message = f"`{entry.key}` is {text} milliseconds, because it has no unit"
        yield Diagnostic("GG142", message, entry.value_span, f"write `{text}s` for seconds, or `{text}m` for minutes")


def check_use(entry: Entry, known: OptionSpec) -> Iterator[Diagnostic]:
    """Yield GG156 for Java code of the user, as a warning, and for a property that has no effect on a batch."""
    text = before_comment(entry)
    if known.custom and is_java_class(text) and "." in text and not text.startswith("oracle.goldengate."):
        message = f"`{entry.key}` names Java code that may change messages, and ggfmt does not run it"
        help = "compare a message of GoldenGate with the message of ggfmt"
        yield Diagnostic(WITHOUT_EFFECT, message, entry.value_span, help, level=Severity.WARNING)
    elif known.online and text.lower() not in ("", "0", "false"):
        message = f"`{entry.key}` has no effect on a batch, which ends by itself"
        yield Diagnostic(
            WITHOUT_EFFECT, message, entry.key_span, "leave it for GoldenGate; `maxFileSize` has an effect"
        )


def check_region(given: Mapping[str, Entry], type: Owner) -> Iterator[Diagnostic]:
    """Yield GG142 for a region that AWS does not have. A store at another address names its regions as it likes."""
    entry, known = given.get("region"), type.find("region")
    if entry is None or known is None or "url" in given or "host" in given or not isinstance(known.kind, AwsRegion):
        return
    text = before_comment(entry)
    if text and not entry.secret and not known.kind.form.fullmatch(text) and not LEFT_IN.search(text):
        message = f"`{visible(text)}` does not have the form of a region of AWS"
        yield Diagnostic("GG142", message, entry.value_span, f"write {known.kind.legal}")


def illegal_value(entry: Entry, error: InvalidValueError) -> Diagnostic:
    message = "is not a legal value" if entry.secret else str(error)
    span = part_span(entry, error.part)
    part = error.part or ""
    # Another text may contain a part without `${`.
    is_there = part.startswith("${") or entry.source.count(part, entry.value_column - 1) == 1
    fix = error.right if span.length == len(part) and is_there else None
    help = None if entry.secret and error.right else error.help
    code = UNSUPPORTED if isinstance(error, UnsupportedValueError) else "GG103"
    return Diagnostic(code, f"`{entry.key}` {message}", span, help, fix)


def missing_properties(
    prefix: str, lacking: Sequence[OptionSpec], owner: str, place: Entry, need: Need = Need.REQUIRED
) -> Diagnostic:
    keys = [f"{prefix}{spec.name}" for spec in lacking]
    are = "is" if len(keys) == 1 else "are"
    verb = "need" if need is Need.REQUIRED else "usually have"
    message = f"{listing(keys)} {are} missing, which {owner} {verb}"
    lines = [f"{key}={spec.example or '...'}" for key, spec in zip(keys, lacking, strict=True)]
    return Diagnostic("GG109", message, place.key_span, f"add {listing(lines)}")


def report_duplicate(findings: list[Diagnostic], earlier: Entry, entry: Entry) -> None:
    """Report an entry that repeats one of the same file; a later file overrides an earlier one silently."""
    if earlier.file != entry.file:
        return
    message = f"`{entry.key}` was given before, in line {earlier.line}"
    code, help = "GG107", "remove one of them; the last one counts"
    if trim(earlier.value) == trim(entry.value):
        code, message, help = "GG128", f"{message}, with the same value", "remove one of them"
    findings.append(Diagnostic(code, message, entry.key_span, help, rewrite=removal(earlier)))


@dataclass
class EventHandlerBlock:
    """The effective entry of each property of one event handler, by its name in the manual.

    `type` is None if it is missing or unknown. `used`: a chain has it. `findings`: its problems, which matter if used.
    """

    name: str
    entries: list[Entry] = field(default_factory=list)
    given: dict[str, Entry] = field(default_factory=dict)
    type: EventHandlerType | None = None
    used: bool = False
    findings: list[Diagnostic] = field(default_factory=list)

    @property
    def next(self) -> Entry | None:
        entry = self.given.get("eventHandler")
        return entry if entry is not None and trim(entry.value) else None

    def value(self, name: str) -> Any:
        entry = self.given.get(name)
        known = self.type.find(name) if self.type is not None else None
        if entry is None or known is None or not trim(entry.value):
            return None
        try:
            return known.kind.parse(trim(entry.value))
        except InvalidValueError:
            return None

    def text(self, name: str) -> str | None:
        entry = self.given.get(name)
        return trim(entry.value) if entry is not None else None

    def read(self, by_target: bool) -> None:
        rests = [(entry, trim(match[2])) for entry in self.entries if (match := EVENT_HANDLER_KEY.fullmatch(entry.key))]
        chosen = next((entry for entry, rest in reversed(rests) if rest.lower() == "type"), None)
        if is_placeholder(self.name) and chosen is None:
            return  # reported as a placeholder
        if chosen is not None:
            text = before_comment(chosen)
            self.type = EVENT_HANDLER_TYPES.get(text.lower())
            if self.type is None and "." not in text:
                help = suggest_name(text, EVENT_HANDLER_TYPES)
                message = f"`{visible(text)}` is not a type of event handlers that ggfmt knows"
                self._report("GG123", message, chosen.value_span, help)
        for entry, rest in rests:
            self._take(entry, rest)
        if chosen is None and not by_target:
            key = f"gg.eventhandler.{self.name}.type"
            near = next((rest for _, rest in rests if did_you_mean(rest, ("type",))), None)
            help = f"`{near}` is not it: write `{key}`" if near else f"add `{key}`, such as `parquet` or `s3`"
            self._report("GG109", f"`{key}` is missing", self.entries[0].key_span, help)
        elif self.type is not None:
            given = {name for name, entry in self.given.items() if trim(entry.value)}
            missing = [known for known in self.type.required if known.name not in given]
            if missing and not by_target:
                owner = f"event handlers of the type `{self.type.name}`"
                prefix = f"gg.eventhandler.{self.name}."
                self.findings.append(missing_properties(prefix, missing, owner, chosen or self.entries[0]))
            self.findings += check_region(self.given, self.type)
            if any(map(self.type.find, BUCKETS)):
                self._check_path(self.type.name)

    def _take(self, entry: Entry, rest: str) -> None:
        known = self.type.find(rest) if self.type is not None else None
        if known is None:
            is_chained = rest.lower() == _CHAINED
            if self.type is not None and not is_chained:
                self._report_unknown(self.type, entry, rest)
            self._give("eventHandler" if is_chained else rest, entry)
            return
        if known.is_other_name(rest):
            meant = f"gg.eventhandler.{self.name}.{known.name}"
            message = f"`{entry.key}` is read as `{known.name}`"  # some manuals print it
            finding = Diagnostic("GG102", message, entry.key_span, f"write `{meant}`", level=Severity.NOTE)
            self.findings.append(finding)
        property = rest.lower() if known.is_open else known.name
        self._give(property, entry)
        self.findings += check_value(entry, known.kind)
        self.findings += check_use(entry, known)
        if self.type is not None:
            self.findings += check_names(entry, f"{self.type.name} {known.name}")

    def _give(self, property: str, entry: Entry) -> None:
        if property in self.given:
            report_duplicate(self.findings, self.given[property], entry)
        self.given[property] = entry

    def _report_unknown(self, type: EventHandlerType, entry: Entry, rest: str) -> None:
        near = did_you_mean(rest, type.properties.names)
        folded = rest.lower()
        others = [other.name for other in EVENT_HANDLER_TYPES.values() if other.own.find(folded) is not None]
        message = f"`{entry.key}` is not known as a property of event handlers of the type `{type.name}`"
        if others:
            help = f"{listing(others)} {'has' if len(others) == 1 else 'have'} it"
            self._report("GG110", message, entry.key_span, help)
        elif near is not None:
            self._report("GG101", message, entry.key_span, f"did you mean `gg.eventhandler.{self.name}.{near}`?")
        else:
            self._report("GG125", message, entry.key_span, None)

    def _check_path(self, store: str) -> None:
        path = self.given.get("pathMappingTemplate")
        start = None if path is None else re.match(r"\w+://" if store != "s3" else r"\w+://|/", path.value)
        if path is not None and start is not None:
            message = f"`{path.key}` starts with `{start[0]}`, which becomes a part of the names in the store"
            self._report("GG142", message, path.value_span, f"remove the `{start[0]}` at the start")

    def _report(self, code: str, message: str, span: Span, help: str | None) -> None:
        self.findings.append(Diagnostic(code, message, span, help))

    def configured(self, type: EventHandlerType) -> EventHandlerConfig:
        options = None
        if type.options is not None:
            names = [spec.name for spec in type.options.specs() if spec.name in self.given]
            try:
                options = type.options.parse({name: self.given[name].value for name in names})
            except InvalidValueError:
                options = type.options()  # the illegal value is reported
        templates = [self.value(name) for name in ("pathMappingTemplate", "fileNameMappingTemplate", *BUCKETS)]
        path, file, *buckets = (template if isinstance(template, NameTemplate) else None for template in templates)
        return EventHandlerConfig(
            self.name,
            type.name,
            type.work,
            options,
            path,
            file,
            (self.text("finalizeAction") or "none").lower() == "delete",
            next(filter(None, buckets), None),
            self.text("accountName"),
            self.text("region"),
            dict(self.given),
        )


class EventHandlers:
    """All event handlers; problems are added to `findings`. `by_target`: blocks may change GoldenGate's handlers."""

    def __init__(self, entries: Iterable[Entry], findings: list[Diagnostic], by_target: bool) -> None:
        self.blocks: dict[str, EventHandlerBlock] = {}
        self._findings = findings
        self._by_target = by_target
        entries = list(entries)
        self._listed = any(entry.key.lower() == _LIST for entry in entries)
        for entry in entries:
            match = EVENT_HANDLER_KEY.fullmatch(entry.key)
            if match is not None:
                block = self.blocks.setdefault(match[1], EventHandlerBlock(match[1]))
                block.entries.append(entry)
        for block in self.blocks.values():
            block.read(by_target)
            if by_target:
                findings += block.findings

    def _report(self, code: str, message: str, span: Span, help: str | None) -> None:
        self._findings.append(Diagnostic(code, message, span, help))

    # Chains

    def chain(self, start: Entry, upstream: Entry | None, is_container: bool) -> Iterator[EventHandlerConfig]:
        """Yield the event handlers from the one that `start` names. `upstream`: the entry that chose the format."""
        seen: list[str] = []
        entry: Entry | None = start
        converted: str | None = None
        while entry is not None:
            name = before_comment(entry)
            block = self.blocks.get(name)
            if name in seen:
                message = f"`{entry.key}` goes back to `{name}`, so that the chain has no end"
                self._report("GG141", message, entry.value_span, "remove it, or name another event handler")
                break
            seen.append(name)
            if block is None:
                self._report_missing(entry, name)
                break
            if not block.used and not self._by_target:
                self._findings += block.findings
            block.used = True
            if block.type is None:
                break
            if block.type.work is Work.CONVERT:
                if converted is not None or not is_container:
                    self._report_no_container(entry, block, upstream, converted)
                converted = block.type.name
            elif block.type.work is Work.NONE:
                message = f"ggfmt does not run event handlers of the type `{block.type.name}`"
                help = "the files stay as the previous handler wrote them"
                self._report("GG145", message, block.given["type"].value_span, help)
            yield block.configured(block.type)
            entry = block.next

    def _report_missing(self, entry: Entry, name: str) -> None:
        near = did_you_mean(name, self.blocks)
        if self._by_target and near is None:
            return
        message = f"`{entry.key}` names `{visible(name)}`, but no property is `gg.eventhandler.{visible(name)}`"
        help = f"did you mean `{near}`?" if near else f"add `gg.eventhandler.{visible(name)}.type` and its properties"
        if "," in name:
            help = "name one event handler here, and the next one in its own `eventHandler`"
        self._report("GG104", message, entry.value_span, help)

    def _report_no_container(
        self, entry: Entry, block: EventHandlerBlock, upstream: Entry | None, converted: str | None
    ) -> None:
        assert block.type is not None
        if converted is not None:
            message = f"`{block.name}` would convert files of `{converted}`, and reads Avro object containers alone"
            self._report("GG141", message, entry.value_span, "have one event handler convert the files")
            return
        given = "`delimitedtext`, the default" if upstream is None else f"`{visible(trim(upstream.value))}`"
        message = f"`{block.type.name}` converts Avro object container files, and the format is {given}"
        help = "choose `avro_row_ocf` or `avro_op_ocf`"
        self._report("GG112", message, (upstream or entry).value_span, help)

    def report_unused(self, given: Mapping[str, Sequence[Entry]]) -> None:
        """Report blocks that no chain has. `given`: the entries that name event handlers, by the name in them."""
        if self._by_target or self._listed:
            return
        chained = {trim(entry.value) for block in self.blocks.values() if (entry := block.next) is not None}
        for name, block in self.blocks.items():
            if block.used or name in chained or name in given or is_placeholder(name):
                continue
            place = block.entries[0]
            near = did_you_mean(name, given)
            help = f"`{given[near][0].key}` names `{near}`" if near else "name it in `eventHandler` of a File Writer"
            message = f"`{place.key}` is never applied: no handler names the event handler `{visible(name)}`"
            self._report("GG101", message, place.key_span, help)
