"""New handler files: every property with what it does, its legal values and its default."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from ggfmt.config.handler_options import DEFAULT_FORMAT, OF_FILE_WRITER, HandlerOptions, KafkaOptions, RunOptions, Work
from ggfmt.config.property_table import (
    EVENT_HANDLER_TYPES,
    FILE_TYPES,
    FILE_WRITER,
    FORMAT,
    FORMAT_OWNERS,
    HANDLER_TYPES,
    KAFKA_TYPES,
    TARGETS,
    EventHandlerType,
    Formats,
    HandlerType,
)
from ggfmt.diagnostics.diagnostic import list_names
from ggfmt.formats import FORMATS, formats_of_handlers
from ggfmt.formats.api.format import Format
from ggfmt.lazy import LazyMapping
from ggfmt.options.reference import sentence
from ggfmt.options.releases import FIRST_RELEASE, RELEASES, find_release, is_available, is_later, manual_name
from ggfmt.options.spec import Need, OptionSpec, argument_error
from ggfmt.options.value_types import Bool, Choice, Path, Text, Unknown

_WIDTH = 118

# Settings of every new handler file, without `gg.handler.<name>.`.
_PROPOSED = ("type=hdfs", "mode=op", "rootFilePath=./out", "includeTokens=true")

# Settings in a file for a type, if it has the property.
_USUAL = (
    "mode=op",
    "includeTokens=true",
    "rootFilePath=./out",
    "pathMappingTemplate=out/${fullyQualifiedTableName}",
    "kafkaProducerConfigFile=producer.properties",
    "topicName=orders",
)
_FIRST = ("type", "mode")
_FILE_NAME = "${fullyQualifiedTableName}_${currentTimestamp}"
_NEEDS = {Need.NONE: "", Need.USUAL: "Most files set it.", Need.REQUIRED: "Required."}
_WITH_TEMPLATE = "19.1"  # from this release on, messages need a template of metadata
_WITH_JVM_KEYS = "21"  # from this release on, keys of the process start with `jvm.`
_CLASSES = {
    "hdfs": "/etc/hadoop/conf:/usr/lib/hadoop/*:/usr/lib/hadoop-hdfs/*:/usr/lib/hadoop/lib/*",
    **dict.fromkeys(KAFKA_TYPES, "dirprm/:/opt/kafka/libs/*"),
    FILE_WRITER: "",
}


def handler_file(format: Format) -> str:
    """Return a handler file for a format that ggfmt writes, to be saved in UTF-8; every line ends with a line break."""
    name = handler_name(format)
    proposed = _by_name(*_PROPOSED, *_proposed(format))
    below = "" if format.handler_type else "format."
    of_format = [replace(spec, name=f"{below}{spec.name}") for spec in format.options.specs()]
    if "format" in proposed:
        of_format.insert(0, _choice_of(format))
    type = HANDLER_TYPES.get(format.handler_type) if format.handler_type in KAFKA_TYPES else None
    kafka = [spec for spec in KafkaOptions.specs() if type is not None and type.find(spec.name)]
    written = (spec for spec in (*HandlerOptions.specs(), *kafka, *of_format) if format.since not in spec.disputed)
    values = {spec.name: spec.default_text for spec in written} | proposed | dict.fromkeys(OF_FILE_WRITER, "")
    known = HANDLER_TYPES[proposed["type"]]
    specs = [spec for name in values if (spec := known.find(name)) is not None]
    lacking = {spec.name for spec in specs if not _is_there(format.since, spec.since, spec.until)}
    if "fileSuffix" in lacking:
        values["fileNameMappingTemplate"] = f"{_FILE_NAME}{values['fileSuffix']}"
    if "rootFilePath" in lacking:
        values["pathMappingTemplate"] = "${fullyQualifiedTableName}"
    values |= dict.fromkeys(lacking, "")
    about = f"A handler of GoldenGate for Big Data that writes files below ./out/{name}. {format.doc}"
    if not format.options.of_goldengate:
        about += " GoldenGate itself does not have this format."
    prefix = f"gg.handler.{name}."
    sections = (
        _section("The handler", prefix, HandlerOptions.specs(), values),
        _section("Messages in Kafka", prefix, kafka, values),
        _section("The format", prefix, of_format, values),
    )
    return _file(about, name, sections, format.since, _process(FIRST_RELEASE, _CLASSES["hdfs"]))


# Those of `type_file`.
NEW_TYPES: LazyMapping[HandlerType | EventHandlerType] = LazyMapping(
    (*EVENT_HANDLER_TYPES, *HANDLER_TYPES), lambda name: HANDLER_TYPES.get(name) or EVENT_HANDLER_TYPES[name]
)


def type_file(name: str, release: str | None = None, format: Format | None = None) -> str:
    """Return a handler file for a type of handlers, or for a File Writer with event handlers up to one of a type.

    It sets what is needed, and has all else as comments. `release`: that of GoldenGate; None: the newest that has the
    type. `format`: None for a usual one. Raises: UsageError with GG565 for a release without the type or the format.
    """
    wanted = NEW_TYPES[name]
    release = release or wanted.until or next(reversed(RELEASES))
    known = find_release(release)
    if known is None:
        help = f"releases are {list_names(RELEASES)}"
        raise argument_error(f"`{release}` is not a known release of GoldenGate", help)
    if isinstance(wanted, HandlerType):
        handler, chain = wanted, []
    else:
        handler, chain = HANDLER_TYPES[FILE_WRITER], list(_chain(wanted))
    if format is None and handler.formats in (Formats.DEFAULT, Formats.GIVEN):
        format = FORMATS[_usual_format(handler, chain)]
    for part, since, until in (
        *((each.name, each.since, each.until) for each in (handler, *chain)),
        *([(format.name, format.since, None)] if format is not None else ()),
    ):
        if not _is_there(release, since, until):
            help = f"it is there {f'up to {manual_name(until)}' if until else f'from {manual_name(since)} on'}"
            raise argument_error(f"release `{release}` does not have `{part}`", help)

    def section(title: str, prefix: str, specs: Iterable[OptionSpec], values: Mapping[str, str]) -> str:
        there = [spec for spec in specs if spec.doc and _is_there(release, spec.since, spec.until)]
        needed = {spec.name: spec.example or "..." for spec in there if spec.need is not Need.NONE}
        return _section(title, prefix, there, {**needed, **values})

    values = _by_name(*_USUAL, *(_proposed(format) if format is not None else ()), f"type={handler.name}")
    values["fileNameMappingTemplate"] = f"{_FILE_NAME}{values.pop('fileSuffix', '.txt')}"
    metadata = {} if is_later(_WITH_TEMPLATE, release) else {"metaColumnsTemplate": _METADATA}
    if handler.formats is Formats.OWN:
        values |= metadata
    if chain:
        values["eventHandler"] = chain[0].name
    of_handler = [spec for spec in handler.properties if spec.name != "format" or format is None]
    of_handler.sort(key=lambda spec: _FIRST.index(spec.name) if spec.name in _FIRST else len(_FIRST))
    prefix = f"gg.handler.{handler.name}."
    sections = [section("The handler", prefix, of_handler, values)]
    if format is not None:
        of_format = {name.removeprefix("format."): value for name, value in values.items()} | metadata
        sections.append(section("The format", prefix, [_choice_of(format)], values))
        if not format.handler_type:
            sections.append(section("", f"{prefix}format.", FORMAT_OWNERS[format.name].own, of_format))
    for event, following in zip_longest(chain, chain[1:]):
        of_event = {"type": event.name, "pathMappingTemplate": "${fullyQualifiedTableName}"}
        if event.work is Work.CONVERT:
            of_event["fileNameMappingTemplate"] = f"{_FILE_NAME}.{event.name}"
        if following is not None:
            of_event["eventHandler"] = following.name
        specs = (*event.common, *event.own) if event.work is not Work.NONE else (event.common[0], *event.own)
        sections.append(section(f"The event handler {event.name}", f"gg.eventhandler.{event.name}.", specs, of_event))
    needed = (each.name for each in (handler, *chain))
    classes = (_CLASSES.get(name, f"/opt/{name}/lib/*") for name in needed)
    about = f"Handlers of GoldenGate for Big Data {manual_name(known)}. {wanted.doc}"
    return _file(about, handler.name, sections, known, _process(release, ":".join(filter(None, classes))))


def _chain(last: EventHandlerType) -> Iterator[EventHandlerType]:
    """Yield an event handler and those that its target has before it, as far as they are known."""
    chain = TARGETS[last.name].chain if last.name in TARGETS else (last.name,)
    for part in chain:
        yield EVENT_HANDLER_TYPES[re.split("[, ]", part)[0]]  # the first of several stages


def _usual_format(handler: HandlerType, chain: Sequence[EventHandlerType]) -> str:
    if any(event.work is Work.CONVERT or (event.work is Work.NONE and event.name in TARGETS) for event in chain):
        return _CONTAINER
    return "json" if handler.formats is Formats.DEFAULT and handler.name not in FILE_TYPES else DEFAULT_FORMAT


def _is_there(release: str, since: str, until: str | None) -> bool:
    """Return whether a release, which a user may name to the last digit, has what is there from `since` to `until`."""
    return not is_later(since, release) and is_available(find_release(release) or release, FIRST_RELEASE, until)


def handler_lines(format: Format, *settings: str) -> list[str]:
    """Return the handler of such a file without its output directory. `settings`: more lines, such as `bom=EFBBBF`."""
    prefix = f"gg.handler.{handler_name(format)}."
    lines = [f"{prefix}{line}" for line in ("includeTokens=true", *_proposed(format), *settings)]
    return [*lines, f"ggfmt.compatibility={format.since}"]


# Files that event handlers make of Avro object container files, by the type of the event handler.
CONVERTED = ("parquet", "orc")
_CONTAINER = "avro_row_ocf"
_METADATA = (
    "${objectname[table]},${optype[op_type]},${timestamp[op_ts]},${currenttimestampiso8601[current_ts]},"
    "${position[pos]},${primarykeycolumns[primary_keys]},${alltokens[tokens]}"
)


def converted_lines(type: str) -> list[str]:
    """Return a handler that writes operations as Parquet or ORC, one file after the other for each table."""
    prefix = f"gg.handler.{type}."
    return [
        f"{prefix}format={_CONTAINER}",
        f"{prefix}format.pkUpdateHandling=update",
        f"{prefix}format.metaColumnsTemplate={_METADATA}",
        f"{prefix}includeTokens=true",
        f"{prefix}finalizeAction=delete",
        f"{prefix}eventHandler={type}",
        f"gg.eventhandler.{type}.type={type}",
        f"gg.eventhandler.{type}.pathMappingTemplate=${{fullyQualifiedTableName}}",
        f"gg.eventhandler.{type}.fileNameMappingTemplate=${{fullyQualifiedTableName}}_${{currentTimestamp}}.{type}",
        "ggfmt.compatibility=21",
    ]


def _by_name(*lines: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in lines)


def _proposed(format: Format) -> Iterator[str]:
    yield f"type={format.handler_type}" if format.handler_type else f"format={format.name}"
    for line in format.proposed:
        yield line.replace("format.", "", 1) if format.handler_type else line


def handler_name(format: Format) -> str:
    return format.name.removeprefix("delimited").removesuffix("_json").replace("_", "")


def _choice_of(format: Format) -> OptionSpec:
    """Return the property `format`, with the default that it has for the type of the format's handlers."""
    if not format.handler_type:
        return replace(FORMAT, doc=f"{format.doc} `ggfmt formats` lists the others.", kind=Text())
    default = formats_of_handlers(format.handler_type)[0]
    doc = "The format that ggfmt writes. GoldenGate ignores this line."
    return replace(FORMAT, doc=doc, kind=Text(), default=default)


def _file(about: str, handlers: str, sections: Iterable[str], release: str, process: str) -> str:
    reading = (
        "ggfmt reads the keys of the handlers in gg.handlerlist, and accepts the other keys of GoldenGate. "
        "A value loses the blanks around it, line ends among them; CDATA[...] keeps them."
    )
    defaults = {spec.name: spec.default_text for spec in RunOptions.specs()}
    own = _section("ggfmt itself", "ggfmt.", RunOptions.specs(), {**defaults, "compatibility": release})
    opening = f"{_comment(about)}{_comment(reading)}\ngg.handlerlist={handlers}\n"
    return "\n".join(filter(None, (opening, *sections, own, process)))


def _process(release: str, classes: str) -> str:
    """Return the part of a file that is for GoldenGate's process. `classes`: the class path of the handlers."""
    side, options = "jvm", ""
    if is_later(_WITH_JVM_KEYS, release):
        side, options = "javawriter", " -Djava.class.path=ggjava/ggjava.jar"
    lines = (
        "# The process around the handler: GoldenGate needs these keys, ggfmt does nothing with them\n",
        "goldengate.userexit.timestamp=utc",
        f"goldengate.userexit.writers={side}",
        f"{side}.stats.display=TRUE",
        f"{side}.stats.full=TRUE",
        f"{side}.bootoptions=-Xmx512m -Xms32m{options}",
        "gg.log=log4j",
        "gg.log.level=INFO",
        "gg.report.time=30sec",
        *([f"gg.classpath={classes}"] if classes else ()),
    )
    return "".join(f"{line}\n" for line in lines)


def _section(title: str, prefix: str, specs: Iterable[OptionSpec], values: Mapping[str, str]) -> str:
    """Return a comment and a line for each property; the line is a comment too if `values` has no value for it."""
    parts = [f"# {title}\n"] if title else []
    for spec in specs:
        value = values.get(spec.name)
        line = f"#{prefix}{spec.name}={spec.example_text}"
        if value:
            # A separator of key and value at the start would be part of the separator before it.
            line = f"{prefix}{spec.name}=" + (f"CDATA[{value}]" if value.startswith(("=", ":")) else value)
        has_words = isinstance(spec.kind, Choice) and any(spec.kind.words.values())  # the sentence contains them
        is_plain = has_words or isinstance(spec.kind, Bool | Path | Unknown) or spec.kind.legal == Text().legal
        legal = "" if is_plain else f" Legal: {spec.kind.legal}."
        unconfirmed = " No manual at hand confirms it." if spec.doubtful else ""
        default = "nothing" if spec.default == "" else spec.default_text or "none"
        facts = f"Default: {default}" if spec.default is not None or not spec.source else ""
        facts = "\n# ".join(filter(None, (_NEEDS[spec.need], facts)))
        about = _comment(f"{sentence(spec)}{legal}{unconfirmed}".replace("`", ""))
        parts.append("".join((about, f"# {facts}\n" if facts else "", line, "\n")))
    return "\n".join(parts) if len(parts) > bool(title) else ""


def _comment(text: str) -> str:
    lines = textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return "".join(f"# {line}\n" for line in lines)
