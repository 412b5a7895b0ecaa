"""New handler files: every property with its description, its legal values and its default."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ggfmt.config.handler_options import OF_FILE_WRITER, HandlerOptions, KafkaOptions, RunOptions
from ggfmt.config.property_table import FORMAT, HANDLER_TYPES, KAFKA_TYPES
from ggfmt.formats import FORMATS
from ggfmt.formats.api.format import Format
from ggfmt.options.reference import sentence
from ggfmt.options.spec import OptionSpec
from ggfmt.options.value_types import Bool, Choice, Path, Text

_WIDTH = 118

# Settings of every new handler file, without `gg.handler.<name>.`.
_PROPOSED = ("type=hdfs", "mode=op", "rootFilePath=./out", "includeTokens=true")

_PROCESS = """\
# The process around the handler: GoldenGate needs these keys, ggfmt does nothing with them

goldengate.userexit.timestamp=utc
goldengate.userexit.writers=javawriter
javawriter.stats.display=TRUE
javawriter.stats.full=TRUE
javawriter.bootoptions=-Xmx512m -Xms32m -Djava.class.path=ggjava/ggjava.jar
gg.log=log4j
gg.log.level=INFO
gg.report.time=30sec
gg.classpath=/etc/hadoop/conf:/usr/lib/hadoop/*:/usr/lib/hadoop-hdfs/*:/usr/lib/hadoop/lib/*
"""


def handler_file(format: Format) -> str:
    """Return a handler file for a format that ggfmt writes, to be saved in UTF-8; every line ends with a line break."""
    name = handler_name(format)
    prefix = f"gg.handler.{name}."
    below = "" if format.handler_type else "format."
    proposed = dict(line.split("=", 1) for line in (*_PROPOSED, *_proposed(format)))
    chosen = replace(FORMAT, doc=f"{format.doc} `ggfmt formats` lists the others.", kind=Text())
    if not below:
        default = next(other for other in FORMATS.values() if other.handler_type == format.handler_type).name
        chosen = replace(chosen, doc="The format that ggfmt writes. GoldenGate ignores this line.", default=default)
    of_format = {f"{below}{spec.name}": spec for spec in format.options.specs()}
    if "format" in proposed:
        of_format = {"format": chosen, **of_format}
    handler, own = ({spec.name: spec for spec in options.specs()} for options in (HandlerOptions, RunOptions))
    type = HANDLER_TYPES.get(format.handler_type) if format.handler_type in KAFKA_TYPES else None
    kafka = {spec.name: spec for spec in KafkaOptions.specs() if type is not None and type.find(spec.name)}
    parts = [
        _opening(format, name),
        f"gg.handlerlist={name}\n",
        "# The handler\n",
        *_properties(prefix, handler, proposed, format.since),
        *(["# Messages in Kafka\n"] if kafka else ()),
        *_properties(prefix, kafka, proposed, format.since),
        "# The format\n",
        *_properties(prefix, of_format, proposed, format.since),
        "# ggfmt itself\n",
        *_properties("ggfmt.", own, {"compatibility": format.since}, format.since),
        _PROCESS,
    ]
    return "\n".join(parts)


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


def _proposed(format: Format) -> Iterator[str]:
    yield f"type={format.handler_type}" if format.handler_type else f"format={format.name}"
    for line in format.proposed:
        yield line.replace("format.", "", 1) if format.handler_type else line


def handler_name(format: Format) -> str:
    return format.name.removeprefix("delimited").removesuffix("_json").replace("_", "")


def _opening(format: Format, name: str) -> str:
    about = f"A handler of GoldenGate for Big Data that writes files below ./out/{name}. {format.doc}"
    if not format.options.of_goldengate:
        about += " GoldenGate itself does not have this format."
    reading = (
        "ggfmt reads the keys of the handlers in gg.handlerlist, and accepts the other keys of GoldenGate. "
        "A value loses the blanks around it, line ends among them; CDATA[...] keeps them."
    )
    return _comment(about) + _comment(reading)


def _properties(
    prefix: str, specs: Mapping[str, OptionSpec], proposed: Mapping[str, str], release: str
) -> Iterator[str]:
    """Yield a comment and a line for each property; the line is a comment too if a new file should not set it."""
    for name, spec in specs.items():
        value = proposed.get(name, spec.default_text)
        if value.startswith(("=", ":")):  # it would be part of the separator of key and value
            value = f"CDATA[{value}]"
        is_written = value and release not in spec.disputed and name not in OF_FILE_WRITER
        line = f"{prefix}{name}={value}" if is_written else f"#{prefix}{name}={spec.example_text}"
        # The description of words contains them.
        is_plain = isinstance(spec.kind, Bool | Choice | Path) or spec.kind.legal == Text().legal
        legal = "" if is_plain else f" Legal: {spec.kind.legal}."
        default = "nothing" if spec.default == "" else spec.default_text or "none"
        yield _comment(f"{sentence(spec)}{legal}".replace("`", "")) + f"# Default: {default}\n{line}\n"


def _comment(text: str) -> str:
    lines = textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return "".join(f"# {line}\n" for line in lines)
