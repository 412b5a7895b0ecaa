"""What GoldenGate knows and ggfmt does not use: keys accepted in silence, properties and formats told by their name.

The keys are those of GoldenGate for Big Data 12.2 to 21.1 and of the Java adapter before it, as its manuals and public
configuration files have them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    "gg.trans*",
    "gg.userexit*",
    "gg.validate*",
    # Any handler
    "gg.handler.*.allowPkUpdates",
    "gg.handler.*.eventHandler*",
    "gg.handler.*.grouping*",
    "gg.handler.*.maxGroupSize",
    "gg.handler.*.minGroupSize",
    "gg.handler.*.maxConnections",
    "gg.handler.*.proxy*",
    "gg.handler.*.stateFileDirectory",
    # HDFS
    "gg.handler.*.authType",
    "gg.handler.*.compressionType",
    "gg.handler.*.fileRollInterval",
    "gg.handler.*.hadoop*",
    "gg.handler.*.hiveJdbc*",
    "gg.handler.*.hsync*",
    "gg.handler.*.inactivityRollInterval",
    "gg.handler.*.kerberos*",
    "gg.handler.*.openNextFileAtRoll",
    "gg.handler.*.writeAs*",
    # File Writer
    "gg.handler.*.bufferSize",
    "gg.handler.*.controlFile*",
    "gg.handler.*.createControlFile",
    "gg.handler.*.createOwnerFile",
    "gg.handler.*.ownerFileDirectory",
    "gg.handler.*.fileRenameMappingTemplate",
    "gg.handler.*.fileWriteActiveSuffix",
    "gg.handler.*.finalizeAction",
    "gg.handler.*.movePathMappingTemplate",
    "gg.handler.*.rollOnShutdown",
    # Kafka, Kafka Connect, Kinesis
    "gg.handler.*.blockingSend",
    "gg.handler.*.kafkaProducerConfigFile",
    "gg.handler.*.keyMappingTemplate",
    "gg.handler.*.logSuccessfullySentMessages",
    "gg.handler.*.messageFormatting",
    "gg.handler.*.metaHeader*",
    "gg.handler.*.partitionMappingTemplate",
    "gg.handler.*.region",
    "gg.handler.*.schemaPrClassName",
    "gg.handler.*.schemaTopicName",
    "gg.handler.*.streamMappingTemplate",
    "gg.handler.*.topicMappingTemplate",
    "gg.handler.*.topicName",
    "gg.handler.*.topicPartitioning",
    "gg.handler.*.transactionsEnabled",
    # Flume, JMS
    "gg.handler.*.connection*",
    "gg.handler.*.destination*",
    "gg.handler.*.eventHeaders*",
    "gg.handler.*.eventMapsTo",
    "gg.handler.*.propagateSchema",
    "gg.handler.*.queue*",
    "gg.handler.*.rpc*",
)


# Compared piece by piece: to compile one expression of all of them takes longer than to check a whole file.
_PIECES = tuple(tuple(pattern.lower().split("*")) for pattern in OUTSIDE_SCOPE)


def is_outside_scope(key: str) -> bool:
    """Whether GoldenGate has the key for something that ggfmt does not do."""
    folded = key.lower()
    return any(_fits(folded, pieces) for pieces in _PIECES)


def _fits(key: str, pieces: Sequence[str]) -> bool:
    """Whether the key has the pieces in their order, with anything between two of them and nothing around them."""
    first, *others = pieces
    if not others:
        return key == first
    *inner, last = others
    if not key.startswith(first) or not key.endswith(last):
        return False
    at, end = len(first), len(key) - len(last)
    for piece in inner:
        place = key.find(piece, at, end)
        if place < 0:
            return False
        at = place + len(piece)
    return at <= end


def listing(names: Sequence[str]) -> str:
    """`a`, `b` and `c`."""
    quoted = [f"`{name}`" for name in names]
    return " and ".join(filter(None, (", ".join(quoted[:-1]), quoted[-1])))


@dataclass(frozen=True)
class GoldenGateProperty:
    """A format property of GoldenGate: its name, the formats that have it, the first release that has it."""

    name: str
    formats: tuple[str, ...]
    since: str

    @property
    def owner(self) -> str:
        """In words, whose property it is."""
        formats = "all formats" if self.formats == _ALL else listing(self.formats)
        if self.since == ADAPTER:
            return f"{formats} of the Java adapter"
        return formats if self.since == "12.2" else f"{formats} from GoldenGate for Big Data {self.since} on"


ADAPTER = "Java adapter"

_TEXT = ("delimitedtext",)
_TEXT_OP = ("delimitedtext_op",)
_JSON = ("json",)
_JSON_ROW = ("json_row",)
_XML = ("xml",)
_AVRO = ("avro_row", "avro_op")
_OCF = ("avro_row_ocf", "avro_op_ocf")
_ALL = (*_TEXT, *_TEXT_OP, *_JSON, *_JSON_ROW, *_XML, *_AVRO, *_OCF)


def _properties(formats: tuple[str, ...], since: str, names: str) -> list[GoldenGateProperty]:
    return [GoldenGateProperty(name, formats, since) for name in names.split()]


GOLDENGATE_PROPERTIES: tuple[GoldenGateProperty, ...] = (
    *_properties(_ALL, "12.2", "insertOpKey updateOpKey deleteOpKey truncateOpKey encoding iso8601Format"),
    *_properties(
        (*_TEXT, *_TEXT_OP),
        "12.2",
        "includeColumnNames includeOpTimestamp includeCurrentTimestamp includeOpType includeTableName includePosition"
        " fieldDelimiter keyValueDelimiter keyValuePairDelimiter nullValueRepresentation missingValueRepresentation",
    ),
    *_properties((*_TEXT, *_JSON_ROW, "avro_row", "avro_row_ocf"), "12.2", "pkUpdateHandling"),
    *_properties((*_TEXT, *_TEXT_OP, *_AVRO), "12.2", "lineDelimiter"),
    *_properties(_TEXT_OP, "12.3.2", "includeGroupCols"),
    *_properties((*_TEXT, *_TEXT_OP), "12.3.2", "enableFieldDescriptorHeaders"),
    *_properties((*_TEXT, *_TEXT_OP), "19.1", "disableEscaping"),
    *_properties((*_TEXT, *_TEXT_OP), "21", "wrapStringsInQuotes includeMetaColumnNames"),
    *_properties(_ALL, "19.1", "metaColumnsTemplate"),
    *_properties(_JSON, "12.2", "prettyPrint jsonDelimiter includePrimaryKeys"),
    *_properties((*_JSON, *_AVRO, *_OCF), "12.2", "generateSchema"),
    *_properties((*_JSON, *_AVRO, *_OCF), "12.2", "schemaDirectory treatAllColumnsAsStrings versionSchemas"),
    *_properties(_JSON, "19.1", "omitNullValues"),
    *_properties(
        _JSON,
        "21",
        "omitNullValuesSpecialUpdateHandling flatten flattenDelimiter beforeObjectName afterObjectName"
        " enableJsonArrayOutput",
    ),
    *_properties(_AVRO, "12.2", "wrapMessageInGenericAvroMessage wrapMessageInGenericAvroSchema"),
    *_properties(_AVRO, "12.3", "genericWrapperUseFingerprint"),
    *_properties(("avro_row",), "12.3", "includeIsMissingFields"),
    *_properties((*_AVRO, *_OCF), "12.3.2", "enableDecimalLogicalType oracleNumberScale enableTimestampLogicalType"),
    *_properties((*_AVRO, *_OCF), "19.1", "mapOracleNumbersAsStrings mapLargeNumbersAsStrings"),
    *_properties((*_AVRO, *_OCF), "21", "maxPrecision"),
    *_properties(_XML, "12.2", "includeProlog"),
    *_properties(
        ("csv", "fixed"),
        ADAPTER,
        "delim quote metacols missingColumnChar presentColumnChar nullColumnChar beginTxChar middleTxChar endTxChar"
        " wholeTxChar insertChar updateChar deleteChar truncateChar endOfLine justify includeBefores",
    ),
)

GOLDENGATE_FORMATS: tuple[str, ...] = (*_ALL, "sequencefile")

ADAPTER_FORMATS: tuple[str, ...] = ("csv", "fixed", "xml2")
