"""GoldenGate's own keys and handler types: what ggfmt accepts and ignores, and what it does not have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from ggfmt.options.releases import FIRST_RELEASE

OUTSIDE_SCOPE: tuple[str, ...] = (
    # The process around the handlers
    "goldengate.*",
    "javawriter.*",
    "jvm.*",
    "java.*",
    "javax.*",
    "gg.abend*",
    "gg.aggregate*",
    "gg.binaryencoding*",
    "gg.brokerurl",
    "gg.checkpoint*",
    "gg.classpath*",
    "gg.compressed*",
    "gg.eventhandler*",
    "gg.format",
    "gg.format.*",
    "gg.handlerlist.nop",
    "gg.hooks*",
    "gg.includeggtokens",
    "gg.initialload*",
    "gg.interactive",
    "gg.jmx*",
    "gg.log*",
    "gg.lob*",
    "gg.mdp.*",
    "gg.md.*",
    "gg.metadata*",
    "gg.native*",
    "gg.op*",
    "gg.parallel*",
    "gg.performance*",
    "gg.recoverypath",
    "gg.report*",
    "gg.source*",
    "gg.stage*",
    "gg.stats*",
    "gg.status*",
    "gg.target*",
    "gg.timezone*",
    "gg.transaction*",
    "gg.userexit*",
    "gg.validate*",
)


class Patterns:
    """Names, compared without regard to case; `*` in a name matches any text."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._names = frozenset(pattern.lower() for pattern in patterns if "*" not in pattern)
        # Compare piece by piece: compiling one expression of all of them takes longer than checking a whole file.
        self._pieces = [tuple(pattern.lower().split("*")) for pattern in patterns if "*" in pattern]

    def fit(self, name: str) -> bool:
        folded = name.lower()
        return folded in self._names or any(_fits(folded, pieces) for pieces in self._pieces)


def _fits(name: str, pieces: Sequence[str]) -> bool:
    """Return whether the name consists of the pieces in their order, with any text between two of them."""
    first, *inner, last = pieces
    if not name.startswith(first) or not name.endswith(last):
        return False
    at, end = len(first), len(name) - len(last)
    for piece in inner:
        place = name.find(piece, at, end)
        if place < 0:
            return False
        at = place + len(piece)
    return at <= end


_OUTSIDE_SCOPE = Patterns(OUTSIDE_SCOPE)


def is_outside_scope(key: str) -> bool:
    """Return whether GoldenGate uses this key, which is below no handler, for something that ggfmt does not do."""
    return _OUTSIDE_SCOPE.fit(key)


def listing(names: Sequence[str]) -> str:
    """Return the names as a list in words: `a`, `b` and `c`."""
    quoted = [f"`{name}`" for name in names]
    return " and ".join(filter(None, (", ".join(quoted[:-1]), quoted[-1])))


@dataclass(frozen=True)
class GoldenGateProperty:
    """A format property of GoldenGate that ggfmt's format of the same id lacks: its name, the formats that have it, and
    the first release that has it.
    """

    name: str
    formats: tuple[str, ...]
    since: str

    @property
    def owner(self) -> str:
        """The owner of the property, in words."""
        return owner_in_words(self.formats, self.since)


def owner_in_words(formats: Sequence[str], since: str) -> str:
    """Return formats, and the first release in which they have a property, in words."""
    if since == ADAPTER:
        return f"{listing(formats)} of the Java adapter"
    return (
        listing(formats)
        if since in ("", FIRST_RELEASE)
        else f"{listing(formats)} from GoldenGate for Big Data {since} on"
    )


ADAPTER = "Java adapter"


def _properties(formats: tuple[str, ...], since: str, names: str) -> list[GoldenGateProperty]:
    return [GoldenGateProperty(name, formats, since) for name in names.split()]


GOLDENGATE_PROPERTIES: tuple[GoldenGateProperty, ...] = (
    *_properties(("delimitedtext_op",), "12.3.2", "enableFieldDescriptorHeaders"),
    *_properties(("json", "json_row"), "21", "enableJsonArrayOutput"),
    *_properties(("xml",), "19.1", "metaColumnsTemplate"),
    *_properties(
        ("csv", "fixed"),
        ADAPTER,
        "delim quote metacols missingColumnChar presentColumnChar nullColumnChar beginTxChar middleTxChar endTxChar"
        " wholeTxChar insertChar updateChar deleteChar truncateChar endOfLine justify includeBefores",
    ),
)

# Formats of GoldenGate that ggfmt lacks.
GOLDENGATE_FORMATS: tuple[str, ...] = ("sequencefile",)

ADAPTER_FORMATS: tuple[str, ...] = ("csv", "fixed", "xml2")

# The types of GoldenGate's handlers: whether they take a formatter, and which properties they have. The names are those
# of GoldenGate for Big Data 12.2 to 21.1 and of its successors 23ai and 26ai, from manuals and public configuration
# files. GoldenGate compares types and names without regard to case.


class Formats(str, Enum):
    """The effect of `format` in a handler of a type."""

    DEFAULT = "chooses a formatter; without it, messages are delimited text"
    GIVEN = "chooses a formatter; what messages are without it is not known, or depends on other properties"
    OWN = "has no effect: the handler makes its messages without a formatter, in a format of its own that ggfmt writes"
    NONE = "has no effect: the handler makes its messages without a formatter"


@dataclass(frozen=True)
class HandlerType:
    """A handler type, by the value of `type`.

    `names`: its own properties below `gg.handler.<name>.`, with `*` for any text; without those of all types
    (`COMMON`). `complete`: the names are from a complete table of a manual, so that the type has no other property.
    """

    name: str
    formats: Formats
    names: tuple[str, ...]
    complete: bool

    @cached_property
    def _patterns(self) -> Patterns:
        return Patterns((*COMMON, *self.names))

    def has(self, name: str) -> bool:
        return self._patterns.fit(name)


COMMON: tuple[str, ...] = (
    *("type", "mode", "format", "filter", "includeTokens"),
    *("allowPkUpdates", "grouping*", "minGroupSize", "maxGroupSize"),
)

# Those that choose the operations that have messages: ggfmt does not apply them.
CHOOSING: tuple[str, ...] = ("filter",)

# Handlers of these types write files; all others send messages, or write to databases.
FILE_TYPES = ("hdfs", "filewriter")


def _type(name: str, formats: Formats, *names: str, complete: bool = False) -> HandlerType:
    return HandlerType(name, formats, tuple(" ".join(names).split()), complete)


_PROXY = "proxyServer proxyPort proxyProtocol proxyUsername proxyPassword"
_KERBEROS = "authType kerberosPrincipal kerberosKeytabFile"
_JMS = (
    "connectionFactory connectionFactoryClass connectionUrl destination destinationType destinationTemplate"
    " queue* userName username user password useJndi id priority timeToLive persistent localTX groupTx*"
    " messageMappingTemplate headerTemplate"
)
_FILES = "file rolloverSize rolloverTime"
_STORES = "keyStore* trustStore*"

_TYPES = (
    _type(
        "hdfs",
        Formats.DEFAULT,
        "rootFilePath fileSuffix maxFileSize fileRollInterval inactivityRollInterval partitionByTable",
        "rollOnMetadataChange schemaFilePath compressionCodec compressionType hiveJdbcUrl hiveJdbcUserName",
        "hiveJdbcPassword hiveJdbcDriver hadoop* hsync openNextFileAtRoll maxConnections writeAs* pathMappingTemplate",
        "fileNameMappingTemplate partitioner.*",
        _KERBEROS,
        complete=True,
    ),
    _type(
        "filewriter",
        Formats.DEFAULT,
        "pathMappingTemplate fileNameMappingTemplate maxFileSize fileRollInterval inactivityRollInterval",
        "fileWriteActiveSuffix stateFileDirectory rollOnShutdown rollOnMetadataChange rollOnTruncate finalizeAction",
        "fileRenameMappingTemplate movePathMappingTemplate partitionByTable partitioner.* bom avroCodec",
        "bufferSize createControlFile controlFileDelimiter controlFileDirectory createOwnerFile ownerFileDirectory",
        "atTime eventHandler eventHandlerTimeoutMinutes eventHandlerEscalationMinutes logEventHandlerStatus",
        "dataFileInactivityTimeoutMinutes processBacklogOnShutdown",
        complete=True,
    ),
    _type(
        "kafka",
        Formats.DEFAULT,
        "topicMappingTemplate keyMappingTemplate kafkaProducerConfigFile schemaTopicName schemaPrClassName",
        "blockingSend logSuccessfullySentMessages metaHeadersTemplate transactionsEnabled topicName",
        "topicPartitioning producerRecordClass keyConverter",
        complete=True,
    ),
    _type(
        "kafkaconnect",
        Formats.OWN,
        "kafkaProducerConfigFile topicMappingTemplate keyMappingTemplate messageFormatting insertOpKey updateOpKey",
        "deleteOpKey truncateOpKey treatAllColumnsAsStrings mapLargeNumbersAsStrings pkUpdateHandling",
        "metaColumnsTemplate includeIsMissingFields enableDecimalLogicalType oracleNumberScale",
        "enableTimestampLogicalType metaHeadersTemplate schemaNamespace enableNonnullable",
        "includeTableName includeOpType includeOpTimestamp includeCurrentTimestamp includePosition includePrimaryKeys",
        "iso8601Format",
        complete=True,
    ),
    _type(
        "kinesis_streams",
        Formats.DEFAULT,
        "region streamMappingTemplate partitionMappingTemplate accessKeyId secretKey url enableStreamCreation",
        "streamCreationShardCount deferFlushAtTxCommit deferFlushOpCount formatPerOp customMessageGrouper resourceArn",
        "enableSTS STSAssumeRole STSAssumeRoleSessionName STSRegion",
        _PROXY,
    ),
    _type(
        "flume",
        Formats.DEFAULT,
        "rpcClientPropertiesFile eventMapsTo propagateSchema eventHeaderClassName",
    ),
    _type(
        "pubsub",
        Formats.DEFAULT,
        "topicMappingTemplate orderingKeyMappingTemplate credentialsFile projectId metaHeadersTemplate",
        _PROXY,
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
        _PROXY,
    ),
    _type(
        "nosql",
        Formats.NONE,
        "nosqlURL interactiveMode ddlHandling retries kvConsistency fullyAsync userName password",
    ),
    _type(
        "snowflake_streaming",
        Formats.NONE,
        "createTable account url user role privateKey* channel*",
    ),
)

HANDLER_TYPES = {handler_type.name: handler_type for handler_type in _TYPES}


def types_having(name: str) -> tuple[str, ...]:
    """Return the types that have a property of that name; all of them, if it is common to all."""
    return tuple(known.name for known in _TYPES if known.has(name))


def names_of(*types: HandlerType) -> tuple[str, ...]:
    """Return the names that the types have, or all types if none is given; without patterns."""
    names = (name for known in types or _TYPES for name in (*COMMON, *known.names) if "*" not in name)
    return tuple(dict.fromkeys(names))
