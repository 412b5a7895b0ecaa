"""Checks of a handler whose values are all legal, and of the releases that its properties need.

The checks depend on the kinds of options, so they apply to every format, and to a new option as soon as it is declared.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import combinations, product
from typing import Any

from ggfmt.config.comments import before_comment, check_quotes, has_comment, lost_blanks, misread_wrapper, odd_delimiter
from ggfmt.config.handler_options import DELETE, MOVE, RENAME, HandlerOptions, absolute_paths, shared_names
from ggfmt.config.lint.assembly import HandlerBuilder
from ggfmt.config.lint.chains import check_region, illegal_value, missing_properties
from ggfmt.config.lint.names import check_marks, part_span
from ggfmt.config.properties import Entry, revalued
from ggfmt.config.property_table import FILE_TYPES, FILE_WRITER, HANDLER_TYPES, PROCESS, types_having
from ggfmt.config.refusals import SCHEME
from ggfmt.dataclasses import dataclass
from ggfmt.diagnostics.codes import Severity
from ggfmt.diagnostics.diagnostic import Diagnostic, Span, did_you_mean, list_names, listing
from ggfmt.formats.api.format import Format
from ggfmt.formats.goldengate.options import DELETE_INSERT, PK_UPDATE_HANDLING, OpKeyOptions
from ggfmt.java.charsets import encoder
from ggfmt.java.text import InvalidValueError, trim, visible
from ggfmt.lazy import lazy_regex
from ggfmt.options import value_types
from ggfmt.options.releases import FIRST_RELEASE, GOLDENGATE, RELEASES, UNKNOWN, Metadata, is_available, is_later
from ggfmt.options.spec import Need, Options, OptionSpec
from ggfmt.options.templates import Count, MessageTemplate, Timestamp, of_one_operation, read_message_template
from ggfmt.options.value_types import Bool, Choice, OpKey, unwrap_cdata

# Checks that depend on the type of a handler: what GoldenGate requires, and what it does not start with.

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
    lacking = [
        known
        for known in own
        if known.need is not Need.NONE and not any(_has(assembly, name) for name in (known.name, *known.substitutes))
    ]
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


# What Java does not resolve in a class path, with the reason and what to write.
_CLASS_PATH = (
    (lazy_regex(r"\*\.jar(?=[:;,]|$)"), "names no file: Java takes `*` alone for all jars of a directory", "write `*`"),
    (
        lazy_regex(r"[\w.-]+\*(?=[:;,]|$)"),
        "names no file: Java takes `*` for all jars of a directory only after a `/`",
        "write the directory alone for its files, or end it with `/*` for its jars",
    ),
    (lazy_regex(r" +(?=[:;])|(?<=[:;]) +"), "is a part of the path beside it", "remove it"),
    (lazy_regex(r",(?=[./~\w])"), "divides no paths", "write `:`, or `;` in Windows"),
)
_SMALL_HEAP = lazy_regex(r"-X(?:mx|ms|mn|ss)([0-9]{1,6})(?=\s|$)")
_HEAP = lazy_regex(r"(?<!\S)(-?)X(m[sx])([0-9]{1,12})([kKmMgGtT]?)(?=\s|$)")


def check_process(entries: Sequence[Entry]) -> Iterator[Diagnostic]:
    """Yield GG103 as a warning for illegal words, and GG142 for entries of a class path that Java does not resolve."""
    for entry in entries:
        yield from _word(entry)
        heap = _SMALL_HEAP.search(entry.value) if entry.key.lower().endswith(".bootoptions") else None
        if heap is not None:
            message = f"`{heap[0]}` is {int(heap[1])} bytes, with which Java does not start"
            yield Diagnostic("GG142", message, part_span(entry, heap[0]), f"write `{heap[0]}m` for megabytes")
        elif entry.key.lower().endswith(".bootoptions"):
            yield from _heap(entry)
        if entry.key.lower() != "gg.classpath":
            continue
        yield from check_quotes(entry)
        found = ((form.search(trim(entry.value)), why, help) for form, why, help in _CLASS_PATH)
        match, why, help = next((item for item in found if item[0] is not None), (None, "", ""))
        if match is not None:
            shown = "a blank" if match[0].isspace() else f"`{match[0]}`"
            message = f"`{entry.key}` has {shown}, which {why}"
            level = Severity.NOTE if match[0] == "," else None  # public files have it
            yield Diagnostic("GG142", message, part_span(entry, match[0]), help, level=level)


def _heap(entry: Entry) -> Iterator[Diagnostic]:
    sizes: dict[str, tuple[int, str]] = {}
    for match in _HEAP.finditer(entry.value):
        dash, name, digits, unit = match.groups()
        sizes[name] = int(digits) << 10 * " kmgt".index(unit.lower() or " "), match[0]
        if not dash:
            yield Diagnostic("GG142", f"`{match[0]}` lacks its `-`", part_span(entry, match[0]), f"write `-{match[0]}`")
    if len(sizes) == 2 and sizes["ms"] > sizes["mx"]:
        text = sizes["ms"][1]
        message = f"`{text}` is more than `{sizes['mx'][1]}`, and Java does not start"
        yield Diagnostic("GG142", message, part_span(entry, text), "give `-Xms` at most the size of `-Xmx`")


_MASK = lazy_regex(r"\$\{\s*currentTimestamp\s*\[([^]\[]*)\]", re.IGNORECASE)


def check_masks(entries: Iterable[Entry]) -> Iterator[Diagnostic]:
    """Yield GG142 for date masks of Java that say something else than they seem to."""
    for entry in entries:
        masks = [match[1] for match in _MASK.finditer(entry.value)]
        for mask in [trim(entry.value)] if entry.key.lower() == "gg.format.timestamp" else masks:
            from ggfmt.java.date_format import meant_mask

            meant = meant_mask(mask)
            if meant != mask:
                message = f"the date mask `{visible(mask)}` has letters that mean something else in Java"
                help = f"write `{visible(meant)}`: `YYYY` is the year of a week, `DD` the day of a year, `MM` months,"
                yield Diagnostic(
                    "GG142", message, part_span(entry, mask), f"{help} `mm` minutes, `hh` an hour with `a`"
                )


CONTROL_FILE = "createControlFile"


@dataclass(frozen=True)
class _Value:
    spec: OptionSpec
    value: Any
    entry: Entry | None


def check_handler(assembly: HandlerBuilder) -> Iterator[Diagnostic]:
    values = list(_values(assembly, assembly.handler, ""))
    yield from _texts(values, True)
    yield from _file_layout(assembly)
    yield from _control_files(assembly)
    yield from check_file_writer(assembly)
    yield from check_message_templates(assembly)
    yield from check_required(assembly)
    yield from check_op_keys(assembly)
    yield from _sizes(values)
    if assembly.type is not None:
        yield from check_region(assembly.others, assembly.type)
    if assembly.format is None or assembly.options is None:
        return
    of_format = list(_values(assembly, assembly.options, "format."))
    doubtful = list(_texts(of_format, not getattr(assembly.options, "disable_escaping", False)))
    yield from doubtful
    yield from _container_files(assembly, assembly.format)
    yield from _schema_directories([*values, *of_format], assembly.format, assembly.options)
    yield from _primary_key_updates(of_format)
    # A misread text proves nothing about the other texts.
    places = {finding.span for finding in doubtful if finding.code == "GG115"}
    written = [
        item
        for item in of_format
        if isinstance(item.spec.kind, value_types.Text)
        and (assembly.handler.include_tokens or not _is_of_tokens(item))
        and not (item.entry and (has_comment(item.entry) or item.entry.value_span in places))
    ]
    yield from _confusions(written, assembly.entries)
    yield from _lacking_characters(written, of_format)


def _values(assembly: HandlerBuilder, options: Options, prefix: str) -> Iterator[_Value]:
    for spec in options.specs():
        name = prefix + spec.name
        if name not in assembly.illegal:
            yield _Value(spec, getattr(options, spec.attr), assembly.given.get(name))


def _texts(values: list[_Value], escapes: bool) -> Iterator[Diagnostic]:
    for item in values:
        if item.entry is None or has_comment(item.entry):
            continue
        kind = item.spec.kind
        misread = misread_wrapper(item.entry, kind)
        if misread is not None:
            yield misread
            continue
        yield from check_marks(item.entry, kind)
        odd = odd_delimiter(item.entry, kind, item.value, escapes)
        for problem in (lost_blanks(item.entry, kind, item.spec.default), odd):
            if problem is not None:
                yield problem


def _sizes(values: Iterable[_Value]) -> Iterator[Diagnostic]:
    for item in values:
        text = trim(item.entry.value) if item.entry is not None else ""
        if item.entry is not None and isinstance(item.spec.kind, value_types.Size) and text[-1:] in ("b", "B"):
            message = f"`{item.entry.key}` is `{visible(text)}`, and GoldenGate has sizes with `k`, `m` or `g` alone"
            right = text[:-1].rstrip()
            rewrite = revalued(item.entry, right)
            yield Diagnostic("GG142", message, part_span(item.entry, text), f"write `{right}`", rewrite=rewrite)


def _container_files(assembly: HandlerBuilder, format: Format) -> Iterator[Diagnostic]:
    if not format.by_table:
        return
    partition = assembly.given.get("partitionByTable")
    if partition is not None and not assembly.handler.partition_by_table:
        message = f"`{partition.key}` cannot be `false` for `{format.name}`"
        yield Diagnostic("GG112", message, partition.value_span, "remove it: a file holds the records of one table")
    roll = assembly.given.get("rollOnMetadataChange")
    if roll is not None and not assembly.handler.roll_on_metadata_change and format.options.of_goldengate:
        message = f"`{roll.key}` cannot be `false` for `{format.name}`"
        yield Diagnostic("GG112", message, roll.value_span, "remove it: a file holds the records of one schema")
    if assembly.type is not None and assembly.type.name not in (*FILE_TYPES, format.handler_type):
        message = f"`{format.name}` is not a format of handlers of the type `{visible(assembly.type_text)}`"
        help = f"choose another format, or one of the types {listing(FILE_TYPES)}"
        yield Diagnostic("GG112", message, assembly.given["format"].value_span, help)


def _file_layout(assembly: HandlerBuilder) -> Iterator[Diagnostic]:
    shared = shared_names(assembly.handler)
    found = [("GG135", shared)] if shared is not None else []
    found += [("GG137", problem) for problem in absolute_paths(assembly.handler)]
    for code, problem in found:
        entry = assembly.given.get(problem.property)
        if entry is not None:
            yield Diagnostic(code, f"`{entry.key}` {problem.message}", entry.value_span, problem.help)


def _control_files(assembly: HandlerBuilder) -> Iterator[Diagnostic]:
    """Yield GG136: ggfmt has no option for control files, which do not change messages, but programs wait for them."""
    if assembly.is_custom or (assembly.type is not None and assembly.type.find(CONTROL_FILE) is None):
        return
    key = f"gg.handler.{assembly.name}.{CONTROL_FILE}".lower()
    given = [entry for entry in assembly.entries if entry.key.lower() == key]
    if given and trim(given[-1].value).lower() == "true":
        message = f"`{given[-1].key}` makes GoldenGate write control files, and ggfmt writes none"
        help = "`_ggfmt/manifest.json` lists the files of each run; see `ggfmt docs output`"
        yield Diagnostic("GG136", message, given[-1].value_span, help)


def _schema_directories(values: list[_Value], format: Format, options: Options) -> Iterator[Diagnostic]:
    kinds = [item.spec.kind for item in values]
    switches = [kind.switch for kind in kinds if isinstance(kind, value_types.SchemaDirectory) and kind.switch]
    if not (format.schema_kind and format.schema_in_run and all(getattr(options, name) for name in switches)):
        return
    for item in values:
        if item.entry is None or not isinstance(item.spec.kind, value_types.SchemaDirectory):
            continue
        if has_comment(item.entry) or SCHEME.match(item.value) or os.path.isdir(item.value):
            continue
        path = "***" if item.entry.secret else visible(item.value)
        help = "make it before GoldenGate starts; ggfmt makes it itself"
        yield Diagnostic("GG119", f"the directory `{path}` does not exist", item.entry.value_span, help)


def _primary_key_updates(values: list[_Value]) -> Iterator[Diagnostic]:
    for item in values:
        if item.entry is not None and item.spec.kind is PK_UPDATE_HANDLING and item.value == DELETE_INSERT:
            help = "see that the database logs all columns"
            yield Diagnostic("GG121", f"`{item.entry.key}` needs whole images of updates", item.entry.value_span, help)


def _confusions(written: list[_Value], order: list[Entry]) -> Iterator[Diagnostic]:
    delimiters = [item for item in written if isinstance(item.spec.kind, value_types.Delimiter) and item.value]
    # Delimiters of tokens do not separate the columns.
    of_columns = [item for item in delimiters if not _is_of_tokens(item)]
    representations = [item for item in written if isinstance(item.spec.kind, value_types.Representation)]
    pairs = [
        pair for pair in combinations(delimiters, 2) if pair[0].value in pair[1].value or pair[1].value in pair[0].value
    ]
    pairs += [(one, other) for one, other in product(of_columns, representations) if one.value in other.value]
    for one, other in pairs:
        given = [(order.index(item.entry), item) for item in (one, other) if item.entry is not None]
        if not given:
            continue
        entry = max(given, key=lambda pair: pair[0])[1].entry
        assert entry is not None
        here, there = (one, other) if entry is one.entry else (other, one)
        if here.value == there.value:
            relation = "is equal to"
        else:
            relation = "is part of" if here.value in there.value else "contains"
        default = "" if there.entry else f", which is `{there.spec.default_text}` by default"
        message = f"`{entry.key}` {relation} `{there.spec.name}`{default}"
        yield Diagnostic("GG116", message, entry.value_span, "choose different texts")


def _is_of_tokens(item: _Value) -> bool:
    return isinstance(item.spec.kind, value_types.Delimiter) and item.spec.kind.tokens


def _lacking_characters(written: list[_Value], values: list[_Value]) -> Iterator[Diagnostic]:
    charset = next((v for v in values if isinstance(v.spec.kind, value_types.Charset) and v.spec.kind.messages), None)
    if charset is None or charset.value == value_types.NATIVE:
        return
    encode = encoder(charset.value).encode
    lacking = [item for item in written if encode(item.value)[1]]
    for item in lacking:
        if item.entry is not None:
            message = f"`{charset.value}` has no bytes for `{item.entry.key}`"
            help = f"choose another text, or another `{charset.spec.name}`"
            yield Diagnostic("GG118", message, item.entry.value_span, help)
    defaults = [item.spec.name for item in lacking if item.entry is None]
    if defaults and charset.entry is not None:
        message = f"`{charset.value}` has no bytes for the default of {listing(defaults)}"
        yield Diagnostic("GG118", message, charset.entry.value_span, f"choose another `{charset.spec.name}`")


# The releases of GoldenGate that have the properties of a handler, and properties that ggfmt does not apply.

# The code of a property that ggfmt does not apply.
UNCOVERED = "GG127"

_METADATA = "metaColumnsTemplate"

# The code of a release whose metadata are not known.
UNKNOWN_METADATA = "GG138"


@dataclass(frozen=True)
class _OptionUse:
    entry: Entry
    since: str
    until: str | None
    format: str = ""
    replaced_by: str = ""

    def __str__(self) -> str:
        return f"`{self.format}` is a format" if self.format else f"`{self.entry.key}` is a property"


def check_releases(assemblies: Sequence[HandlerBuilder], release: str | None, is_given: bool) -> Iterator[Diagnostic]:
    """Yield GG111 for the first property of a handler that does not fit a given release, GG127 for unapplied ones.

    `release` is None if its value is illegal. `is_given`: the configuration names it, so that later properties have no
    effect.
    """
    uses = [_uses(assembly) for assembly in assemblies]
    common = _fitting([use for of_one in uses for use in of_one])
    for assembly, of_one in zip(assemblies, uses, strict=True):
        yield from _check(assembly, of_one, common, release, is_given)


def _check(
    assembly: HandlerBuilder, uses: Sequence[_OptionUse], common: Sequence[str], release: str | None, is_given: bool
) -> Iterator[Diagnostic]:
    if release is not None and is_given:
        misfit = next((use for use in uses if not is_available(release, use.since, use.until)), None)
        if misfit is not None:
            yield _misfit(misfit, uses, common, assembly.name, release)
    if release is not None:
        yield from _metadata(assembly, release, is_given)
        yield from _disputed(assembly, release)
        yield from _long_delimiter(assembly, release)
    for entry, known in assembly.uncovered.values():
        if _is_on(entry) and (release is None or not is_given or is_available(release, known.since, None)):
            since = "" if known.since == UNKNOWN else f" {known.since}"
            message = f"`{entry.key}` is fine in {GOLDENGATE}{since}, but ggfmt does not do it"
            help = "what ggfmt would write differs from GoldenGate's messages; `ggfmt.uncovered=ignore` allows it"
            yield Diagnostic(UNCOVERED, message, entry.key_span, help)


def _metadata(assembly: HandlerBuilder, release: str, is_given: bool) -> Iterator[Diagnostic]:
    given = "format.metaColumnsTemplate" in assembly.illegal
    misspelt = any(did_you_mean(entry.key.rpartition(".")[2], (_METADATA,)) for entry in assembly.entries)
    if given or misspelt or getattr(assembly.options, "meta_columns_template", ()) is not None:
        return
    place = next((entry.key_span for entry in assembly.entries), Span())
    own = assembly.format_of_type is not None
    key = f"gg.handler.{assembly.name}.{'' if own else 'format.'}metaColumnsTemplate"
    if RELEASES[release].metadata is Metadata.UNKNOWN and not own:
        message = f"what metadata {GOLDENGATE} {release} writes without `{key}` is not known"
        help = "set it; or set `ggfmt.compatibility` to 21 for no metadata, or to 12.3.2 for earlier metadata"
        yield Diagnostic(UNKNOWN_METADATA, message, place, help)
    elif RELEASES[release].metadata is Metadata.TEMPLATE:
        message = f"messages of handler `{assembly.name}` have no metadata, not even the operation type"
        yield Diagnostic("GG139", message, place, f"set `{key}` if readers need them")


def _uses(assembly: HandlerBuilder) -> list[_OptionUse]:
    uses = [_OptionUse(entry, known.since, None) for entry, known in assembly.uncovered.values() if _is_on(entry)]
    # What a handler does besides its format is the same in the messages of all releases.
    for spec in assembly.options.specs() if assembly.options is not None else ():
        name, value = f"format.{spec.name}", getattr(assembly.options, spec.attr)
        entry = assembly.given.get(name)
        if entry is None or name in assembly.illegal or not spec.since:
            continue
        # A release without the property behaves as if it had its default, or were switched off. A release that has it
        # may behave in another way if it is switched off.
        as_ever = value == spec.default or (value is False and spec.default is not True)
        since, until = FIRST_RELEASE if as_ever else spec.since, None if value is False else spec.until
        uses.append(_OptionUse(entry, since, until, replaced_by=spec.replaced_by))
    chosen = assembly.given.get("format")
    if chosen is not None and assembly.format is not None and assembly.format.since != FIRST_RELEASE:
        uses.append(_OptionUse(chosen, assembly.format.since, None, assembly.format.name))
    places = {id(entry): index for index, entry in enumerate(assembly.entries)}
    return sorted(uses, key=lambda use: places[id(use.entry)])


def _is_on(entry: Entry) -> bool:
    return trim(entry.value).lower() not in ("", "false")


def _fitting(uses: Sequence[_OptionUse]) -> list[str]:
    return [name for name in RELEASES if all(is_available(name, use.since, use.until) for use in uses)]


def _misfit(
    misfit: _OptionUse, uses: Sequence[_OptionUse], common: Sequence[str], handler: str, release: str
) -> Diagnostic:
    """Return GG111. `common`: the releases that fit all handlers."""
    is_new = is_later(misfit.since, release)
    reach = f"from {GOLDENGATE} {misfit.since} on" if is_new else f"of {GOLDENGATE} up to {misfit.until}"
    reach += f"; `{misfit.replaced_by}` replaces it" if misfit.replaced_by and not is_new else ""
    fitting = _fitting(uses)
    if fitting and not common:
        help = f"all properties of `{handler}` fit {listing(fitting, '')}, but no release fits all handlers"
    elif fitting:
        which = f"`ggfmt.compatibility={common[0]}`" if len(common) == 1 else "`ggfmt.compatibility` to one of them"
        whose = f"of `{handler}`" if fitting == common else "of all handlers"
        help = f"all properties {whose} fit {listing(common, '')}: set {which}"
    else:
        newest = reduce(lambda one, other: other if is_later(other.since, one.since) else one, uses)
        oldest = next(use for use in uses if use.until is not None and is_later(newest.since, use.until))
        help = f"no release has them all: `{newest.entry.key}` came with {newest.since}, and"
        help += f" `{oldest.entry.key}` ended with {oldest.until}"
    return Diagnostic("GG111", f"{misfit} {reach}", misfit.entry.key_span, help)


def _disputed(assembly: HandlerBuilder, release: str) -> Iterator[Diagnostic]:
    for spec in assembly.options.specs() if assembly.options is not None else ():
        entry = assembly.given.get(f"format.{spec.name}")
        if entry is None or release not in spec.disputed or not trim(entry.value):
            continue
        message = f"what `{entry.key}` does in {GOLDENGATE} {RELEASES[release].manual} is not known: the manual "
        message += "contradicts itself"
        help = "set `ggfmt.compatibility` to a later release, or `ggfmt.uncovered=ignore` to take the name by its word"
        yield Diagnostic(UNCOVERED, message, entry.key_span, help)


# Releases that stop at a field delimiter of several characters.
_SHORT_DELIMITERS = ("12.3", "12.3.2")


def _long_delimiter(assembly: HandlerBuilder, release: str) -> Iterator[Diagnostic]:
    entry = assembly.given.get("format.fieldDelimiter")
    text = getattr(assembly.options, "field_delimiter", "")
    if "format.fieldDelimiter" in assembly.illegal or release not in _SHORT_DELIMITERS:
        return
    if entry is not None and len(text) > 1:
        message = f"`{entry.key}` has {len(text)} characters, and {GOLDENGATE} {RELEASES[release].manual} stops at it"
        yield Diagnostic("GG141", message, entry.value_span, "give one character")
