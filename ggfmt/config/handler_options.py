"""The options of handlers and of ggfmt itself, and a handler that is to run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from ggfmt.config.properties import Entry
from ggfmt.diagnostics.diagnostic import Span
from ggfmt.formats.goldengate.options import CODECS
from ggfmt.options.releases import DEFAULT_RELEASE, RELEASES
from ggfmt.options.spec import Options, option
from ggfmt.options.templates import FileNameTemplate, HexBytes, NameTemplate, PathTemplate
from ggfmt.options.value_types import (
    Bool,
    Choice,
    Keys,
    NamePart,
    Pairs,
    Path,
    ReleaseChoice,
    SchemaDirectory,
    Size,
    Text,
)

DEFAULT_FORMAT = "delimitedtext"

WRITE, LEAVE_OUT, REJECT = "write", "leave-out", "reject"  # what becomes of truncates
REFUSE, IGNORE = "refuse", "ignore"  # what becomes of properties that ggfmt does not do
_MODES = {"tx": "deliver a transaction as a whole", "op": "deliver every operation on its own"}


@dataclass(frozen=True)
class HandlerOptions(Options):
    """The properties of a handler itself, whatever its format."""

    type: str = option(
        Text(),
        "",
        "Name the type of the handler in GoldenGate; ggfmt writes files for every type that has a format.",
        example="hdfs",
    )
    mode: str = option(Choice(_MODES), "tx", "Choose the unit of delivery; files are the same in both modes.")
    include_tokens: bool = option(Bool(), False, "Write the tokens of an operation into its message.")
    root_file_path: str | None = option(Path(), None, "Write the output to this directory, unless `-o` names another.")
    file_suffix: str = option(NamePart(), ".txt", "End the name of every output file with this.")
    partition_by_table: bool = option(
        Bool(), True, "Write every table to files of its own, else all to the same files in the order of the input."
    )
    max_file_size: int = option(Size(), 1 << 30, "Start a new file before one grows beyond this size.")
    schema_file_path: str | None = option(
        SchemaDirectory(),
        None,
        "Write schemas to this directory too; a relative one is below the output.",
        example="./schemas",
    )
    roll_on_metadata_change: bool = option(Bool(), True, "Start a new file when the definition of a table changes.")
    path_mapping_template: NameTemplate | None = option(
        PathTemplate(),
        None,
        "Make the directory of files by this template, below that of the handler in the output.",
        since="12.3",
        example="dirout/${fullyQualifiedTableName}",
    )
    file_name_mapping_template: NameTemplate | None = option(
        FileNameTemplate(),
        None,
        "Name files by this template; the number of each stands before the last suffix.",
        since="12.3",
        example="${fullyQualifiedTableName}_${currentTimestamp}.json",
    )
    bom: str = option(HexBytes(), "", "Start each file of text with these bytes.", since="12.3", example="efbbbf")
    compression_codec: str = option(
        Choice(CODECS), "null", "Compress the blocks of Avro object container files by this.", aliases=("avroCodec",)
    )
    partitioner: Keys = ()  # of the properties `partitioner.<TABLE>`, which are no option of one name


@dataclass(frozen=True)
class RunOptions(Options):
    """The properties of ggfmt itself, `ggfmt.<name>`: GoldenGate ignores them."""

    of_goldengate: ClassVar[bool] = False

    compatibility: str = option(
        ReleaseChoice({name: release.doc for name, release in RELEASES.items()}),
        DEFAULT_RELEASE,
        "Follow this release of GoldenGate for Big Data in what messages are.",
    )
    truncates: str = option(
        Choice(
            {
                WRITE: "messages as the format has them; where it has no form for one, each is a reject",
                LEAVE_OUT: "nothing: they are left out, and counted",
                REJECT: "each is a reject",
            }
        ),
        WRITE,
        "Choose what truncates become, which many readers of messages stop at.",
    )
    uncovered: str = option(
        Choice({REFUSE: "write no messages", IGNORE: "write messages as if the property were not there"}),
        REFUSE,
        "Choose what to do if a property of GoldenGate that ggfmt does not do would make other messages.",
    )
    group_name: str | None = option(
        Text(), None, "Take this for the name of the Replicat group, which templates may write.", example="rep1"
    )
    variables: tuple[tuple[str, str], ...] = option(
        Pairs(),
        (),
        "Take these for the variables that templates write: of GoldenGate, of the operating system, of the JVM.",
        example="OGG_HOME=/ogg,SITE=A",
    )


@dataclass(frozen=True)
class HandlerConfig:
    """One handler that is to run: its format (an id of FORMATS), the format's options, its own options.

    `timestamp_mask` is the value of `gg.format.timestamp`, empty if that is not given.

    `entries` has the entry of every property given, by its name below the handler (`format`, `format.prettyPrint`,
    `includeTokens`); it does not count when handlers are compared.
    """

    name: str
    format: str
    options: Options
    handler: HandlerOptions
    entries: Mapping[str, Entry] = field(default_factory=dict, compare=False, repr=False)
    timestamp_mask: str = ""

    def place(self, property: str) -> Span:
        """Where the value of a property stands; no place for a default."""
        entry = self.entries.get(property)
        return Span() if entry is None else entry.value_span
