"""Checks that depend on the type of a handler: what GoldenGate requires, and what it does not start with."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ggfmt.config.handler_options import DELETE, MOVE, RENAME
from ggfmt.config.lint.assembly import HandlerBuilder
from ggfmt.config.lint.chains import missing_properties, part_span
from ggfmt.config.properties import Entry
from ggfmt.config.property_table import FILE_WRITER, HANDLER_TYPES
from ggfmt.diagnostics.codes import Severity
from ggfmt.diagnostics.diagnostic import Diagnostic, Span, listing
from ggfmt.java.text import trim
from ggfmt.options.message_templates import MessageTemplate, of_one_operation
from ggfmt.options.spec import Need
from ggfmt.options.templates import Count, Timestamp

_TOPICS = ("topicMappingTemplate", "keyMappingTemplate")
_OLD_TOPIC = "topicName"


def check_required(assembly: HandlerBuilder) -> Iterator[Diagnostic]:
    """Yield GG109 as a warning for properties that the manual requires of the type: ggfmt itself needs none."""
    if assembly.type is None or assembly.type_entry is None:
        return
    own = assembly.type.own
    lacking = [known for known in own if known.need is not Need.NONE and not _has(assembly, known.name)]
    if assembly.type.name == "kafka" and _has(assembly, _OLD_TOPIC):
        lacking = [known for known in lacking if known.name not in _TOPICS]
    if lacking:
        need = max((known.need for known in lacking), key=list(Need).index)
        owner = f"handlers of the type `{assembly.type.name}`"
        names = [known.name for known in lacking]
        finding = missing_properties(f"gg.handler.{assembly.name}.", names, owner, assembly.type_entry, need)
        yield replace(finding, level=Severity.WARNING if need is Need.REQUIRED else Severity.NOTE)


def _has(assembly: HandlerBuilder, name: str) -> bool:
    if name == "format":
        return assembly.format_given
    prefixed = f"format.{name}"
    found = assembly.given.get(name) or assembly.others.get(name) or assembly.given.get(prefixed)
    return found is not None and (bool(trim(found.value)) or found.secret)


def check_file_writer(assembly: HandlerBuilder) -> Iterator[Diagnostic]:
    """Yield the problems of full files, and of names that do not say what they seem to."""
    action = assembly.given.get("finalizeAction")
    chosen = assembly.handler.finalize_action
    needed = (
        (RENAME, "fileRenameMappingTemplate", "${fullyQualifiedTableName}_${operationCount}.json"),
        (MOVE, "movePathMappingTemplate", "./done"),
    )
    for word, property, example in needed:
        entry = assembly.given.get(property)
        if action is not None and word in chosen and entry is None and chosen != DELETE:
            key = f"gg.handler.{assembly.name}.{property}"
            message = f"`{action.key}` is `{chosen}`, and `{key}` is missing"
            yield Diagnostic("GG109", message, action.value_span, f"add `{key}={example}`, or choose `none`")
        elif entry is not None and word not in chosen:
            message = f"`{entry.key}` has no effect, because `finalizeAction` is `{chosen}`"
            yield Diagnostic("GG110", message, entry.key_span, f"set `finalizeAction={word}`, or remove it")
    if action is not None and chosen == DELETE and not assembly.events and assembly.given.get("eventHandler") is None:
        message = f"`{action.key}` removes each file when it is full, and no event handler has it before"
        help = "name an `eventHandler`, or choose `none`; ggfmt keeps the files"
        yield Diagnostic("GG142", message, action.value_span, help)
    yield from _names(assembly)
    yield from _codec(assembly)


def _codec(assembly: HandlerBuilder) -> Iterator[Diagnostic]:
    """Yield GG142 for a codec that ggfmt has, and GoldenGate does not."""
    entry = assembly.given.get("compressionCodec")
    codec = assembly.handler.compression_codec
    codecs = HANDLER_TYPES[FILE_WRITER].words("avroCodec")
    if entry is None or codec in codecs or assembly.format is None or not assembly.format.by_table:
        return
    message = f"`{entry.key}` is `{codec}`, which no release of GoldenGate is known to have"
    yield Diagnostic("GG142", message, entry.value_span, f"choose {listing(codecs)}")


def _names(assembly: HandlerBuilder) -> Iterator[Diagnostic]:
    entry = assembly.given.get("fileNameMappingTemplate")
    template = assembly.handler.file_name_mapping_template
    if entry is None or template is None:
        return
    count = next((piece for piece in template.all() if isinstance(piece, Count)), None)
    if count is not None:
        message = (
            f"`${{{count.keyword}}}` is always 0 in `{entry.key}`, because the file is empty when it gets its name"
        )
        help = "write it in `fileRenameMappingTemplate`, or in a template of an event handler"
        yield Diagnostic("GG142", message, _keyword_span(entry, count.keyword), help)
    has_time = any(isinstance(piece, Timestamp) for piece in template.all())
    if assembly.type is not None and assembly.type.name == FILE_WRITER and not has_time:
        message = f"`{entry.key}` has no time, so that the second file of a table gets the name of the first"
        help = "add `${currentTimestamp}`"
        yield Diagnostic("GG142", message, entry.value_span, help, level=Severity.NOTE)


def _keyword_span(entry: Entry, keyword: str) -> Span:
    match = re.search(rf"\$\{{\s*{keyword}\s*\}}", entry.source[entry.value_column - 1 :], re.IGNORECASE)
    return part_span(entry, match[0] if match else None)


def check_message_templates(assembly: HandlerBuilder) -> Iterator[Diagnostic]:
    """Yield GG141 for keywords of one operation in topics and keys, if a message holds a transaction."""
    if assembly.type is None or assembly.type.name != "kafka":
        return
    mode = assembly.given.get("mode")
    if (trim(mode.value).lower() if mode else assembly.type.mode) != "tx":
        return
    for name, entry in assembly.others.items():
        known = assembly.type.find(name)
        if known is None or not isinstance(known.kind, MessageTemplate):
            continue
        keyword = of_one_operation(entry.value)
        if keyword is not None:
            why = "`mode` is `tx`" if mode else "`mode` is `tx` by default"
            message = f"`{entry.key}` has `${{{keyword}}}`, which has a value for one operation alone, and {why}"
            help = f"set `gg.handler.{assembly.name}.mode=op`"
            level = None if mode else Severity.WARNING
            yield Diagnostic("GG141", message, _keyword_span(entry, keyword), help, level=level)


_JAR = re.compile(r"\*\.jar(?=[:;,]|$)")


def check_class_path(entries: Sequence[Entry]) -> Iterator[Diagnostic]:
    """Yield GG142 for entries of a class path that Java does not resolve."""
    for entry in entries:
        match = _JAR.search(trim(entry.value)) if entry.key.lower() == "gg.classpath" else None
        if match is not None:
            message = (
                f"`{entry.key}` has `*.jar`, which names no file: Java takes `*` alone for all jars of a directory"
            )
            yield Diagnostic("GG142", message, part_span(entry, match[0]), "write `*`")
