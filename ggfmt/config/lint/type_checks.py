"""Checks that depend on the type of a handler: what GoldenGate requires, and what it does not start with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ggfmt.config.comments import before_comment, check_quotes
from ggfmt.config.handler_options import DELETE, MOVE, RENAME, HandlerOptions
from ggfmt.config.lint.assembly import HandlerBuilder
from ggfmt.config.lint.chains import illegal_value, missing_properties
from ggfmt.config.lint.names import part_span
from ggfmt.config.properties import Entry
from ggfmt.config.property_table import FILE_WRITER, HANDLER_TYPES, PROCESS, types_having
from ggfmt.diagnostics.codes import Severity
from ggfmt.diagnostics.diagnostic import Diagnostic, Span, did_you_mean, list_names, listing
from ggfmt.formats.goldengate.options import OpKeyOptions
from ggfmt.java.date_format import meant_mask
from ggfmt.java.text import InvalidValueError, trim, visible
from ggfmt.options.message_templates import MessageTemplate, of_one_operation, read_message_template
from ggfmt.options.spec import Need, OptionSpec
from ggfmt.options.templates import Count, Timestamp
from ggfmt.options.value_types import Bool, Choice, OpKey, unwrap_cdata

_TOPICS = ("topicMappingTemplate", "keyMappingTemplate")
_OLD_TOPIC = "topicName"
_SHOWN = 3  # types in a help


def check_type(assembly: HandlerBuilder, is_of_goldengate: bool) -> Iterator[Diagnostic]:
    """Yield GG109 as a warning for a handler without a type, which only ggfmt accepts.

    `is_of_goldengate`: the file has keys of GoldenGate's process, or other handlers with a type.
    """
    given = assembly.type_entry
    if assembly.type_text:
        return
    names = [key.rest for key in assembly.keys if key.format_property is None and not key.is_format]
    own = [name for name in names if HandlerOptions.specs().find(name) is None and types_having(name)]
    misspelt = any(did_you_mean(name, ("type",)) for name in names)
    if given is None and (misspelt or not (own or is_of_goldengate)):
        return
    fitting = [type.name for type in HANDLER_TYPES.values() if all(map(type.find, own))]
    fitting = [assembly.name] if assembly.name in fitting else fitting
    key = f"gg.handler.{assembly.name}.type"
    help = f"add `{key}={fitting[0]}`" if len(fitting) == 1 else f"add `{key}`, such as {list_names(fitting[:_SHOWN])}"
    message = f"`{key}` is missing" if given is None else f"`{given.key}` is empty"
    yield Diagnostic("GG109", message, (given or assembly.entries[0]).key_span, help, level=Severity.WARNING)


def check_op_keys(assembly: HandlerBuilder) -> Iterator[Diagnostic]:
    """Yield GG116 for words of operation types that are empty or equal, in any format of GoldenGate."""
    words: dict[str, tuple[OptionSpec, Entry | None]] = {}
    found = [
        (spec, assembly.given.get(f"format.{spec.name}") or assembly.others.get(spec.name))
        for spec in OpKeyOptions.specs()
        if isinstance(spec.kind, OpKey)
    ]
    for spec, entry in sorted(found, key=lambda pair: -1 if pair[1] is None else assembly.entries.index(pair[1])):
        word = str(spec.default) if entry is None else unwrap_cdata(before_comment(entry))
        there = words.setdefault(word, (spec, entry))[0]
        if entry is None or (word and there is spec):
            continue
        message, span = f"`{entry.key}` is empty", entry.key_span
        if word:
            span = entry.value_span
            default = f", which is `{there.default_text}` by default" if words[word][1] is None else ""
            message = f"`{entry.key}` is equal to `{there.name}`{default}"
        yield Diagnostic("GG116", message, span, "choose a different word for each operation type")


def check_required(assembly: HandlerBuilder) -> Iterator[Diagnostic]:
    """Yield GG109 as a warning for properties that the manual requires of the type: ggfmt itself needs none."""
    if assembly.type is None or assembly.type_entry is None:
        return
    own = assembly.type.own
    lacking = [known for known in own if known.need is not Need.NONE and not _has(assembly, known.name)]
    yield from _kerberos(assembly)
    if assembly.type.name == "kafka" and _has(assembly, _OLD_TOPIC):
        lacking = [known for known in lacking if known.name not in _TOPICS]
    if lacking:
        need = max((known.need for known in lacking), key=list(Need).index)
        owner = f"handlers of the type `{assembly.type.name}`"
        finding = missing_properties(f"gg.handler.{assembly.name}.", lacking, owner, assembly.type_entry, need)
        yield replace(finding, level=Severity.WARNING if need is Need.REQUIRED else Severity.NOTE)


def _kerberos(assembly: HandlerBuilder) -> Iterator[Diagnostic]:
    chosen, type = assembly.others.get("authType"), assembly.type
    names = ("kerberosPrincipal", "kerberosKeytabFile")
    lacking = [spec for spec in type.own if spec.name in names and not _has(assembly, spec.name)] if type else []
    if chosen is not None and before_comment(chosen).lower() == "kerberos" and lacking:
        finding = missing_properties(
            f"gg.handler.{assembly.name}.", lacking, "handlers with `authType=kerberos`", chosen
        )
        yield replace(finding, span=chosen.value_span, level=Severity.WARNING)


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
        yield Diagnostic("GG142", message, entry.value_span, "add `${currentTimestamp}`", level=Severity.NOTE)


def _keyword_span(entry: Entry, keyword: str) -> Span:
    match = re.search(rf"\$\{{\s*{keyword}\s*\}}", entry.source[entry.value_column - 1 :], re.IGNORECASE)
    return part_span(entry, match[0] if match else None)


def check_message_templates(assembly: HandlerBuilder) -> Iterator[Diagnostic]:
    """Yield GG141 for keywords of one operation in topics and keys, if a message holds a transaction."""
    if assembly.type is None or assembly.type.name != "kafka":
        return
    mode = assembly.given.get("mode")
    by_default = assembly.type.find("mode")
    if (trim(mode.value).lower() if mode else by_default and by_default.default) != "tx":
        return
    for name, entry in assembly.others.items():
        known = assembly.type.find(name)
        if known is None or not isinstance(known.kind, MessageTemplate):
            continue
        try:
            keyword = of_one_operation(read_message_template(trim(entry.value)))
        except InvalidValueError:
            continue  # it is reported
        if keyword is not None:
            why = "`mode` is `tx`" if mode else "`mode` is `tx` by default"
            message = f"`{entry.key}` has `${{{keyword}}}`, which has a value for one operation alone, and {why}"
            help = f"set `gg.handler.{assembly.name}.mode=op`"
            level = None if mode else Severity.WARNING
            yield Diagnostic("GG141", message, _keyword_span(entry, keyword), help, level=level)


# Targets have stages of their own, and releases further libraries.
_WORDS_ELSEWHERE = ("gg.stage", "gg.log")


def _word(entry: Entry) -> Iterator[Diagnostic]:
    known, text = PROCESS.find(entry.key), before_comment(entry)
    if known is None or known.name in _WORDS_ELSEWHERE or known.source[0] not in "SE" or not text.isalnum():
        return
    try:
        if isinstance(known.kind, (Bool, Choice)):
            known.kind.parse(text)
    except InvalidValueError as error:
        yield replace(illegal_value(entry, error), level=Severity.WARNING)


_JAR = re.compile(r"\*\.jar(?=[:;,]|$)")


def check_process(entries: Sequence[Entry]) -> Iterator[Diagnostic]:
    """Yield GG103 as a warning for illegal words, and GG142 for entries of a class path that Java does not resolve."""
    for entry in entries:
        yield from _word(entry)
        is_path = entry.key.lower() == "gg.classpath"
        yield from check_quotes(entry) if is_path else ()
        match = _JAR.search(trim(entry.value)) if is_path else None
        if match is not None:
            message = (
                f"`{entry.key}` has `*.jar`, which names no file: Java takes `*` alone for all jars of a directory"
            )
            yield Diagnostic("GG142", message, part_span(entry, match[0]), "write `*`")


_MASK = re.compile(r"\$\{\s*currentTimestamp\s*\[([^]\[]*)\]", re.IGNORECASE)


def check_masks(entries: Iterable[Entry]) -> Iterator[Diagnostic]:
    """Yield GG142 for date masks of Java that say something else than they seem to."""
    for entry in entries:
        masks = [match[1] for match in _MASK.finditer(entry.value)]
        for mask in [trim(entry.value)] if entry.key.lower() == "gg.format.timestamp" else masks:
            meant = meant_mask(mask)
            if meant != mask:
                message = f"the date mask `{visible(mask)}` has letters that mean something else in Java"
                help = f"write `{visible(meant)}`: `YYYY` is the year of a week, `DD` the day of a year, `MM` months,"
                yield Diagnostic("GG142", message, part_span(entry, mask), f"{help} `mm` minutes")
