"""The types of GoldenGate's handlers: whether they take a formatter, which properties they have, and their values.

The facts are from manuals of 12.2 to 26ai and public configuration files. GoldenGate ignores the case of types and
names. ggfmt applies what `HandlerOptions` declares; the legal values of others show what GoldenGate would not start
with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

from ggfmt.config.patterns import Patterns
from ggfmt.options.message_templates import MessageTemplate
from ggfmt.options.releases import FIRST_RELEASE
from ggfmt.options.templates import FileNameTemplate, HexBytes, PathTemplate
from ggfmt.options.value_types import Bool, Choice, Duration, Int, Number, Size, Text, TimesOfDay, ValueType


class Formats(str, Enum):
    DEFAULT = "chooses a formatter; without it, messages are delimited text"
    GIVEN = "chooses a formatter; what messages are without it is not known, or depends on other properties"
    OWN = "has no effect: the handler makes its messages without a formatter, in a fixed format that ggfmt writes"
    NONE = "has no effect: the handler makes its messages without a formatter"


@dataclass(frozen=True)
class GoldenGateProperty:
    """A property of a handler or of an event handler of GoldenGate.

    kind      its legal values; None where they are not known
    since     first release whose manual has it
    until     last release whose manual has it; None if it has not ended, or if that is not known
    default   the default of the manual, in its words; None where no source has it
    doubtful  its name is known from memory alone: nothing may depend on it
    """

    name: str
    kind: ValueType[Any] | None = None
    since: str = FIRST_RELEASE
    until: str | None = None
    default: str | None = None
    required: bool = False
    aliases: tuple[str, ...] = ()
    doubtful: bool = False

    def given_as(self, name: str) -> str:
        """Return the name that identifies a given property: names that fit one pattern are several properties."""
        return name.lower() if "*" in self.name else self.name


own = GoldenGateProperty  # in the tables below


@dataclass(frozen=True)
class PropertySet:
    properties: tuple[GoldenGateProperty, ...]

    @cached_property
    def _by_name(self) -> dict[str, GoldenGateProperty]:
        names = ((name.lower(), known) for known in self.properties for name in (known.name, *known.aliases))
        return {name: known for name, known in names if "*" not in name}

    @cached_property
    def _patterns(self) -> tuple[tuple[Patterns, GoldenGateProperty], ...]:
        return tuple((Patterns((known.name,)), known) for known in self.properties if "*" in known.name)

    def find(self, name: str) -> GoldenGateProperty | None:
        own = self._by_name.get(name.lower())
        return own or next((known for patterns, known in self._patterns if patterns.fit(name)), None)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(known.name for known in self.properties if "*" not in known.name)

    @property
    def all_names(self) -> tuple[str, ...]:
        return tuple(known.name for known in self.properties)

    @property
    def required(self) -> tuple[GoldenGateProperty, ...]:
        return tuple(known for known in self.properties if known.required)


@dataclass(frozen=True)
class HandlerType:
    """A handler type, by the value of `type`.

    `own`: its properties, without those of all types (`COMMON`). `complete`: from a complete table of a manual, so that
    the type has no other property. `mode`: its default, where a manual has it. `since`, `until`: first and last
    release.
    """

    name: str
    formats: Formats
    own: PropertySet
    complete: bool
    mode: str | None = None
    since: str = FIRST_RELEASE
    until: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return self.own.all_names

    def find(self, name: str) -> GoldenGateProperty | None:
        return self.own.find(name) or COMMON.find(name)

    def has(self, name: str) -> bool:
        return self.find(name) is not None


def words(*known: str) -> Choice:
    return Choice(dict.fromkeys(known, ""))


def listed(names: str, kind: ValueType[Any] | None = None, **given: Any) -> Iterator[GoldenGateProperty]:
    for name in names.split():
        yield GoldenGateProperty(name, kind, **given)


def property_set(*parts: GoldenGateProperty | Iterable[GoldenGateProperty]) -> PropertySet:
    return PropertySet(
        tuple(known for part in parts for known in ((part,) if isinstance(part, GoldenGateProperty) else part))
    )


COMMON = property_set(
    own("type"),
    own("mode", words("op", "tx")),
    own("format"),
    own("filter"),
    own("includeTokens", Bool(), default="false"),
    listed("allowPkUpdates grouping* minGroupSize maxGroupSize"),
)

# Those that choose the operations that have messages: ggfmt does not apply them.
CHOOSING: tuple[str, ...] = ("filter",)

FILE_WRITER = "filewriter"

# Handlers of these types write files; all others send messages, or write to databases.
FILE_TYPES = ("hdfs", FILE_WRITER)

FINALIZE = ("none", "delete", "move", "rename", "move-rename")
CODECS_OF_CONTAINERS = ("null", "snappy", "bzip2", "xz", "deflate")

PROXY = tuple(listed("proxyServer proxyPort proxyProtocol proxyUsername proxyPassword"))
_KERBEROS = (
    own("authType", words("none", "kerberos")),
    own("kerberosPrincipal"),
    own("kerberosKeytabFile", aliases=("keberosKeytabFile",)),
)
_JMS = tuple(
    listed(
        "connectionFactory connectionFactoryClass connectionUrl destination destinationType destinationTemplate queue*"
        " username user password useJndi id priority timeToLive persistent localTX groupTx* messageMappingTemplate"
        " headerTemplate"
    )
)
_FILES = tuple(listed("file rolloverSize rolloverTime append"))
_STORES = tuple(listed("keyStore* trustStore*"))
_PK_UPDATES = words("abend", "update", "delete-insert")
_LATER = "19.1"  # the first manual after 12.3.2.1, for names that the latter lacks

_FILE_WRITER = property_set(
    own("pathMappingTemplate", PathTemplate(), required=True),
    own("fileNameMappingTemplate", FileNameTemplate(), required=True),
    own("stateFileDirectory", required=True),
    own("maxFileSize", Size(), default="1g"),
    listed("fileRollInterval inactivityRollInterval", Duration(), default="off"),
    own("fileWriteActiveSuffix", Text()),
    own("rollOnShutdown", Bool(), default="false"),
    own("finalizeAction", words(*FINALIZE), default="none"),
    own("fileRenameMappingTemplate", FileNameTemplate()),
    own("movePathMappingTemplate", PathTemplate()),
    own("partitionByTable", Bool(), default="true"),
    own("eventHandler"),
    own("bom", HexBytes()),
    own("createControlFile", Bool(), default="false"),
    own("controlFileDelimiter", Text(), default="a line end"),
    own("controlFileDirectory"),
    own("createOwnerFile", Bool(), default="false"),
    own("atTime", TimesOfDay()),
    own("rollOnMetadataChange", Bool(), since=_LATER, doubtful=True),
    own("avroCodec", words(*CODECS_OF_CONTAINERS), since=_LATER, default="null", doubtful=True),
    own("rollOnTruncate", Bool(), since=_LATER, doubtful=True),
    listed(
        "bufferSize ownerFileDirectory eventHandlerTimeoutMinutes eventHandlerEscalationMinutes logEventHandlerStatus"
        " dataFileInactivityTimeoutMinutes processBacklogOnShutdown partitioner.*",
        since=_LATER,
        doubtful=True,
    ),
)
_HDFS = property_set(
    own("rootFilePath", until="12.3"),
    own("fileSuffix", until="12.2"),
    own("pathMappingTemplate", PathTemplate(), since="12.3.2"),
    own("fileNameMappingTemplate", FileNameTemplate(), since="12.3"),
    own("maxFileSize", Size(), default="1g"),
    listed("fileRollInterval inactivityRollInterval", Duration(), default="off"),
    listed("partitionByTable rollOnMetadataChange", Bool(), default="true"),
    own("openNextFileAtRoll", Bool(), since="12.3"),
    own("hsync", Bool(), since="12.3.2"),
    own("schemaFilePath"),
    own("compressionType", words("block", "none", "record")),
    listed(
        "compressionCodec hiveJdbcUrl hiveJdbcUserName hiveJdbcPassword hiveJdbcDriver hadoop* maxConnections writeAs*"
        " partitioner.*"
    ),
    _KERBEROS,
)
_KAFKA = property_set(
    own("topicMappingTemplate", MessageTemplate(), since="12.3"),
    own("keyMappingTemplate", MessageTemplate(), since="12.3"),
    own("kafkaProducerConfigFile", default="kafka-producer-default.properties"),
    listed("schemaTopicName schemaPrClassName producerRecordClass keyConverter"),
    listed("blockingSend", Bool(), default="false"),
    own("logSuccessfullySentMessages", Bool(), since="12.3.2", default="true"),
    own("metaHeadersTemplate", since=_LATER),
    own("transactionsEnabled", Bool(), since=_LATER),
    own("topicName", until="12.2"),
    own("topicPartitioning", until="12.2"),
)
_KAFKA_CONNECT = property_set(
    own("kafkaProducerConfigFile", required=True),
    own("topicMappingTemplate", MessageTemplate(), required=True),
    own("keyMappingTemplate", MessageTemplate(), required=True),
    own("messageFormatting", words("row", "op"), default="row"),
    listed("insertOpKey updateOpKey deleteOpKey truncateOpKey", Text()),
    own("treatAllColumnsAsStrings", Bool(), default="false"),
    own("mapLargeNumbersAsStrings", Bool(), default="false"),
    own("pkUpdateHandling", _PK_UPDATES, default="abend"),
    own("metaColumnsTemplate", since=_LATER),
    own("includeIsMissingFields", Bool(), since=_LATER),
    own("enableDecimalLogicalType", Bool(), since=_LATER),
    own("oracleNumberScale", Int(0, 38), since=_LATER),
    own("enableTimestampLogicalType", Bool(), since=_LATER),
    own("metaHeadersTemplate", since=_LATER),
    own("schemaNamespace", since=_LATER),
    own("enableNonnullable", Bool(), since=_LATER),
    listed("includeTableName includeOpType includeOpTimestamp includeCurrentTimestamp includePosition", Bool()),
    listed("includePrimaryKeys iso8601Format", Bool()),
)
_RESTPROXY = property_set(
    own("topicMappingTemplate", MessageTemplate(), required=True),
    own("keyMappingTemplate", MessageTemplate(), required=True),
    own("postDataUrl", required=True),
    own("format", words("avro", "json"), required=True),
    own("payloadsize", Number()),
    listed("apiVersion trustStore trustStorePassword keyStore keyStorePassword proxy*"),
    listed("insertOpKey updateOpKey deleteOpKey truncateOpKey", Text()),
    listed("includeOpType includeOpTimestamp includeCurrentTimestamp includePosition includePrimaryKeys", Bool()),
    listed("treatAllColumnsAsStrings mapLargeNumbersAsStrings iso8601Format", Bool()),
    own("pkUpdateHandling", _PK_UPDATES, default="abend"),
    own("metaColumnsTemplate"),
)


def _type(
    name: str, formats: Formats, *parts: str | GoldenGateProperty | Iterable[GoldenGateProperty], **given: Any
) -> HandlerType:
    properties = property_set(*(listed(part) if isinstance(part, str) else part for part in parts))
    return HandlerType(name, formats, properties, given.pop("complete", False), **given)


_TYPES = (
    _type("hdfs", Formats.DEFAULT, _HDFS.properties, complete=True, mode="op"),
    _type(FILE_WRITER, Formats.DEFAULT, _FILE_WRITER.properties, complete=True, since="12.3.2"),
    _type("kafka", Formats.DEFAULT, _KAFKA.properties, complete=True, mode="tx"),
    _type("kafkaconnect", Formats.OWN, _KAFKA_CONNECT.properties, complete=True, since="12.3"),
    _type("kafkarestproxy", Formats.NONE, _RESTPROXY.properties, since="12.3.2"),
    _type(
        "kinesis_streams",
        Formats.DEFAULT,
        "region accessKeyId secretKey url enableStreamCreation streamCreationShardCount deferFlushAtTxCommit",
        "deferFlushOpCount formatPerOp customMessageGrouper resourceArn enableSTS STSAssumeRole",
        "STSAssumeRoleSessionName STSRegion",
        listed("streamMappingTemplate partitionMappingTemplate", MessageTemplate()),
        PROXY,
        since="12.3",
    ),
    _type(
        "flume",
        Formats.DEFAULT,
        "rpcClientPropertiesFile eventMapsTo propagateSchema eventHeaderClassName",
        mode="op",
        until="12.3.2",
    ),
    _type(
        "pubsub",
        Formats.DEFAULT,
        "orderingKeyMappingTemplate credentialsFile projectId metaHeadersTemplate",
        own("topicMappingTemplate", MessageTemplate()),
        PROXY,
    ),
    _type(
        "redis",
        Formats.GIVEN,
        "hostPortList integrationType metaColumnsTemplate username password createIndexes keyMappingTemplate",
        "streamMaxLength",
    ),
    _type("jms", Formats.GIVEN, _JMS),
    _type("jms_text", Formats.GIVEN, _JMS),
    _type("jms_map", Formats.NONE, _JMS),
    _type("aq", Formats.GIVEN, _JMS),
    _type("file", Formats.GIVEN, _FILES),
    _type("singlefile", Formats.GIVEN, _FILES),
    _type("rollingfile", Formats.GIVEN, _FILES),
    _type(
        "hbase",
        Formats.NONE,
        "hBaseColumnFamilyName rowkeyDelimiter keyValueDelimiter keyValuePairDelimiter encoding pkUpdateHandling",
        "nullValueRepresentation setHBaseOperationTimestamp omitNullValues metaColumnsTemplate hBase98Compatible",
        _KERBEROS,
    ),
    _type(
        "cassandra",
        Formats.NONE,
        "contactPoints port username password dataCenter compressedUpdates ddlHandling cassandraMode consistencyLevel",
        "batchType abendOnUnmappedColumns DatastaxJSSEConfigPath",
    ),
    _type(
        "mongodb",
        Formats.NONE,
        "clientURI Host Port WriteConcern AuthenticationMechanism UserName Password Source ServerAddressList BulkWrite",
        "CheckMaxRowSizeLimit upsert enableDecimal128 enableTransactions",
        _STORES,
    ),
    _type(
        "elasticsearch",
        Formats.NONE,
        "ServerAddressList clientSettingsFile version bulkWrite upsert numberAsString",
        "index*Template type*Template id*Template routing*Template authType basicAuth*",
        "hosts headers",
        _STORES,
        since="12.3",
    ),
    _type(
        "jdbc",
        Formats.NONE,
        "DriverClass connectionURL userName password maxActiveStatements connectionTimeout queryTimeout statementRetry",
    ),
    _type(
        "bigquery",
        Formats.NONE,
        "projectId credentialsFile auditLogMode enableAlter metaColumnsTemplate pkUpdateHandling batchSize",
        "batchFlushFrequency retries totalTimeout ignoreUnknownValues skipInvalidRows connectionTimeout readTimeout",
        "adjustScale includeDeletedColumn createDataset",
        PROXY,
        since="12.3.2",
    ),
    _type(
        "nosql",
        Formats.NONE,
        "nosqlURL interactiveMode ddlHandling retries kvConsistency fullyAsync userName password",
        since="12.3.2",
    ),
    _type("snowflake_streaming", Formats.NONE, "createTable account url user role privateKey* channel*"),
)

HANDLER_TYPES = {handler_type.name: handler_type for handler_type in _TYPES}


def types_having(name: str) -> tuple[str, ...]:
    return tuple(known.name for known in _TYPES if known.has(name))


def names_of(*types: HandlerType) -> tuple[str, ...]:
    names = (name for known in types or _TYPES for name in (*COMMON.names, *known.own.names))
    return tuple(dict.fromkeys(names))
