"""Handler files as they are in production: planted mistakes are found where they are, and right files are left alone.

A mistake is a line in a right file, in place of the line with its key or at the end. `«` and `»` surround what a person
would point at. Words are those that the message and its help must have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from places import LINT

from ggfmt.config.handlers import read_configuration
from ggfmt.config.lint.fix import fix_file
from ggfmt.config.lint.reading import Rules, lint
from ggfmt.diagnostics.codes import Severity
from ggfmt.diagnostics.diagnostic import ConfigurationError, Diagnostic

FILE_WRITER = """\
gg.handlerlist=fw
gg.handler.fw.type=filewriter
gg.handler.fw.mode=op
gg.handler.fw.pathMappingTemplate=./dirout/${fullyQualifiedTableName}
gg.handler.fw.fileNameMappingTemplate=${fullyQualifiedTableName}_${currentTimestamp}.avro
gg.handler.fw.stateFileDirectory=./dirsta
gg.handler.fw.maxFileSize=1.1g
gg.handler.fw.fileRollInterval=7m
gg.handler.fw.inactivityRollInterval=1.5h
gg.handler.fw.finalizeAction=NONE
gg.handler.fw.format=avro_row_ocf
gg.handler.fw.format.metaColumnsTemplate=${objectname},${optype},${position}
gg.handler.fw.eventHandler=parquet
gg.eventhandler.parquet.type=parquet
gg.eventhandler.parquet.pathMappingTemplate=./dirparquet
gg.eventhandler.parquet.compressionCodec=SNAPPY
gg.eventhandler.parquet.finalizeAction=none
gg.eventhandler.parquet.eventHandler=s3
gg.eventhandler.s3.type=s3
gg.eventhandler.s3.region=eu-central-1
gg.eventhandler.s3.bucketMappingTemplate=ogg-orders
gg.eventhandler.s3.pathMappingTemplate=ogg/${toLowerCase[${tableName}]}
gg.classpath=dirprm:/opt/parquet/*
"""
TEXT = """\
gg.handlerlist=files
gg.handler.files.type=filewriter
gg.handler.files.mode=op
gg.handler.files.pathMappingTemplate=./dirout
gg.handler.files.fileNameMappingTemplate=${schemaName}.${tableName}_${currentTimestamp}.csv
gg.handler.files.stateFileDirectory=./dirsta
gg.handler.files.format=delimitedtext
gg.handler.files.format.fieldDelimiter=|
gg.handler.files.format.insertOpKey=I
gg.handler.files.finalizeAction=none
"""
KAFKA = """\
gg.handlerlist=k
gg.handler.k.type=kafka
gg.handler.k.mode=op
gg.handler.k.kafkaProducerConfigFile=producer.properties
gg.handler.k.topicMappingTemplate=${fullyQualifiedTableName}
gg.handler.k.keyMappingTemplate=${primaryKeys}
gg.handler.k.format=json
gg.handler.k.format.metaColumnsTemplate=${optype},${position}
gg.handler.k.blockingSend=FALSE
gg.log=log4j
gg.classpath=dirprm:/opt/kafka/libs/*
"""
NO_FORMAT = KAFKA.replace("gg.handler.k.format=json\n", "")
CONNECT = """\
gg.handlerlist=kc
gg.handler.kc.type=kafkaconnect
gg.handler.kc.mode=op
gg.handler.kc.kafkaProducerConfigFile=kc.properties
gg.handler.kc.topicMappingTemplate=${tableName}
gg.handler.kc.keyMappingTemplate=${null}
gg.handler.kc.messageFormatting=op
gg.handler.kc.metaColumnsTemplate=${optype},${position}
"""
HDFS = """\
gg.handlerlist=h
gg.handler.h.type=hdfs
gg.handler.h.mode=op
gg.handler.h.pathMappingTemplate=ogg/${fullyQualifiedTableName}
gg.handler.h.fileNameMappingTemplate=${fullyQualifiedTableName}_${currentTimestamp}.txt
gg.handler.h.maxFileSize=1g
gg.handler.h.format=json_row
gg.handler.h.format.pkUpdateHandling=update
"""
PROXY = """\
gg.handlerlist=rest,h
gg.handler.rest.type=kafkarestproxy
gg.handler.rest.mode=op
gg.handler.rest.topicMappingTemplate=${tableName}
gg.handler.rest.keyMappingTemplate=${primaryKeys}
gg.handler.rest.postDataUrl=http://proxy.example.org:8083
gg.handler.rest.format=avro
gg.handler.h.type=hdfs
gg.handler.h.format=json
"""

W = "gg.handler.fw."
P = "gg.eventhandler.parquet."
S = "gg.eventhandler.s3."
MISTAKES: list[tuple[str, str, str]] = [
    # The File Writer
    (FILE_WRITER, f"{W}maxFileSize=«10 mb»x", "k m g"),
    (FILE_WRITER, f"{W}maxFileSize=«-1»", "give"),
    (FILE_WRITER, f"{W}fileRollInterval=«10 minutes»", "ms s m h"),
    (FILE_WRITER, f"{W}fileRollInterval=«1h30m»", "one number"),
    (FILE_WRITER, f"{W}inactivityRollInterval=«5 min»", "ms"),
    (FILE_WRITER, f"{W}rollOnShutdown=«yes»", "true false"),
    (FILE_WRITER, f"{W}createOwnerFile=«1»", "true false"),
    (FILE_WRITER, f"{W}atTime=«25:00»", "23:59"),
    (FILE_WRITER, f"{W}atTime=«3:00»", "00:00"),
    (FILE_WRITER, f"{W}atTime=«03:00;15:00»", "commas"),
    (FILE_WRITER, f"{W}finalizeAction=«remove»", "delete move-rename"),
    (FILE_WRITER, f"{W}avroCodec=«zstandard»", "snappy"),
    (FILE_WRITER, f"{W}avroCodec=«snapy»", "snappy"),
    (TEXT, "gg.handler.files.finalizeAction=«delete»", "eventHandler"),
    (FILE_WRITER, f"{W}finalizeAction=«rename»", "fileRenameMappingTemplate"),
    (FILE_WRITER, f"{W}finalizeAction=«move»", "movePathMappingTemplate"),
    (FILE_WRITER, f"«{W}fileRenameMappingTemplate»=done_${{tableName}}.avro", "finalizeAction=rename"),
    (FILE_WRITER, f"«{W}movePathMappingTemplate»=done", "finalizeAction=move"),
    (FILE_WRITER, f"{W}bom=«efbbb»", "hexadecimal"),
    (FILE_WRITER, f"{W}mode=«operation»", "op"),
    (FILE_WRITER, f"{W}partitionByTable=«false»", "one table"),
    (FILE_WRITER, f"{W}rollOnMetadataChange=«false»", "one schema"),
    (FILE_WRITER, f"{W}pathMappingTemplate=out/«${{tablName}}»", "tableName"),
    (FILE_WRITER, f"{W}pathMappingTemplate=out/«${{opType}}»", "one operation"),
    (FILE_WRITER, f"{W}pathMappingTemplate=«../out»", ".."),
    (FILE_WRITER, f"{W}fileNameMappingTemplate=${{tableName}}_«${{currentDate}}».avro", "currentTimestamp"),
    (FILE_WRITER, f"{W}fileNameMappingTemplate=«${{insertCount}}»_${{currentTimestamp}}.avro", "always 0"),
    (FILE_WRITER, f"{W}fileNameMappingTemplate=«out/${{tableName}}_${{currentTimestamp}}.avro»", "pathMappingTemplate"),
    (FILE_WRITER, f"{W}fileNameMappingTemplate=${{tableName}}_«${{currentTimestamp[yyyy-MM-ddTHH]}}».avro", "T"),
    (FILE_WRITER, f"{W}fileNameMappingTemplate=${{tableName}}_«${{position}}».avro", "one operation"),
    (FILE_WRITER, f"{W}fileNameMappingTemplate=«${{toLowerCase[${{tableName}}}}.avro»", "closed"),
    (FILE_WRITER, f"«{W}fileRollIntervall»=7m", "fileRollInterval"),
    (FILE_WRITER, f"«{W}rootFilPath»=x", "rootFilePath"),
    (FILE_WRITER, f"«{W}topicMappingTemplate»=x", "kafka"),
    (FILE_WRITER, f"«{W}hsync»=true", "hdfs"),
    (FILE_WRITER, f"{W}format=«avro_row_ofc»", "avro_row_ocf"),
    (FILE_WRITER, f"{W}format=«json»", "avro_row_ocf avro_op_ocf"),
    (FILE_WRITER, f"{W}format=«binary»", "does not write"),
    (FILE_WRITER, f"{W}format=«sequencefile»", "does not write"),
    (FILE_WRITER, f"{W}format.metaColumnsTemplate=${{objectname}},«${{optyp}}»", "optype"),
    (FILE_WRITER, f"{W}format.metaColumnsTemplate=${{objectname}},«optype»", "write `${optype}`"),
    (FILE_WRITER, f"{W}format.metaColumnsTemplate=${{objectname}},«${{token}}»", "ARGUMENT"),
    (FILE_WRITER, f"{W}format.metaColumnsTemplate=${{optype[a]}},«${{position[a]}}»", "a different name"),
    (FILE_WRITER, f"«{W}format.metaColumnTemplate»=${{optype}}", "metaColumnsTemplate"),
    (FILE_WRITER, f"{W}eventHandler=«parket»", "parquet"),
    (FILE_WRITER, f"{W}eventHandler=«orc»", "gg.eventhandler.orc.type"),
    (FILE_WRITER, f"«{W}eventhandlr»=parquet", "eventHandler"),
    (FILE_WRITER, "«gg.hander.fw.maxFileSize»=1g", "gg.handler.fw.maxFileSize"),
    (FILE_WRITER, "«ggs.gg.handler.fw.maxFileSize»=1g", "gg.handler.fw.maxFileSize"),
    (FILE_WRITER, "«gg.handler.fwx.maxFileSize»=1g", "fw"),
    (FILE_WRITER, "«gg.handler.other.mode»=op", "no listed handler"),
    (FILE_WRITER, "gg.classpath=dirprm:/opt/parquet/«*.jar»", "`*`"),
    # Event handlers
    (FILE_WRITER, f"{P}type=«parkett»", "parquet"),
    (FILE_WRITER, f"{P}compressionCodec=«ZSTD»", "GZIP LZO SNAPPY UNCOMPRESSED"),
    (FILE_WRITER, f"{P}dictionaryEncoding=«on»", "true"),
    (FILE_WRITER, f"{P}pageSize=«64k»", "whole number"),
    (FILE_WRITER, f"{P}finalizeAction=«move»", "none delete"),
    (FILE_WRITER, f"{P}pathMappingTemplate=parquet/«${{tabelName}}»", "tableName"),
    (FILE_WRITER, f"{P}eventHandler=«s3x»", "s3"),
    (FILE_WRITER, f"{P}eventHandler=«parquet»", "no end"),
    (FILE_WRITER, f"«{P}compresionCodec»=GZIP", "compressionCodec"),
    (FILE_WRITER, f"«{P}stripeSize»=1", "orc"),
    (FILE_WRITER, f"«{P}bucketMappingTemplate»=x", "s3"),
    (FILE_WRITER, f"{S}type=«s3a»", "s3"),
    (FILE_WRITER, f"«{S}type»=oci-c", "serverUrl containerMappingTemplate"),
    (FILE_WRITER, f"{S}bucketMappingTemplate=«OggOrders»", "small letters"),
    (FILE_WRITER, f"{S}pathMappingTemplate=«/ogg/${{tableName}}»", "remove the `/`"),
    (FILE_WRITER, f"«{S}regoin»=x", "region"),
    (FILE_WRITER, f"«{S}fileMappingTemplate»=x.parquet", "fileNameMappingTemplate"),
    (FILE_WRITER, f"{S}finalizeAction=«rename»", "none delete"),
    (FILE_WRITER, "«gg.eventhandler.spare.type»=command\ngg.eventhandler.spare.command=x", "never applied"),
    (FILE_WRITER, "«gg.eventhandler.spare.pathMappingTemplate»=x", "never applied"),
    (FILE_WRITER, f"{S}type=«snowflake»\n{S}x=1", "note"),
    # Delimited text
    (TEXT, "gg.handler.files.format.lineDelimiter=«\\n»", "CDATA"),
    (TEXT, "gg.handler.files.format.lineDelimiter=«CDATA(\\n)»", "CDATA["),
    (TEXT, 'gg.handler.files.format.insertOpKey=«"I"»', "quotes"),
    (TEXT, "gg.handler.files.format.insertOpKey=«T»", "truncateOpKey default"),
    (TEXT, "gg.handler.files.format.updateOpKey=«I»", "equal insertOpKey"),
    (KAFKA, "gg.handler.k.format.deleteOpKey=X\ngg.handler.k.format.truncateOpKey=«CDATA[X]»", "equal deleteOpKey"),
    (KAFKA, "«gg.handler.k.format.insertOpKey=»", "empty"),
    (CONNECT, "gg.handler.kc.insertOpKey=«U»", "updateOpKey default"),
    (PROXY, "gg.handler.rest.deleteOpKey=«T»", "truncateOpKey default"),
    (FILE_WRITER, f"{W}format.updateOpKey=«D»", "deleteOpKey"),
    (HDFS, "gg.handler.h.format.deleteOpKey=«I»", "insertOpKey"),
    (TEXT, "gg.handler.files.format.fieldDelimiter=«||»", "one character"),
    (TEXT, "gg.handler.files.format.fieldDelimiter=«\\\\u0001»", "\\u0001"),
    (TEXT, "gg.handler.files.format.encoding=«UTF8x»", "UTF8"),
    (TEXT, "gg.handler.files.format.pkUpdateHandling=«delete_insert»", "delete-insert"),
    (TEXT, "«gg.handler.files.format.prettyPrint»=true", "json"),
    (TEXT, "gg.handler.files.eventHandler=parquet\ngg.eventhandler.parquet.type=parquet\n"
        "gg.eventhandler.parquet.pathMappingTemplate=x\ngg.handler.files.format=«delimitedtext»", "avro_row_ocf"),
    (TEXT, "«gg.contentreplacestring2»=x", "gg.contentreplaceregex2"),
    (TEXT, "gg.handler.files.fileRollInterval=«7 m»", "one number"),
    (TEXT, "gg.handler.files.format.nullValueRepresentation=«\\N»", "Java drops"),
    (TEXT, "gg.contentreplaceregex=[a-z]«\\d\\.»\ngg.contentreplacestring=x", "Java drops"),
    (TEXT, "gg.handler.files.stateFileDirectory=C:«\\ogg\\new»", "Java drops"),
    (TEXT, "gg.handler.files.pathMappingTemplate=out«\\text»", "control character"),
    (TEXT, "gg.handler.files.pathMappingTemplate=./dirout/«$tableName»", "write `${tableName}`"),
    # Kafka
    (KAFKA, "gg.handler.k.mode=tx\ngg.handler.k.topicMappingTemplate=«${tableName}»", "mode=op"),
    (KAFKA, "gg.handler.k.topicMappingTemplate=«${tablName}»", "tableName"),
    (KAFKA, "gg.handler.k.keyMappingTemplate=«${primarykey}»", "primaryKeys"),
    (KAFKA, "gg.handler.k.topicMappingTemplate=«${tableName»", "closed"),
    (KAFKA, "gg.handler.k.blockingSend=«no»", "true false"),
    (KAFKA, "gg.handler.k.format=«avro_row_ocf»", "hdfs filewriter"),
    (KAFKA, "«gg.handler.k.topicMapingTemplate»=x", "topicMappingTemplate"),
    (KAFKA, "«gg.handler.k.eventHandler»=x", "filewriter"),
    (KAFKA, "gg.handler.k.type=«kafkas»", "kafka"),
    (KAFKA, "«gg.hanlder.k.mode»=op", "gg.handler.k.mode"),
    (NO_FORMAT, "«gg.handler.k.format.json»", "gg.handler.k.format=json"),
    (NO_FORMAT, "«gg.handler.k.format.avro_row=»", "gg.handler.k.format=avro_row"),
    (KAFKA, "gg.handler.k.format=«parquet»", "gg.eventhandler.parquet.type=parquet gg.handler.k.format=avro_row_ocf"),
    (KAFKA, "gg.handler.k.format=«ORC»", "gg.eventhandler.orc.type=orc"),
    (KAFKA, "gg.handler.k.type=«s3»", "gg.handler.k.type=filewriter gg.handler.k.eventHandler=s3"),
    (KAFKA, "gg.handler.k.type=«Parquet»", "gg.handler.k.eventHandler=parquet"),
    (KAFKA, "gg.handler.k.type=«hive»", "gg.handler.k.type=hdfs"),
    (KAFKA, "«gg.handler.name»=kafka", "gg.handler.k.type"),
    (KAFKA, "«gg.handler.type»=kafka", "gg.handler.k.type"),
    (KAFKA, "«gg.handler.k»=kafka", "gg.handler.k.type"),
    (KAFKA, "«gg.handler.mode»=op", "gg.handler.k.mode"),
    (KAFKA, "«gg.handler.topicMappingTemplate»=x", "gg.handler.k.topicMappingTemplate"),
    (TEXT, "gg.handler.files.format.encoding=«UTF-8-BOM»", "`UTF-8` bom=efbbbf"),
    (TEXT, "gg.handler.files.format.encoding=«ANSI»", "windows-1252"),
    (TEXT, "gg.handler.files.format.encoding=«ZHS16GBK»", "`GBK`"),
    (TEXT, "gg.handler.files.format.encoding=«AL32UTF8»", "`UTF-8`"),
    (TEXT, "gg.handler.files.format.encoding=«we8iso8859p15»", "`ISO-8859-15`"),
    (TEXT, "gg.handler.files.format.encoding=«ZHT16MSWIN950»", "`x-windows-950`"),
    (TEXT, "gg.handler.files.format.encoding=«utf8mb4»", "`UTF-8`"),
    # Kafka Connect, HDFS and REST Proxy
    (CONNECT, "gg.handler.kc.messageFormatting=«rows»", "row op"),
    (CONNECT, "gg.handler.kc.oracleNumberScale=«40»", "38"),
    (CONNECT, "gg.handler.kc.pkUpdateHandling=«fail»", "abend"),
    (CONNECT, "gg.handler.kc.metaColumnsTemplate=«${opttype}»", "optype"),
    (HDFS, "gg.handler.h.hsync=«ja»", "true"),
    (HDFS, "gg.handler.h.openNextFileAtRoll=«2»", "true"),
    (HDFS, "gg.handler.h.compressionType=«gzip»", "block"),
    (HDFS, "gg.handler.h.authType=«kerberoz»", "kerberos"),
    (HDFS, "gg.handler.h.fileRollInterval=«daily»", "ms"),
    (HDFS, "«gg.handler.h.stateFileDirectory»=x", "filewriter"),
    (HDFS, "«gg.handler.h.keberosKeytabFile»=x", "kerberosKeytabFile"),
    (HDFS, "«gg.handler.h.pathMappingTemplate»=ogg/${tableName}\ngg.handler.h.rootFilePath=/ogg", "12.3.1.1 line"),
    (PROXY, "gg.handler.rest.format=«xml»", "avro json"),
    (PROXY, "gg.handlerlist=rest,«h»\nggfmt.compatibility=23", "one handler"),
    (PROXY, "gg.handler.rest.topicMappingTemplate=«${tableNam}»", "tableName"),
]  # fmt: skip

_LACKING = [
    (FILE_WRITER, name, "gg.handler.fw.type")
    for name in ("pathMappingTemplate", "fileNameMappingTemplate", "stateFileDirectory")
]
_LACKING += [(KAFKA, "topicMappingTemplate", "gg.handler.k.type")]
_LACKING += [(CONNECT, name, "gg.handler.kc.type") for name in ("kafkaProducerConfigFile", "keyMappingTemplate")]
_LACKING += [(PROXY, "postDataUrl", "gg.handler.rest.type")]


def planted(base: str, change: str) -> tuple[str, int, int, int]:
    """A file with a mistake, and the line, column and length of the mistake."""
    lines = base.splitlines()
    for line in change.splitlines():
        key = re.sub("[«»]", "", line).partition("=")[0]
        places = [number for number, other in enumerate(lines) if other.partition("=")[0] == key]
        if places:
            lines[places[0]] = line
        else:
            lines.append(line)
    number = next(number for number, line in enumerate(lines) if "«" in line)
    start, end = lines[number].index("«"), lines[number].index("»") - 1
    return re.sub("[«»]", "", "\n".join(lines)) + "\n", number + 1, start + 1, end - start


def named(findings: tuple[Diagnostic, ...], words: str) -> Iterator[Diagnostic]:
    for finding in findings:
        text = f"{finding.severity.value} {finding.message} {finding.help}"
        if all(word in text for word in words.split(" ")):
            yield finding


@pytest.mark.parametrize(("base", "change", "words"), MISTAKES, ids=[change for _, change, _ in MISTAKES])
def test_a_planted_mistake_is_found_where_it_is(base: str, change: str, words: str) -> None:
    text, line, column, length = planted(base, change)
    found = lint(text.encode(), "f")
    places = [(item.span.line, item.span.column, item.span.length) for item in named(found, words)]
    touching = [
        place
        for place in places
        if place[0] == line and place[1] is not None and place[1] < column + length and place[1] + place[2] > column
    ]
    assert touching, [str(item) for item in found]
    others = [item for item in found if item.severity is not Severity.NOTE and item.span.line != line]
    assert len(others) <= 2, [str(item) for item in others]


@pytest.mark.parametrize(
    "line", ["gg.handler.k.format.json", "gg.handler.k.format.json=", "gg.handler.k.format.json ="]
)
def test_a_format_without_its_sign_is_fixed(line: str) -> None:
    text = KAFKA.replace("gg.handler.k.format=json", line)
    assert fix_file(text.encode(), "f").content.decode() == KAFKA


@pytest.mark.parametrize(("base", "name", "key"), _LACKING)
def test_what_is_required_and_lacks_is_found_at_the_type(base: str, name: str, key: str) -> None:
    lines = [line for line in base.splitlines() if f".{name}=" not in line or "eventhandler" in line]
    found = [item for item in lint("\n".join(lines).encode(), "f") if item.severity is not Severity.NOTE]
    (finding,) = (item for item in found if item.code == "GG109")
    assert name in finding.message
    assert finding.span.source is not None and finding.span.source.startswith(key)


@pytest.mark.parametrize("base", [FILE_WRITER, TEXT, KAFKA, CONNECT, HDFS + "gg.classpath=/etc/hadoop/conf\n", PROXY])
def test_a_handler_without_a_type_is_found(base: str) -> None:
    name = base.partition("\n")[0].partition("=")[2].partition(",")[0]
    text = re.sub(rf"gg\.handler\.{name}\.type=.*\n", "", base)
    first = next(number for number, line in enumerate(text.splitlines(), 1) if line.startswith(f"gg.handler.{name}."))
    places = {
        (item.span.line, item.code) for item in named(lint(text.encode(), "f"), f"gg.handler.{name}.type missing")
    }
    assert (first, "GG109") in places


def test_the_type_that_is_missing_is_the_one_that_has_all_properties() -> None:
    text = TEXT.replace("gg.handler.files.type=filewriter\n", "")
    (finding,) = (item for item in lint(text.encode(), "f") if item.code == "GG109")
    assert finding.help == "add `gg.handler.files.type=filewriter`"
    empty = lint(TEXT.replace("type=filewriter", "type=").encode(), "f")
    assert [str(item.span) for item in named(empty, "gg.handler.files.type empty")] == ["f:2:1"]


def test_a_handler_for_ggfmt_alone_needs_no_type() -> None:
    text = "gg.handlerlist=h\ngg.handler.h.format=json\ngg.handler.h.format.metaColumnsTemplate=${optype}\n"
    assert lint(text.encode(), "f") == ()


def test_a_type_on_a_block_that_is_not_listed() -> None:
    text = KAFKA.replace("gg.handler.k.type", "gg.handler.kk.type")
    (finding,) = named(lint(text.encode(), "f"), "gg.handler.kk.type listed")
    assert (str(finding.span), finding.help) == ("f:2:1", "did you mean `gg.handler.k.type`?")
    other = KAFKA.replace("gg.handler.k.type", "gg.handler.other.type")
    assert len(list(named(lint(other.encode(), "f"), "gg.handler.other.type listed"))) == 1
    assert not list(named(lint(f"{KAFKA}gg.handler.other.type=hdfs\n".encode(), "f"), "listed"))


@pytest.mark.parametrize(
    "key", ["jvm.bootoptions", "javawriter.bootoptions", "gg.classpath", "gg.log.level", "goldengate.userexit.writers"]
)
def test_a_key_of_the_process_that_is_given_twice(key: str) -> None:
    text = f"{key}=a\n{KAFKA.replace('gg.classpath', '# ')}{key}=b\n"
    line = len(text.splitlines())
    (finding,) = (item for item in lint(text.encode(), "f") if item.code == "GG107")
    assert (str(finding.span), finding.span.length) == (f"f:{line}:1", len(key))
    assert finding.message == f"`{key}` was given before, in line 1"
    assert fix_file(text.encode(), "f").content == text.encode()
    assert fix_file(text.encode(), "f", unsafe=True).content.decode() == text.partition("\n")[2]
    same = lint(text.replace("=b", "=a").encode(), "f")
    assert [item.severity for item in same if item.code == "GG128"] == [Severity.NOTE]


def test_there_are_as_many_mistakes_as_promised() -> None:
    assert len(MISTAKES) + len(_LACKING) >= 100


OUT = "fileNameMappingTemplate=${fullyQualifiedTableName}_${currentTimestamp}.txt\n"

# Right files, modelled on the samples of each release.

RELEASES = ("12.3.2", "19.1", "21", "23", "26")
RIGHT: list[tuple[str, str]] = [
    *((f"{base}ggfmt.compatibility={release}\n", f"{name} {release}")
      for (name, base), release in product(
          (("parquet", FILE_WRITER), ("text", TEXT.replace("format.insert", "format.metaColumnsTemplate=${optype}\n"
            "gg.handler.files.format.insert")), ("kafka", KAFKA)), RELEASES)),
    (FILE_WRITER, "parquet"), (TEXT, "text"), (KAFKA, "kafka"), (CONNECT, "connect"), (HDFS, "hdfs"), (PROXY, "proxy"),
    (KAFKA.replace("gg.handler.k.mode=op\n", "gg.handler.k.Mode=op\n").replace("type=kafka", "Type=Kafka"), "case"),
    (KAFKA.replace(".kafkaProducerConfigFile", ".KafkaProducerConfigFile").replace("blockingS", "BlockingS"), "beans"),
    (KAFKA + "gg.handler.k.includetokens=true\n", "tokens"),
    (KAFKA.replace("${primaryKeys}", "${columnValue[S.T1=ID,S.T2=KEY][null][missing]}"), "column value"),
    (KAFKA.replace("mode=op", "mode=tx").replace("${fullyQualifiedTableName}", "orders").replace("${primaryKeys}",
        "${position}"), "transactions"),
    (TEXT.replace("1.1g", "100 m"), "blank in a size"),
    (TEXT + "gg.handler.files.maxFileSize=10k\ngg.handler.files.fileRollInterval=-1\n", "off"),
    (TEXT + "gg.handler.files.atTime=03:00, 15:30\ngg.handler.files.bom=efbbbf\n", "times"),
    (TEXT.replace("=none", "=move-rename") + "gg.handler.files.movePathMappingTemplate=done\n"
        "gg.handler.files.fileRenameMappingTemplate=${tableName}_${operationCount}.csv\n", "move and rename"),
    (TEXT + "gg.handler.files.eventHandler=hdfs\ngg.eventhandler.hdfs.type=hdfs\n"
        "gg.eventhandler.hdfs.pathMappingTemplate=/ogg/${tableName}\n", "to hdfs"),
    (FILE_WRITER.replace("type=parquet", "type=ORC").replace("SNAPPY", "ZLIB"), "orc in capitals"),
    (FILE_WRITER.replace("finalizeAction=NONE", "finalizeAction=delete"), "delete"),
    (FILE_WRITER.replace("SNAPPY", "LZO"), "codec"),
    (HDFS.replace("pathMappingTemplate=ogg/${fullyQualifiedTableName}\n", "rootFilePath=/ogg\n").replace(
        f"gg.handler.h.{OUT}", ""), "hdfs 12.3.1"),
    (HDFS.replace("pathMappingTemplate=ogg/${fullyQualifiedTableName}\n", "rootFilePath=/ogg\n").replace(
        f"gg.handler.h.{OUT}", "").replace(
        "json_row", "json").replace("gg.handler.h.format.pkUpdateHandling=update\n", "gg.handler.h.fileSuffix=.json\n"),
        "hdfs 12.2"),
    ("# TODO: keys of the store\n" + FILE_WRITER + "jvm.bootoptions=-Xmx512m -Xms32m\ngg.report.time=30sec\n", "21c"),
    (FILE_WRITER + "goldengate.userexit.timestamp=utc\ngoldengate.userexit.writers=javawriter\n", "user exit"),
    (FILE_WRITER.replace("=./dirout/", ": ./dirout/").replace("mode=op", "mode op"), "separators"),
    (FILE_WRITER.replace("${objectname},${optype},", "\\\n    ${objectname}, ${optype}, \\\n    "), "continued"),
    (FILE_WRITER.replace("#", "").replace("gg.handlerlist", "# \u7f16\u7801\ngg.handlerlist"), "comments of UTF-8"),
    (TEXT.replace("fieldDelimiter=|", "fieldDelimiter=\\u00a6"), "escapes"),
    # What ggfmt does not do of them is no mistake.
    *((LINT.joinpath(f"type_{type}.properties").read_text(encoding="utf-8"), type) for type in (
        "bigquery", "cassandra", "elasticsearch", "hbase", "jdbc", "mongodb", "nosql", "snowflake")),
    ("gg.handlerlist=own\ngg.handler.own.type=com.example.AuditHandler\ngg.handler.own.color=red\n", "class"),
    ("gg.target=snowflake\ngg.stage=s3\ngg.format=parquet\n", "target"),
    ("gg.target=bq\ngg.eventhandler.bq.project=orders\n", "target of BigQuery"),
    (TEXT.replace("=delimitedtext", "=com.example.AuditFormatter").replace("gg.handler.files.format.fieldDelimiter=|\n",
        "").replace("gg.handler.files.format.insertOpKey=I\n", ""), "formatter"),
    (HDFS.replace("json_row", "sequencefile").replace("gg.handler.h.format.pkUpdateHandling=update\n", ""), "sequence"),
    (TEXT + "gg.handler.files.format.encoding=ISO-2022-CN-GB\n", "charset"),
    (TEXT.replace("./dirout", "../dirout/${groupName}").replace("Timestamp}", "Timestamp[YYYY-ww]}"), "names"),
    (TEXT + "gg.schemareplaceregex=(?<=a*)b\ngg.schemareplacestring=c\n", "pattern"),
    (KAFKA.replace("json", "avro_row") + "gg.handler.k.format.enableTimestampLogicalType=true\n"
        "gg.format.timestamp=dd-MMM-yy hh.mm.ss a\ngg.handler.k.filter=insert\n", "times"),
]  # fmt: skip


def test_there_are_as_many_right_files_as_promised() -> None:
    assert len(RIGHT) >= 40


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for text, name in RIGHT])
def test_a_right_file_is_left_alone(text: str) -> None:
    found = lint(text.encode(), "f")
    assert [str(item) for item in found if item.severity is not Severity.NOTE] == []


def test_a_codec_without_a_library_stops_a_run_alone() -> None:
    for for_run in (False, True):
        found = lint(FILE_WRITER.replace("SNAPPY", "LZO").encode(), "f", Rules(for_run=for_run))
        (finding,) = (item for item in found if item.code == "GG149")
        assert (finding.span.line, finding.severity is Severity.ERROR) == (16, for_run)


@pytest.mark.parametrize(
    "text",
    [
        *(pytest.param(planted(base, change)[0], id=change) for base, change, _ in MISTAKES),
        *(pytest.param(text, id=name) for text, name in RIGHT),
        pytest.param("gg.target=snowflake\ngg.stage=s3\n", id="target"),
        pytest.param(TEXT.replace("${schemaName}", "${groupName}"), id="group"),
        pytest.param("gg.handlerlist=h\ngg.handler.h.type=hbase\n", id="hbase"),
    ],
)
def test_the_check_and_the_run_agree(text: str, tmp_path: Path) -> None:
    """A file without errors and warnings can run; what a run refuses has a finding of the same code."""
    file = tmp_path / "f.properties"
    file.write_text(text, encoding="utf-8")
    found = lint(file.read_bytes(), str(file), Rules(for_run=True))
    try:
        read_configuration([str(file)])
        refused: set[str] = set()
    except ConfigurationError as error:
        refused = {item.code for item in error.diagnostics if item.severity is Severity.ERROR}
    assert refused <= {item.code for item in found if item.severity is not Severity.NOTE}
    if all(item.severity is Severity.NOTE for item in found):
        assert not refused
