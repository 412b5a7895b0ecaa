"""The event handlers of GoldenGate's File Writer, and what ggfmt does instead of each.

A File Writer names an event handler, which may name a further one. Each gets the file of the one before it when the
file is full: `parquet` and `orc` convert it, stores copy it, and others load it into a database (GoldenGate for Big
Data 12.3.2.1, 5.2 to 5.7, and the pages of later releases).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from ggfmt.config.handler_types import PROXY, GoldenGateProperty, PropertySet, read_table
from ggfmt.config.properties import Entry
from ggfmt.formats.goldengate.container_files import OrcOptions, ParquetOptions
from ggfmt.options.spec import Options
from ggfmt.options.templates import NameTemplate


class Work(str, Enum):
    CONVERT = "converts the file"
    COPY = "writes the file to the path of its templates, below the output directory or in the store"
    NONE = "does nothing: ggfmt keeps the files"


@dataclass(frozen=True)
class EventHandlerType:
    """A type of event handlers, by the value of `type`, in any case.

    own      its properties below `gg.eventhandler.<name>.`, without those of all types (`COMMON_EVENT`)
    since    the first release whose manual has it
    until    the last one; None if it has not ended
    scheme   that of the URIs of its store; None if a handler file does not describe it in full
    options  how a converted file is written
    """

    name: str
    work: Work
    own: PropertySet
    since: str
    until: str | None = None
    scheme: str | None = None
    options: type[Options] | None = None

    def find(self, name: str) -> GoldenGateProperty | None:
        return self.own.find(name) or COMMON_EVENT.find(name)

    @property
    def required(self) -> tuple[GoldenGateProperty, ...]:
        common = COMMON_EVENT.required if self.work is not Work.NONE else ()
        return (*common, *self.own.required)

    @property
    def names(self) -> tuple[str, ...]:
        return (*COMMON_EVENT.names, *self.own.names)


def _declared(options: type[Options]) -> list[GoldenGateProperty]:
    return [
        GoldenGateProperty(spec.name, spec.kind, spec.since, None, spec.default_text or None, aliases=spec.aliases)
        for spec in options.specs()
    ]


_OPTIONS: dict[str, type[Options]] = {"parquet": ParquetOptions, "orc": OrcOptions}
_GROUPS = {f"+{options.__name__}": _declared(options) for options in _OPTIONS.values()}
_SECTIONS = read_table("event_handlers.txt", {"+proxy": PROXY, **_GROUPS})
COMMON_EVENT = _SECTIONS["all"].properties
EVENT_HANDLER_TYPES = {
    name: EventHandlerType(name, Work[kind], properties, options=_OPTIONS.get(name), **facts)
    for name, (kind, facts, properties) in _SECTIONS.items()
    if kind
}

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

    @property
    def work(self) -> Work:
        return EVENT_HANDLER_TYPES[self.type].work


# Targets that make their handlers themselves (`gg.target`), from 21.1 on. What a file of a staging area holds is known
# as far as the chain; format and metadata are left to `ggfmt.target.format` and `ggfmt.target.template`.


@dataclass(frozen=True)
class Target:
    """A value of `gg.target`: the event handlers behind its File Writer, and what is known of its files."""

    name: str
    chain: tuple[str, ...]
    known: str
    since: str = "21"


_OCF = "its files are Avro object containers"
_TARGETS = (
    Target("snowflake", ("s3, abs, gcs or internal stage", "snowflake"), _OCF),
    Target("databricks", ("abs, s3 or gcs", "databricks"), _OCF, "23"),
    Target("synapse", ("parquet", "abs", "synapse"), "its files are Parquet"),
    Target("redshift", ("s3", "redshift"), "the format of its files is not known"),
    Target("bq", ("gcs", "bq"), "the format of its files is not known"),
    Target("adw", ("oci", "adw"), "the format of its files is not known"),
    Target("iceberg", (), "it writes Parquet, Avro or ORC itself, without a formatter", "23.7"),
    Target(
        "fabric_lakehouse", ("parquet", "onelake"), "`gg.format` sets the format of its files, Parquet by default", "23"
    ),
    *(Target(it, (it,), "`gg.format` sets the format of its files") for it in ("s3", "abs", "gcs", "oci", "hdfs")),
)
TARGETS = {target.name: target for target in _TARGETS}
