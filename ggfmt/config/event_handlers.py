"""The event handlers of GoldenGate's File Writer, and what ggfmt does instead of each.

A File Writer names an event handler, which may name a further one. Each gets the file of the one before it when the
file is full: `parquet` and `orc` convert it, stores copy it, and others load it into a database (GoldenGate for Big
Data 12.3.2.1, 5.2 to 5.7, and the pages of later releases).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ggfmt.config.handler_types import PROXY, GoldenGateProperty, PropertySet, listed, own, property_set, words
from ggfmt.config.properties import Entry
from ggfmt.formats.goldengate.container_files import OrcOptions, ParquetOptions
from ggfmt.options.spec import Options
from ggfmt.options.templates import FileNameTemplate, NameTemplate, PathTemplate
from ggfmt.options.value_types import Bool, Int, Text


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


COMMON_EVENT = property_set(
    own("type"),
    own("pathMappingTemplate", PathTemplate(), required=True),
    own("fileNameMappingTemplate", FileNameTemplate(), aliases=("fileMappingTemplate",)),
    own("finalizeAction", words("none", "delete"), default="none"),
    own("eventHandler"),
)

_KERBEROS = (own("kerberosPrincipal"), own("kerberosKeytabFile", aliases=("keberosKeytabFile",)))
_STAGE_AND_MERGE = tuple(
    listed(
        "connectionURL userName password driver* jdbc* credentialsFile projectId stage* maxConnections catalog*"
        " dropStagingTablesOnShutdown",
        doubtful=True,
    )
)


def _declared(options: type[Options]) -> Iterable[GoldenGateProperty]:
    for spec in options.specs():
        yield own(spec.name, spec.kind, since=spec.since, default=spec.default_text or None, aliases=spec.aliases)


def _type(
    name: str, work: Work, since: str, *parts: str | GoldenGateProperty | Iterable[GoldenGateProperty], **given: Any
) -> EventHandlerType:
    properties = property_set(*(listed(part) if isinstance(part, str) else part for part in parts))
    return EventHandlerType(name, work, properties, since, **given)


_TYPES = (
    _type(
        "parquet",
        Work.CONVERT,
        "12.3.2",
        own("writeToHDFS", Bool(), default="false"),
        _declared(ParquetOptions),
        own("writerVersion", doubtful=True),
        _KERBEROS,
        options=ParquetOptions,
    ),
    _type(
        "orc",
        Work.CONVERT,
        "12.3.2",
        own("writeToHDFS", Bool(), default="false"),
        _declared(OrcOptions),
        listed("bloomFilterFpp bloomFilterVersion", doubtful=True),
        _KERBEROS,
        options=OrcOptions,
    ),
    _type("hdfs", Work.COPY, "12.3.2", _KERBEROS, scheme="hdfs"),
    _type(
        "s3",
        Work.COPY,
        "12.3.2",
        own("region", required=True),
        own("bucketMappingTemplate", PathTemplate(), required=True),
        own("url"),
        own("accessKeyId", since="21"),
        own("secretKey", since="21"),
        own("purgeTargetPathOnStartup", Bool(), since="23.8"),
        PROXY,
        listed(
            "host SSEAlgorithm AWSKmsKeyId enableSTS STSAssumeRole STSAssumeRoleSessionName STSRegion"
            " enableAccelerateMode s3ACL",
            doubtful=True,
        ),
        scheme="s3",
    ),
    _type(
        "gcs",
        Work.COPY,
        "21",
        own("bucketMappingTemplate", PathTemplate()),
        "credentialsFile clientId clientEmail privateKeyId privateKey",
        listed("storageClass kmsKey concurrency proxy*", doubtful=True),
        scheme="gs",
    ),
    _type(
        "abs",
        Work.COPY,
        "21",
        own("bucketMappingTemplate", PathTemplate(), required=True),
        listed(
            "accountName accountKey sasToken tenantId clientId clientSecret endpoint accessTier proxy*", doubtful=True
        ),
        scheme="abfss",
    ),
    _type(
        "oci",
        Work.COPY,
        "12.3.2",
        listed("configFilePath profile namespace region compartmentID"),
        own("bucketMappingTemplate", PathTemplate(), required=True),
        listed("userId tenancyId privateKeyFile publicKeyFingerprint proxy*", doubtful=True),
    ),
    _type(
        "oci-c",
        Work.COPY,
        "12.3.2",
        own("serverUrl", required=True),
        listed("tenantID serviceName username password", required=True),
        own("containerMappingTemplate", PathTemplate(), required=True),
        until="12.3.2",
    ),
    _type(
        "onelake",
        Work.COPY,
        "23",
        listed("workspace lakehouse mirror tenantId clientId clientSecret"),
        listed("endpoint proxy*", doubtful=True),
    ),
    _type(
        "command",
        Work.NONE,
        "19.1",
        own("command", required=True),
        own("cmdWaitMilli", Int()),
        own("multithreaded", Bool(), default="true"),
        own("commandArgumentTemplate", Text()),
    ),
    *(
        _type(name, Work.NONE, since, _STAGE_AND_MERGE)
        for name, since in (
            ("redshift", "19.1"),
            ("adw", "19.1"),
            ("synapse", "21"),
            ("snowflake", "21"),
            ("bq", "21"),
            ("databricks", "23"),
            ("iceberg", "23.7"),
        )
    ),
)

BUCKETS = ("bucketMappingTemplate", "containerMappingTemplate")  # the same template, of old and new stores

EVENT_HANDLER_TYPES = {known.name: known for known in _TYPES}


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
    *(
        Target(name, (name,), "`gg.format` sets the format of its files")
        for name in ("s3", "abs", "gcs", "oci", "hdfs")
    ),
)
TARGETS = {target.name: target for target in _TARGETS}
