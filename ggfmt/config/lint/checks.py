"""Checks of a handler whose values are all legal, and of the releases that its properties need.

The checks depend on the kinds of options, so they apply to every format, and to a new option as soon as it is declared.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, product
from typing import Any

from ggfmt.config.comments import check_quotes, has_comment, lost_blanks, misread_wrapper, odd_delimiter
from ggfmt.config.handler_options import absolute_paths, shared_names
from ggfmt.config.lint.assembly import HandlerBuilder
from ggfmt.config.lint.names import check_marks
from ggfmt.config.lint.type_checks import check_file_writer, check_message_templates, check_op_keys, check_required
from ggfmt.config.properties import Entry
from ggfmt.config.property_table import FILE_TYPES
from ggfmt.config.refusals import SCHEME
from ggfmt.diagnostics.diagnostic import Diagnostic, Span, did_you_mean, listing
from ggfmt.formats.api.format import Format
from ggfmt.formats.goldengate.options import DELETE_INSERT, PK_UPDATE_HANDLING
from ggfmt.java.charsets import encoder
from ggfmt.java.text import trim, visible
from ggfmt.options import value_types
from ggfmt.options.releases import FIRST_RELEASE, RELEASES, Metadata, is_available, is_later
from ggfmt.options.spec import Options, OptionSpec

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
        if type(kind) in (value_types.Text, value_types.MemberName, value_types.OpKey):
            yield from check_quotes(item.entry)
        yield from check_marks(item.entry, kind)
        odd = odd_delimiter(item.entry, kind, item.value, escapes)
        for problem in (lost_blanks(item.entry, kind, item.spec.default), odd):
            if problem is not None:
                yield problem


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

GOLDENGATE = "GoldenGate for Big Data"

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
            message = f"`{entry.key}` is fine in {GOLDENGATE} {known.since}, but ggfmt does not do it"
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
        uses.append(_OptionUse(entry, FIRST_RELEASE if as_ever else spec.since, None if value is False else spec.until))
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
