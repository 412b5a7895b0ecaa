"""The options of handlers and of ggfmt itself, and a handler that is to run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import ClassVar

from ggfmt.config.properties import Entry
from ggfmt.dataclasses import dataclass, field
from ggfmt.diagnostics.diagnostic import Diagnostic, Span
from ggfmt.formats.goldengate.options import CODECS
from ggfmt.java.text import trim
from ggfmt.options.releases import DEFAULT_RELEASE, RELEASES
from ggfmt.options.spec import Options, choice, option, switch
from ggfmt.options.templates import (
    FileNameTemplate,
    GroupName,
    HexBytes,
    MessageTemplate,
    NameTemplate,
    PathTemplate,
    UnknownValue,
)
from ggfmt.options.value_types import Choice, Keys, NamePart, Pairs, Path, ReleaseChoice, SchemaDirectory, Size, Text

# The event handlers of GoldenGate's File Writer, and what ggfmt does instead of each.
#
# A File Writer names an event handler, which may name a further one. Each gets the file of the one before it when the
# file is full: `parquet` and `orc` convert it, stores copy it, and others load it into a database (GoldenGate for Big
# Data 12.3.2.1, 5.2 to 5.7, and the pages of later releases).


class Work(str, Enum):
    CONVERT = "converts the file"
    COPY = "writes the file to the path of its templates, below the output directory or in the store"
    NONE = "does nothing: ggfmt keeps the files"


BUCKETS = ("bucketMappingTemplate", "containerMappingTemplate")  # the same template, of old and new stores


@dataclass(frozen=True)
class EventHandlerConfig:
    """An event handler of a chain that is to run.

    path     template of the directory of its files; None: that of the files before it
    file     template of their names; None: the name that the file has already
    deletes  whether its files are removed once those after it are written
    bucket   template of the bucket or container of a store
    account  of the store, where a bucket alone does not identify it
    region   of the store
    entries  the entry of every given property, by the name in the manual; not compared by `==`
    """

    name: str
    type: str
    work: Work
    options: Options | None = None
    path: NameTemplate | None = None
    file: NameTemplate | None = None
    deletes: bool = False
    bucket: NameTemplate | None = None
    account: str | None = None
    region: str | None = None
    entries: Mapping[str, Entry] = field(default_factory=dict, compare=False, repr=False)

    @property
    def bucket_property(self) -> str:
        return next((name for name in BUCKETS if name in self.entries), BUCKETS[0])


DEFAULT_FORMAT = "delimitedtext"

MOVE, RENAME, DELETE = "move", "rename", "delete"  # in `finalizeAction`

WRITE, LEAVE_OUT, REJECT = "write", "leave-out", "reject"  # what happens to truncates
REFUSE, IGNORE = "refuse", "ignore"  # what happens to properties that ggfmt does not apply


@dataclass(frozen=True)
class HandlerOptions(Options):
    type: str = option(
        Text(),
        "",
        "Set the type of the handler, as in GoldenGate. ggfmt writes files for every type that has a format.",
        example="hdfs",
    )
    mode: str = choice(
        "Choose the unit of delivery. The files are the same in both modes. The default depends on the type.",
        ("tx", "deliver a transaction as a whole"),
        ("op", "deliver every operation on its own"),
    )
    include_tokens: bool = switch("Write the tokens of an operation into its message.")
    root_file_path: str | None = option(Path(), None, "Write the output to this directory, unless `-o` names another.")
    file_suffix: str = option(NamePart(), ".txt", "Add this suffix to the name of every output file.")
    partition_by_table: bool = switch(
        "Write each table to separate files. If `false`, write all to the same files, in the order of the input.", True
    )
    max_file_size: int = option(Size(), 1 << 30, "Start a new file before one grows beyond this size.")
    schema_file_path: str | None = option(
        SchemaDirectory(),
        None,
        "Write schemas to this directory too; a relative one is below the output.",
        example="./schemas",
    )
    roll_on_metadata_change: bool = switch("Start a new file when the definition of a table changes.", True)
    path_mapping_template: NameTemplate | None = option(
        PathTemplate(),
        None,
        "Write files to the directory of this template, below the handler's directory in the output.",
        since="12.3.2",
        example="dirout/${fullyQualifiedTableName}",
    )
    file_name_mapping_template: NameTemplate | None = option(
        FileNameTemplate(),
        None,
        "Name files by this template. ggfmt adds the number of the file before the last suffix.",
        since="12.3",
        example="${fullyQualifiedTableName}_${currentTimestamp}.json",
    )
    bom: str = option(HexBytes(), "", "Start each file of text with these bytes.", since="12.3.2", example="efbbbf")
    event_handler: str | None = option(
        Text(), None, "Give each file to this event handler when it is full.", since="12.3.2", example="parquet"
    )
    finalize_action: str = choice(
        "Choose what to do with each file after its event handlers.",
        ("none", "keep it"),
        (DELETE, "remove it"),
        (MOVE, "move it to `movePathMappingTemplate`"),
        (RENAME, "name it by `fileRenameMappingTemplate`"),
        (f"{MOVE}-{RENAME}", "do both"),
        since="12.3.2",
    )
    file_rename_mapping_template: NameTemplate | None = option(
        FileNameTemplate(),
        None,
        "Rename files by this template, with `finalizeAction=rename` or `move-rename`.",
        since="12.3.2",
        example="${fullyQualifiedTableName}_${operationCount}.avro",
    )
    move_path_mapping_template: NameTemplate | None = option(
        PathTemplate(),
        None,
        "Move files to this directory, with `finalizeAction=move` or `move-rename`.",
        since="12.3.2",
        example="done/${fullyQualifiedTableName}",
    )
    compression_codec: str = choice(
        "Compress the blocks of Avro object container files with this codec.", *CODECS.items(), aliases=("avroCodec",)
    )
    partitioner: Keys = ()  # from the properties `partitioner.<TABLE>`, which have no fixed name


@dataclass(frozen=True)
class KafkaOptions(Options):
    """The properties of `KAFKA_TYPES` that a run to Kafka applies, as texts; in a run to files they have no effect."""

    topic_mapping_template: str | None = option(
        MessageTemplate(),
        None,
        "In Kafka, send messages to the topic of this template.",
        since="12.3",
        example="${fullyQualifiedTableName}",
    )
    key_mapping_template: str | None = option(
        MessageTemplate(),
        None,
        "In Kafka, give messages the key of this template; with `${null}` they have none.",
        since="12.3",
        example="${primaryKeys}",
    )
    meta_headers_template: str | None = option(
        Text(),
        None,
        "In Kafka, give messages these headers: a list of `${keyword[name]}`, as in `metaColumnsTemplate`.",
        since="19.1",
        example="${optype[op_type]},${position[pos]}",
    )
    schema_topic_name: str | None = option(
        Text(), None, "In Kafka, send the schemas of tables to this topic too.", example="schemas"
    )
    kafka_producer_config_file: str | None = option(
        Text(), None, "In Kafka, use the settings of this producer file.", example="producer.properties"
    )


# Options that GoldenGate has for the File Writer alone.
OF_FILE_WRITER = ("bom", "eventHandler", "finalizeAction", "fileRenameMappingTemplate", "movePathMappingTemplate")


@dataclass(frozen=True)
class RunOptions(Options):
    """The properties of ggfmt itself, `ggfmt.<name>`: GoldenGate ignores them."""

    of_goldengate: ClassVar[bool] = False

    compatibility: str = option(
        ReleaseChoice({name: release.doc for name, release in RELEASES.items()}),
        DEFAULT_RELEASE,
        "Write messages like this release of GoldenGate for Big Data. Without it, ggfmt uses the first "
        "release that has all properties of the file.",
    )
    truncates: str = choice(
        "Choose how to write truncates. Many readers of messages stop at a truncate.",
        (WRITE, "write messages in the format; if the format has no truncates, reject them"),
        (LEAVE_OUT, "leave them out, and count them"),
        (REJECT, "reject them"),
    )
    uncovered: str = choice(
        "Choose what to do if a GoldenGate property that ggfmt does not support would change messages.",
        (REFUSE, "write no messages"),
        (IGNORE, "write messages as if the property were absent"),
    )
    target_format: str | None = option(
        Text(),
        None,
        "With `gg.target`: write the files of the staging area in this format, or as `parquet` or `orc`.",
        example="avro_row_ocf",
        name="target.format",
    )
    target_template: str | None = option(
        Text(),
        None,
        "With `gg.target`: write this metadata, as `metaColumnsTemplate` does; an empty value writes no metadata.",
        example="${optype[op_type]},${position[pos]}",
        name="target.template",
    )
    group_name: str | None = option(Text(), None, "Use this name of the Replicat group in templates.", example="rep1")
    update_op_type: str | None = option(
        Choice({"UPDATE": "the word of a full update", "SQL COMPUPDATE": "the word of a compressed update"}),
        None,
        "With `--replicat`: use this OPTYPE for updates, as the trail has it. Updates of the key have PK UPDATE.",
        example="SQL COMPUPDATE",
    )
    variables: tuple[tuple[str, str], ...] = option(
        Pairs(),
        (),
        "Use these variables in templates: of GoldenGate, of the operating system, of the JVM.",
        example="OGG_HOME=/ogg,SITE=A",
    )


@dataclass(frozen=True)
class HandlerConfig:
    """A handler that is to run: its format (an id of FORMATS), the format's options, its own options.

    `timestamp_mask`: `gg.format.timestamp`, or empty. `events`: the chain of its event handlers, in order. `entries`:
    the entry of every given property, by its name below the handler (`format.prettyPrint`); not compared by `==`.
    `kafka`: None for a handler of another type.
    """

    name: str
    format: str
    options: Options
    handler: HandlerOptions
    entries: Mapping[str, Entry] = field(default_factory=dict, compare=False, repr=False)
    timestamp_mask: str = ""
    events: tuple[EventHandlerConfig, ...] = ()
    kafka: KafkaOptions | None = None

    @property
    def executed_handlers(self) -> tuple[EventHandlerConfig, ...]:
        return tuple(event for event in self.events if event.work is not Work.NONE)

    def place(self, property: str) -> Span:
        """Return the place of a property, by its name below the handler or its whole key; empty for a default."""
        of_events = (
            entry
            for event in self.events
            for name, entry in event.entries.items()
            if property == f"gg.eventhandler.{event.name}.{name}"
        )
        entry = self.entries.get(property) or next(of_events, None)
        return Span() if entry is None else entry.value_span


# Names of files: layouts that ggfmt refuses, and layouts that it writes in another way than GoldenGate.

PATH, FILE = "pathMappingTemplate", "fileNameMappingTemplate"


@dataclass(frozen=True)
class LayoutProblem:
    property: str
    message: str
    help: str


def templates(handler: HandlerOptions) -> Iterator[tuple[str, NameTemplate]]:
    for property, template in ((PATH, handler.path_mapping_template), (FILE, handler.file_name_mapping_template)):
        if template is not None:
            yield property, template


def not_done(config: HandlerConfig, group: str | None) -> Iterator[LayoutProblem]:
    """Yield layouts that GoldenGate may have and ggfmt does not: a run refuses them. `group`: `ggfmt.groupName`."""
    handler = config.handler
    help = "use the name of the table, the time, or a text of your own"
    for property, template in (*templates(handler), *_later_templates(config)):
        pieces = list(template.all())
        for unknown in pieces:
            if isinstance(unknown, UnknownValue):
                yield LayoutProblem(property, f"`${{{unknown.keyword}}}` {unknown.reason}", help)
        if not group and any(isinstance(piece, GroupName) for piece in pieces):
            yield LayoutProblem(property, "`${groupName}` has no value", "set `ggfmt.groupName`")
    yield from _divided(handler)


def _divided(handler: HandlerOptions) -> Iterator[LayoutProblem]:
    given = dict(templates(handler))
    if not handler.partition_by_table:
        help = "remove `partitionByTable=false`, or choose names that are the same for all tables"
        for property, template in given.items():
            if template.names_table or template.column_values:
                message = "names that tables differ in, where all tables share their files by `partitionByTable`"
                yield LayoutProblem(property, message, help)
        for table, _ in handler.partitioner:
            yield LayoutProblem(f"partitioner.{table}", "with `partitionByTable=false` nothing divides a table", help)
        return
    used = [(property, value) for property, template in given.items() for value in template.column_values]
    if used and not handler.partitioner:
        message = "`${columnValue[]}` is of one operation, unless `partitioner` divides the rows of the table"
        help = f"add `partitioner.<TABLE>={used[0][1].column or 'COLUMN'}`"
        yield LayoutProblem(used[0][0], message, help)
        return
    for table, columns in handler.partitioner:
        named = {(column or "").upper() for _, value in used if (column := value.column_of(table))}
        for column in columns:
            if column.upper() not in named:
                message = f"no template has the value of `{column}`: how GoldenGate names such files is not known"
                help = f"write `${{columnValue[{column}]}}` into `{PATH}` or `{FILE}`"
                yield LayoutProblem(f"partitioner.{table}", message, help)


def _later_templates(config: HandlerConfig) -> Iterator[tuple[str, NameTemplate]]:
    renamed, moved = config.handler.file_rename_mapping_template, config.handler.move_path_mapping_template
    if renamed is not None and RENAME in config.handler.finalize_action:
        yield "fileRenameMappingTemplate", renamed
    if moved is not None and MOVE in config.handler.finalize_action:
        yield "movePathMappingTemplate", moved
    for event in config.executed_handlers:
        given = (("pathMappingTemplate", event.path), ("fileNameMappingTemplate", event.file))
        for property, template in (*given, (event.bucket_property, event.bucket)):
            if template is not None:
                yield f"gg.eventhandler.{event.name}.{property}", template


def shared_names(handler: HandlerOptions) -> LayoutProblem | None:
    """Return the problem of names that are the same for every table, if tables have files of their own."""
    given = dict(templates(handler))
    are_complete = given.keys() >= {PATH, FILE}
    if not are_complete or not handler.partition_by_table or any(item.names_table for item in given.values()):
        return None
    help = "add `${fullyQualifiedTableName}`, unless there is one table only"
    return LayoutProblem(FILE, "gives the files of all tables one name", help)


def absolute_paths(handler: HandlerOptions) -> Iterator[LayoutProblem]:
    """Yield problems of absolute paths: they belong to the machine that GoldenGate runs on."""
    help = "write a path without a `/` in front, if the file is for ggfmt alone"
    message = "is an absolute path: ggfmt uses it as a path below the output directory"
    template = handler.path_mapping_template
    if template is not None and template.is_absolute:
        yield LayoutProblem(PATH, message, help)


# The keys `gg.handler.<name>.partitioner.<TABLE>`: ggfmt partitions the rows of the table by these columns into files.

_PREFIX = "partitioner."


def is_partitioner(property: str) -> bool:
    return property.lower().startswith(_PREFIX) and len(property) > len(_PREFIX)


def partitioner_property(property: str) -> str:
    """Return the property with its first word in lower case; the name of a table keeps its case."""
    return _PREFIX + property[len(_PREFIX) :]


def read_partitioner(given: Mapping[str, Entry], illegal: set[str], findings: list[Diagnostic]) -> Keys:
    """Return the columns by table. Report GG103 for other values, and add their properties to `illegal`."""
    found = []
    for property, entry in given.items():
        if not is_partitioner(property):
            continue
        columns = tuple(map(trim, entry.value.split(",")))
        if all(columns) and len(set(columns)) == len(columns):
            found.append((property[len(_PREFIX) :], columns))
        else:
            illegal.add(property)
            help = "give columns of the table, divided by commas"
            findings.append(Diagnostic("GG103", f"`{entry.key}` does not list columns", entry.value_span, help))
    return tuple(found)
