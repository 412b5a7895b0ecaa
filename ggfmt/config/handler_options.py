"""One handler from its entries: the options of the handler and of its format, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ggfmt.config.comments import before_comment
from ggfmt.config.goldengate_keys import ADAPTER_FORMATS, GOLDENGATE_FORMATS, is_outside_scope
from ggfmt.config.partitioner import is_partitioner, partitioner_property, read_partitioner
from ggfmt.config.properties import Entry
from ggfmt.config.property_names import (
    HandlerKey,
    find_option,
    lacks,
    nearest_format_property,
    nearest_handler_property,
    owner,
    renamed,
)
from ggfmt.diagnostics.diagnostic import Diagnostic, Span, suggestion
from ggfmt.formats.api.format import Format
from ggfmt.formats.goldengate.options import CODECS
from ggfmt.java.text import IllegalValue, trim, visible
from ggfmt.options.releases import DEFAULT_RELEASE, RELEASES, is_later
from ggfmt.options.spec import Options, OptionSpec, option
from ggfmt.options.table_keys import Keys
from ggfmt.options.templates import FileNameTemplate, HexBytes, PathTemplate, Template
from ggfmt.options.value_types import Bool, Choice, NamePart, Pairs, Path, ReleaseChoice, SchemaDirectory, Size, Text

DEFAULT_FORMAT = "delimitedtext"

# The types of handlers that write files; all others of GoldenGate send messages, or write into databases.
FILE_TYPES = ("hdfs", "filewriter")

# Aliases that are the right names in handlers of other types.
_NAMES_ELSEWHERE = ("avroCodec",)

WRITE, LEAVE_OUT, REJECT = "write", "leave-out", "reject"  # what becomes of truncates
_MODES = {"tx": "deliver a transaction as a whole", "op": "deliver every operation on its own"}


@dataclass(frozen=True)
class HandlerOptions(Options):
    """The properties of a handler itself, whatever its format."""

    type: str = option(
        Text(), "", "Name the kind of handler in GoldenGate; ggfmt writes files for every kind.", example="hdfs"
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
    path_mapping_template: Template | None = option(
        PathTemplate(),
        None,
        "Make the directory of files by this template, below that of the handler in the output.",
        since="12.3",
        example="dirout/${fullyQualifiedTableName}",
    )
    file_name_mapping_template: Template | None = option(
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

    `entries` has the entry of every property given, by its name below the handler (`format`, `format.prettyPrint`,
    `includeTokens`); it does not count when handlers are compared.
    """

    name: str
    format: str
    options: Options
    handler: HandlerOptions
    entries: Mapping[str, Entry] = field(default_factory=dict, compare=False, repr=False)

    def place(self, property: str) -> Span:
        """Where the value of a property stands; no place for a default."""
        entry = self.entries.get(property)
        return Span() if entry is None else entry.value_span


class Assembly:
    """One handler in the making; what is found wrong is added to `findings`.

    `given` has the entry that counts of every property given, `handler` and `options` the values, the default for one
    that is `illegal`; without a format that can be written there are no `options`. `release` is the release of
    GoldenGate that is meant, None if that is not known; `entries` are in the order of the files.
    """

    def __init__(
        self,
        name: str,
        keyed: Sequence[tuple[HandlerKey, Entry]],
        formats: Mapping[str, Format],
        release: str | None,
        findings: list[Diagnostic],
    ) -> None:
        self.name = name
        self.formats = formats
        self.release = release
        self.findings = findings
        self.entries = [entry for _, entry in keyed]
        self.given: dict[str, Entry] = {}
        self.illegal: set[str] = set()
        self.is_custom = any(key.rest.lower() == "type" and "." in before_comment(entry) for key, entry in keyed)
        self.format = self._format([(key, entry) for key, entry in keyed if key.is_format])
        for key, entry in keyed:
            if key.is_format:
                continue
            if key.format_property is None:
                self._take_handler_property(key.rest, entry)
            elif self.format is not None:
                self._take_format_property(key.format_property, key.misspells_format, entry, self.format)
        partitioner = read_partitioner(self.given, self.illegal, self.findings)
        self.handler = HandlerOptions(**self._values(HandlerOptions.specs(), ""), partitioner=partitioner)
        self.options: Options | None = None
        if self.format is not None:
            self.options = self.format.options(**self._values(self.format.options.specs(), "format."))

    def config(self) -> HandlerConfig | None:
        """The handler; None without a format that can be written."""
        if self.format is None or self.options is None:
            return None
        return HandlerConfig(self.name, self.format.name, self.options, self.handler, self.given)

    def _format(self, keyed: Sequence[tuple[HandlerKey, Entry]]) -> Format | None:
        for key, entry in keyed:
            if key.misspells_format:
                self._report_renamed(entry, "format")
            self._give("format", entry)
        chosen = self.given.get("format")
        text = (trim(chosen.value) if chosen else "") or DEFAULT_FORMAT
        value = self._written(text)
        if value is None:
            message, help = self._no_format("***" if chosen and chosen.secret else text)
            self._report("GG106", message, chosen.value_span if chosen else Span(), help)
            # With a comment behind it, it is clear which format was meant: its properties are looked at too.
            value = self._written(before_comment(chosen)) if chosen else None
        return value

    def _written(self, text: str) -> Format | None:
        for name, format in self.formats.items():
            if name.lower() == text.lower() and format.writes is not None:
                return format
        return None

    def _no_format(self, text: str) -> tuple[str, str]:
        """What is wrong with a format that cannot be written, and what to do."""
        written = [name for name, format in self.formats.items() if format.writes is not None]
        help = f"formats are {', '.join(f'`{name}`' for name in written)}"
        folded = text.lower()
        if folded in map(str.lower, self.formats):
            return f"`{text}` is a format that ggfmt reads, but does not write", help
        if folded in GOLDENGATE_FORMATS:
            return f"`{text}` is a format of GoldenGate that ggfmt does not write yet", help
        if folded in ADAPTER_FORMATS:
            return f"`{text}` is a format of the older Java adapter, which ggfmt does not write", help
        if "." in text:
            return f"`{text}` is a Java class or a template, which ggfmt cannot run", help
        near = suggestion(text, written)
        return f"`{text}` is not a format", f"{help}; {near}" if near else help

    def _take_handler_property(self, name: str, entry: Entry) -> None:
        match = find_option(name, HandlerOptions.specs())
        if is_partitioner(name):
            self._give(partitioner_property(name), entry)
        elif match is not None:
            if match.renamed and name not in _NAMES_ELSEWHERE:
                self._report_renamed(entry, match.spec.name)
            self._give(match.spec.name, entry)
        elif not (self.is_custom or is_outside_scope(entry.key)):
            specs = self.format.options.specs() if self.format else ()
            near = nearest_handler_property(name, HandlerOptions.specs(), specs)
            self._report_unknown(f"`{entry.key}` is not a property of a handler", entry, near)
            if near == "format" and "format" not in self.given:
                report_missing_format(self.findings, self.name, entry)

    def _take_format_property(self, name: str, misspelt: bool, entry: Entry, format: Format) -> None:
        match = find_option(name, format.options.specs())
        if match is not None:
            if match.renamed or misspelt:
                self._report_renamed(entry, f"format.{match.spec.name}")
            self._give(f"format.{match.spec.name}", entry)
            return
        lacking = lacks(name, format)
        if lacking is not None:
            help = "remove it: ggfmt does not have it yet"
            code = "GG111" if self.release and is_later(lacking.since, self.release) else "GG101"
            self._report(code, f"`{entry.key}` is a property of {lacking.owner}", entry.key_span, help)
            return
        whose = owner(name, self.formats)
        if whose is not None:
            message = f"`{entry.key}` is a property of {whose}, not of `{format.name}`"
            self._report("GG110", message, entry.key_span, "remove it: it has no effect")
            return
        near = nearest_format_property(name, HandlerOptions.specs(), format.options.specs())
        self._report_unknown(f"`{entry.key}` is not a property of `{format.name}`", entry, near)

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
            except IllegalValue as error:
                self.illegal.add(prefix + spec.name)
                message = "is not a legal value" if entry.secret else str(error)
                self._report("GG103", f"`{entry.key}` {message}", entry.value_span, error.help)
        return values

    def _report(self, code: str, message: str, span: Span, help: str | None) -> None:
        self.findings.append(Diagnostic(code, message, span, help))

    def _report_renamed(self, entry: Entry, property: str) -> None:
        name = f"gg.handler.{self.name}.{property}"
        self.findings.append(renamed(entry, name, property.rpartition(".")[2], f"write `{name}`"))

    def _report_unknown(self, message: str, entry: Entry, near: str | None) -> None:
        help = f"did you mean `gg.handler.{self.name}.{near}`?" if near else None
        self._report("GG101", message, entry.key_span, help)


def report_duplicate(findings: list[Diagnostic], earlier: Entry, entry: Entry) -> None:
    """Warn of an entry that repeats one of the same file; a later file overrides an earlier one in silence."""
    if earlier.file == entry.file:
        message = f"`{entry.key}` was given before, in line {earlier.line}"
        findings.append(Diagnostic("GG107", message, entry.key_span, "remove one of them; the last one counts"))


def report_missing_format(findings: list[Diagnostic], name: str, entry: Entry) -> None:
    """Refuse a misprinted format: with the default in its place, the output would not be what was meant."""
    meant = f"gg.handler.{name}.format"
    message = f"`{meant}` is missing, and `{entry.key}` is not it"
    value = "***" if entry.secret else visible(trim(entry.value))
    findings.append(Diagnostic("GG109", message, entry.key_span, f"write `{meant}={value}`"))
