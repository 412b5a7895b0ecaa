"""Whether GoldenGate would accept what ggfmt does not write itself, and do what the author of the file means."""

from __future__ import annotations

import pytest

from ggfmt.config.lint.fix import fix_file
from ggfmt.config.lint.reading import Rules, lint
from ggfmt.config.property_table import EVENT_HANDLER_TYPES, EVENT_HANDLERS, HANDLER_TYPES, HANDLERS, KEYS, PROCESS
from ggfmt.diagnostics.codes import Severity
from ggfmt.diagnostics.diagnostic import Diagnostic
from ggfmt.java.date_format import meant_mask
from ggfmt.options.spec import Need

WRITER = """\
gg.handlerlist=fw
gg.handler.fw.type=filewriter
gg.handler.fw.format=json
gg.handler.fw.pathMappingTemplate=./d
gg.handler.fw.fileNameMappingTemplate=${tableName}_${currentTimestamp}.json
gg.handler.fw.stateFileDirectory=./s
"""
KAFKA = """\
gg.handlerlist=k
gg.handler.k.type=kafka
gg.handler.k.mode=op
gg.handler.k.format=json
gg.handler.k.topicMappingTemplate=${tableName}
gg.handler.k.keyMappingTemplate=${primaryKeys}
"""
STORE = "gg.handler.fw.eventHandler=s\ngg.eventhandler.s.type=s3\ngg.eventhandler.s.pathMappingTemplate=p\n"
STORE += "gg.eventhandler.s.bucketMappingTemplate=orders\n"


def of(type: str, *lines: str) -> str:
    head = f"gg.handlerlist=x\ngg.handler.x.type={type}\n"
    return head + "".join(f"gg.handler.x.{line}\n" for line in lines)


def found(text: str, for_run: bool = False) -> list[Diagnostic]:
    return [item for item in lint(text.encode(), "f", Rules(for_run=for_run)) if item.code not in ("GG124", "GG148")]


def at_the_end(text: str) -> list[tuple[str, Severity, str]]:
    """The findings of the last line: code, severity, and what is marked in it."""
    last = text.count("\n")
    spans = [(item, item.span) for item in found(text) if item.span.line == last]
    return [
        (item.code, item.severity, (span.source or "")[(span.column or 1) - 1 :][: span.length]) for item, span in spans
    ]


@pytest.mark.parametrize("type", [type.name for type in HANDLER_TYPES.values() if type.ignores_format])
def test_a_handler_without_a_formatter_has_no_format(type: str) -> None:
    needed = [f"{spec.name}=x1" for spec in HANDLER_TYPES[type].own if spec.need is not Need.NONE]
    text = of(type, *needed, "format=json")
    warning = ("GG110", Severity.WARNING, "gg.handler.x.format")
    assert at_the_end(text) == [warning]
    assert "gg.handler.x.format=" not in fix_file(text.encode(), "f", unsafe=True).content.decode()


@pytest.mark.parametrize(("type", "name"), [("hbase", "pkUpdateHandling"), ("bigquery", "metaColumnsTemplate")])
def test_a_property_of_the_handler_below_its_format_goes_a_level_up(type: str, name: str) -> None:
    needed = [f"{spec.name}=x" for spec in HANDLER_TYPES[type].own if spec.need is not Need.NONE]
    (finding,) = found(of(type, *needed, f"format.{name}=update"))
    assert (finding.code, finding.help) == ("GG110", f"write `gg.handler.x.{name}`")
    (finding,) = found(of(type, *needed, f"format.{name}=update", f"{name}=update"))
    assert (finding.help or "").startswith("remove it")


@pytest.mark.parametrize("name", ["topicMappingTemplate", "blockingSend", "kafkaProducerConfigFile", "includeTokens"])
def test_every_property_of_a_handler_is_known_below_its_format(name: str) -> None:
    (finding,) = (item for item in found(f"{KAFKA}gg.handler.k.format.{name}=x\n") if item.span.line == 7)
    assert (finding.code, finding.help) == ("GG101", f"did you mean `gg.handler.k.{name}`?")


@pytest.mark.parametrize(
    ("type", "given", "missing", "level"),
    [
        ("jdbc", ["connectionURL=jdbc:x"], ["DriverClass"], Severity.NOTE),
        ("jdbc", ["DriverClass=com.example.Driver"], ["connectionURL"], Severity.WARNING),
        ("jms", ["format=json"], ["destination", "connectionFactory"], Severity.NOTE),
        ("jms", ["format=json", "destinationTemplate=q", "connectionFactoryClass=com.example.Factory"], [], None),
        ("pubsub", ["format=json"], ["topicMappingTemplate"], Severity.NOTE),
        ("elasticsearch", ["ServerAddressList=h:9300"], ["clientSettingsFile"], Severity.WARNING),
        ("elasticsearch", ["hosts=h:9200"], [], None),
    ],
)
def test_what_a_type_needs_and_what_takes_its_place(
    type: str, given: list[str], missing: list[str], level: Severity | None
) -> None:
    findings = [item for item in found(of(type, *given)) if item.code == "GG109"]
    assert [item.severity for item in findings] == ([level] if level else [])
    assert all(name in item.message for item in findings for name in missing)


@pytest.mark.parametrize(
    ("type", "wrong", "right"),
    [
        ("cassandra", "contactPoint", "contactPoints"),
        ("pubsub", "credentialFile", "credentialsFile"),
        ("pubsub", "topicTemplate", "topicMappingTemplate"),
        ("elasticsearch", "ServerAddress", "ServerAddressList"),
        ("jms", "destinationTemplat", "destinationTemplate"),
        ("hbase", "hBaseColumnFamily", "hBaseColumnFamilyName"),
        ("mongodb", "clientUri1", "clientURI"),
    ],
)
def test_a_near_miss_is_a_warning_if_the_name_that_is_meant_is_absent(type: str, wrong: str, right: str) -> None:
    (finding,) = (item for item in found(of(type, f"{wrong}=x")) if wrong in item.message)
    assert (finding.severity, finding.help) == (Severity.WARNING, f"did you mean `gg.handler.x.{right}`?")
    (finding,) = (item for item in found(of(type, f"{right}=x", f"{wrong}=x")) if wrong in item.message)
    assert finding.severity is Severity.NOTE


@pytest.mark.parametrize("name", ["connectTimeout", "colour", "key"])
def test_a_name_that_resembles_none_is_a_note(name: str) -> None:
    (finding,) = (item for item in found(of("cassandra", f"{name}=x")))
    assert finding.severity is Severity.NOTE


@pytest.mark.parametrize(
    ("line", "marked"),
    [
        ("gg.handler.fw.fileRollInterval=7", "7"),
        ("gg.handler.fw.inactivityRollInterval=30", "30"),
        ("gg.handler.fw.maxFileSize=1gb", "1gb"),
        ("gg.handler.fw.maxFileSize=10 MB", "10 MB"),
        ("jvm.bootoptions=-Xms32m -Xmx512", "-Xmx512"),
        ("javawriter.bootoptions=-Xmx1024 -Djava.class.path=ggjava/ggjava.jar", "-Xmx1024"),
        ("gg.format.timestamp=yyyy-MM-dd hh:mm:ss.SSS", "yyyy-MM-dd hh:mm:ss.SSS"),
        ("gg.handler.fw.fileRenameMappingTemplate=${currentTimestamp[yyyyMMddhhmmss]}.json", "yyyyMMddhhmmss"),
        ("gg.classpath=./dirprm*:/opt/kafka/libs/*", "dirprm*"),
        ("gg.classpath=dirprm: /opt/kafka/libs/*", " "),
        ("gg.classpath=dirprm/:/opt/lib/*.jar", "*.jar"),
        ("gg.handler.fw.pathMappingTemplate=./d  ", "./d  "),
        ("gg.handler.fw.stateFileDirectory=./s\t", "./s\t"),
        (f"{STORE}gg.eventhandler.s.region=us_east_1", "us_east_1"),
        (f"{STORE}gg.eventhandler.s.region=us-east1", "us-east1"),
        (f"{STORE}gg.eventhandler.s.region=EU-CENTRAL-1", "EU-CENTRAL-1"),
    ],
)
def test_a_value_that_does_something_else_is_a_warning(line: str, marked: str) -> None:
    assert ("GG142", Severity.WARNING, marked) in at_the_end(f"{WRITER}{line}\n")


@pytest.mark.parametrize(
    "line",
    [
        "gg.handler.fw.fileRollInterval=0",
        "gg.handler.fw.fileRollInterval=-1",
        "gg.handler.fw.fileRollInterval=60000",
        "gg.handler.fw.fileRollInterval=500ms",
        "gg.handler.fw.maxFileSize=1.1g",
        "jvm.bootoptions=-Xmx536870912 -Xss512k",
        "jvm.bootoptions=-Xmx4G",
        "jvm.bootoptions=-Xms1024m -Xmx512m -Xmx1G -Dx=Xmx5",
        "gg.format.timestamp=yyyy-MM-dd hh:mm:ss a",
        "gg.format.timestamp=yyyy-MM-dd HH:mm:ss.SSS",
        "gg.classpath=./dirprm:/opt/kafka/libs/*",
        "gg.classpath=C:\\\\Program Files\\\\x\\\\*;dirprm/",
        "gg.classpath=*",
        "gg.handler.fw.pathMappingTemplate=./d",
        f"{STORE}gg.eventhandler.s.region=us-gov-west-1",
        f"{STORE}gg.eventhandler.s.region=your-aws-region",
        f"{STORE}gg.eventhandler.s.url=https://minio\ngg.eventhandler.s.region=main",
    ],
)
def test_a_value_that_does_what_it_says_is_none(line: str) -> None:
    assert [item for item in found(f"{WRITER}{line}\n") if item.severity is not Severity.NOTE] == []


def test_a_comma_in_a_class_path_is_a_note() -> None:
    assert at_the_end(f"{WRITER}gg.classpath=lib/a.jar,lib/b.jar\n") == [("GG142", Severity.NOTE, ",")]


def test_blanks_at_the_end_are_removed_by_a_safe_fix() -> None:
    text = WRITER.replace("=./d\n", "=./d \t\n").replace("=./s\n", "=./s \n")
    assert fix_file(text.encode(), "f").content.decode() == WRITER
    escaped = f"{WRITER}gg.handler.fw.movePathMappingTemplate=./d\\ \n"
    assert fix_file(escaped.encode(), "f").content.decode() == escaped


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("gg.handler.k.topicMappingTemplate=$${tableName}", "$${tableName}"),
        ("gg.handler.k.kafkaProducerConfigFile=@PRODUCER@", "@PRODUCER@"),
    ],
)
def test_lines_that_another_program_fills_in_are_not_checked(line: str, place: str) -> None:
    assert at_the_end(f"{KAFKA}{line}\n") in ([("GG131", Severity.NOTE, place)], [("GG128", Severity.NOTE, place)])


@pytest.mark.parametrize(
    "line", ["gg.handlerlist=@HANDLER@", "gg.handler.k.format=@handler.format@", "gg.handler.@name@.type=kafka"]
)
def test_a_file_whose_handlers_are_filled_in_is_not_checked(line: str) -> None:
    assert [item.code for item in found(f"{KAFKA}{line}\n")] == ["GG131"]


@pytest.mark.parametrize("value", ["a@b@c", "user@example.org", "jdbc:oracle:thin:@h:1521/P", "@"])
def test_an_at_sign_is_no_template(value: str) -> None:
    assert "GG131" not in [item.code for item in found(of("jdbc", f"connectionURL={value}", "DriverClass=a.B"))]


@pytest.mark.parametrize(
    ("name", "value", "level"),
    [
        ("producerRecordClass", "com.example.Record", Severity.WARNING),
        ("schemaPrClassName", "com.example.Record", Severity.WARNING),
        ("schemaPrClassName", "oracle.goldengate.handler.kafka.ProducerRecord", None),
        ("keyConverter", "com.example.Converter", Severity.WARNING),
        ("keyConverter", "string", None),
    ],
)
def test_java_code_of_the_user_is_said_for_a_run(name: str, value: str, level: Severity | None) -> None:
    text = f"{KAFKA}gg.handler.k.{name}={value}\n"
    assert [item.severity for item in found(text, for_run=True)] == ([level] if level else [])
    assert found(text) == []


@pytest.mark.parametrize(
    "line", ["fileRollInterval=5m", "inactivityRollInterval=5m", "atTime=00:00", "rollOnShutdown=true"]
)
def test_a_setting_without_effect_on_a_batch_is_said_for_a_run(line: str) -> None:
    text = f"{WRITER}gg.handler.fw.{line}\n"
    assert [(item.code, item.severity) for item in found(text, for_run=True)] == [("GG156", Severity.NOTE)]
    assert found(text) == []
    assert found(f"{WRITER}gg.handler.fw.rollOnShutdown=false\n", for_run=True) == []


@pytest.mark.parametrize(
    ("mask", "meant"),
    [("hh:mm", "HH:mm"), ("hh:mm a", "hh:mm a"), ("h", "H"), ("yyyy-MM-dd'h'", "yyyy-MM-dd'h'"), ("hh'a'", "HH'a'")],
)
def test_hours_of_half_a_day_need_the_half(mask: str, meant: str) -> None:
    assert meant_mask(mask) == meant


def test_what_the_table_says_of_releases_has_a_source() -> None:
    owners = [HANDLERS, EVENT_HANDLERS, KEYS, PROCESS, *HANDLER_TYPES.values(), *EVENT_HANDLER_TYPES.values()]
    for owner in owners:
        for spec in owner.own:
            assert spec.source[:1] in [*"SELIM"] or spec.attr, (owner.name, spec.name)
            assert spec.need is Need.NONE or not spec.doubtful, (owner.name, spec.name)


@pytest.mark.parametrize(
    ("text", "keyword", "since"),
    [
        (f"{KAFKA}gg.handler.k.schemaTopicName=x\n", "", ""),
        (KAFKA.replace("=${tableName}", "=${toLowerCase[${tableName}]}"), "${toLowerCase}", "12.3.2.1"),
        (KAFKA.replace("=${primaryKeys}", "=${columnValue[ID]}${emptyString}"), "", ""),
        (f"{KAFKA}gg.handler.k.keyMappingTemplate=${{xid}}\n", "", ""),  # no source says since when
    ],
)
def test_a_keyword_that_the_given_release_lacks(text: str, keyword: str, since: str) -> None:
    misfits = [item for item in found(f"{text}ggfmt.compatibility=12.3.1.1\n") if item.code == "GG111"]
    assert [keyword in item.message and since in item.message for item in misfits] == [True] * bool(keyword)
